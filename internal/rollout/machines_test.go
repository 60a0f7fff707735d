// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// rollingOut is the wish that the MachineSet has the taint a, by a strategy.
func rollingOut(strategy machineset.Strategy) machineset.Desired {
	return machineset.Desired{
		Claim:   taint.Claim{Owner: "me", Generation: generation, Taints: []corev1.Taint{parsed(teamA)}},
		Rollout: machineset.Rollout{Strategy: strategy, MaxUnavailable: 1, MaxSurge: 1},
	}
}

// times repeats the names of writes.
func times(n int, writes ...string) []string {
	var out []string
	for range n {
		out = append(out, writes...)
	}
	return out
}

// TestRollOut_bringsTaintsToMachinesAsTheStrategySays, and to their nodes.
func TestRollOut_bringsTaintsToMachinesAsTheStrategySays(t *testing.T) {
	t.Parallel()
	const set, machine, node, deletion = "patch machinesets", "patch machines", "patch nodes", "delete machines"
	both := func(name string) string { return name + " with " + teamA + ", node with " + teamA }
	for strategy, tt := range map[machineset.Strategy]struct {
		done  []string
		state []string
	}{
		machineset.TemplateOnly: {[]string{set}, []string{"2 wanted with " + teamA, "pool-000 with , node with ", "pool-001 with , node with "}},
		machineset.InPlace:      {slices.Concat([]string{set}, times(2, machine, node), []string{set}), []string{"2 wanted with " + teamA, both("pool-000"), both("pool-001")}},
		machineset.Rolling:      {slices.Concat([]string{set}, times(2, deletion), []string{set}), []string{"2 wanted with " + teamA, both("pool-002"), both("pool-003")}},
		// One is deleted, and the last goes by scaling down to what there was.
		machineset.Surge:       {[]string{set, deletion, machine, set, set}, []string{"2 wanted with " + teamA, both("pool-002"), both("pool-003")}},
		machineset.ScaleToZero: {times(3, set), []string{"2 wanted with " + teamA, both("pool-002"), both("pool-003")}},
	} {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newMachineWorld(t, 2)
				w.run()
				asked, told := 0, []string{}
				var written []machineset.Kind
				err := RollOut(t.Context(), w.follow(t), pool, rollingOut(strategy), MachineHooks{
					Approve:  func(machineset.Observed) error { asked++; return nil },
					Progress: func(what string) { told = append(told, what) },
					Writing:  func(i machineset.Intent) { written = append(written, i.Kind) },
				})
				if err != nil {
					t.Fatal(err)
				}
				if asked != 1 {
					t.Errorf("it asked %d times before the first write", asked)
				}
				if diff := cmp.Diff(tt.done, w.done); diff != "" {
					t.Errorf("writes: %s", diff)
				}
				if len(written) != w.tried {
					t.Errorf("it told of the writes %v, and made %d", written, w.tried)
				}
				if diff := cmp.Diff(tt.state, w.state()); diff != "" {
					t.Errorf("in the end there is: %s", diff)
				}
				if strategy.Replaces() && len(told) == 0 || strategy == machineset.TemplateOnly && len(told) > 0 || slices.Contains(told, "") || len(slices.Compact(slices.Clone(told))) != len(told) {
					t.Errorf("it told of its waits %q", told)
				}
				// Nothing is left to do.
				before := w.tried
				if err := RollOut(t.Context(), w.cluster, pool, rollingOut(strategy), MachineHooks{}); err != nil || w.tried != before {
					t.Errorf("beginning again: %v, and %d more writes", err, w.tried-before)
				}
			})
		})
	}
}

// TestRollOut_goesOnAfterWhatOthersDo: a write that meets another one is decided anew, and
// one of an object that is gone is not needed.
func TestRollOut_goesOnAfterWhatOthersDo(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		strategy machineset.Strategy
		replicas int32
		before   func(w *machineWorld, r fakeapi.Request, nth int) int
		after    func(w *machineWorld, r fakeapi.Request, nth int)

		state []string
		fails error
		// done counts the writes that were carried out, tried all of them.
		done, tried int
		// lag is how long the provider learns of each change after it.
		lag time.Duration
	}{
		"a change of the MachineSet is read again": {
			strategy: machineset.InPlace, replicas: 1, before: func(_ *machineWorld, r fakeapi.Request, nth int) int { return map[int]int{1: http.StatusConflict}[nth] },
			state: []string{"1 wanted with " + teamA, "pool-000 with " + teamA + ", node with " + teamA}, done: 4, tried: 5,
		},
		"a change of a Machine is read again": {
			strategy: machineset.InPlace, replicas: 1, before: func(_ *machineWorld, r fakeapi.Request, nth int) int { return map[int]int{2: http.StatusConflict}[nth] },
			state: []string{"1 wanted with " + teamA, "pool-000 with " + teamA + ", node with " + teamA}, done: 4, tried: 5,
		},
		"a Machine that is gone is made anew by its controller": {
			strategy: machineset.InPlace, replicas: 1,
			before: func(w *machineWorld, r fakeapi.Request, nth int) int {
				if nth == 2 {
					w.api.Remove(w.machines()[0])
				}
				return map[int]int{2: http.StatusNotFound}[nth]
			},
			state: []string{"1 wanted with " + teamA, "pool-001 with " + teamA + ", node with " + teamA}, done: 2, tried: 3,
			// The controllers write the MachineSet's status after the Machine.
			lag: 10 * time.Millisecond,
		},
		"conflicts of one object end it, at some time": {
			strategy: machineset.Rolling, replicas: 1, before: func(*machineWorld, fakeapi.Request, int) int { return http.StatusConflict },
			state: []string{"1 wanted with ", "pool-000 with , node with "}, tried: maxConflicts + 1,
			fails: busyAbout(&machineset.Set{Namespace: machineset.OperatorNamespace, Name: "pool"}, machineset.Intent{}),
		},
		"a node of which the taints are reverted again and again ends the rollout": {
			strategy: machineset.InPlace, replicas: 1,
			after: func(w *machineWorld, r fakeapi.Request, _ int) {
				if r.Resource == "nodes" {
					fakeapi.Edit(w.api, "", r.Name, func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{parsed("team=other:NoExecute")} })
				}
			},
			state: []string{"1 wanted with " + teamA, "a rollout goes on", "pool-000 with " + teamA + ", node with team=other:NoExecute"},
			fails: revertedAbout(nil, machineset.Intent{Node: nodeNamed("pool-000")}), done: 3 + maxRounds, tried: 3 + maxRounds,
		},
		"a write that is refused ends it": {
			strategy: machineset.InPlace, replicas: 1, before: func(_ *machineWorld, r fakeapi.Request, nth int) int {
				return map[int]int{2: http.StatusForbidden}[nth]
			},
			state: []string{"1 wanted with " + teamA, "a rollout goes on", "pool-000 with , node with "}, fails: kube.ErrForbidden, done: 1, tried: 2,
		},
		"a count at zero is brought back where a write is refused": {
			strategy: machineset.ScaleToZero, replicas: 1,
			before: func(_ *machineWorld, r fakeapi.Request, nth int) int {
				return map[int]int{2: http.StatusForbidden}[nth]
			},
			state: []string{"1 wanted with " + teamA, "a rollout goes on", "pool-001 with " + teamA + ", node with " + teamA}, fails: kube.ErrForbidden, done: 2, tried: 3,
		},
		"a last write whose answer is lost is not made again": {
			strategy: machineset.InPlace, replicas: 1,
			before: func(w *machineWorld, _ fakeapi.Request, nth int) int {
				if nth != 4 {
					return 0
				}
				w.edit(func(u *unstructured.Unstructured) {
					u.SetAnnotations(without(u.GetAnnotations(), machineset.MarkerAnnotation))
				})
				return http.StatusConflict
			},
			state: []string{"1 wanted with " + teamA, "pool-000 with " + teamA + ", node with " + teamA}, done: 3, tried: 4,
		},
		"a marker that another writer takes away stops it": {
			strategy: machineset.Rolling, replicas: 1,
			after: func(w *machineWorld, _ fakeapi.Request, nth int) {
				if nth == 1 {
					w.edit(func(u *unstructured.Unstructured) {
						u.SetAnnotations(without(u.GetAnnotations(), machineset.MarkerAnnotation))
					})
				}
			},
			// It is seen at the latest while the new machine is waited for.
			fails: new(StoppedError),
		},
		"a MachineSet that is made anew is another one": {
			strategy: machineset.Rolling, replicas: 1,
			after: func(w *machineWorld, _ fakeapi.Request, nth int) {
				if nth == 1 {
					u := w.sets()[0]
					w.api.Remove(u)
					anew := u.DeepCopy()
					anew.SetUID("another")
					anew.SetResourceVersion("")
					w.api.Add(anew)
				}
			},
			fails: new(SetGoneError),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newMachineWorld(t, tt.replicas)
				w.run()
				w.client.OnEvent(func(metav1.Object) time.Duration { return tt.lag })
				if tt.before != nil {
					w.before = func(r fakeapi.Request, nth int) int { return tt.before(w, r, nth) }
				}
				if tt.after != nil {
					w.after = func(r fakeapi.Request, nth int) { tt.after(w, r, nth) }
				}
				err := RollOut(t.Context(), w.follow(t), pool, rollingOut(tt.strategy), MachineHooks{})
				if !fails(err, tt.fails) {
					t.Errorf("it ends with %v (%T), want %v", err, err, tt.fails)
				}
				if tt.strategy == machineset.ScaleToZero {
					if restored := new(RestoredError); !errors.As(err, &restored) || restored.Replicas != int(tt.replicas) {
						t.Errorf("it does not say that the count was brought back: %v", err)
					}
				}
				if tt.state != nil && (len(w.done) != tt.done || w.tried != tt.tried) {
					t.Errorf("%d of %d writes were carried out, want %d of %d: %v", len(w.done), w.tried, tt.done, tt.tried, w.done)
				}
				time.Sleep(5 * time.Second)
				if diff := cmp.Diff(tt.state, w.state()); tt.state != nil && diff != "" {
					t.Errorf("in the end there is: %s", diff)
				}
			})
		})
	}
}

// fails reports whether an error is the wanted one, or has its type.
func fails(err, want error) bool {
	stopped, gone := new(StoppedError), new(SetGoneError)
	switch {
	case want == nil:
		return err == nil
	case errors.As(want, &stopped):
		return errors.As(err, &stopped)
	case errors.As(want, &gone):
		return errors.As(err, &gone)
	}
	return errors.Is(err, want)
}

// without returns a map without a key.
func without(m map[string]string, key string) map[string]string {
	delete(m, key)
	return m
}

func nodeNamed(name string) *snapshot.Node { return &snapshot.Node{Name: name} }
