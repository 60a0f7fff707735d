// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

var now = time.Date(2026, 8, 17, 12, 0, 0, 0, time.UTC)

// change is what makes a Machine differ from an ordinary one.
type change func(*machinev1beta1.Machine)

func withAnnotation(key, value string) change {
	return func(m *machinev1beta1.Machine) { m.Annotations = map[string]string{key: value} }
}

func withError(m *machinev1beta1.Machine) { m.Status.ErrorMessage = ptr.To("broken") }

func withReason(m *machinev1beta1.Machine) {
	m.Status.ErrorReason = ptr.To(machinev1beta1.InvalidConfigurationMachineError)
}

func withoutNode(m *machinev1beta1.Machine) { m.Status.NodeRef = nil }

func withAge(age time.Duration) change {
	return func(m *machinev1beta1.Machine) { m.CreationTimestamp = metav1.NewTime(now.Add(-age)) }
}

func deleting(m *machinev1beta1.Machine) { m.DeletionTimestamp = &metav1.Time{Time: now} }

func withLabels(pairs map[string]string) change {
	return func(m *machinev1beta1.Machine) { m.Labels = pairs }
}

func owned(uid types.UID) change {
	return func(m *machinev1beta1.Machine) {
		m.OwnerReferences = []metav1.OwnerReference{{UID: uid, Controller: ptr.To(true)}}
	}
}

func newMachine(name string, changes ...change) *machinev1beta1.Machine {
	m := &machinev1beta1.Machine{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"set": "workers"}},
		Status:     machinev1beta1.MachineStatus{NodeRef: &corev1.ObjectReference{Name: name}},
	}
	withAge(time.Hour)(m)
	for _, c := range changes {
		c(m)
	}
	return m
}

func newSet(policy string) *machinev1beta1.MachineSet {
	labels := map[string]string{"set": "workers"}
	ms := &machinev1beta1.MachineSet{ObjectMeta: metav1.ObjectMeta{Name: "workers", UID: "set-uid", Generation: 3}}
	ms.Spec.DeletePolicy = policy
	ms.Spec.Selector.MatchLabels = labels
	ms.Spec.Template.Labels = labels
	return ms
}

func TestPolicy_priorities(t *testing.T) {
	t.Parallel()
	const tenYears = 3650 * 24 * time.Hour
	for name, c := range map[string]struct {
		policy  string
		machine change
		want    float64
	}{
		"random: an ordinary machine":                       {"Random", withAge(0), 20},
		"random: a machine without a node":                  {"Random", withoutNode, 40},
		"random: an annotated machine":                      {"Random", withAnnotation(deleteAnnotation, "yes"), 50},
		"random: any value of the annotation counts":        {"Random", withAnnotation(deleteAnnotation, "false"), 50},
		"random: an empty value does not":                   {"Random", withAnnotation(deleteAnnotation, ""), 20},
		"random: the annotation's old name counts":          {"Random", withAnnotation(oldDeleteAnnotation, "yes"), 50},
		"random: a machine with an error message":           {"Random", withError, 50},
		"random: a machine with an error reason":            {"Random", withReason, 50},
		"random: a machine that is being deleted":           {"Random", deleting, 100},
		"no policy means random":                            {"", withoutNode, 40},
		"oldest: a new machine":                             {"Oldest", withAge(0), 0},
		"oldest: a machine of 100 days":                     {"Oldest", withAge(hundredDays), 50 * (1 - 1/math.E)},
		"oldest: a machine of ten years is below annotated": {"Oldest", withAge(tenYears), 50},
		"oldest: a machine of the future":                   {"Oldest", withAge(-time.Hour), 0},
		"oldest: an annotated machine":                      {"Oldest", withAnnotation(deleteAnnotation, "yes"), 100},
		"oldest: an empty value does not count":             {"Oldest", func(m *machinev1beta1.Machine) { withAge(0)(m); withAnnotation(deleteAnnotation, "")(m) }, 0},
		"oldest: a failed machine":                          {"Oldest", withError, 100},
		"newest: a new machine":                             {"Newest", withAge(0), 100},
		"newest: a machine of 100 days":                     {"Newest", withAge(hundredDays), 100 - 50*(1-1/math.E)},
		"newest: an annotated machine":                      {"Newest", withAnnotation(oldDeleteAnnotation, "yes"), 100},
		"newest: a failed machine":                          {"Newest", withReason, 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			by, err := policyOf(newSet(c.policy))
			if err != nil {
				t.Fatal(err)
			}
			if got := float64(by(newMachine("a", c.machine), now)); math.Abs(got-c.want) > 1e-6 {
				t.Errorf("priority is %v, want %v", got, c.want)
			}
		})
	}
	if _, err := policyOf(newSet("Cheapest")); err == nil {
		t.Error("an unknown policy is accepted")
	}
}

func TestSurplus_whichMachinesAreDeleted(t *testing.T) {
	t.Parallel()
	marked := withAnnotation(deleteAnnotation, "true")
	for name, c := range map[string]struct {
		policy   string
		machines []*machinev1beta1.Machine
		count    int
		want     string
	}{
		"annotated machines go before those without a node": {
			"Random", []*machinev1beta1.Machine{newMachine("a"), newMachine("b", withoutNode), newMachine("c", marked)}, 1, "c",
		},
		"machines without a node go before ordinary ones": {
			"Random", []*machinev1beta1.Machine{newMachine("a"), newMachine("b", withoutNode)}, 1, "b",
		},
		"a failed machine ties with an annotated one, and the first of few goes": {
			"Random", []*machinev1beta1.Machine{newMachine("a", withError), newMachine("b", marked)}, 1, "a",
		},
		"an annotated machine ties with a failed one by age as well": {
			"Oldest", []*machinev1beta1.Machine{newMachine("a", marked), newMachine("b", withError), newMachine("c", withAge(hundredDays))}, 2, "a b",
		},
		"the newest goes": {
			"Newest", []*machinev1beta1.Machine{newMachine("a", withAge(time.Hour)), newMachine("b", withAge(time.Minute))}, 1, "b",
		},
		"the oldest goes": {
			"Oldest", []*machinev1beta1.Machine{newMachine("a", withAge(time.Minute)), newMachine("b", withAge(time.Hour))}, 1, "b",
		},
		"all go where all are too many": {
			"Random", []*machinev1beta1.Machine{newMachine("a"), newMachine("b")}, 5, "a b",
		},
		"none goes where none is too many": {
			"Random", []*machinev1beta1.Machine{newMachine("a")}, 0, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			by, err := policyOf(newSet(c.policy))
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, m := range surplus(c.machines, c.count, by, now) {
				names = append(names, m.Name)
			}
			slices.Sort(names)
			if got := strings.Join(names, " "); got != c.want {
				t.Errorf("these go: %q, want %q", got, c.want)
			}
		})
	}
}

func TestExcluded_whatDoesNotCount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		machine change
		want    bool
	}{
		"a machine of the set":                     {owned("set-uid"), false},
		"an orphan with the labels":                {func(*machinev1beta1.Machine) {}, false},
		"a machine of another controller":          {owned("other"), true},
		"a machine that is being deleted":          {deleting, true},
		"an owned machine that has lost its label": {func(m *machinev1beta1.Machine) { owned("set-uid")(m); m.Labels = nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := excluded(newSet(""), newMachine("a", c.machine)); got != c.want {
				t.Errorf("excluded is %t, want %t", got, c.want)
			}
		})
	}
}

func TestCount_eachFieldOfTheStatus(t *testing.T) {
	t.Parallel()
	ready := func(status corev1.ConditionStatus, since time.Duration) *corev1.Node {
		return &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(now.Add(-since))},
		}}}
	}
	nodes := map[string]*corev1.Node{
		"old": ready(corev1.ConditionTrue, time.Hour), "new": ready(corev1.ConditionTrue, time.Second),
		"down": ready(corev1.ConditionFalse, time.Hour), "lost": ready(corev1.ConditionUnknown, time.Hour),
	}
	ms := newSet("")
	ms.Spec.Template.Labels = map[string]string{"set": "workers", "generation": "2"}
	ms.Spec.MinReadySeconds = 30
	ms.Status = machinev1beta1.MachineSetStatus{Replicas: 9, FullyLabeledReplicas: 9, ReadyReplicas: 9, AvailableReplicas: 9, ObservedGeneration: 1}
	machines := []*machinev1beta1.Machine{
		newMachine("old", withLabels(map[string]string{"set": "workers", "generation": "2", "more": "yes"})),
		newMachine("new"), newMachine("down"), newMachine("lost"), newMachine("gone"),
	}
	got := count(ms, machines, func(m *machinev1beta1.Machine) *corev1.Node { return nodes[m.Name] }, now)
	want := machinev1beta1.MachineSetStatus{
		Replicas: 5, FullyLabeledReplicas: 1, ReadyReplicas: 2, AvailableReplicas: 1, LabelSelector: "set=workers",
		ObservedGeneration: 1, // Set when it is written.
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the status is\n%+v, want\n%+v", got, want)
	}
}

func TestSync_refusesAMachineSetWithoutReplicas(t *testing.T) {
	t.Parallel()
	err := (&reconciler{}).sync(t.Context(), newSet(""), nil)
	if err == nil || !strings.Contains(err.Error(), "nil") {
		t.Errorf("the error is %v, want one that says that replicas are nil", err)
	}
}

func TestFromTemplate_copies(t *testing.T) {
	t.Parallel()
	ms := newSet("")
	ms.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "a", Value: "1"}}
	m := fromTemplate(ms)
	ms.Spec.Template.Spec.Taints[0].Value = "2"
	ms.Spec.Template.Labels["set"] = "other"
	if m.Spec.Taints[0].Value != "1" || m.Labels["set"] != "workers" {
		t.Errorf("a change of the template has reached %+v", m)
	}
	if !metav1.IsControlledBy(m, ms) || m.GenerateName != "workers-" {
		t.Errorf("the machine is %+v, want one that its MachineSet controls and names", m.ObjectMeta)
	}
}
