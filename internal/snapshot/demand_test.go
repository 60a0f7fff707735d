// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func list(amounts ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(amounts); i += 2 {
		out[corev1.ResourceName(amounts[i])] = resource.MustParse(amounts[i+1])
	}
	return out
}

func requesting(amounts ...string) corev1.Container {
	return corev1.Container{Resources: corev1.ResourceRequirements{Requests: list(amounts...)}}
}

func TestDemandOf(t *testing.T) {
	t.Parallel()
	always, never, preempts, high := corev1.ContainerRestartPolicyAlways, corev1.PreemptNever, corev1.PreemptLowerPriority, int32(1000)
	sidecar := requesting("cpu", "100m")
	sidecar.RestartPolicy = &always
	resized := requesting("memory", "1Gi")
	resized.Name = "main"
	given := corev1.ContainerStatus{Name: "main", AllocatedResources: list("memory", "2Gi")}
	both := func(r Resources) Demand { return Demand{Asks: r, Holds: r} }
	for _, tt := range []struct {
		name string
		pod  corev1.Pod
		want Demand
	}{
		{name: "a pod without requests asks for nothing"},
		{
			name: "containers add up, in thousandths of a core and in bytes",
			pod:  corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{requesting("cpu", "250m", "memory", "1Ki"), requesting("cpu", "1", "ephemeral-storage", "2Ki")}}},
			want: both(Resources{MilliCPU: 1250, Memory: 1024, EphemeralStorage: 2048}),
		},
		{
			name: "the largest init container counts where it asks for more",
			pod:  corev1.Pod{Spec: corev1.PodSpec{InitContainers: []corev1.Container{requesting("cpu", "2"), requesting("cpu", "1")}, Containers: []corev1.Container{requesting("cpu", "500m")}}},
			want: both(Resources{MilliCPU: 2000}),
		},
		{
			name: "a sidecar counts beside what comes after it",
			pod:  corev1.Pod{Spec: corev1.PodSpec{InitContainers: []corev1.Container{sidecar, requesting("cpu", "2")}, Containers: []corev1.Container{requesting("cpu", "500m")}}},
			want: both(Resources{MilliCPU: 2100}),
		},
		{
			name: "the overhead of a runtime class comes on top",
			pod:  corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{requesting("cpu", "500m")}, Overhead: list("cpu", "50m")}},
			want: both(Resources{MilliCPU: 550}),
		},
		{
			name: "requests for the whole pod replace those of its containers",
			pod:  corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{requesting("cpu", "500m")}, Resources: &corev1.ResourceRequirements{Requests: list("cpu", "3")}}},
			want: both(Resources{MilliCPU: 3000}),
		},
		{
			name: "extended resources and huge pages are counted, sorted, and what is not scheduled by is not",
			pod:  corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{requesting("hugepages-2Mi", "4Mi", "example.com/gpu", "2", "storage", "1Gi", "example.com/none", "0")}}},
			want: both(Resources{Others: []Amount{{"example.com/gpu", 2}, {"hugepages-2Mi", 4 << 20}}}),
		},
		{
			name: "what a device was claimed for is not",
			pod: corev1.Pod{
				Spec: corev1.PodSpec{Containers: []corev1.Container{requesting("example.com/gpu", "2", "example.com/fpga", "1", "deviceclass.resource.kubernetes.io/nic", "1")}},
				Status: corev1.PodStatus{ExtendedResourceClaimStatus: &corev1.PodExtendedResourceClaimStatus{
					RequestMappings: []corev1.ContainerExtendedResourceRequest{{ResourceName: "example.com/gpu"}},
				}},
			},
			want: Demand{Asks: Resources{Others: []Amount{{"example.com/fpga", 1}}}, Holds: Resources{Others: []Amount{{"example.com/fpga", 1}}}, Claimed: []Amount{{"deviceclass.resource.kubernetes.io/nic", 1}, {"example.com/gpu", 2}}, Devices: true},
		},
		{
			name: "what a container was given counts where it is, not for a new pod",
			pod:  corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{resized}}, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{given}}},
			want: Demand{Asks: Resources{Memory: 1 << 30}, Holds: Resources{Memory: 2 << 30}},
		},
		{name: "a priority that pushes out others", pod: corev1.Pod{Spec: corev1.PodSpec{Priority: &high, PreemptionPolicy: &preempts}}, want: Demand{Priority: 1000}},
		{name: "a deadline", pod: corev1.Pod{Spec: corev1.PodSpec{ActiveDeadlineSeconds: new(int64)}}, want: Demand{Deadline: true}},
		{name: "claims of devices", pod: corev1.Pod{Spec: corev1.PodSpec{ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu"}}}}, want: Demand{Devices: true}},
		{name: "another scheduler", pod: corev1.Pod{Spec: corev1.PodSpec{SchedulerName: "volcano"}}, want: Demand{Scheduler: "volcano"}},
		{name: "the default scheduler", pod: corev1.Pod{Spec: corev1.PodSpec{SchedulerName: "default-scheduler"}}},
		{name: "a priority that does not", pod: corev1.Pod{Spec: corev1.PodSpec{Priority: &high, PreemptionPolicy: &never}}, want: Demand{Priority: 1000, Patient: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := *DemandOf(&tt.pod)
			got.ScoredMilliCPU, got.ScoredMemory = 0, 0 // TestDemandOf_scoresContainersWithoutRequests has them.
			got.Template = nil                          // TestDemand_Admit has what it is for.
			if diff := cmp.Diff(tt.want, got, cmp.Transformer("orNil", func(a []Amount) map[corev1.ResourceName]int64 {
				m := map[corev1.ResourceName]int64{}
				for i, one := range a {
					if i > 0 && a[i-1].Name >= one.Name {
						t.Errorf("%v is not sorted", a)
					}
					m[one.Name] = one.Value
				}
				return m
			})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDemandOf_scoresContainersWithoutRequests(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		containers  []corev1.Container
		cpu, memory int64
	}{
		"no containers":                 {},
		"no requests":                   {containers: []corev1.Container{{}}, cpu: 100, memory: 200 << 20},
		"two containers":                {containers: []corev1.Container{{}, {}}, cpu: 200, memory: 400 << 20},
		"one resource":                  {containers: []corev1.Container{requesting("cpu", "2")}, cpu: 2000, memory: 200 << 20},
		"zero is a request":             {containers: []corev1.Container{requesting("cpu", "0", "memory", "0")}},
		"a request and none beside it":  {containers: []corev1.Container{requesting("cpu", "50m", "memory", "1Mi"), {}}, cpu: 150, memory: 201 << 20},
		"less than the default is less": {containers: []corev1.Container{requesting("cpu", "1m", "memory", "1Mi")}, cpu: 1, memory: 1 << 20},
	} {
		d := DemandOf(&corev1.Pod{Spec: corev1.PodSpec{Containers: tt.containers}})
		if d.ScoredMilliCPU != tt.cpu || d.ScoredMemory != tt.memory {
			t.Errorf("%s: scored by %dm and %d bytes, want %dm and %d", name, d.ScoredMilliCPU, d.ScoredMemory, tt.cpu, tt.memory)
		}
	}
}

func TestResourcesOf_aNode(t *testing.T) {
	t.Parallel()
	got := ResourcesOf(list("cpu", "15890m", "memory", "1.5Gi", "ephemeral-storage", "1k", "pods", "110", "example.com/gpu", "4"))
	want := Resources{MilliCPU: 15890, Memory: 3 << 29, EphemeralStorage: 1000, Pods: 110, Others: []Amount{{"example.com/gpu", 4}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Apimachinery returns 0 or a negative number where an amount is more than an int64 holds.
func TestResourcesOf_amountsBeyondAnInt64AreAsLargeAsCanBeCounted(t *testing.T) {
	t.Parallel()
	for _, amount := range []string{"100P", "9223372036854775807", "10E", "1e19", "99999999999999999999"} {
		got := ResourcesOf(list("cpu", amount, "memory", amount, "ephemeral-storage", amount, "pods", amount, "example.com/gpu", amount))
		want := Resources{MilliCPU: mostCounted, Memory: mostCounted, EphemeralStorage: mostCounted, Pods: mostCounted, Others: []Amount{{"example.com/gpu", mostCounted}}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", amount, diff)
		}
	}
}

func TestThousandths(t *testing.T) {
	t.Parallel()
	for amount, want := range map[string]int64{"0": 0, "1m": 1, "100u": 1, "1500m": 1500, "72T": 72e15, "72057594037927": 72057594037927000, "73T": mostCounted, "1e30": mostCounted} {
		if got := Thousandths(resource.MustParse(amount)); got != want {
			t.Errorf("%s: %d, want %d", amount, got, want)
		}
	}
}
