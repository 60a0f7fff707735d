// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// leftAtZero is a MachineSet that an interrupted rollout of an owner has left without machines.
func leftAtZero(w *machineWorld, owner string) {
	w.edit(func(u *unstructured.Unstructured) {
		annotated(machineset.MarkerAnnotation, (&machineset.Marker{ID: owner, Strategy: machineset.ScaleToZero, OriginalReplicas: 2}).String())(u)
		_ = unstructured.SetNestedField(u.Object, int64(0), "spec", "replicas")
	})
}

// TestReplenish_bringsBackTheCountOfAMachineSetThatWasLeftAtZero, of its owner alone, and
// whatever is written meanwhile.
func TestReplenish_bringsBackTheCountOfAMachineSetThatWasLeftAtZero(t *testing.T) {
	t.Parallel()
	conflicts := func(most int) func(fakeapi.Request, int) int {
		return func(_ fakeapi.Request, nth int) int { return map[bool]int{true: http.StatusConflict}[nth <= most] }
	}
	for name, tt := range map[string]struct {
		owner, key string
		uid        types.UID
		before     func(r fakeapi.Request, nth int) int
		want       int64
		tried      int
		fails      error
	}{
		"at the first write":                       {want: 2, tried: 1},
		"again after others have written":          {before: conflicts(3), want: 2, tried: 4},
		"not forever":                              {before: conflicts(2 * maxConflicts), tried: maxConflicts + 1, fails: kube.ErrConflict},
		"not where it is refused":                  {before: func(fakeapi.Request, int) int { return http.StatusForbidden }, tried: 1, fails: kube.ErrForbidden},
		"not after the rollout of another owner":   {owner: "you"},
		"not of one that was made anew":            {uid: "another"},
		"not of one that is not there":             {key: "other"},
		"not where it is gone by the second write": {before: conflicts(1), tried: 1, fails: kube.ErrNotFound, key: "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newMachineWorld(t, 2)
				leftAtZero(w, "me")
				cluster := w.follow(t)
				observed, there := cluster.MachineSet(pool)
				if !there {
					t.Fatal("the MachineSet is not followed")
				}
				w.before = tt.before
				set, owner := *observed.Set, "me"
				switch {
				case tt.owner != "":
					owner = tt.owner
				case tt.uid != "":
					set.UID = tt.uid
				case tt.key == "gone":
					w.before = func(r fakeapi.Request, nth int) int {
						w.api.Remove(w.sets()[0])
						return tt.before(r, nth)
					}
				case tt.key != "":
					set.Name = tt.key
				}
				if _, err := bringBack(t.Context(), cluster, set.Key(), set.UID, owner); !errors.Is(err, tt.fails) {
					t.Errorf("it ends with %v, want %v", err, tt.fails)
				}
				if w.tried != tt.tried {
					t.Errorf("it wrote %d times, want %d", w.tried, tt.tried)
				}
				if len(w.sets()) == 0 {
					return
				}
				if now, _, _ := unstructured.NestedInt64(w.sets()[0].Object, "spec", "replicas"); now != tt.want {
					t.Errorf("%d are wanted, want %d", now, tt.want)
				}
			})
		})
	}
}

// TestRun_replenishesBeforeItWaitsForPods: they may have no place but on the machines that come.
func TestRun_replenishesBeforeItWaitsForPods(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*Request)
		first  string
	}{
		"where it waits for pods":         {change: func(*Request) {}, first: "patch machinesets"},
		"not where it waits for none":     {change: func(c *Request) { unwaited(c.Workloads) }, first: "patch statefulsets"},
		"not where it gives up":           {change: func(c *Request) { c.Workloads = wanting("", "web") }, first: "roll out"},
		"not where no MachineSet changes": {change: func(c *Request) { c.MachineSets = nil }, first: "patch statefulsets"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newMachineWorld(t, 2)
				leftAtZero(w, "me")
				w.api.Add(aSet("web", 0, "*"+teamB))
				change := labelling("pool", "")
				change.Workloads = wanting(teamA, "web")
				tt.change(&change)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				w.after = func(fakeapi.Request, int) { cancel() }
				change.Machines = Machines{Slots: &Slots{}, Hooks: MachineHooks{Approve: func(machineset.Observed) error {
					w.done = append(w.done, "roll out")
					return context.Canceled
				}}}
				_, err := carry(ctx, w.follow(t), change, hooks{})
				if len(w.done) == 0 || w.done[0] != tt.first {
					t.Errorf("it wrote %v, want %s first: %v", w.done, tt.first, err)
				}
			})
		})
	}
}

// TestRun_rollsTaintsOutByTheMachineSets, and calls for it once.
func TestRun_rollsTaintsOutByTheMachineSets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newMachineWorld(t, 1)
		w.run()
		cluster := w.follow(t)
		change := labelling("pool", "a")
		change.MachineSets.Desired.Claim.Taints = []corev1.Taint{parsed(teamA)}
		rolled := 0
		change.Machines = Machines{Slots: &Slots{}, Hooks: MachineHooks{Approve: func(machineset.Observed) error {
			if w.labels() != "*a/a/a" {
				t.Errorf("the labels are %s when the taints come", w.labels())
			}
			rolled++
			return nil
		}}}
		if _, err := carry(t.Context(), cluster, change, hooks{}); err != nil {
			t.Fatal(err)
		}
		if rolled != 1 || w.state()[0] != "1 wanted with "+teamA {
			t.Errorf("rolled out %d times: %v", rolled, w.state())
		}
		broken := errors.New("broken")
		change.MachineSets.Desired.Claim.Taints = []corev1.Taint{parsed(teamB)}
		change.Machines.Hooks.Approve = func(machineset.Observed) error { return broken }
		if _, err := carry(t.Context(), cluster, change, hooks{}); !errors.Is(err, broken) {
			t.Errorf("it ends with %v", err)
		}
	})
}
