// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// scoreCase is what a pod requests, what nodes have and hold, and how they score.
type scoreCase struct {
	name string
	pod  []string
	has  []string
	held [][]string
	want []int64
}

// scores returns the scores of the nodes: how much is free, and how balanced their use is.
func (c *scoreCase) scores() (free, balanced []int64) {
	w := newWorld()
	for i, has := range c.has {
		n := node(fmt.Sprintf("n%d", i))
		resources := snapshot.ResourcesOf(amounts(has))
		n.Allocatable = &resources
		w.Nodes[n.Name] = n
		if i >= len(c.held) {
			continue
		}
		for k, requests := range c.held[i] {
			p := &corev1.Pod{Spec: corev1.PodSpec{NodeName: n.Name, Containers: containers(requests)}}
			p.Name = fmt.Sprintf("%s-%d", n.Name, k)
			w = w.run(fromAPI(p))
		}
	}
	s, class := w.prepared(fromAPI(&corev1.Pod{Spec: corev1.PodSpec{Containers: containers(c.pod...)}}))
	for i := range s.places {
		f, b := s.scores(class, int32(i))
		free, balanced = append(free, f), append(balanced, b)
	}
	return free, balanced
}

func compare(t *testing.T, got, want []int64) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("node %d scores %d, want %d", i, got[i], want[i])
		}
	}
}

// TestUpstream_leastAllocated has the facts of k8s.io/kubernetes v1.37.2
// pkg/scheduler/framework/plugins/noderesources/least_allocated_test.go.
func TestUpstream_leastAllocated(t *testing.T) {
	t.Parallel()
	type list = []string
	type lists = [][]string
	three, both := list{"cpu=1000 memory=2000", "cpu=2000 memory=3000"}, list{"cpu=3000 memory=0"}
	tests := []scoreCase{
		{name: "nothing there, nothing requested", has: list{"cpu=4000 memory=10000", "cpu=4000 memory=10000"}, want: []int64{100, 100}},
		{name: "nothing there", pod: three, has: list{"cpu=4000 memory=10000", "cpu=6000 memory=10000"}, want: []int64{37, 50}},
		{name: "nothing requested by anyone", has: list{"cpu=4000 memory=10000", "cpu=4000 memory=10000"}, want: []int64{100, 100}},
		{name: "nothing requested", has: list{"cpu=10000 memory=20000", "cpu=10000 memory=20000"}, held: lists{{"cpu=3000 memory=0", "cpu=3000 memory=0"}, {"cpu=3000 memory=0", "cpu=3000 memory=5000"}}, want: []int64{70, 57}},
		{name: "requested here and there", pod: three, has: list{"cpu=10000 memory=20000", "cpu=10000 memory=20000"}, held: lists{both, {"cpu=3000 memory=5000"}}, want: []int64{57, 45}},
		{name: "nodes of other sizes", pod: three, has: list{"cpu=10000 memory=20000", "cpu=10000 memory=50000"}, held: lists{both, {"cpu=3000 memory=5000"}}, want: []int64{57, 60}},
		{name: "more than the nodes have", pod: both, has: list{"cpu=4000 memory=10000", "cpu=4000 memory=10000"}, held: lists{both, {"cpu=3000 memory=5000"}}, want: []int64{50, 25}},
		{name: "nodes that have nothing", has: list{"pods=9", "pods=9"}, held: lists{both, {"cpu=3000 memory=5000"}}, want: []int64{0, 0}},
		{name: "an extended resource that is not requested", pod: three, has: list{"cpu=6000 memory=10000", "cpu=6000 memory=10000 example.com/gpu=4"}, want: []int64{50, 50}},
		{name: "an extended resource that one node lacks", pod: list{"cpu=3000 memory=4000"}, has: list{"cpu=6000 memory=10000", "cpu=6000 memory=10000 example.com/gpu=4"}, want: []int64{55, 55}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			free, _ := tt.scores()
			compare(t, free, tt.want)
		})
	}
	leftOut{"an extended resource that is requested": "the default profile scores CPU and memory alone"}.share(t, len(tests))
	// Four more cases are about weights of the profile, one about a profile without resources.
}

// TestUpstream_balancedAllocation has the facts of balanced_allocation_test.go there.
func TestUpstream_balancedAllocation(t *testing.T) {
	t.Parallel()
	type list = []string
	type lists = [][]string
	pod, memory, cpu := list{"cpu=1 memory=2000", "cpu=2 memory=3000"}, list{"memory=2000", "memory=3000"}, list{"cpu=1", "cpu=2"}
	whole := list{"cpu=3 memory=5000"}
	tests := []scoreCase{
		{name: "nothing requested", has: list{"cpu=4 memory=10000", "cpu=4 memory=10000"}, want: []int64{0, 0}},
		{name: "nothing there", pod: pod, has: list{"cpu=4 memory=10000", "cpu=6 memory=10000"}, want: []int64{68, 75}},
		{name: "requested here and there", pod: pod, has: list{"cpu=10 memory=20000", "cpu=10 memory=20000"}, held: lists{{"cpu=3"}, whole}, want: []int64{73, 74}},
		{name: "nodes of other sizes", pod: pod, has: list{"cpu=10 memory=20000", "cpu=10 memory=50000"}, held: lists{{"cpu=3"}, whole}, want: []int64{73, 70}},
		{name: "the highest and the lowest score", pod: memory, has: list{"cpu=3 memory=5000", "cpu=3 memory=5000"}, held: lists{{"cpu=3"}}, want: []int64{100, 50}},
		{name: "all that the nodes have", pod: cpu, has: list{"cpu=6 memory=10000", "cpu=6 memory=10000"}, held: lists{{"cpu=3"}, whole}, want: []int64{62, 62}},
		{name: "an extended resource that is not requested", pod: pod, has: list{"cpu=3500m memory=40000 example.com/gpu=8", "cpu=3500m memory=40000"}, want: []int64{56, 56}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, balanced := tt.scores()
			compare(t, balanced, tt.want)
		})
	}
	// Left out are one case of an extended resource and two of claimed devices that the profile scores,
	// and one of a plug-in that is called in another way.
}
