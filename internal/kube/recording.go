// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"
)

// EncodedPods calls visit for every pod in its protobuf form, with the fields alone that are kept of pods,
// and begin whenever it starts from the first. Errors: those of visit and of the API server.
func (c *Cluster) EncodedPods(ctx context.Context, begin func() error, visit func(pod []byte) error) error {
	var failed error
	err := c.eachOfOneMoment(ctx, "pods", func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		page := &encodedPage{}
		err := c.client.pods.client.Get().Resource("pods").VersionedParams(&o, scheme.ParameterCodec).Do(ctx).Into(page)
		return page, err
	}, func() { failed = begin() }, func(o runtime.Object) error {
		if failed != nil {
			return failed
		}
		return visit(o.(*encodedPod).content) //nolint:forcetypeassert // The list holds nothing else.
	})
	return errors.Join(failed, err)
}

// ReducedPod returns the protobuf form of a pod with the fields alone that are kept of pods. It changes
// the form that it gets.
func ReducedPod(encoded []byte) ([]byte, error) {
	size, err := recordedPod.filter(encoded)
	return encoded[:size], err
}

// NodeOfPod returns the node of a pod in its protobuf form, "" for none.
func NodeOfPod(encoded []byte) (string, error) {
	spec, err := last(encoded, specField)
	if err != nil {
		return "", err
	}
	node, err := last(spec, nodeNameField)
	return string(node), err
}

// AmountsOfPod calls visit for every amount of the fields that are kept of a pod in its protobuf form, before these
// are decoded. Errors: those of visit and of the form.
func AmountsOfPod(encoded []byte, visit func(amount []byte) error) error {
	return podAmounts.each(encoded, visit)
}

// encodedPage is a page of pods, none of which is decoded.
type encodedPage struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []encodedPod
}

// encodedPod is a pod as the pager hands it on.
type encodedPod struct {
	metav1.TypeMeta
	content []byte
}

// DeepCopyObject returns the same: nothing changes a page or a pod.
func (p *encodedPage) DeepCopyObject() runtime.Object { return p }

// DeepCopyObject returns the same: nothing changes a page or a pod.
func (p *encodedPod) DeepCopyObject() runtime.Object { return p }

// Reset empties the page.
func (p *encodedPage) Reset() { *p = encodedPage{} }

// Unmarshal reads a PodList in its protobuf form: its metadata (1) and its pods (2).
func (p *encodedPage) Unmarshal(data []byte) error {
	for len(data) > 0 {
		number, content, rest, err := next(data)
		if err != nil {
			return err
		}
		data = rest
		switch number {
		case 1:
			err = p.ListMeta.Unmarshal(content)
		case 2:
			err = p.add(content)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *encodedPage) add(encoded []byte) error {
	content, err := ReducedPod(encoded)
	p.Items = append(p.Items, encodedPod{content: content})
	return err
}

// UnmarshalJSON reads what a server answers that knows no protobuf, such as a proxy.
func (p *encodedPage) UnmarshalJSON(data []byte) error {
	list, err := podsInJSON(data)
	if err != nil {
		return err
	}
	p.TypeMeta, p.ListMeta = list.TypeMeta, list.ListMeta
	for i := range list.Items {
		encoded, err := list.Items[i].Marshal()
		if err == nil {
			err = p.add(encoded)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// EachObject calls visit for every object of a resource, and begin whenever it starts from the first.
// Errors: those of visit and of the API server.
func (c *Cluster) EachObject(ctx context.Context, resource schema.GroupVersionResource, begin func() error, visit func(*unstructured.Unstructured) error) error {
	var failed error
	err := c.eachOfOneMoment(ctx, resource.Resource, c.listed(resource), func() { failed = begin() }, func(o runtime.Object) error {
		if failed != nil {
			return failed
		}
		object, is := o.(*unstructured.Unstructured)
		if !is {
			fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
			if err != nil {
				return err
			}
			object = &unstructured.Unstructured{Object: fields}
		}
		return visit(object)
	})
	return errors.Join(failed, err)
}

// listed returns how pages of a resource are read: in protobuf where there is a typed client. JSON takes twice as
// long, of the API server too.
func (c *Cluster) listed(resource schema.GroupVersionResource) pager.ListPageFunc {
	typed := map[schema.GroupVersion]rest.Interface{
		corev1.SchemeGroupVersion: c.client.core.RESTClient(), appsv1.SchemeGroupVersion: c.client.apps.RESTClient(), policyv1.SchemeGroupVersion: c.client.policy.RESTClient(),
		storagev1.SchemeGroupVersion: c.client.storage.RESTClient(),
	}
	client, is := typed[resource.GroupVersion()]
	if !is {
		return func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return c.dynamic.Resource(resource).List(ctx, o)
		}
	}
	return func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return client.Get().Resource(resource.Resource).VersionedParams(&o, scheme.ParameterCodec).Do(ctx).Get()
	}
}

// Object reads an object as it is now. Errors: ErrNotFound, those of the API server.
func (c *Cluster) Object(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	var object *unstructured.Unstructured
	err := c.patience().do(ctx, bounded(func(ctx context.Context) error {
		var err error
		object, err = scoped(c.dynamic.Resource(resource), namespace, false).Get(ctx, name, metav1.GetOptions{})
		return err
	}))
	return object, wrap(fmt.Sprintf("get %s %s/%s", resource.Resource, namespace, name), err)
}

// Served returns what the cluster serves, the preferred version of each group first, and the groups and
// versions whose server could not be asked. Errors: those of the API server.
func (c *Cluster) Served(ctx context.Context) (lists []*metav1.APIResourceList, stale []schema.GroupVersion, err error) {
	var versions []schema.GroupVersion
	err = reading.do(ctx, bounded(func(ctx context.Context) error {
		var err error
		versions, err = c.versions(ctx)
		return err
	}))
	if err != nil {
		return nil, nil, wrap("find out what the cluster serves", err)
	}
	for _, version := range versions {
		list, err := c.servedIn(ctx, version.String())
		switch {
		case err == nil && list != nil:
			lists = append(lists, list)
		case apierrors.IsNotFound(err):
		default:
			stale = append(stale, version)
		}
	}
	return lists, stale, ctx.Err()
}

// versions returns the groups and versions that the cluster serves, and last those whose server could not be reached
// when the cluster collected what it serves: client-go leaves these out of the groups
// (k8s.io/client-go v0.37.2 discovery/aggregated_discovery.go, convertAPIGroup).
func (c *Cluster) versions(ctx context.Context) ([]schema.GroupVersion, error) {
	groups, err := c.serves.ServerGroupsWithContext(ctx)
	if err != nil {
		return nil, err
	}
	var out, failed []schema.GroupVersion
	for _, group := range groups.Groups {
		for _, version := range group.Versions {
			out = append(out, schema.GroupVersion{Group: group.Name, Version: version.Version})
		}
	}
	if aggregated, is := c.serves.(discovery.AggregatedDiscoveryInterfaceWithContext); is {
		_, _, unreachable, err := aggregated.GroupsAndMaybeResourcesWithContext(ctx)
		if err != nil {
			return nil, err
		}
		for version := range unreachable {
			if !slices.Contains(out, version) {
				failed = append(failed, version)
			}
		}
	}
	slices.SortFunc(failed, func(a, b schema.GroupVersion) int { return strings.Compare(a.String(), b.String()) })
	return append(out, failed...), nil
}

// servedIn returns what the cluster serves of a group and version. A server that could not be reached when the cluster
// last collected what it serves is asked itself.
func (c *Cluster) servedIn(ctx context.Context, groupVersion string) (*metav1.APIResourceList, error) {
	list, err := c.serves.ServerResourcesForGroupVersionWithContext(ctx, groupVersion)
	if err == nil || apierrors.IsNotFound(err) {
		return list, err
	}
	direct := discovery.ToDiscoveryInterfaceWithContext(c.client.discovery)
	err = reading.do(ctx, bounded(func(ctx context.Context) error {
		var err error
		list, err = direct.ServerResourcesForGroupVersionWithContext(ctx, groupVersion)
		return err
	}))
	return list, err
}

// CustomResources returns the custom kinds whose objects the credentials may change, none where an
// authorizer cannot tell. Errors: those of the API server.
func (c *Cluster) CustomResources(ctx context.Context) ([]schema.GroupResource, error) {
	rules, err := c.rights(ctx)
	if errors.Is(err, ErrForbidden) || errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return customResources(rules), err
}
