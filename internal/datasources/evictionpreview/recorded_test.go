// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestRecorded_previewsAreThoseOfTheCluster asks the data source about random changes of the random clusters
// of the predictions, and then of a recording of each: every field of the answers is the same.
func TestRecorded_previewsAreThoseOfTheCluster(t *testing.T) {
	t.Parallel()
	var pods atomic.Int64
	t.Cleanup(func() {
		if n := pods.Load(); n < 15*manySeeds && !t.Failed() {
			t.Errorf("the previews have %d pods: the test shows little", n)
		}
	})
	for seed := range manySeeds {
		t.Run(fmt.Sprintf("seed_%d", seed), func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				w := emptyWorld(t, c, uint64(seed))
				// Nothing plays the controllers of a world that is not quiet.
				w.quiet = true
				w.fill()
				w.own()
				live, recording := &acctest.Terraform{Provider: c.Provider(t)}, c.Snapshot(t)
				config := map[string]any{"node_selector": "world=" + w.label, "taints": w.change(), "include_unaffected": true}
				want, d := live.Data(t, "kubetaint_eviction_preview", config)
				if d.Errors() != "" {
					t.Fatal(d.Errors())
				}
				got, d := recording.Data(t, "kubetaint_eviction_preview", config)
				if d.Errors() != "" {
					t.Fatal(d.Errors())
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("the recording gives another preview: %s", diff)
				}
				some, _ := got["pods"].([]any)
				pods.Add(int64(len(some)))
			})
		})
	}
}

// own adds pods of a Deployment, of which a PodDisruptionBudget covers some, and of a DaemonSet with
// another template than its pods.
func (w *world) own() {
	w.t.Helper()
	yes, labels := true, map[string]string{"app": "web"}
	controlled := func(kind, name string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, UID: types.UID("uid-" + name), Controller: &yes}}
	}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Tolerations: w.daemonTolerations()}}
	meta := func(name string, owners ...metav1.OwnerReference) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: w.namespace, Name: name, UID: types.UID("uid-" + name), OwnerReferences: owners}
	}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	apps := w.c.Admin.AppsV1()
	_, err := apps.Deployments(w.namespace).Create(w.t.Context(), &appsv1.Deployment{ObjectMeta: meta("web"), Spec: appsv1.DeploymentSpec{Selector: selector, Template: template}}, metav1.CreateOptions{})
	w.must(err)
	_, err = apps.ReplicaSets(w.namespace).Create(w.t.Context(), &appsv1.ReplicaSet{ObjectMeta: meta("web-1", controlled("Deployment", "web")...), Spec: appsv1.ReplicaSetSpec{Selector: selector, Template: template}}, metav1.CreateOptions{})
	w.must(err)
	_, err = apps.DaemonSets(w.namespace).Create(w.t.Context(), &appsv1.DaemonSet{ObjectMeta: meta("agent"), Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template}}, metav1.CreateOptions{})
	w.must(err)
	_, err = w.c.Admin.PolicyV1().PodDisruptionBudgets(w.namespace).Create(w.t.Context(), &policyv1.PodDisruptionBudget{ObjectMeta: meta("web"), Spec: policyv1.PodDisruptionBudgetSpec{Selector: selector}}, metav1.CreateOptions{})
	w.must(err)
	for n, node := range w.nodes {
		for _, owner := range []string{"web-1", "agent"} {
			kind := map[string]string{"web-1": "ReplicaSet", "agent": "DaemonSet"}[owner]
			w.c.Pod(w.t, w.namespace, fmt.Sprintf("%s-%d", owner, n), node, func(p *corev1.Pod) {
				p.Labels, p.OwnerReferences, p.Spec.Tolerations = labels, controlled(kind, owner), w.daemonTolerations()
			})
		}
	}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}
