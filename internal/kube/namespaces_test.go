// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
)

func TestTolerationLists(t *testing.T) {
	t.Parallel()
	gpu := corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "gpu", Effect: corev1.TaintEffectNoSchedule}
	for _, tt := range []struct {
		name        string
		annotations map[string]string
		allowed     []corev1.Toleration
		limited     bool
	}{
		{name: "no annotation limits nothing"},
		{name: "an annotation limits to what it lists", annotations: map[string]string{admission.WhitelistAnnotation: `[{"key":"dedicated","operator":"Equal","value":"gpu","effect":"NoSchedule"}]`}, allowed: []corev1.Toleration{gpu}, limited: true},
		{name: "an empty list limits nothing, as in the plug-in", annotations: map[string]string{admission.WhitelistAnnotation: `[]`}, allowed: []corev1.Toleration{}},
		{name: "an annotation that cannot be read limits nothing that could be told", annotations: map[string]string{admission.WhitelistAnnotation: `gpu`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			api := newServer()
			api.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Annotations: tt.annotations}})
			c := api.connect(t)
			// The resources of a configuration ask at the same time, and again later.
			var asking sync.WaitGroup
			for range 5 {
				asking.Go(func() { _, _ = c.TolerationLists(t.Context(), "shop") })
			}
			asking.Wait()
			lists, err := c.TolerationLists(t.Context(), "shop")
			if limited := len(lists.Forbidden([]corev1.Toleration{{Key: "other"}})) > 0; err != nil || limited != tt.limited {
				t.Errorf("limited is %v, want %v (%v)", limited, tt.limited, err)
			}
			if diff := cmp.Diff(tt.allowed, lists.Allowed); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"GET shop 200"}, api.requests()); diff != "" {
				t.Errorf("a namespace is read more than once:\n%s", diff)
			}
		})
	}
}

func TestTolerationLists_asksAgainForANamespaceThatWasNotThere(t *testing.T) {
	t.Parallel()
	api := newServer()
	c := api.connect(t)
	for range 2 {
		if lists, err := c.TolerationLists(t.Context(), "shop"); err == nil || len(lists.Allowed) > 0 {
			t.Errorf("%v are allowed (%v)", lists.Allowed, err)
		}
	}
	if diff := cmp.Diff([]string{"GET shop 404", "GET shop 404"}, api.requests()); diff != "" {
		t.Error(diff)
	}
}
