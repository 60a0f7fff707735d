// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"maps"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// webhook is an admission webhook that the API server calls for new pods.
type webhook struct {
	// configuration is the name of its MutatingWebhookConfiguration or ValidatingWebhookConfiguration.
	configuration    string
	namespaces, pods labels.Selector
}

// called is all of a pod that decides which webhooks are called for it.
type called struct{ namespace, labels string }

// webhooksFor returns the names of the webhook configurations that the API server calls for new pods like these, sorted. A
// matchCondition is taken to hold, and a selector of namespaces where these cannot be listed. Errors: those of the API server.
func (c *Cluster) webhooksFor(ctx context.Context, pods []*snapshot.Pod) ([]string, error) {
	hooks, err := c.webhooks.get(ctx, func() ([]webhook, error) { return c.listWebhooks(ctx) })
	if err != nil || len(hooks) == 0 {
		return nil, err
	}
	namespaces, err := c.selectedNamespaces(ctx, hooks)
	if err != nil {
		return nil, err
	}
	names, seen := map[string]bool{}, map[called]bool{}
	for _, pod := range pods {
		key := called{pod.Namespace, pod.Labels.String()}
		if seen[key] {
			continue
		}
		seen[key] = true
		for _, hook := range hooks {
			if !names[hook.configuration] && hook.pods.Matches(pod.Labels) && hook.in(pod.Namespace, namespaces) {
				names[hook.configuration] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// in reports whether a webhook is called in a namespace. Its name is a label of every namespace.
func (w *webhook) in(namespace string, known map[string]listedNamespace) bool {
	if has, is := known[namespace]; is {
		return w.namespaces.Matches(has.labels)
	}
	return !w.byName() || w.namespaces.Matches(labels.Set{corev1.LabelMetadataName: namespace})
}

// byName reports whether nothing but the name of a namespace decides.
func (w *webhook) byName() bool {
	requirements, selectable := w.namespaces.Requirements()
	return !selectable || !slices.ContainsFunc(requirements, func(r labels.Requirement) bool { return r.Key() != corev1.LabelMetadataName })
}

// selectedNamespaces returns the namespaces where webhooks select some by their labels, nil where they cannot be listed.
func (c *Cluster) selectedNamespaces(ctx context.Context, hooks []webhook) (map[string]listedNamespace, error) {
	a := &c.admissions
	a.listing.Lock()
	defer a.listing.Unlock()
	err := c.listNamespaces(ctx, slices.ContainsFunc(hooks, func(w webhook) bool { return !w.byName() }))
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.namespaces), err
}

// listWebhooks lists those that are called for new pods.
func (c *Cluster) listWebhooks(ctx context.Context) ([]webhook, error) {
	var mutating, validating []webhook
	err := parallel(
		func() error {
			return eachOf(ctx, c, "mutatingwebhookconfigurations", func() { mutating = nil }, func(o *admissionregistrationv1.MutatingWebhookConfiguration) {
				for i := range o.Webhooks {
					w := &o.Webhooks[i]
					mutating = append(mutating, webhooksOfPods(o.Name, w.Rules, w.NamespaceSelector, w.ObjectSelector)...)
				}
			})
		},
		func() error {
			return eachOf(ctx, c, "validatingwebhookconfigurations", func() { validating = nil }, func(o *admissionregistrationv1.ValidatingWebhookConfiguration) {
				for i := range o.Webhooks {
					w := &o.Webhooks[i]
					validating = append(validating, webhooksOfPods(o.Name, w.Rules, w.NamespaceSelector, w.ObjectSelector)...)
				}
			})
		},
	)
	return slices.Concat(mutating, validating), err
}

func eachOf[T any](ctx context.Context, c *Cluster, plural string, begin func(), visit func(*T)) error {
	resource := admissionregistrationv1.SchemeGroupVersion.WithResource(plural)
	return c.each(ctx, plural, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return c.dynamic.Resource(resource).List(ctx, o)
	}, begin, func(o runtime.Object) error {
		object, err := typed[T](o.(*unstructured.Unstructured)) //nolint:forcetypeassert // A dynamic list holds nothing else.
		if err == nil {
			visit(object)
		}
		return err
	})
}

// webhooksOfPods returns a webhook if its rules select the creation of pods, else none
// (k8s.io/apiserver v0.37.2 pkg/admission/plugin/webhook/predicates/rules/rules.go, Matches). One whose selectors cannot be read is
// called for none.
func webhooksOfPods(configuration string, rules []admissionregistrationv1.RuleWithOperations, namespaces, objects *metav1.LabelSelector) []webhook {
	inNamespaces, err := metav1.LabelSelectorAsSelector(namespaces)
	ofPods, err2 := metav1.LabelSelectorAsSelector(objects)
	if err != nil || err2 != nil || !slices.ContainsFunc(rules, createsPods) {
		return nil
	}
	return []webhook{{printable.Line(configuration), inNamespaces, ofPods}}
}

// createsPods reports whether a rule selects the creation of pods.
func createsPods(r admissionregistrationv1.RuleWithOperations) bool {
	one := func(list []string, name string) bool {
		return slices.Contains(list, "*") || slices.Contains(list, name)
	}
	return (slices.Contains(r.Operations, admissionregistrationv1.OperationAll) || slices.Contains(r.Operations, admissionregistrationv1.Create)) &&
		one(r.APIGroups, corev1.GroupName) && one(r.APIVersions, "v1") && (one(r.Resources, "pods") || slices.Contains(r.Resources, "*/*")) &&
		(r.Scope == nil || *r.Scope != admissionregistrationv1.ClusterScope)
}
