// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// TestPlan_theProviderBlockIsKnownAtApplyAlone plans every operation as in a run whose apply makes the cluster: nothing is
// read at plan, and apply makes what is configured.
func TestPlan_theProviderBlockIsKnownAtApplyAlone(t *testing.T) {
	t.Parallel()
	unknown := &acctest.Terraform{Provider: map[string]any{"host": acctest.Unknown}}
	for _, s := range subjects() {
		if s.action {
			continue
		}
		for _, o := range s.operations() {
			if o.name != "create" && !due(s) {
				continue
			}
			t.Run(s.name()+" "+o.name, func(t *testing.T) {
				t.Parallel()
				st := prepare(t, s, o)
				bubble(t, st.start, func(t *testing.T, api *fakeapi.Server) {
					i := st.instance
					planned := unknown.Walk(t).Plan(&i, o.to)
					if e := planned.Diagnostics.Errors(); e != "" {
						t.Fatalf("plan: %s", e)
					}
					if d := through(api.Client()).Carry(t, &i, planned, o.to); d.Errors() != "" {
						t.Fatal(d.Errors())
					}
					st.end(t, api, &i)
				})
			})
		}
	}
}

// TestPlan_limitsOfAClusterThatTheSameApplyMakes: a plan warns that it could not check them, and apply refuses before its
// first write what a plan of the known cluster refuses.
func TestPlan_limitsOfAClusterThatTheSameApplyMakes(t *testing.T) {
	t.Parallel()
	unknown := &acctest.Terraform{Provider: map[string]any{"host": acctest.Unknown}}
	for _, s := range subjects() {
		// The others have no limits, or evict no pod.
		if s.action || s.strategy != "taints" && s.strategy != "nodes for a Deployment" && s.strategy != "machine_sets rolling" && s.strategy != "rolling" {
			continue
		}
		t.Run(s.name(), func(t *testing.T) {
			t.Parallel()
			st := prepare(t, s, operation{"create", nil, s.first})
			bubble(t, st.start, func(t *testing.T, api *fakeapi.Server) {
				for _, n := range fakeapi.Objects[*corev1.Node](api) {
					api.Add(&corev1.Pod{
						ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "on-" + n.Name},
						Spec:       corev1.PodSpec{NodeName: n.Name, Tolerations: []corev1.Toleration{{Key: "foreign", Operator: corev1.TolerationOpExists}}},
						Status:     corev1.PodStatus{Phase: corev1.PodRunning},
					})
				}
				tf, limited, i := through(api.Client()), acctest.With(s.first, object{"evictions": object{"max_pods": 0}}), st.instance
				known := tf.Walk(t).Plan(&i, limited)
				acctest.WantAll(t, known.Diagnostics.Errors(), "max_pods")
				planned := unknown.Walk(t).Plan(&i, limited)
				if e := planned.Diagnostics.Errors(); e != "" {
					t.Fatalf("plan: %s", e)
				}
				acctest.WantAll(t, planned.Diagnostics.Warnings(), "Unable to check the eviction limits for ", "before apply: the provider block is not known yet")
				before := len(api.Audit())
				acctest.WantAll(t, tf.Carry(t, &i, planned, limited).Errors(), "max_pods")
				for _, request := range api.Audit()[before:] {
					if request.Write() {
						t.Errorf("it writes before it checks the limits: %s", request)
					}
				}
			})
		})
	}
}
