// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"context"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
)

// hosts makes nodes of four cores each, the first of which is the one to taint.
func hosts(t *testing.T, nodes int) *places {
	t.Helper()
	p := &places{move: move{t: t, c: acctest.Connect(t), pool: acctest.Name(t, "pool")}, workloads: map[string]int32{}}
	acctest.NeedKwok(t, "nodes of a chosen size")
	p.namespace, p.from, p.to = p.c.Namespace(t), p.pool+"-from", p.pool+"-to"
	for _, name := range []string{p.from, p.to, p.to + "2"}[:nodes] {
		p.host(name)
	}
	return p
}

func (p *places) host(name string) {
	p.t.Helper()
	p.c.Node(p.t, acctest.Node{
		Name: name, Labels: map[string]string{"pool": p.pool, corev1.LabelHostname: name},
		Allocatable: corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("4Gi"), "pods": resource.MustParse("10")},
	})
}

// deployed makes a Deployment whose pods go to no nodes but these.
func (p *places) deployed(name string, replicas int32, shape func(*corev1.PodSpec)) {
	p.t.Helper()
	p.workloads[name] = replicas
	p.c.Deployment(p.t, p.namespace, name, replicas, func(s *corev1.PodSpec) {
		s.NodeSelector = map[string]string{"pool": p.pool}
		shape(s)
	})
}

// predicted compares what is predicted of a workload where the first node is tainted, and others with it.
func (p *places) predicted(name string, want placement.WorkloadOutcome, others ...string) {
	p.t.Helper()
	out := p.simulate(append([]string{p.from}, others...))
	at := slices.IndexFunc(out.Workloads, func(w placement.WorkloadOutcome) bool { return w.Namespace == p.namespace && w.Name == name })
	if at < 0 {
		p.t.Fatal("nothing is predicted")
	}
	if w := out.Workloads[at]; w.Placed != want.Placed || w.Pending != want.Pending || w.NotCreated != want.NotCreated || w.Delayed != want.Delayed {
		p.t.Errorf("predicted %v placed, %v Pending, %v not created, %v delayed", w.Placed, w.Pending, w.NotCreated, w.Delayed)
	}
}

func (p *places) taint() {
	p.t.Helper()
	p.c.Patch(p.t, p.from, `{"spec":{"taints":[{"key":"dedicated","value":"gpu","effect":"NoExecute"}]}}`)
}

func number(n int) placement.Range { return placement.Range{Min: n, Max: n} }

// A tainted node is still a domain of a topology spread, unless nodeTaintsPolicy is Honor.
func TestAccEvictionPreview_threeReplicasSpreadOverThreeHosts(t *testing.T) {
	t.Parallel()
	p := hosts(t, 3)
	p.deployed("web", 3, func(s *corev1.PodSpec) {
		s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		}}
	})
	p.predicted("web", placement.WorkloadOutcome{Pending: number(1)})
	p.taint()
	if pending := p.settle([]string{p.from})["web"]; pending != 1 {
		t.Errorf("%d pods stay Pending", pending)
	}
}

func TestAccEvictionPreview_twoReplicasKeepApartOnTwoHosts(t *testing.T) {
	t.Parallel()
	p := hosts(t, 2)
	p.deployed("web", 2, func(s *corev1.PodSpec) {
		s.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		}}}}
	})
	p.predicted("web", placement.WorkloadOutcome{Pending: number(1)})
	p.taint()
	if pending := p.settle([]string{p.from})["web"]; pending != 1 {
		t.Errorf("%d pods stay Pending", pending)
	}
}

// A pod of an OrderedReady StatefulSet is not created while the one before it is Pending, though it would find a node.
func TestAccEvictionPreview_aLaterPodWaitsForTheOneBefore(t *testing.T) {
	t.Parallel()
	p := hosts(t, 1)
	p.volume("data-db-0", p.from)
	p.volume("data-db-1", p.from, p.to)
	labels, none := map[string]string{"app": "db"}, ""
	_, err := p.c.Admin.AppsV1().StatefulSets(p.namespace).Create(t.Context(), &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: appsv1.StatefulSetSpec{
		Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels},
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &none, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		}}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"pool": p.pool}, TerminationGracePeriodSeconds: new(int64(1)),
			Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10.2"}},
		}},
	}}, metav1.CreateOptions{})
	p.must(err)
	p.running(2)
	p.host(p.to)
	p.predicted("db", placement.WorkloadOutcome{Pending: number(1), NotCreated: number(1)})
	p.taint()
	for range still {
		acctest.Until(t, "the first pod alone is there, and Pending", func(ctx context.Context) (bool, error) {
			pods := p.count(ctx, func(*corev1.Pod) bool { return true })
			pending := p.count(ctx, func(one *corev1.Pod) bool {
				return one.Name == "db-0" && condition(one, corev1.PodScheduled).Status == corev1.ConditionFalse
			})
			return pods == 1 && pending == 1, nil
		})
	}
}

// The room of a pod that stays for some more seconds is not free: the replacement of another one waits for it.
func TestAccEvictionPreview_roomUnderACountdownIsNotFree(t *testing.T) {
	t.Parallel()
	p := hosts(t, 1)
	p.deployed("first", 1, func(s *corev1.PodSpec) {
		s.Containers[0].Resources.Requests = cores("3")
		s.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(1))}}
	})
	p.host(p.to)
	p.deployed("slow", 1, func(s *corev1.PodSpec) {
		s.Containers[0].Resources.Requests = cores("3")
		s.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(600))}}
	})
	p.c.Patch(t, p.from, `{"spec":{"unschedulable":true}}`)
	p.predicted("first", placement.WorkloadOutcome{Placed: number(1), Delayed: number(1)}, p.to)
	p.taint()
	p.c.Patch(t, p.to, `{"spec":{"taints":[{"key":"dedicated","value":"gpu","effect":"NoExecute"}]}}`)
	acctest.Until(t, "the new pod is Pending", func(ctx context.Context) (bool, error) {
		return p.count(ctx, func(one *corev1.Pod) bool {
			return one.Labels["app"] == "first" && one.Spec.NodeName == "" && condition(one, corev1.PodScheduled).Status == corev1.ConditionFalse
		}) == 1, nil
	})
}

// Nodes change one after the other: a pod that preempts none may find that one of a lower priority has its room.
func TestAccEvictionPreview_aPodOfALowerPriorityMayComeFirst(t *testing.T) {
	t.Parallel()
	p := hosts(t, 1)
	urgent := p.urgent("0", corev1.PreemptNever)
	p.deployed("low", 1, func(s *corev1.PodSpec) { s.Containers[0].Resources.Requests = cores("3") })
	p.host(p.to)
	p.deployed("high", 1, func(s *corev1.PodSpec) {
		urgent(s)
		s.Containers[0].Resources.Requests = cores("3")
	})
	last := p.to + "2"
	p.host(last)
	either := placement.Range{Max: 1}
	p.predicted("low", placement.WorkloadOutcome{Placed: either, Pending: either}, p.to)
	p.predicted("high", placement.WorkloadOutcome{Placed: either, Pending: either}, p.to)
	p.taint()
	acctest.Until(t, "the pod of the lower priority has its room", func(ctx context.Context) (bool, error) {
		return p.count(ctx, func(one *corev1.Pod) bool { return one.Labels["app"] == "low" && one.Spec.NodeName == last }) == 1, nil
	})
	p.evict(p.to)
	if pending := p.settle([]string{p.from, p.to}); pending["high"] != 1 || pending["low"] != 0 {
		t.Errorf("%v pods stay Pending", pending)
	}
}
