// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
)

// times is how often the same change is made.
const times = 10

// TestAccPlacements_rangesAreNoWiderThanChance makes the same change of the same cluster ten times: the scheduler breaks
// ties at random, and controllers recreate pods in any order. For 95 % of the workloads, and one more, the range of Pending
// pods is wider by one at each end at most than what these changes have come to.
func TestAccPlacements_rangesAreNoWiderThanChance(t *testing.T) {
	t.Parallel()
	acctest.Exhaustive(t)
	c := acctest.Connect(t)
	acctest.NeedKwok(t, "nodes of a chosen size")
	first, end := chosenSeeds(t)
	var mu sync.Mutex
	workloads, wider, outside := 0, 0, 0
	t.Run("seeds", func(t *testing.T) {
		t.Parallel()
		for seed := first; seed < min(end, first+20); seed++ {
			t.Run(fmt.Sprintf("seed_%d", seed), func(t *testing.T) {
				t.Parallel()
				said, seen := again(t, c, seed)
				mu.Lock()
				defer mu.Unlock()
				for _, name := range slices.Sorted(maps.Keys(said)) {
					workloads++
					predicted, came := said[name], seen[name]
					if predicted.Min < came.Min-1 || predicted.Max > came.Max+1 {
						wider++
					}
					if came.Min < predicted.Min || came.Max > predicted.Max {
						outside++
					}
					if predicted != came {
						t.Logf("%s: %v pods are Pending after %d changes, predicted %v", name, came, times, predicted)
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		t.Logf("%d workloads, %d with a wider range, %d outside of it in some of %d changes", workloads, wider, outside, times)
		if wider*20 > workloads+20 || workloads < 20 {
			t.Errorf("the ranges of %d of %d workloads are too wide", wider, workloads)
		}
	})
}

// again makes the change of a seed, and repeats it in copies of its cluster. It returns the predicted numbers of Pending
// pods by workload, and those that there were.
func again(t *testing.T, c *acctest.Cluster, seed int) (said, seen map[string]placement.Range) {
	t.Helper()
	said, seen = map[string]placement.Range{}, map[string]placement.Range{}
	original := newPlaces(t, c, seed, nil)
	original.volumes, original.kinds = nil, nil
	out, pending := original.run()
	for i := range out.Workloads {
		if w := &out.Workloads[i]; w.Namespace == original.namespace {
			said[w.Name], seen[w.Name] = w.AllPending, placement.Range{Min: pending[w.Name], Max: pending[w.Name]}
		}
	}
	for range times - 1 {
		p := newPlaces(t, c, seed, nil)
		p.volumes, p.kinds, p.like = nil, nil, original
		_, pending := p.run()
		for name, came := range seen {
			seen[name] = placement.Range{Min: min(came.Min, pending[name]), Max: max(came.Max, pending[name])}
		}
	}
	return said, seen
}

// copied is a workload of a copy.
type copied struct {
	name     string
	replicas int32
	template corev1.PodTemplateSpec
}

// where returns the nodes of the pods of each workload, by their number.
func (p *places) where() map[string][]int {
	p.t.Helper()
	pods, err := p.c.Admin.CoreV1().Pods(p.namespace).List(p.t.Context(), metav1.ListOptions{})
	p.must(err)
	out := map[string][]int{}
	for i := range pods.Items {
		one := &pods.Items[i]
		if at := slices.Index(p.nodes, one.Spec.NodeName); at >= 0 {
			out[one.Labels["app"]] = append(out[one.Labels["app"]], at)
		}
	}
	return out
}

// copy puts pods on the nodes that they had in the original. The ReplicaSet that is made after that adopts them, and
// creates those that were Pending.
func (p *places) copy() {
	p.t.Helper()
	if p.like == nil {
		return
	}
	ctx, running := p.t.Context(), 0
	for _, w := range p.copies {
		for i, at := range p.like.on[w.name] {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", w.name, i), Labels: w.template.Labels}, Spec: *w.template.Spec.DeepCopy()}
			pod.Spec.NodeName = p.nodes[at]
			acctest.Until(p.t, "the API server knows the priority class of the pod", func(ctx context.Context) (bool, error) {
				_, err := p.c.Admin.CoreV1().Pods(p.namespace).Create(ctx, pod, metav1.CreateOptions{})
				if apierrors.IsForbidden(err) {
					return false, nil
				}
				return err == nil, err
			})
			running++
		}
	}
	acctest.Until(p.t, "all copied pods run", func(ctx context.Context) (bool, error) {
		return p.count(ctx, func(one *corev1.Pod) bool { return one.Status.Phase == corev1.PodRunning }) == running, nil
	})
	for _, w := range p.copies {
		_, err := p.c.Admin.AppsV1().ReplicaSets(p.namespace).Create(ctx, &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Name: w.name},
			Spec:       appsv1.ReplicaSetSpec{Replicas: &w.replicas, Selector: &metav1.LabelSelector{MatchLabels: w.template.Labels}, Template: w.template},
		}, metav1.CreateOptions{})
		p.must(err)
	}
}
