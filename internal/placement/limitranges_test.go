// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// amount is a request and a limit, each "" for none.
type amount struct {
	name           corev1.ResourceName
	request, limit string
}

func cpu(request, limit string) amount    { return amount{corev1.ResourceCPU, request, limit} }
func memory(request, limit string) amount { return amount{corev1.ResourceMemory, request, limit} }

// sized is a pod of one container with these requests and limits.
func sized(amounts ...amount) podOption {
	p := corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{}, Limits: corev1.ResourceList{}}}}}}
	for _, one := range amounts {
		if one.request != "" {
			p.Spec.Containers[0].Resources.Requests[one.name] = resource.MustParse(one.request)
		}
		if one.limit != "" {
			p.Spec.Containers[0].Resources.Limits[one.name] = resource.MustParse(one.limit)
		}
	}
	return func(pod *snapshot.Pod) { pod.Demand = snapshot.DemandOf(&p) }
}

func limiting(name string, item corev1.LimitRangeItem) snapshot.LimitRange {
	item.Type = corev1.LimitTypeContainer
	return snapshot.LimitRange{Name: name, Limits: []corev1.LimitRangeItem{item}}
}

// defaulting gives a request of CPU to containers without one.
func defaulting(name, request string) snapshot.LimitRange {
	return limiting(name, corev1.LimitRangeItem{DefaultRequest: cores(request)})
}

func cores(n string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(n)}
}

// Three pods with a request of 1 core and no limit are evicted to a node with 4 free cores, where the
// namespace has got LimitRanges since they were created.
func TestSimulate_limitRanges(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		pod             podOption
		ranges          snapshot.LimitRanges
		placed, refused int
		why             string
		unknown         bool
		unmodelled      []string
	}{
		"without one they fit":                            {pod: sized(cpu("1", "")), ranges: snapshot.LimitRanges{}, placed: 3},
		"those of other namespaces are not asked":         {pod: sized(cpu("1", "")), ranges: snapshot.LimitRanges{"other": {limiting("r", corev1.LimitRangeItem{Min: cores("2")})}}, placed: 3},
		"a minimum above their request refuses all":       {pod: sized(cpu("1", "")), ranges: snapshot.LimitRanges{"app": {limiting("r", corev1.LimitRangeItem{Min: cores("2")})}}, refused: 3, why: `LimitRange "r" refuses it (min cpu)`},
		"a maximum above their limit does not":            {pod: sized(cpu("1", "2")), ranges: snapshot.LimitRanges{"app": {limiting("r", corev1.LimitRangeItem{Max: cores("2")})}}, placed: 3},
		"pods without requests get the default":           {pod: sized(memory("1Gi", "")), ranges: snapshot.LimitRanges{"app": {defaulting("r", "2")}}, placed: 2},
		"pods with requests do not":                       {pod: sized(cpu("1", "")), ranges: snapshot.LimitRanges{"app": {defaulting("r", "2")}}, placed: 3},
		"defaults that differ are not modelled":           {pod: sized(memory("1Gi", "")), ranges: snapshot.LimitRanges{"app": {defaulting("a", "1"), defaulting("b", "2")}}, placed: 3, unmodelled: []string{"app/b"}},
		"where none were read, pods keep their resources": {pod: sized(memory("1Gi", "")), placed: 3, unknown: true},
	} {
		w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 4, 100)).run(replicas("web", "n1", 3, tt.pod)...)
		w.LimitRanges = tt.ranges
		out := w.simulate()
		got, why := out.of(t, "web"), ""
		if got.Refusal != nil {
			why = got.Refusal.Reason()
		}
		if got.Placed != exactly(tt.placed) || got.Refused != exactly(tt.refused) || got.Pending != exactly(3-tt.placed-tt.refused) || why != tt.why {
			t.Errorf("%s: placed %v, refused %v, Pending %v, because %q", name, got.Placed, got.Refused, got.Pending, why)
		}
		if out.UnknownRanges != tt.unknown || !slices.Equal(out.UnmodelledRanges, tt.unmodelled) {
			t.Errorf("%s: unknown %t, not modelled %q", name, out.UnknownRanges, out.UnmodelledRanges)
		}
	}
}

// A StatefulSet creates no pod while the one before it is refused. That is no reason of one that was created.
func TestReplacement_refusal(t *testing.T) {
	t.Parallel()
	own, earlier := &Refusal{LimitRange: "own"}, &Refusal{LimitRange: "earlier"}
	set := &statefulSet{pods: []*replacement{{ordinal: 0, refused: earlier}, {ordinal: 2, refused: own}}}
	for name, tt := range map[string]struct {
		of   replacement
		want *Refusal
	}{
		"of its own":                      {replacement{refused: own, set: set, ordinal: 1}, own},
		"of the pod before it":            {replacement{set: set, ordinal: 1}, earlier},
		"it was created all the same":     {replacement{set: set, ordinal: 1, created: true}, nil},
		"the first pod":                   {replacement{set: set, ordinal: 0}, nil},
		"a pod of no StatefulSet":         {replacement{}, nil},
		"one of no StatefulSet, created":  {replacement{created: true}, nil},
		"refused without any StatefulSet": {replacement{refused: own}, own},
	} {
		if got := tt.of.refusal(); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// A pod that was Pending before is there already: no LimitRange changes it.
func TestSimulate_limitRangesChangeNoPodThatExists(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 4, 100)).run(replicas("web", "n1", 1, sized(cpu("3", "")))...)
	w.Waiting = []*snapshot.Pod{pod("waits", "", ownedBy("ReplicaSet", "waits"), sized(memory("1Gi", "")))}
	w.LimitRanges = snapshot.LimitRanges{"app": {defaulting("r", "2")}}
	if got := w.simulate().of(t, "web"); got.Placed != exactly(1) {
		t.Errorf("got %+v", got)
	}
}

// The replacement of a preempted pod is a new pod as well.
func TestSimulate_limitRangesRefusePreemptedPods(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 2, 100), having(node("n3"), 2, 100)).
		run(replicas("high", "n1", 1, sized(cpu("2", "2")), priority(9))...).run(replicas("low", "n2", 1, sized(cpu("1", "2")))...).run(replicas("low2", "n3", 1, sized(cpu("1", "2")))...)
	w.LimitRanges = snapshot.LimitRanges{"app": {limiting("r", corev1.LimitRangeItem{Min: cores("1500m")})}}
	if out := w.simulate(); out.Preempted != exactly(1) || out.Refused != exactly(1) || out.of(t, "high").Placed != exactly(1) {
		t.Errorf("preempted %v, refused %v", out.Preempted, out.Refused)
	}
}
