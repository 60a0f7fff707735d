// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func TestSlimNode_tellsWhatPodsCanHave(t *testing.T) {
	t.Parallel()
	n := apiNode("n1")
	if got := slimNode(n).Allocatable; got != nil {
		t.Errorf("a node that tells nothing has %+v", got)
	}
	n.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("3500m"), "pods": resource.MustParse("110")}
	if diff := cmp.Diff(&snapshot.Resources{MilliCPU: 3500, Pods: 110}, slimNode(n).Allocatable); diff != "" {
		t.Error(diff)
	}
}

// amounts also draws fractions, whose sums are rounded and not they themselves,
// and the same amount in two notations.
func amounts() *rapid.Generator[corev1.ResourceList] {
	names := rapid.SampledFrom([]corev1.ResourceName{"cpu", "memory", "ephemeral-storage", "example.com/gpu", "hugepages-2Mi"})
	quantities := rapid.SampledFrom([]string{"0", "1", "2", "500m", "1500m", "1Ki", "1024", "0.5", "1.5Gi"})
	return rapid.Custom(func(t *rapid.T) corev1.ResourceList {
		list := corev1.ResourceList{}
		for range rapid.IntRange(0, 3).Draw(t, "n") {
			list[names.Draw(t, "name")] = resource.MustParse(quantities.Draw(t, "quantity"))
		}
		return list
	})
}

// aDemandingPod draws specs and statuses that agree most of the time.
func aDemandingPod(t *rapid.T) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Generation: rapid.Int64Range(0, 2).Draw(t, "generation")}}
	always, never, priority := corev1.ContainerRestartPolicyAlways, corev1.PreemptNever, rapid.Int32Range(-1, 2).Draw(t, "priority")
	list := amounts()
	container := func(name string) (corev1.Container, corev1.ContainerStatus) {
		c := corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Requests: list.Draw(t, "requests")}}
		s := corev1.ContainerStatus{Name: name}
		switch rapid.IntRange(0, 4).Draw(t, "status") {
		case 0:
			s.AllocatedResources = c.Resources.Requests
			s.Resources = &corev1.ResourceRequirements{Requests: c.Resources.Requests}
		case 1:
			s.AllocatedResources = list.Draw(t, "allocated")
		}
		return c, s
	}
	for _, name := range []string{"a", "b"}[:rapid.IntRange(0, 2).Draw(t, "containers")] {
		c, s := container(name)
		p.Spec.Containers, p.Status.ContainerStatuses = append(p.Spec.Containers, c), append(p.Status.ContainerStatuses, s)
	}
	for _, name := range []string{"x", "y"}[:rapid.IntRange(0, 2).Draw(t, "init containers")] {
		c, s := container(name)
		if rapid.Bool().Draw(t, "sidecar") {
			c.RestartPolicy = &always
		}
		p.Spec.InitContainers, p.Status.InitContainerStatuses = append(p.Spec.InitContainers, c), append(p.Status.InitContainerStatuses, s)
	}
	if rapid.Bool().Draw(t, "whole pod") {
		p.Spec.Resources = &corev1.ResourceRequirements{Requests: list.Draw(t, "requests of the pod")}
		p.Status.Resources, p.Status.AllocatedResources = p.Spec.Resources, list.Draw(t, "allocated to the pod")
	}
	if priority >= 0 {
		p.Spec.Priority = &priority
	}
	if rapid.Bool().Draw(t, "patient") {
		p.Spec.PreemptionPolicy = &never
	}
	if rapid.Bool().Draw(t, "overhead") {
		// No decoder makes an empty map.
		if overhead := list.Draw(t, "overhead"); len(overhead) > 0 {
			p.Spec.Overhead = overhead
		}
	}
	p.Spec.SchedulerName = rapid.SampledFrom([]string{"", "default-scheduler", "volcano", "v"}).Draw(t, "scheduler")
	if rapid.IntRange(0, 3).Draw(t, "claims") == 0 {
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}}
	}
	if rapid.IntRange(0, 5).Draw(t, "resizing") == 0 {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Reason: corev1.PodReasonInfeasible}}
	}
	return p
}

// A shared demand must equal the one computed for each pod.
func TestSlimmer_sharesDemandsThatAreEqual(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := newSlimmer()
		for range 4 {
			p := aDemandingPod(t)
			got := s.demandOf(p)
			if diff := cmp.Diff(snapshot.DemandOf(p), got); diff != "" {
				t.Fatalf("kept another demand (-own +kept):\n%s", diff)
			}
			if s.demandOf(p.DeepCopy()) != got {
				t.Fatal("a copy is not shared")
			}
		}
	})
}

func TestSlimmer_keepsOneDemandForPodsWhoseStatusIsAsTheirSpec(t *testing.T) {
	t.Parallel()
	requests := corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("128Mi")}
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: requests}}}}
	running := corev1.Pod{Spec: spec, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "main", AllocatedResources: requests, Resources: &corev1.ResourceRequirements{Requests: requests}}}}}
	s := newSlimmer()
	if s.demandOf(&corev1.Pod{Spec: spec}) != s.demandOf(&running) || len(s.demands) != 1 {
		t.Errorf("%d demands are kept", len(s.demands))
	}
}

// ResourceQuotas can be about pods with a deadline, and about those whose affinity reaches into other namespaces.
func TestSlimmer_keepsDemandsApartByWhatQuotasAreAbout(t *testing.T) {
	t.Parallel()
	s, deadline := newSlimmer(), int64(60)
	related := func(namespaces ...string) *corev1.Affinity {
		term := corev1.WeightedPodAffinityTerm{PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: "zone", Namespaces: namespaces}}
		return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{term}}}
	}
	for name, tt := range map[string]struct {
		spec                corev1.PodSpec
		deadline, elsewhere bool
	}{
		"neither":                      {spec: corev1.PodSpec{}},
		"affinity in its namespace":    {spec: corev1.PodSpec{Affinity: related()}},
		"affinity to other namespaces": {spec: corev1.PodSpec{Affinity: related("other")}, elsewhere: true},
		"a deadline":                   {spec: corev1.PodSpec{ActiveDeadlineSeconds: &deadline}, deadline: true},
		"both":                         {spec: corev1.PodSpec{ActiveDeadlineSeconds: &deadline, Affinity: related("other")}, deadline: true, elsewhere: true},
	} {
		if d := s.demandOf(&corev1.Pod{Spec: tt.spec}); d.Deadline != tt.deadline || d.OtherNamespaces != tt.elsewhere {
			t.Errorf("%s: deadline %t, other namespaces %t", name, d.Deadline, d.OtherNamespaces)
		}
	}
	if len(s.demands) != 4 {
		t.Errorf("%d demands are kept", len(s.demands))
	}
}

func TestSnapshot_putsClaimsAndVolumesTogether(t *testing.T) {
	t.Parallel()
	api := town()
	on := func(values ...string) *corev1.VolumeNodeAffinity {
		return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: values}},
		}}}}
	}
	now := metav1.Now()
	for claim, volume := range map[string]string{"a": "pv-a", "b": "pv-b", "anywhere": "pv-nfs", "pending": "", "lost": "pv-gone", "old": "pv-aws", "files": "pv-azure"} {
		api.Add(&corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: claim}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume},
		})
	}
	api.Add(&corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "going", DeletionTimestamp: &now, Finalizers: []string{"kubernetes.io/pvc-protection"}},
		Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: "pv-a"},
	})
	for name, spec := range map[string]corev1.PersistentVolumeSpec{
		"pv-a": {NodeAffinity: on("z1")}, "pv-b": {NodeAffinity: on("z1")}, "pv-nfs": {}, "pv-unused": {NodeAffinity: on("z2")},
		"pv-aws": {NodeAffinity: on("z1"), PersistentVolumeSource: corev1.PersistentVolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{}}},
		// The scheduler reads the affinity of this kind as it is.
		"pv-azure": {NodeAffinity: on("z1"), PersistentVolumeSource: corev1.PersistentVolumeSource{AzureFile: &corev1.AzureFilePersistentVolumeSource{}}},
	} {
		api.Add(&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec})
	}
	s, err := api.connect(t).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]*snapshot.Volume{"app": {"a": {Name: "pv-a", Affinity: on("z1").Required}, "b": {Name: "pv-b", Affinity: on("z1").Required}, "files": {Name: "pv-azure", Affinity: on("z1").Required}}}
	if diff := cmp.Diff(want, s.Volumes); diff != "" {
		t.Error(diff)
	}
	if s.Volumes["app"]["a"].Affinity != s.Volumes["app"]["b"].Affinity {
		t.Error("equal affinities are not shared")
	}
}
