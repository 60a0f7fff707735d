// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// scoreCase is what a pod requests, what nodes have and hold, and how they score.
type scoreCase struct {
	name string
	pod  []string
	has  []string
	held [][]string
	// sidecar is what a sidecar of the first pod requests.
	sidecar string
	want    []int64
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
			if i+k == 0 && c.sidecar != "" {
				sidecar := container(c.sidecar)
				sidecar.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
				p.Spec.InitContainers = []corev1.Container{sidecar}
			}
			w = w.run(fromAPI(p))
		}
	}
	s, class := w.prepared(fromAPI(&corev1.Pod{Spec: corev1.PodSpec{Containers: containers(c.pod...)}}))
	for i := range s.places {
		n := s.state(int32(i))
		free, balanced = append(free, n.free(class.demand)), append(balanced, n.balancing(class.demand))
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
	rows := upstream.Cases(t)
	type list = []string
	type lists = [][]string
	three, both := list{"cpu=1000 memory=2000", "cpu=2000 memory=3000"}, list{"cpu=3000 memory=0"}
	tests := []scoreCase{
		{name: "nothing there, nothing requested", has: list{"cpu=4000 memory=10000", "cpu=4000 memory=10000"}, want: []int64{100, 100}},
		{name: "nothing there", pod: three, has: list{"cpu=4000 memory=10000", "cpu=6000 memory=10000"}, want: []int64{37, 50}},
		{name: "nothing requested by running pods", has: list{"cpu=4000 memory=10000", "cpu=4000 memory=10000"}, want: []int64{100, 100}},
		{name: "nothing requested", has: list{"cpu=10000 memory=20000", "cpu=10000 memory=20000"}, held: lists{{"cpu=3000 memory=0", "cpu=3000 memory=0"}, {"cpu=3000 memory=0", "cpu=3000 memory=5000"}}, want: []int64{70, 57}},
		{name: "requested here and there", pod: three, has: list{"cpu=10000 memory=20000", "cpu=10000 memory=20000"}, held: lists{both, {"cpu=3000 memory=5000"}}, want: []int64{57, 45}},
		{name: "nodes of other sizes", pod: three, has: list{"cpu=10000 memory=20000", "cpu=10000 memory=50000"}, held: lists{both, {"cpu=3000 memory=5000"}}, want: []int64{57, 60}},
		{name: "more than the nodes have", pod: both, has: list{"cpu=4000 memory=10000", "cpu=4000 memory=10000"}, held: lists{both, {"cpu=3000 memory=5000"}}, want: []int64{50, 25}},
		{name: "nodes that have nothing", has: list{"pods=9", "pods=9"}, held: lists{both, {"cpu=3000 memory=5000"}}, want: []int64{0, 0}},
		{name: "an extended resource that is not requested", pod: three, has: list{"cpu=6000 memory=10000", "cpu=6000 memory=10000 example.com/gpu=4"}, want: []int64{50, 50}},
		// TestFitScore in fit_test.go there.
		{name: "score of the plug-in: nodes in use", pod: list{"cpu=1000 memory=2000"}, has: list{"cpu=4000 memory=10000", "cpu=6000 memory=10000"}, held: lists{{"cpu=2000 memory=4000"}, {"cpu=1000 memory=2000"}}, want: []int64{32, 63}},
		{name: "score of the plug-in: a sidecar on a node", pod: list{"cpu=1000 memory=2000"}, has: list{"cpu=4000 memory=10000", "cpu=4000 memory=10000"}, held: lists{{"cpu=1000 memory=2000"}, {"cpu=1000 memory=2000"}}, sidecar: "cpu=1000 memory=2000", want: []int64{32, 55}},
		{name: "an extended resource that one node lacks", pod: list{"cpu=3000 memory=4000"}, has: list{"cpu=6000 memory=10000", "cpu=6000 memory=10000 example.com/gpu=4"}, want: []int64{55, 55}},
	}
	for _, tt := range tests {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			free, _ := tt.scores()
			compare(t, free, tt.want)
		})
	}
}

// TestUpstream_balancedAllocation has the facts of balanced_allocation_test.go there.
func TestUpstream_balancedAllocation(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
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
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			_, balanced := tt.scores()
			compare(t, balanced, tt.want)
		})
	}
}

// TestUpstream_scoredRequests has the facts of resource_allocation_test.go there: a container without
// requests counts as 100m and 200Mi, for scores alone.
func TestUpstream_scoredRequests(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	type list = []string
	const one, none, defaultCPU, defaultMemory, mi = "cpu=1 memory=1Mi", "", int64(100), int64(200 << 20), int64(1 << 20)
	for _, tt := range []struct {
		name        string
		pod, init   list
		overhead    string
		cpu, memory int64
	}{
		{name: "overhead alone", overhead: one, cpu: 1000, memory: mi},
		{name: "a container without requests", pod: list{none}, cpu: defaultCPU, memory: defaultMemory},
		{name: "two containers without requests", pod: list{none, none}, cpu: 2 * defaultCPU, memory: 2 * defaultMemory},
		{name: "one of two containers without requests", pod: list{one, none}, cpu: 1000 + defaultCPU, memory: mi + defaultMemory},
		{name: "one of two containers without requests, and overhead", pod: list{one, none}, overhead: one, cpu: 2000 + defaultCPU, memory: 2*mi + defaultMemory},
		{name: "one of two containers without requests, overhead and an init container", pod: list{one, none}, init: list{"cpu=3"}, overhead: one, cpu: 4000, memory: 2*mi + defaultMemory},
		{name: "a large init container without requests", pod: list{"cpu=3m memory=3"}, init: list{none, "cpu=1m memory=1"}, cpu: defaultCPU, memory: defaultMemory},
		{name: "a large init container and a container, both without requests", pod: list{"cpu=3m memory=3", none}, init: list{none, "cpu=1m memory=1"}, cpu: 3 + defaultCPU, memory: 3 + defaultMemory},
	} {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			spec := corev1.PodSpec{Containers: containers(tt.pod...), InitContainers: containers(tt.init...)}
			if tt.overhead != "" {
				spec.Overhead = amounts(tt.overhead)
			}
			d := fromAPI(&corev1.Pod{Spec: spec}).Demand
			if d.ScoredMilliCPU != tt.cpu || d.ScoredMemory != tt.memory {
				t.Errorf("counts as %dm and %d, want %dm and %d", d.ScoredMilliCPU, d.ScoredMemory, tt.cpu, tt.memory)
			}
		})
	}
}
