// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// rule selects the creation of pods, but for what change makes of it.
func rule(change func(*admissionregistrationv1.RuleWithOperations)) admissionregistrationv1.RuleWithOperations {
	out := admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
	}
	if change != nil {
		change(&out)
	}
	return out
}

func validating(name string, namespaces, pods *metav1.LabelSelector, rules ...admissionregistrationv1.RuleWithOperations) *admissionregistrationv1.ValidatingWebhookConfiguration {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}, Webhooks: []admissionregistrationv1.ValidatingWebhook{
		{Name: "a.example.com", Rules: rules, NamespaceSelector: namespaces, ObjectSelector: pods},
	}}
}

func TestUnmodelled_namesTheWebhooksThatAreCalledForNewPods(t *testing.T) {
	t.Parallel()
	all := &metav1.LabelSelector{}
	labelled := func(key string, operator metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
	}
	lists := []string{"GET mutatingwebhookconfigurations 200", "GET validatingwebhookconfigurations 200"}
	for name, tt := range map[string]struct {
		hook      *admissionregistrationv1.ValidatingWebhookConfiguration
		forbidden string
		requests  []string
		called    bool
		unread    bool
	}{
		"every new pod": {hook: validating("w", all, all, rule(nil)), called: true},
		"all of all kinds": {hook: validating("w", all, all, rule(func(r *admissionregistrationv1.RuleWithOperations) {
			r.Operations, r.APIGroups, r.APIVersions, r.Resources = []admissionregistrationv1.OperationType{"*"}, []string{"*"}, []string{"*"}, []string{"*/*"}
		})), called: true},
		"pods with all subresources": {hook: validating("w", all, all, rule(func(r *admissionregistrationv1.RuleWithOperations) { r.Resources = []string{"pods/*"} })), called: true},
		"another kind": {hook: validating("w", all, all, rule(func(r *admissionregistrationv1.RuleWithOperations) {
			r.Resources = []string{"deployments", "pods/eviction"}
		}))},
		"another group": {hook: validating("w", all, all, rule(func(r *admissionregistrationv1.RuleWithOperations) { r.APIGroups = []string{"apps"} }))},
		"changes of pods": {hook: validating("w", all, all, rule(func(r *admissionregistrationv1.RuleWithOperations) {
			r.Operations = []admissionregistrationv1.OperationType{"UPDATE"}
		}))},
		"kinds without a namespace": {hook: validating("w", all, all, rule(func(r *admissionregistrationv1.RuleWithOperations) {
			r.Scope = new(admissionregistrationv1.ClusterScope)
		}))},
		"one of two rules":            {hook: validating("w", all, all, rule(func(r *admissionregistrationv1.RuleWithOperations) { r.Resources = []string{"services"} }), rule(nil)), called: true},
		"other namespaces by name":    {hook: validating("w", labelled(corev1.LabelMetadataName, metav1.LabelSelectorOpNotIn, "shop"), all, rule(nil))},
		"this namespace by name":      {hook: validating("w", labelled(corev1.LabelMetadataName, metav1.LabelSelectorOpIn, "shop"), all, rule(nil)), called: true},
		"this namespace by a label":   {hook: validating("w", labelled("istio-injection", metav1.LabelSelectorOpIn, "enabled"), all, rule(nil)), requests: []string{"GET namespaces 200"}, called: true},
		"other namespaces by a label": {hook: validating("w", labelled("istio-injection", metav1.LabelSelectorOpDoesNotExist), all, rule(nil)), requests: []string{"GET namespaces 200"}},
		"no right to list namespaces": {hook: validating("w", labelled("istio-injection", metav1.LabelSelectorOpDoesNotExist), all, rule(nil)), forbidden: "namespaces", requests: []string{"GET namespaces 403"}, called: true},
		"pods with this label":        {hook: validating("w", all, labelled("app", metav1.LabelSelectorOpIn, "web"), rule(nil)), called: true},
		"pods without this label":     {hook: validating("w", all, labelled("app", metav1.LabelSelectorOpDoesNotExist), rule(nil))},
		"no right to list webhooks":   {hook: validating("w", all, all, rule(nil)), forbidden: "validatingwebhookconfigurations", unread: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := serve(fakeapi.New())
			api.Add(tt.hook, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"istio-injection": "enabled", corev1.LabelMetadataName: "shop"}}})
			api.fault = func(r fakeapi.Request, _ int) fakeapi.Fault {
				return map[bool]fakeapi.Fault{true: 403}[r.Resource == tt.forbidden]
			}
			c := api.connect(t)
			if _, err := c.Nodes(t.Context()); err != nil {
				t.Fatal(err)
			}
			var got snapshot.Unmodelled
			for range 2 {
				var err error
				if got, err = c.Unmodelled(t.Context(), false, []*snapshot.Pod{{Namespace: "shop", Labels: labels.Set{"app": "web"}}}); err != nil {
					t.Fatal(err)
				}
			}
			if slices.Equal(got.Webhooks, []string{"w"}) != tt.called || got.WebhooksUnread != tt.unread {
				t.Errorf("got %+v", got)
			}
			want := slices.Concat([]string{"GET nodes 200"}, lists, tt.requests)
			if tt.unread {
				want[2] = "GET validatingwebhookconfigurations 403"
			}
			requests := api.requests()
			slices.Sort(requests[1:3])
			if diff := cmp.Diff(want, requests); diff != "" {
				t.Errorf("requests: %s", diff)
			}
		})
	}
}

// TestUnmodelled_readsNothingWithoutNewPods: most plans evict no pod.
func TestUnmodelled_readsNothingWithoutNewPods(t *testing.T) {
	t.Parallel()
	api := serve(fakeapi.New())
	got, err := api.connect(t).Unmodelled(t.Context(), false, nil)
	if diff := cmp.Diff(snapshot.Unmodelled{}, got); diff != "" || err != nil || len(api.requests()) > 0 {
		t.Errorf("%v, %s", err, diff)
	}
}

// TestUnmodelled_webhooksAreNotWaitedForLong: each step of each resource asks, and a failure is remembered.
func TestUnmodelled_webhooksAreNotWaitedForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := serve(fakeapi.New())
		api.fault = func(r fakeapi.Request, _ int) fakeapi.Fault {
			return map[bool]fakeapi.Fault{true: fakeapi.NoAnswer}[r.Resource == "validatingwebhookconfigurations"]
		}
		c, began := api.connect(t), time.Now()
		for range 10 {
			got, err := c.Unmodelled(t.Context(), false, []*snapshot.Pod{{Namespace: "shop"}})
			if !got.WebhooksUnread || !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "no answer within 5s") {
				t.Errorf("got %+v, %v", got, err)
			}
		}
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}
