// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// families remembers for a while which objects have which owners: the objects of one
// namespace that are looked at together ask once.
type families struct {
	mu    sync.Mutex
	known map[string]*family
}

// family is who owns what in one namespace, or, for objects without one, which workloads
// have owners in all of them.
type family struct {
	namespace string
	read      time.Time
	workloads []child
	// controllers are those of pods, by UID; nil until they have been asked for. One without a
	// namespace can control pods of several.
	controllers map[controllerOf]metav1.OwnerReference
	// owners are those of each object that has been listed; listed are the kinds of these.
	owners map[types.UID][]metav1.OwnerReference
	listed map[schema.GroupKind]bool
}

// controllerOf is a controller of pods in a namespace.
type controllerOf struct {
	namespace string
	uid       types.UID
}

// child is a workload and its owners.
type child struct {
	workload snapshot.WorkloadKey
	owners   []metav1.OwnerReference
}

// descendants finds the workloads that an operator made of an object, by their
// owner references; of a Subscription, those that its installed version owns. An object that
// controls pods or ReplicaSets itself, as a Rollout of Argo or a CloneSet does, is its own.
// Of a kind that is not known owner references are walked up from every pod of its namespace, or of
// all namespaces if it has none, whatever the kinds between; what may not be listed ends the walk there.
func (c *Cluster) descendants(ctx context.Context, object *unstructured.Unstructured) ([]snapshot.WorkloadKey, error) {
	c.families.mu.Lock()
	defer c.families.mu.Unlock()
	f, err := c.family(ctx, object.GetNamespace())
	if err != nil {
		return nil, err
	}
	version, _, _ := unstructured.NestedString(object.Object, "status", "installedCSV")
	var out []snapshot.WorkloadKey
	for _, one := range f.workloads {
		if slices.ContainsFunc(one.owners, func(ref metav1.OwnerReference) bool {
			return ref.UID == object.GetUID() || version != "" && ref.Kind == "ClusterServiceVersion" && ref.Name == version
		}) {
			out = append(out, one.workload)
		}
	}
	if _, known := workload.Lookup(object.GetAPIVersion(), object.GetKind()); known && len(out) > 0 {
		return out, nil
	}
	if err := c.walk(ctx, f, object); err != nil {
		return nil, err
	}
	return f.under(object.GetUID()), nil
}

// walk lists the controllers of pods, and what owns them, kind after kind, up to the kind
// of an object.
func (c *Cluster) walk(ctx context.Context, f *family, object *unstructured.Unstructured) error {
	namespace := object.GetNamespace()
	if f.controllers == nil {
		controllers := map[controllerOf]metav1.OwnerReference{}
		err := c.owned(ctx, corev1.SchemeGroupVersion.WithResource("pods"), namespace, func(pod metav1.Object) {
			if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
				controllers[controllerOf{pod.GetNamespace(), ref.UID}] = *ref
			}
		})
		if err != nil && !errors.Is(err, ErrForbidden) {
			return err
		}
		f.controllers = controllers
	}
	target := object.GroupVersionKind().GroupKind()
	for next := f.unlisted(target); len(next) > 0; next = f.unlisted(target) {
		for kind, apiVersion := range next {
			f.listed[kind] = true
			if err := c.ascend(ctx, f, kind, apiVersion); err != nil && !errors.Is(err, ErrForbidden) && !errors.Is(err, ErrNotFound) {
				delete(f.listed, kind)
				return err
			}
		}
	}
	return nil
}

// ascend lists the objects of a kind, with their owners. Owner references can name a version
// that is not served any more.
func (c *Cluster) ascend(ctx context.Context, f *family, kind schema.GroupKind, apiVersion string) error {
	mapping, err := c.mapper.RESTMapping(kind)
	switch {
	case meta.IsNoMatchError(err):
		return c.unserved(ctx, apiVersion)
	case err != nil:
		return wrap("find out about "+kind.String(), err)
	case mapping.Scope.Name() == meta.RESTScopeNameRoot && f.namespace != "":
		// It is owned by nothing in a namespace.
		return nil
	}
	return c.owned(ctx, mapping.Resource, f.namespace, func(one metav1.Object) { f.owners[one.GetUID()] = one.GetOwnerReferences() })
}

// unlisted are the kinds that own something and have not been listed yet, but for that of the
// object that is looked for, each with an API version that names it.
func (f *family) unlisted(target schema.GroupKind) map[schema.GroupKind]string {
	out := map[schema.GroupKind]string{}
	note := func(ref metav1.OwnerReference) {
		gv, err := schema.ParseGroupVersion(ref.APIVersion)
		if kind := (schema.GroupKind{Group: gv.Group, Kind: ref.Kind}); err == nil && kind != target && !f.listed[kind] {
			out[kind] = ref.APIVersion
		}
	}
	for _, ref := range f.controllers {
		note(ref)
	}
	for _, refs := range f.owners {
		for _, ref := range refs {
			note(ref)
		}
	}
	return out
}

// under returns the workloads that an object owns, whatever stands between, as the snapshot
// names the workloads of pods.
func (f *family) under(uid types.UID) []snapshot.WorkloadKey {
	found := map[snapshot.WorkloadKey]bool{}
	for _, one := range f.workloads {
		if f.descends(one.owners, uid, map[types.UID]bool{}) {
			found[one.workload] = true
		}
	}
	for of, ref := range f.controllers {
		if f.descends([]metav1.OwnerReference{ref}, uid, map[types.UID]bool{}) {
			found[f.workloadOf(of.namespace, ref)] = true
		}
	}
	return slices.SortedFunc(maps.Keys(found), snapshot.WorkloadKey.Compare)
}

// descends reports whether an object with these owners stands under another one.
func (f *family) descends(owners []metav1.OwnerReference, uid types.UID, seen map[types.UID]bool) bool {
	for _, ref := range owners {
		if ref.UID == uid {
			return true
		}
		if seen[ref.UID] {
			// Owner references are data: nothing keeps them from going round.
			continue
		}
		seen[ref.UID] = true
		if f.descends(f.owners[ref.UID], uid, seen) {
			return true
		}
	}
	return false
}

// workloadOf is the workload of the pods that a controller has in a namespace: the Deployment rather
// than the ReplicaSet.
func (f *family) workloadOf(namespace string, controller metav1.OwnerReference) snapshot.WorkloadKey {
	gv, _ := schema.ParseGroupVersion(controller.APIVersion)
	if _, middle := middlemen[schema.GroupKind{Group: gv.Group, Kind: controller.Kind}]; middle {
		for _, ref := range f.owners[controller.UID] {
			if ref.Controller != nil && *ref.Controller {
				controller = ref
				break
			}
		}
	}
	return snapshot.WorkloadKey{Namespace: namespace, Owner: snapshot.OwnerOf(controller.APIVersion, controller.Kind, controller.Name)}
}

// family returns what is known of a namespace: the workloads that have owners, of all of
// them for an object without one.
func (c *Cluster) family(ctx context.Context, namespace string) (*family, error) {
	if known, ok := c.families.known[namespace]; ok && time.Since(known.read) < shelfLife {
		return known, nil
	}
	f := &family{namespace: namespace, read: time.Now(), owners: map[types.UID][]metav1.OwnerReference{}, listed: map[schema.GroupKind]bool{}}
	// Nodes own the mirrors of static pods, and nothing makes nodes for a workload.
	f.listed[schema.GroupKind{Kind: "Node"}] = true
	for _, name := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
		kind, _ := workload.Lookup("apps/v1", name)
		f.listed[schema.GroupKind{Group: "apps", Kind: name}] = true
		err := c.owned(ctx, kind.Resource(), namespace, func(object metav1.Object) {
			if refs := object.GetOwnerReferences(); len(refs) > 0 {
				key := snapshot.WorkloadKey{Namespace: object.GetNamespace(), Owner: snapshot.OwnerOf(kind.APIVersion, name, object.GetName())}
				f.workloads = append(f.workloads, child{key, refs})
				f.owners[object.GetUID()] = refs
			}
		})
		if err != nil {
			return nil, err
		}
	}
	if c.families.known == nil {
		c.families.known = map[string]*family{}
	}
	c.families.known[namespace] = f
	return f, nil
}

// owned lists the metadata of the objects of a kind, in one namespace or in all.
func (c *Cluster) owned(ctx context.Context, resource schema.GroupVersionResource, namespace string, visit func(metav1.Object)) error {
	var all []metav1.Object
	err := c.each(ctx, resource.Resource, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return c.meta.Resource(resource).Namespace(namespace).List(ctx, o)
	}, func() { all = nil }, func(o runtime.Object) error {
		object, err := meta.Accessor(o)
		all = append(all, object)
		return err
	})
	if err != nil {
		return err
	}
	for _, object := range all {
		visit(object)
	}
	return nil
}
