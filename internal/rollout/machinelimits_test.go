// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// annotated gives the MachineSet an annotation.
func annotated(key, value string) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) {
		annotations := u.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[key] = value
		u.SetAnnotations(annotations)
	}
}

// TestRollOut_writesNothingThatIsNotItsToWrite also checks the reason that the error gives.
func TestRollOut_writesNothingThatIsNotItsToWrite(t *testing.T) {
	t.Parallel()
	no := errors.New("no")
	const title = `MachineSet "` + pool + `"`
	released := taint.Claim{Owner: "me", Generation: generation, Release: true}
	for name, tt := range map[string]struct {
		taints  []string
		prepare func(*unstructured.Unstructured)
		key     string
		claim   *taint.Claim
		approve error

		// says is the error, and thing what it is about where an annotation cannot be read.
		says, thing string
		is          error
	}{
		"one that is not there":                   {key: "machines/none", says: "MachineSet machines/none is not there", is: kube.ErrNotFound},
		"one that is gone has nothing to give up": {key: "machines/none", claim: &released},
		"a record that cannot be read":            {prepare: annotated(taint.OwnedAnnotation, "{"), thing: title},
		"a marker that cannot be read":            {prepare: annotated(machineset.MarkerAnnotation, "{"), thing: title},
		"a rollout of another resource": {
			prepare: annotated(machineset.MarkerAnnotation, (&machineset.Marker{ID: "you", Strategy: machineset.Rolling, OriginalReplicas: 1}).String()), says: "you",
		},
		"a taint of another owner": {taints: []string{teamB}, says: title + " has team:NoExecute already"},
		"what is not approved":     {approve: no, says: "no", is: no},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newMachineWorld(t, 1, tt.taints...)
				if tt.prepare != nil {
					w.edit(tt.prepare)
				}
				key, desired := pool, rollingOut(machineset.Rolling)
				if tt.key != "" {
					key = tt.key
				}
				if tt.claim != nil {
					desired.Claim = *tt.claim
				}
				err := RollOut(t.Context(), w.follow(t), key, desired, MachineHooks{Approve: func(machineset.Observed) error { return tt.approve }})
				if (err == nil) != (tt.says == "" && tt.thing == "") || err != nil && !strings.Contains(err.Error(), tt.says) || tt.is != nil && !errors.Is(err, tt.is) {
					t.Errorf("it ends with %v, want one that says %q", err, tt.says)
				}
				stopped := new(StoppedError)
				if errors.As(err, &stopped); stopped.Thing != tt.thing || (stopped.Err != nil) != (tt.thing != "") || stopped.Err != nil && !errors.Is(err, stopped.Err) {
					t.Errorf("it is about %q (%v), want %q", stopped.Thing, stopped.Err, tt.thing)
				}
				if w.tried > 0 {
					t.Errorf("it wrote %v", w.done)
				}
			})
		})
	}
}

// machine puts a running Machine with its node. One that holds on has a finalizer.
func (w *machineWorld) machine(name string, holdsOn bool) {
	set := &machinev1beta1.MachineSet{ObjectMeta: metav1.ObjectMeta{Name: "pool", UID: w.sets()[0].GetUID()}}
	running := "Running"
	m := &machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{
		Namespace: machineset.OperatorNamespace, Name: name,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, machinev1beta1.GroupVersion.WithKind("MachineSet"))},
	}}
	if holdsOn {
		m.Finalizers = []string{machinev1beta1.MachineFinalizer}
	}
	m.Status.Phase, m.Status.NodeRef = &running, &corev1.ObjectReference{Kind: "Node", Name: name}
	w.put("Machine", m)
	n := aNode(name, "gpu")
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	w.api.Add(n)
}

// TestRollOut_saysWhatItWaitedForWhenItsTimeIsOver, while no controller acts.
func TestRollOut_saysWhatItWaitedForWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	// observed is the generation that the controller says it has seen.
	observed := func(generation int64) func(*machineWorld) {
		return func(w *machineWorld) {
			w.edit(func(u *unstructured.Unstructured) {
				_ = unstructured.SetNestedField(u.Object, generation, "status", "observedGeneration")
			})
		}
	}
	for name, tt := range map[string]struct {
		strategy machineset.Strategy
		prepare  func(w *machineWorld)
		want     MachinesError
		replicas int64
		says     string
	}{
		"a machine that is being deleted, and the pod that holds it": {
			strategy: machineset.Rolling, replicas: 1,
			prepare: func(w *machineWorld) {
				observed(9)(w)
				w.machine("a", true)
				w.api.Put(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "web"}, Spec: corev1.PodSpec{NodeName: "a"}})
			},
			want: MachinesError{Begun: true, Waiting: []string{"a is being deleted"}, Holds: []string{"pod default/web on node a has not been evicted yet"}, Left: 1},
			says: "waiting for machines: a is being deleted; pod default/web on node a has not been evicted yet: context deadline exceeded",
		},
		"a controller that has not seen the template": {
			strategy: machineset.Rolling, prepare: func(w *machineWorld) { observed(1)(w); w.machine("a", false) }, replicas: 1,
			want: MachinesError{Begun: true, Waiting: []string{"its controller has not seen the template yet"}, Controller: true, Left: 1},
		},
		"a machine that the controller has not made": {
			strategy: machineset.Rolling, prepare: func(w *machineWorld) { observed(9)(w); w.machine("a", false) }, replicas: 1,
			want: MachinesError{Begun: true, Waiting: []string{"there are 0, and the MachineSet asks for 1"}, Controller: true},
		},
		"a count at zero, which is brought back": {
			strategy: machineset.ScaleToZero, prepare: func(w *machineWorld) { observed(9)(w); w.machine("a", true) }, replicas: 1,
			want: MachinesError{Begun: true, Waiting: []string{"a is not being deleted yet"}, Left: 1, Restored: true},
		},
		"a rollout that was begun before, of which the count is brought back": {
			strategy: machineset.ScaleToZero, replicas: 1,
			prepare: func(w *machineWorld) {
				observed(9)(w)
				w.machine("a", true)
				w.edit(func(u *unstructured.Unstructured) {
					annotated(machineset.MarkerAnnotation, (&machineset.Marker{ID: "me", Strategy: machineset.ScaleToZero, OriginalReplicas: 1}).String())(u)
					_ = unstructured.SetNestedField(u.Object, int64(0), "spec", "replicas")
					_ = unstructured.SetNestedSlice(u.Object, []any{map[string]any{"key": "team", "value": "a", "effect": "NoExecute"}}, "spec", "template", "spec", "taints")
					record := taint.Record{{Key: "team", Effect: "NoExecute", Owner: "me", Generation: generation}}
					annotated(taint.OwnedAnnotation, record.String())(u)
				})
			},
			want: MachinesError{Waiting: []string{"a is not being deleted yet"}, Left: 1, Restored: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newMachineWorld(t, 1)
				tt.prepare(w)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				var told []string
				err := RollOut(ctx, w.follow(t), pool, rollingOut(tt.strategy), MachineHooks{Progress: func(what string) { told = append(told, what) }})
				late := new(MachinesError)
				if !errors.As(err, &late) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), tt.says) {
					t.Fatalf("it ends with %v (%T)", err, err)
				}
				if late.Set == nil || late.Set.Key() != pool || late.Set.Replicas != int(tt.replicas) {
					t.Errorf("it is about %v", late.Set)
				}
				late.Set, late.Err = nil, nil
				if diff := cmp.Diff(tt.want, *late); diff != "" {
					t.Errorf("it says: %s", diff)
				}
				if len(told) != 1 || told[0] != strings.Join(append(tt.want.Waiting, tt.want.Holds...), "; ") {
					t.Errorf("it told %q", told)
				}
				replicas, _, _ := unstructured.NestedInt64(w.sets()[0].Object, "spec", "replicas")
				if replicas != tt.replicas {
					t.Errorf("%d are wanted now, want %d", replicas, tt.replicas)
				}
			})
		})
	}
}

// TestRollOut_readsAgainWhatAWriteHasMet: the watch may show it much later.
func TestRollOut_readsAgainWhatAWriteHasMet(t *testing.T) {
	t.Parallel()
	for _, resource := range []string{"machinesets", "machines", "nodes"} {
		t.Run(resource, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newMachineWorld(t, 1)
				w.machine("a", true)
				cluster := w.follow(t)
				met := false
				w.client.OnEvent(func(metav1.Object) time.Duration { return map[bool]time.Duration{true: time.Hour}[met] })
				w.before = func(r fakeapi.Request, _ int) int {
					if r.Resource != resource || met {
						return 0
					}
					met = true
					touch := annotated("example.com/touched", "yes")
					switch resource {
					case "machinesets":
						w.edit(touch)
					case "machines":
						m := w.machines()[0]
						touch(m)
						w.api.Put(m)
					case "nodes":
						fakeapi.Edit(w.api, "", "a", func(n *corev1.Node) { n.Annotations = map[string]string{"example.com/touched": "yes"} })
					}
					return 0
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := RollOut(ctx, cluster, pool, rollingOut(machineset.InPlace), MachineHooks{})
				// No controller reports that it has observed the template.
				if late := new(MachinesError); !errors.As(err, &late) || !late.Controller {
					t.Errorf("it ends with %v", err)
				}
				if want := []string{"1 wanted with " + teamA, "a rollout goes on", "a with " + teamA + ", node with " + teamA}; cmp.Diff(want, w.state()) != "" {
					t.Errorf("there is: %s", cmp.Diff(want, w.state()))
				}
				if !met || w.tried > 2*len(w.done)+1 {
					t.Errorf("%d of %d writes were carried out", len(w.done), w.tried)
				}
			})
		})
	}
}
