// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// TestRun_goesOnWhereItWasInterrupted has each write of a change fail in turn, once
// before it is carried out and once after, and each hook, and runs the change again.
// All together must write what one run would have written.
func TestRun_goesOnWhereItWasInterrupted(t *testing.T) {
	t.Parallel()
	const before, after = "before it is carried out", "after it is carried out"
	type interruption struct {
		when string
		nth  int
	}
	var all []interruption
	for _, when := range []string{before, after} {
		for nth := 1; nth <= 5; nth++ {
			all = append(all, interruption{when, nth})
		}
	}
	for _, tt := range all {
		t.Run(fmt.Sprintf("write %d %s", tt.nth, tt.when), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := newServer(t, aNode("n1", "gpu", "*"+teamA))
				ctx, interrupt := context.WithCancel(t.Context())
				defer interrupt()
				if tt.when == before {
					api.before = func(_ string, write int) int {
						if write == tt.nth {
							return http.StatusForbidden
						}
						return 0
					}
				} else {
					api.after = func(string, int) {
						if _, done := api.writes(); done == tt.nth {
							interrupt()
						}
					}
				}
				api.addSets(aSet("db", 1, "*"+teamA), aSet("web", 2, "*"+teamA))
				cluster := api.follow(t, true)
				if _, err := carry(ctx, cluster, fromAToB("db", "web"), hooks{}); err == nil {
					t.Fatal("the first run was not interrupted")
				}
				if _, err := carry(t.Context(), cluster, fromAToB("db", "web"), hooks{}); err != nil {
					t.Fatalf("beginning again: %v", err)
				}
				begun, done := api.writes()
				if done != 5 {
					t.Errorf("%d writes were carried out, want each of the five once: %v", done, begun)
				}
				if diff := cmp.Diff(map[string]string{"db": "*" + teamB, "web": "*" + teamB}, api.tolerations()); diff != "" {
					t.Errorf("tolerations: %s", diff)
				}
				if diff := cmp.Diff(map[string]string{"n1": "*" + teamB}, api.taints()); diff != "" {
					t.Errorf("taints: %s", diff)
				}
			})
		})
	}
}

func TestRun_endsWhereAnotherControllerReverts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := newServer(t, aNode("n1", "gpu", "*"+teamA))
		api.after = func(name string, _ int) {
			// The controller makes the pods anew each time, so that nothing is waited for.
			api.editSet(name, takeOut)
			api.roll(name)
		}
		api.addSets(aSet("web", 1, "*"+teamA))
		steps, err := carry(t.Context(), api.follow(t, true), fromAToB("web"), hooks{})
		if reverted := new(RevertedError); !errors.As(err, &reverted) || reverted.Thing.Name != "web" {
			t.Errorf("got %v", err)
		}
		if diff := cmp.Diff([]string{"add tolerations to web"}, inShort(steps)); diff != "" {
			t.Errorf("steps: %s", diff)
		}
		begun, _ := api.writes()
		if len(begun) < 2 || len(begun) > 2*maxRounds || slices.Contains(begun, "n1") {
			t.Errorf("wrote %v", begun)
		}
		if api.taints()["n1"] != "*"+teamA {
			t.Errorf("the node carries %s", api.taints()["n1"])
		}
	})
}

// TestWrites_namesTheObjectThatIsReverted: of several objects the first.
func TestWrites_namesTheObjectThatIsReverted(t *testing.T) {
	t.Parallel()
	node := &snapshot.Node{Name: "n1"}
	for want, step := range map[string]planner.Step{
		"StatefulSet/shop/web":        {Kind: planner.Expand, Workload: &workload.Workload{Ref: workload.Ref{Kind: "StatefulSet", Namespace: "shop", Name: "web"}}},
		"Node/n1":                     {Kind: planner.Label, Labels: planner.LabelPlan{Switches: []planner.LabelSwitch{{Node: node}}}},
		"MutatingAdmissionPolicy/gpu": {Kind: planner.Admit, Policy: admission.Plan{Name: "gpu"}},
		"/":                           {Kind: planner.ApplyTaints, Switch: &planner.SetSwitch{}},
	} {
		if got := writes(step); got.String() != want {
			t.Errorf("%v is about %s, want %s", step.Kind, got, want)
		}
	}
}

// TestRun_saysWhatItWaitsForWhenItsTimeIsOver lets the time end in every wait.
func TestRun_saysWhatItWaitsForWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		roll  func(a *testServer)
		parts []string
	}{
		{
			"pods of the old template are named", func(*testServer) {},
			[]string{`StatefulSet "shop/web" has not finished rolling out`, "still without the tolerations: web-pod-1, web-pod-2"},
		},
		{
			"pods that are on no node yet are named beside them", func(a *testServer) {
				p := a.podsOf("web")[0]
				p.Spec.NodeName, p.Spec.Tolerations = "", a.set("web").Spec.Template.Spec.Tolerations
				a.Put(p)
			},
			[]string{"still without the tolerations: web-pod-2; recreated and on no node yet: web-pod-1"},
		},
		{
			"a pod that does not come back is told", func(a *testServer) {
				a.roll("web")
				a.Remove(a.podsOf("web")[0])
			},
			[]string{"1 of 2 pods are not created yet"},
		},
		{
			"an update that is not complete is told, where a lost pod would come back as it was", func(a *testServer) {
				a.roll("web")
				a.editSet("web", func(s *appsv1.StatefulSet) {
					partition := int32(1)
					s.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition}
					s.Status.CurrentRevision, s.Status.UpdateRevision, s.Status.ObservedGeneration = "web-a", "web-b", s.Generation+1
				})
			},
			[]string{"a lost pod would be recreated from an older template"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := newServer(t, aNode("n1", "gpu", "*"+teamA))
				api.idle = true
				api.after = func(string, int) { tt.roll(api) }
				api.addSets(aSet("web", 2, "*"+teamA))
				cluster := api.follow(t, true)
				ctx, cancel := context.WithTimeout(t.Context(), 5*lookAgain)
				defer cancel()
				_, err := carry(ctx, cluster, fromAToB("web"), hooks{})
				stuck := new(StuckError)
				if !errors.As(err, &stuck) || !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("got %v", err)
				}
				for _, part := range tt.parts {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("the error does not say %q: %v", part, err)
					}
				}
				if begun, _ := api.writes(); strings.Join(begun, " ") != "web" {
					t.Errorf("wrote %v", begun)
				}
			})
		})
	}
}

// TestRun_asksBeforeTheFirstWriteOfALaterRound begins with nothing to do but to wait,
// and finds something to do after that.
func TestRun_asksBeforeTheFirstWriteOfALaterRound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := newServer(t, aNode("n1", "gpu"))
		api.addSets(aSet("web", 1, "*"+teamA))
		api.removePods("web")
		api.read = func(_ string, nth int) {
			if nth == 2 {
				api.editSet("web", func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Tolerations = nil })
			}
		}
		no := errors.New("no")
		_, err := carry(t.Context(), api.follow(t, true), Request{Workloads: wanting(teamA, "web")}, hooks{begin: func(context.Context, planner.Plan) error { return no }})
		if begun, _ := api.writes(); !errors.Is(err, no) || len(begun) > 0 {
			t.Errorf("got %v, and wrote %v", err, begun)
		}
	})
}

// TestRun_looksAtTheOthersAgainAfterAWait has another writer overwrite one workload while
// another, at the very end, waits for a pod that has been lost.
func TestRun_looksAtTheOthersAgainAfterAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := newServer(t, aNode("n1", "gpu"))
		api.addSets(aSet("db", 1, "*"+teamA), aSet("web", 1, "*"+teamA))
		api.removePods("db")
		api.read = func(name string, nth int) {
			if name == "db" && nth == 2 {
				api.editSet("web", func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Tolerations = nil })
				api.roll("db")
			}
		}
		if _, err := carry(t.Context(), api.follow(t, true), Request{Workloads: wanting(teamA, "web", "db")}, hooks{}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{"db": "*" + teamA, "web": "*" + teamA}, api.tolerations()); diff != "" {
			t.Errorf("tolerations: %s", diff)
		}
	})
}

// many are the names of StatefulSets, and these with one pod each.
func many(count int) (names []string, sets []*appsv1.StatefulSet) {
	for n := range count {
		name := fmt.Sprintf("web%02d", n)
		names = append(names, name)
		sets = append(sets, aSet(name, 1, "*"+teamA))
	}
	return names, sets
}

// TestRun_readsEachWorkloadAFewTimesHoweverManyThereAre: before the first write, for
// the expansion, for the wait, before the taint, for the contraction, and in the end.
func TestRun_readsEachWorkloadAFewTimesHoweverManyThereAre(t *testing.T) {
	t.Parallel()
	const few = 9
	for _, count := range []int{1, 30} {
		t.Run(fmt.Sprintf("%d workloads", count), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				names, sets := many(count)
				api := newServer(t, aNode("n1", "gpu", "*"+teamA))
				api.addSets(sets...)
				asked := 0
				asks := hooks{begin: func(context.Context, planner.Plan) error { asked++; return nil }}
				if _, err := carry(t.Context(), api.follow(t, true), fromAToB(names...), asks); err != nil {
					t.Fatal(err)
				}
				if asked != 1 {
					t.Errorf("was asked %d times before the first write", asked)
				}
				all := 0
				for _, n := range api.readings() {
					all += n
				}
				t.Logf("%d workloads were read %d times", count, all)
				if all > count*few {
					t.Errorf("%d workloads were read %d times", count, all)
				}
			})
		})
	}
}

// TestRun_doesNotReadAWorkloadForThePodsOfOthers lets the pods of another workload
// change all the time while one waits for three seconds.
func TestRun_doesNotReadAWorkloadForThePodsOfOthers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		after func(a *testServer)
		// most is how often it may be read. Twice is before the wait.
		most int
	}{
		{"while its own pods are missing", func(*testServer) {}, 2 + 1},
		{"while its controller has not said that it has seen the change", func(a *testServer) {
			a.removePods("web")
			a.addPod(a.set("web"))
		}, 2 + 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := newServer(t, aNode("n1", "gpu", "*"+teamA))
				api.idle = true
				api.after = func(string, int) { tt.after(api) }
				api.addSets(aSet("other", 3, teamA), aSet("web", 1, "*"+teamA))
				cluster := api.follow(t, true)
				ctx, cancel := context.WithTimeout(t.Context(), 3*lookAgain)
				defer cancel()
				busy := make(chan int)
				go func() {
					touched := 0
					for ; ctx.Err() == nil; touched++ {
						api.touchPods("other", touched)
						cluster.NextPods(ctx, time.Millisecond)
					}
					busy <- touched
				}()
				_, err := carry(ctx, cluster, fromAToB("web"), hooks{})
				if touched := <-busy; touched < 10 {
					t.Fatalf("the pods of the other workload have changed only %d times", touched)
				}
				if late := new(StuckError); !errors.As(err, &late) {
					t.Fatalf("got %v", err)
				}
				if read := api.readings()["web"]; read > tt.most {
					t.Errorf("it was read %d times, at most %d are needed", read, tt.most)
				}
			})
		})
	}
}
