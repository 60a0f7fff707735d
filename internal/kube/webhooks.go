// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"fmt"
	"maps"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// webhook is an admission webhook that the API server calls for new pods.
type webhook struct {
	// configuration is the name of its MutatingWebhookConfiguration or ValidatingWebhookConfiguration.
	configuration    string
	namespaces, pods labels.Selector
}

// webhookList is what a process knows of webhooks.
type webhookList struct {
	hooks []webhook
	// namespaces are read where webhooks select some by their labels, nil where they are not or cannot be.
	namespaces map[string]labels.Set
	// unread is set where webhooks cannot be listed.
	unread bool
}

// webhooksFor returns the names of the webhook configurations that the API server calls for new pods like these, sorted, and
// whether they cannot be listed. A matchCondition is taken to hold, and a selector of namespaces where these cannot be
// listed. It sends two or three requests, and none the second time. Errors: those of a cluster out of reach.
func (c *Cluster) webhooksFor(ctx context.Context, pods []*snapshot.Pod) (called []string, unread bool, err error) {
	list, err := c.webhooks.get(ctx, func() (webhookList, error) {
		short, cancel := context.WithTimeout(ctx, groupsFor)
		defer cancel()
		list, err := c.listWebhooks(short)
		if short.Err() != nil && ctx.Err() == nil {
			err = &Error{Class: ErrUnreachable, Doing: "list webhooks", Err: fmt.Errorf("no answer within %s", groupsFor)}
		}
		return list, err
	})
	if err != nil {
		return nil, true, err
	}
	names, seen := map[string]bool{}, map[string]bool{}
	for _, pod := range pods {
		key := pod.Namespace + " " + pod.Labels.String()
		if seen[key] {
			continue
		}
		seen[key] = true
		for _, hook := range list.hooks {
			if !names[hook.configuration] && hook.pods.Matches(pod.Labels) && hook.in(pod.Namespace, list.namespaces) {
				names[hook.configuration] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names)), list.unread, nil
}

// in reports whether a webhook is called in a namespace. Its name is a label of every namespace.
func (w *webhook) in(namespace string, known map[string]labels.Set) bool {
	if has, is := known[namespace]; is {
		return w.namespaces.Matches(has)
	}
	return !w.byName() || w.namespaces.Matches(labels.Set{corev1.LabelMetadataName: namespace})
}

// byName reports whether nothing but the name of a namespace decides.
func (w *webhook) byName() bool {
	requirements, selectable := w.namespaces.Requirements()
	return !selectable || !slices.ContainsFunc(requirements, func(r labels.Requirement) bool { return r.Key() != corev1.LabelMetadataName })
}

// listWebhooks lists those that are called for new pods.
func (c *Cluster) listWebhooks(ctx context.Context) (out webhookList, err error) {
	var mutating, validating []webhook
	err = parallel(
		func() error {
			return eachOf(ctx, c, admissionregistrationv1.SchemeGroupVersion.WithResource("mutatingwebhookconfigurations"), "", func() { mutating = nil }, func(o *admissionregistrationv1.MutatingWebhookConfiguration) {
				for i := range o.Webhooks {
					w := &o.Webhooks[i]
					mutating = append(mutating, webhooksOfPods(o.Name, w.Rules, w.NamespaceSelector, w.ObjectSelector)...)
				}
			})
		},
		func() error {
			return eachOf(ctx, c, admissionregistrationv1.SchemeGroupVersion.WithResource("validatingwebhookconfigurations"), "", func() { validating = nil }, func(o *admissionregistrationv1.ValidatingWebhookConfiguration) {
				for i := range o.Webhooks {
					w := &o.Webhooks[i]
					validating = append(validating, webhooksOfPods(o.Name, w.Rules, w.NamespaceSelector, w.ObjectSelector)...)
				}
			})
		},
	)
	if absent(err) {
		return webhookList{unread: true}, nil
	}
	out.hooks = slices.Concat(mutating, validating)
	if err != nil || !slices.ContainsFunc(out.hooks, func(w webhook) bool { return !w.byName() }) {
		return out, err
	}
	out.namespaces, err = c.labelsOfNamespaces(ctx)
	return out, err
}

// labelsOfNamespaces lists them, nil where there is no permission to.
func (c *Cluster) labelsOfNamespaces(ctx context.Context) (map[string]labels.Set, error) {
	all, err := c.Namespaces(ctx, "")
	if absent(err) {
		return nil, nil
	}
	out := make(map[string]labels.Set, len(all))
	for _, namespace := range all {
		out[namespace.Name] = namespace.Labels
	}
	return out, err
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
		one(r.APIGroups, corev1.GroupName) && one(r.APIVersions, "v1") && (one(r.Resources, "pods") || slices.Contains(r.Resources, "pods/*") || slices.Contains(r.Resources, "*/*")) &&
		(r.Scope == nil || *r.Scope != admissionregistrationv1.ClusterScope)
}
