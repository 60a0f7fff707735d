// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// fitCase is what a pod requests, and what a node has and holds.
type fitCase struct {
	name string
	// pod has the requests of containers, init those of init containers.
	pod, init []string
	// sidecar is the requests of a sidecar, whole those of the whole pod.
	sidecar, overhead, whole string
	// held is what a pod on the node requests, "" for no pod; has is what the node has.
	held, has string
	// device is what a device that the pod claims takes of the node's CPU.
	device string
	want   answer
}

func (c *fitCase) answer() answer {
	spec := corev1.PodSpec{Containers: containers(c.pod...), InitContainers: containers(c.init...)}
	if c.sidecar != "" {
		always, sidecar := corev1.ContainerRestartPolicyAlways, container(c.sidecar)
		sidecar.RestartPolicy = &always
		spec.InitContainers = append(spec.InitContainers, sidecar)
	}
	if c.overhead != "" {
		spec.Overhead = amounts(c.overhead)
	}
	if c.whole != "" {
		spec.Resources = &corev1.ResourceRequirements{Requests: amounts(c.whole)}
	}
	p := &corev1.Pod{Spec: spec}
	if c.device != "" {
		const name = "device"
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: name, ResourceClaimName: new(name)}}
		p.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: name}}
		p.Status.NodeAllocatableResourceClaimStatuses = []corev1.NodeAllocatableResourceClaimStatus{{
			ResourceClaimName: name, Mapping: []corev1.NodeAllocatableMappedResources{{Name: corev1.ResourceCPU, Quantity: new(resource.MustParse(c.device))}},
		}}
	}
	n, has := node("n"), c.has
	if has == "" {
		has = "cpu=10m memory=20 pods=32 example.com/aaa=5 ephemeral-storage=20 hugepages-2Mi=5"
	}
	resources := snapshot.ResourcesOf(amounts(has))
	n.Allocatable = &resources
	w := newWorld(n)
	if c.held != "" {
		w = w.run(fromAPI(&corev1.Pod{Spec: corev1.PodSpec{NodeName: "n", Containers: containers(c.held)}}))
	}
	return w.answers(fromAPI(p))["n"]
}

// TestUpstream_nodeResourcesFit has the facts of k8s.io/kubernetes v1.37.2
// pkg/scheduler/framework/plugins/noderesources/fit_test.go: TestEnoughRequests,
// TestNotEnoughRequests, TestStorageRequests, TestRestartableInitContainers, TestIsFit, TestDeferredResizeFit and
// TestComputePodResourceRequestWithNodeAllocatableDRA.
func TestUpstream_nodeResourcesFit(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	const few = "cpu=10m memory=20 pods=1"
	type list = []string
	tests := []fitCase{
		// TestEnoughRequests.
		{name: "nothing requested", held: "cpu=10m memory=20"},
		{name: "CPU and memory in use", pod: list{"cpu=1m memory=1"}, held: "cpu=10m memory=20", want: unschedulable},
		{name: "init container, CPU", pod: list{"cpu=1m memory=1"}, init: list{"cpu=3m memory=1"}, held: "cpu=8m memory=19", want: unschedulable},
		{name: "largest init container, CPU", pod: list{"cpu=1m memory=1"}, init: list{"cpu=3m memory=1", "cpu=2m memory=1"}, held: "cpu=8m memory=19", want: unschedulable},
		{name: "init container, memory", pod: list{"cpu=1m memory=1"}, init: list{"cpu=1m memory=3"}, held: "cpu=9m memory=19", want: unschedulable},
		{name: "largest init container, memory", pod: list{"cpu=1m memory=1"}, init: list{"cpu=1m memory=3", "cpu=1m memory=2"}, held: "cpu=9m memory=19", want: unschedulable},
		{name: "init container, the maximum counts", pod: list{"cpu=1m memory=1"}, init: list{"cpu=1m memory=1"}, held: "cpu=9m memory=19"},
		{name: "init containers, the maximum counts", pod: list{"cpu=1m memory=1"}, init: list{"cpu=1m memory=1", "cpu=1m memory=1"}, held: "cpu=9m memory=19"},
		{name: "both fit", pod: list{"cpu=1m memory=1"}, held: "cpu=5m memory=5"},
		{name: "only memory fits", pod: list{"cpu=2m memory=1"}, held: "cpu=9m memory=5", want: unschedulable},
		{name: "only CPU fits", pod: list{"cpu=1m memory=2"}, held: "cpu=5m memory=19", want: unschedulable},
		{name: "exactly", pod: list{"cpu=5m memory=1"}, held: "cpu=5m memory=19"},
		{name: "exactly, init container", pod: list{"cpu=4m memory=1"}, init: list{"cpu=5m memory=1"}, held: "cpu=5m memory=19"},
		{name: "extended resource", pod: list{"example.com/aaa=1"}, held: "cpu=0"},
		{name: "extended resource, init container", pod: list{""}, init: list{"example.com/aaa=1"}, held: "cpu=0"},
		{name: "extended resource, more than the node has", pod: list{"cpu=1m memory=1 example.com/aaa=10"}, held: "cpu=0", want: unresolvable},
		{name: "extended resource, init container, more than the node has", pod: list{""}, init: list{"cpu=1m memory=1 example.com/aaa=10"}, held: "cpu=0", want: unresolvable},
		{name: "extended resource, in use", pod: list{"cpu=1m memory=1 example.com/aaa=1"}, held: "example.com/aaa=5", want: unschedulable},
		{name: "extended resource, init container, in use", pod: list{""}, init: list{"cpu=1m memory=1 example.com/aaa=1"}, held: "example.com/aaa=5", want: unschedulable},
		{name: "extended resource, containers add up", pod: list{"cpu=1m memory=1 example.com/aaa=3", "cpu=1m memory=1 example.com/aaa=3"}, held: "example.com/aaa=2", want: unresolvable},
		{name: "extended resource, init containers do not add up", pod: list{""}, init: list{"cpu=1m memory=1 example.com/aaa=3", "cpu=1m memory=1 example.com/aaa=3"}, held: "example.com/aaa=2"},
		{name: "extended resource, largest init container", pod: list{""}, init: list{"cpu=1m memory=1 example.com/aaa=6", "cpu=1m memory=1 example.com/aaa=3"}, held: "example.com/aaa=2", want: unresolvable},
		{name: "extended resource, unknown to the node", pod: list{"cpu=1m memory=1 example.com/bbb=1"}, held: "cpu=0", want: unresolvable},
		{name: "extended resource, init container, unknown to the node", pod: list{""}, init: list{"cpu=1m memory=1 example.com/bbb=1"}, held: "cpu=0", want: unresolvable},
		{name: "resource of kubernetes.io", pod: list{"cpu=1m memory=1 kubernetes.io/something=10"}, held: "cpu=0", want: unresolvable},
		{name: "resource of subdomain.kubernetes.io, init container", pod: list{""}, init: list{"cpu=1m memory=1 subdomain.kubernetes.io/something=10"}, held: "cpu=0", want: unresolvable},
		{name: "huge pages", pod: list{"cpu=1m memory=1 hugepages-2Mi=10"}, held: "cpu=0", want: unresolvable},
		{name: "huge pages, init container", pod: list{""}, init: list{"cpu=1m memory=1 hugepages-2Mi=10"}, held: "cpu=0", want: unresolvable},
		{name: "huge pages, containers add up", pod: list{"cpu=1m memory=1 hugepages-2Mi=3", "cpu=1m memory=1 hugepages-2Mi=3"}, held: "hugepages-2Mi=2", want: unresolvable},
		{name: "overhead fits", pod: list{"cpu=1m memory=1"}, overhead: "cpu=3m memory=13", held: "cpu=5m memory=5"},
		{name: "overhead does not fit", pod: list{"cpu=1m memory=1"}, overhead: "cpu=1m memory=15", held: "cpu=5m memory=5", want: unschedulable},
		{name: "none of an overdrawn extended resource", pod: list{"cpu=1m memory=1 example.com/aaa=0"}, held: "example.com/aaa=6"},
		{name: "no CPU and memory where they are overdrawn", pod: list{"example.com/aaa=1"}, held: "cpu=20m memory=30 example.com/aaa=1"},
		{name: "whole pod fits", pod: list{"cpu=1m memory=1"}, whole: "cpu=1m memory=2", held: "cpu=5m memory=5"},
		{name: "whole pod, CPU", pod: list{"cpu=1m memory=1"}, whole: "cpu=7m memory=2", held: "cpu=5m memory=5", want: unschedulable},
		{name: "whole pod, memory", pod: list{"cpu=1m memory=1"}, whole: "cpu=3m memory=2", held: "cpu=5m memory=19", want: unschedulable},
		{name: "whole pod, huge pages fit", whole: "cpu=3m memory=2 hugepages-2Mi=5"},
		{name: "whole pod and container, huge pages fit", pod: list{"cpu=1m memory=1 hugepages-2Mi=3"}, whole: "cpu=3m memory=2 hugepages-2Mi=5"},
		{name: "whole pod, huge pages", whole: "cpu=3m memory=2 hugepages-2Mi=10", want: unresolvable},
		{name: "whole pod and init container, memory", pod: list{"cpu=1m memory=1"}, init: list{"cpu=1m memory=1"}, whole: "cpu=3m memory=2", held: "cpu=5m memory=19", want: unschedulable},
		{name: "extended resource of a device plug-in", pod: list{"example.com/aaa=1"}, held: "cpu=0"},
		{name: "extended resource of a device class, without a class", pod: list{"cpu=1m memory=1 extended.resource.dra.io/something=1"}, held: "cpu=0", want: unresolvable},
		{name: "extended resource without a device class", pod: list{"cpu=1m memory=1 example.com/bbb=1"}, held: "cpu=0", want: unresolvable},
		{name: "extended resource, the node's own", pod: list{"cpu=1m memory=1 example.com/aaa=1"}, held: "cpu=0"},
		{name: "extended resource of a device plug-in, of which none is held", pod: list{"example.com/aaa=1"}, held: "example.com/aaa=0"},

		// TestNotEnoughRequests.
		{name: "no more pods, nothing requested", held: "cpu=10m memory=20", has: few, want: unschedulable},
		{name: "no more pods, resources fit", pod: list{"cpu=1m memory=1"}, held: "cpu=5m memory=5", has: few, want: unschedulable},
		{name: "no more pods, exactly", pod: list{"cpu=5m memory=1"}, held: "cpu=5m memory=19", has: few, want: unschedulable},
		{name: "no more pods, init container", pod: list{"cpu=5m memory=1"}, init: list{"cpu=5m memory=1"}, held: "cpu=5m memory=19", has: few, want: unschedulable},

		// TestStorageRequests.
		{name: "no storage requested", pod: list{"cpu=1m memory=1"}, held: "cpu=2m memory=10"},
		{name: "more storage than the node has", pod: list{"ephemeral-storage=25"}, held: "cpu=2m memory=2", want: unresolvable},
		{name: "storage in use, enough left", pod: list{"ephemeral-storage=5"}, held: "cpu=2m memory=2 ephemeral-storage=10"},
		{name: "storage fits", pod: list{"ephemeral-storage=10"}, held: "cpu=2m memory=2"},

		// TestRestartableInitContainers.
		{name: "no sidecar", pod: list{""}, has: "cpu=2m pods=1"},
		{name: "a sidecar without requests", pod: list{""}, sidecar: "cpu=0", has: "cpu=2m pods=1"},
		{name: "a sidecar fits", pod: list{"cpu=1m"}, sidecar: "cpu=1m", has: "cpu=2m pods=1"},
		{name: "a sidecar does not fit", pod: list{"cpu=1m"}, sidecar: "cpu=2m", has: "cpu=2m pods=1", want: unresolvable},

		// TestIsFit.
		{name: "fit: more than the node has", pod: list{"cpu=2"}, has: "cpu=1 pods=32", want: unresolvable},
		{name: "fit: less than the node has", pod: list{"cpu=1"}, has: "cpu=2 pods=32"},
		{name: "fit: whole pod, more", whole: "cpu=2", has: "cpu=1 pods=32", want: unresolvable},
		{name: "fit: whole pod, the same", whole: "cpu=2", has: "cpu=2 pods=32"},
		{name: "fit: whole pod, huge pages", whole: "hugepages-2Mi=2Mi", has: "hugepages-2Mi=2Mi pods=32"},
		{name: "fit: whole pod, more huge pages", whole: "hugepages-2Mi=4Mi", has: "hugepages-2Mi=2Mi pods=32", want: unresolvable},

		// TestDeferredResizeFit.
		{name: "resized: beside what it has now", pod: list{"cpu=800m memory=1600"}, held: "cpu=500m memory=1000", has: "cpu=1 memory=2000 pods=32", want: unschedulable},
		{name: "resized: alone", pod: list{"cpu=800m memory=1600"}, has: "cpu=1 memory=2000 pods=32"},

		// TestComputePodResourceRequestWithNodeAllocatableDRA.
		{name: "device: exactly what its containers request", pod: list{"cpu=100m memory=1Gi"}, device: "50m", has: "cpu=100m memory=1Gi pods=32"},
		{name: "device: less than its containers request", pod: list{"cpu=100m memory=1Gi"}, device: "50m", has: "cpu=99m memory=1Gi pods=32", want: unresolvable},
	}
	for _, tt := range tests {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.answer(); got != tt.want {
				t.Errorf("the node answers %d, want %d", got, tt.want)
			}
		})
	}
}
