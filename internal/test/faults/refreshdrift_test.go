// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// removeEntries has another writer remove the taints and tolerations of the configurations, and returns how many objects had one.
func removeEntries(api *fakeapi.Server) (changed int) {
	tolerations := func(list []corev1.Toleration) []corev1.Toleration {
		return slices.DeleteFunc(list, func(t corev1.Toleration) bool { return t.Key == "team" })
	}
	for _, n := range fakeapi.View[*corev1.Node](api) {
		changed += edited(api, n, func(n *corev1.Node) {
			n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == "team" })
		})
	}
	for _, d := range fakeapi.View[*appsv1.Deployment](api) {
		changed += edited(api, d, func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Tolerations = tolerations(d.Spec.Template.Spec.Tolerations)
		})
	}
	for _, s := range fakeapi.View[*appsv1.StatefulSet](api) {
		changed += edited(api, s, func(s *appsv1.StatefulSet) {
			s.Spec.Template.Spec.Tolerations = tolerations(s.Spec.Template.Spec.Tolerations)
		})
	}
	for _, d := range fakeapi.View[*appsv1.DaemonSet](api) {
		changed += edited(api, d, func(d *appsv1.DaemonSet) {
			d.Spec.Template.Spec.Tolerations = tolerations(d.Spec.Template.Spec.Tolerations)
		})
	}
	return changed
}

func edited[T interface {
	runtime.Object
	GetNamespace() string
	GetName() string
}](api *fakeapi.Server, object T, change func(T)) int {
	before := api.Version()
	fakeapi.Edit(api, object.GetNamespace(), object.GetName(), change)
	return min(int(api.Version()-before), 1)
}

// TestPlan_isRightWithoutARefreshAfterDrift does the same where another writer has removed what the state names: the plan is that
// of a refresh, and its apply ends in sync.
func TestPlan_isRightWithoutARefreshAfterDrift(t *testing.T) {
	t.Parallel()
	var drifted sync.Map
	t.Run("operations", func(t *testing.T) {
		for _, s := range subjects() {
			for _, o := range s.operations() {
				if s.action || o.from == nil || o.to == nil {
					continue
				}
				t.Run(s.name()+" "+o.name, func(t *testing.T) {
					t.Parallel()
					st := prepare(t, s, o)
					bubble(t, st.start, func(t *testing.T, api *fakeapi.Server) {
						if removeEntries(api) > 0 {
							drifted.Store(s.typeName, true)
						}
						time.Sleep(calm)
						st.plansAlike(t, api)
					})
				})
			}
		}
	})
	for _, name := range []string{"node_taints", "workload_tolerations", "dedicated_nodes", "machine_set_taints"} {
		if _, has := drifted.Load(name); !has && !t.Failed() {
			t.Errorf("nothing of kubetaint_%s has drifted", name)
		}
	}
}

// plansAlike plans with and without a refresh, and applies the latter.
func (s *stage) plansAlike(t *testing.T, api *fakeapi.Server) {
	t.Helper()
	refreshed, i := s.instance, s.instance
	want, tf := through(api.Client()).Plan(t, &refreshed, s.to), through(api.Client())
	planned := tf.Walk(t).Plan(&i, s.to)
	if diff := cmp.Diff(want.State.MsgPack, planned.State.MsgPack); diff != "" {
		t.Errorf("another state is planned: %s", diff)
	}
	if diff := cmp.Diff(said(want.Diagnostics), said(planned.Diagnostics)); diff != "" {
		t.Errorf("it says other things: %s", diff)
	}
	if d := tf.Carry(t, &i, planned, s.to); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	time.Sleep(calm)
	if again := through(api.Client()).Plan(t, &i, s.to); !again.Empty || again.Diagnostics.Errors() != "" {
		t.Errorf("the plan after it is not empty: %s%s", again.Diagnostics.Errors(), again.Diagnostics.Warnings())
	}
}
