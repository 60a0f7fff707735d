// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestOthers_And(t *testing.T) {
	t.Parallel()
	x, other, y := corev1.Taint{Key: "x", Value: "1", Effect: "NoSchedule"}, corev1.Taint{Key: "x", Value: "2", Effect: "NoSchedule"}, corev1.Taint{Key: "y", Effect: "NoExecute"}
	a := &Others{
		Taints: map[string][]corev1.Taint{"n1": append(make([]corev1.Taint, 0, 2), x)}, Labels: map[string]map[string]string{"n1": {"disk": "ssd"}},
		Evicted: map[string]map[types.UID]Departure{"n1": {"p": {}}},
	}
	b := &Others{
		Taints: map[string][]corev1.Taint{"n1": {x, other}, "n2": {y}}, Labels: map[string]map[string]string{"n1": {"pool": "a"}}, Closed: map[string]bool{"n3": true},
		Evicted: map[string]map[types.UID]Departure{"n1": {"q": {After: 60}}, "n3": {"r": {Unsure: true}}},
	}
	want := &Others{
		Taints: map[string][]corev1.Taint{"n1": {x, other}, "n2": {y}}, Labels: map[string]map[string]string{"n1": {"disk": "ssd", "pool": "a"}}, Closed: map[string]bool{"n3": true},
		Evicted: map[string]map[types.UID]Departure{"n1": {"p": {}, "q": {After: 60}}, "n3": {"r": {Unsure: true}}},
	}
	if diff := cmp.Diff(want, a.And(b), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if len(a.Taints["n1"])+len(a.Labels["n1"])+len(a.Evicted["n1"]) != 3 || a.Taints["n1"][:2][1].Key != "" {
		t.Errorf("the first one has changed: %+v", a)
	}
	var none *Others
	if none.And(a) != a || a.And(none) != a || none.And(none) != nil || none.Evicts() || !(&Others{}).Empty() {
		t.Error("nothing is not nothing")
	}
	s := &Snapshot{}
	if s.Beside(none) != s || s.Beside(a).Others != a || s.Others != nil {
		t.Error("the snapshot is not the same, or it has changed")
	}
}

func TestOthers_ofANode(t *testing.T) {
	t.Parallel()
	x, y := corev1.Taint{Key: "x", Effect: "NoSchedule"}, corev1.Taint{Key: "y", Effect: "NoExecute"}
	o := &Others{Taints: map[string][]corev1.Taint{"n1": {x, y}}, Labels: map[string]map[string]string{"n1": {"disk": "ssd", "pool": "a"}}}
	if diff := cmp.Diff([]corev1.Taint{y, x}, o.Tainted("n1", []corev1.Taint{y})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"disk": "hdd"}, o.Labelled("n1", map[string]string{"disk": "hdd", "pool": "a"})); diff != "" {
		t.Error(diff)
	}
	if got := (*Others)(nil).Tainted("n1", []corev1.Taint{y}); len(got) != 1 {
		t.Errorf("without others there are %v", got)
	}
}
