// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodelink

import (
	"reflect"
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func taint(key, value string, effect corev1.TaintEffect) corev1.Taint {
	return corev1.Taint{Key: key, Value: value, Effect: effect}
}

func TestAddTaints_onlyEverAdds(t *testing.T) {
	t.Parallel()
	const (
		schedule = corev1.TaintEffectNoSchedule
		execute  = corev1.TaintEffectNoExecute
	)
	for name, c := range map[string]struct{ node, machine, want []corev1.Taint }{
		"a new taint comes last": {
			[]corev1.Taint{taint("b", "", schedule)}, []corev1.Taint{taint("a", "1", schedule)},
			[]corev1.Taint{taint("b", "", schedule), taint("a", "1", schedule)},
		},
		"a value is not compared": {
			[]corev1.Taint{taint("a", "1", schedule)}, []corev1.Taint{taint("a", "2", schedule)},
			[]corev1.Taint{taint("a", "1", schedule)},
		},
		"another effect is another taint": {
			[]corev1.Taint{taint("a", "1", schedule)}, []corev1.Taint{taint("a", "1", execute)},
			[]corev1.Taint{taint("a", "1", schedule), taint("a", "1", execute)},
		},
		"what the machine does not have stays": {
			[]corev1.Taint{taint("a", "1", schedule)}, nil,
			[]corev1.Taint{taint("a", "1", schedule)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := &corev1.Node{Spec: corev1.NodeSpec{Taints: c.node}}
			addTaints(node, c.machine)
			if !reflect.DeepEqual(node.Spec.Taints, c.want) {
				t.Errorf("the taints are %v, want %v", node.Spec.Taints, c.want)
			}
		})
	}
}

func TestCarried_labelsAndAnnotationsAreSetAndNeverRemoved(t *testing.T) {
	t.Parallel()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Labels: map[string]string{"mine": "1", "theirs": "1"}, Annotations: map[string]string{"theirs": "1"},
	}}
	m := &machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}}
	m.Spec.Labels = map[string]string{"mine": "2"}
	m.Spec.Annotations = map[string]string{"note": "2"}
	got := carried(node, m)
	if want := map[string]string{"mine": "2", "theirs": "1"}; !reflect.DeepEqual(got.Labels, want) {
		t.Errorf("the labels are %v, want %v", got.Labels, want)
	}
	if want := map[string]string{"theirs": "1", "note": "2", machineAnnotation: "ns/m"}; !reflect.DeepEqual(got.Annotations, want) {
		t.Errorf("the annotations are %v, want %v", got.Annotations, want)
	}
	if node.Labels["mine"] != "1" {
		t.Error("the node of the cache was changed")
	}
}

func TestRequests_leaveOutAMachineThatIsBeingDeleted(t *testing.T) {
	t.Parallel()
	id := "invented:///1"
	m := &machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m", DeletionTimestamp: &metav1.Time{}}}
	m.Spec.ProviderID = &id
	// Without a client: it would panic if it looked for the node.
	if got := (&reconciler{}).requests(t.Context(), m); len(got) > 0 {
		t.Errorf("the node is %v, want none", got)
	}
}
