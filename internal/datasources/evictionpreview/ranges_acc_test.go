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
// pods, and of those that are not created, is wider by one at each end at most than what these changes have come to. It
// has what 99.5 % of the changes have come to, and one more.
func TestAccPlacements_rangesAreNoWiderThanChance(t *testing.T) {
	t.Parallel()
	acctest.Exhaustive(t)
	c := acctest.Connect(t)
	acctest.NeedKwok(t, "nodes of a chosen size")
	var mu sync.Mutex
	clusters, workloads, wider, changes, outside := 0, 0, 0, 0, 0
	eachSeed(t, 20, func(t *testing.T, seed int) {
		said, seen := again(t, c, seed)
		mu.Lock()
		defer mu.Unlock()
		clusters++
		for _, name := range slices.Sorted(maps.Keys(said)) {
			workloads++
			predicted, came := said[name], placement.Range{Min: slices.Min(seen[name]), Max: slices.Max(seen[name])}
			if predicted.Min < came.Min-1 || predicted.Max > came.Max+1 {
				wider++
			}
			for _, n := range seen[name] {
				changes++
				if n < predicted.Min || n > predicted.Max {
					outside++
				}
			}
			if predicted != came {
				t.Logf("%s: %v pods are missing after %d changes, predicted %v", name, seen[name], times, predicted)
			}
		}
	})
	t.Cleanup(func() {
		expectShares(t, clusters, share{what: "workloads with a wider range", n: wider, of: workloads, perMille: mostWider},
			share{what: "changes that come to what no range has", n: outside, of: changes, perMille: mostOutside})
		if clusters >= 20 && workloads < 20 {
			t.Errorf("%d workloads: the test shows little", workloads)
		}
	})
}

// again makes the change of a seed, and repeats it in copies of its cluster. It returns the predicted numbers of missing
// pods by workload, and those that there were after each change. There are no volumes: a copied pod is created on its
// node, and it is the scheduler that binds claims and has volumes made.
func again(t *testing.T, c *acctest.Cluster, seed int) (said map[string]placement.Range, seen map[string][]int) {
	t.Helper()
	said, seen = map[string]placement.Range{}, map[string][]int{}
	original := newPlaces(t, c, seed, nil)
	original.volumes, original.nodesOf, original.repeated = nil, nil, true
	out, pending := original.run()
	for i := range out.Workloads {
		if w := &out.Workloads[i]; w.Namespace == original.namespace {
			said[w.Name], seen[w.Name] = w.AllMissing, []int{original.missing(w.Name, pending)}
			t.Log(original.named(w.Name))
		}
	}
	for range times - 1 {
		p := newPlaces(t, c, seed, nil)
		p.volumes, p.nodesOf, p.repeated, p.like = nil, nil, true, original
		_, pending := p.run()
		if got, want := p.perNode(), original.perNode(); !maps.Equal(got, want) {
			t.Errorf("the copy has pods %v, want %v", got, want)
		}
		for name := range seen {
			seen[name] = append(seen[name], p.missing(name, pending))
		}
	}
	return said, seen
}

// perNode returns how many pods ran before the change, by workload and node.
func (p *places) perNode() map[string]int {
	out := map[string]int{}
	for name, pods := range p.on {
		for _, at := range pods {
			out[fmt.Sprintf("%s on %d", name, at)]++
		}
	}
	return out
}

// copied is a workload of a copy.
type copied struct {
	name     string
	template corev1.PodTemplateSpec
	create   func() error
}

// where returns the running pods of each workload, and the numbers of their nodes. It counts all pods once more: a StatefulSet may have
// created some since the cluster seemed to have settled.
func (p *places) where() map[string]map[string]int {
	p.t.Helper()
	pods, err := p.c.Admin.CoreV1().Pods(p.namespace).List(p.t.Context(), metav1.ListOptions{})
	p.must(err)
	out, there := map[string]map[string]int{}, map[string]int32{}
	for i := range pods.Items {
		one := &pods.Items[i]
		there[one.Labels["app"]]++
		if at := slices.Index(p.nodes, one.Spec.NodeName); at >= 0 && one.Status.Phase == corev1.PodRunning {
			name := one.Labels["app"]
			if out[name] == nil {
				out[name] = map[string]int{}
			}
			out[name][one.Name] = at
		}
	}
	delete(there, daemon)
	p.before = there
	return out
}

// copy puts pods on the nodes that they had in the original. The controller that is told of them after that adopts them, and
// creates those that were Pending.
func (p *places) copy() {
	p.t.Helper()
	if p.like == nil {
		return
	}
	running := 0
	for _, w := range p.copies {
		for name, at := range p.like.on[w.name] {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: w.template.Labels}, Spec: *w.template.Spec.DeepCopy()}
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
		return p.count(ctx, func(one *corev1.Pod) bool {
			return one.Labels["app"] != daemon && one.Status.Phase == corev1.PodRunning
		}) == running, nil
	})
	for _, w := range p.copies {
		p.must(w.create())
	}
}
