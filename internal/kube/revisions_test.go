// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// TestTemplates_areThoseOfReplicaSetsThatMayStillMakePods, whether a Deployment owns them or a
// Rollout of Argo.
func TestTemplates_areThoseOfReplicaSetsThatMayStillMakePods(t *testing.T) {
	t.Parallel()
	set := func(apiVersion, kind, owner, name string, wants, has int32) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": owner}, OwnerReferences: controlledBy(apiVersion, kind, owner)},
			Spec:       appsv1.ReplicaSetSpec{Replicas: &wants, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{NodeName: name}}},
			Status:     appsv1.ReplicaSetStatus{Replicas: has, ObservedGeneration: 1},
		}
	}
	for apiVersion, kind := range map[string]string{"apps/v1": "Deployment", "argoproj.io/v1alpha1": "Rollout", "example.com/v1": "Rollout"} {
		t.Run(apiVersion, func(t *testing.T) {
			t.Parallel()
			api := serve(fakeapi.New(), apiNode("n1"))
			api.Add(
				set(apiVersion, kind, "web", "new", 2, 2), set(apiVersion, kind, "web", "leaving", 0, 1),
				set(apiVersion, kind, "web", "idle", 0, 0), set(apiVersion, kind, "db", "other", 2, 2),
			)
			w := &workload.Workload{Ref: workload.Ref{APIVersion: apiVersion, Kind: kind, Namespace: "shop", Name: "web"}, UID: types.UID("uid-web"), Selector: "app=web"}
			templates, err := api.connect(t).Templates(t.Context(), w)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, one := range templates {
				got = append(got, one.NodeName)
			}
			want := []string{"leaving", "new"}
			if apiVersion == "example.com/v1" {
				want = nil
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
