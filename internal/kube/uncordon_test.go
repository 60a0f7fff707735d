// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// TestEditNode_anUncordonChangesNothingElse: the cordon and the record of its drain go in one write.
func TestEditNode_anUncordonChangesNothingElse(t *testing.T) {
	t.Parallel()
	for name, annotations := range map[string]map[string]string{
		"with a record of a drain": {
			snapshot.AwaitedAnnotation: "[]", taint.OwnedAnnotation: "[]", label.OwnedAnnotation: "[]", "foreign": "kept",
		},
		"without a record":    {"foreign": "kept"},
		"without annotations": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := apiNode("n1", "z:NoSchedule")
				n.Labels, n.Annotations, n.Spec.ProviderID, n.Spec.Unschedulable = map[string]string{"pool": "x"}, annotations, "aws:///i-1", true
				api := newServer(n)
				c := api.connect(t)
				before, _ := fakeapi.Get[*corev1.Node](api.Server, "", "n1")
				written, err := c.EditNode(t.Context(), "n1", func(*snapshot.Node) (*NodeEdit, error) { return &NodeEdit{Uncordon: true}, nil })
				if err != nil || written.Unschedulable || written.Awaited != "" {
					t.Fatalf("got %+v, %v", written, err)
				}
				after, _ := fakeapi.Get[*corev1.Node](api.Server, "", "n1")
				want := before.DeepCopy()
				want.Spec.Unschedulable = false
				delete(want.Annotations, snapshot.AwaitedAnnotation)
				want.ResourceVersion, want.ManagedFields = after.ResourceVersion, after.ManagedFields
				if diff := cmp.Diff(want, after); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}
