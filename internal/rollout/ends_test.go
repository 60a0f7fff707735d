// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// TestRollOut_endsAfterTheWriteThatItIsAt when a user stops it.
func TestRollOut_endsAfterTheWriteThatItIsAt(t *testing.T) {
	t.Parallel()
	for nth := 1; nth <= 3; nth++ {
		synctest.Test(t, func(t *testing.T) {
			w := newMachineWorld(t, 1)
			w.run()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			w.after = func(_ fakeapi.Request, n int) {
				if n == nth {
					stop()
				}
			}
			err := RollOut(ctx, w.follow(t), pool, rollingOut(machineset.InPlace), MachineHooks{})
			if !errors.Is(err, context.Canceled) || len(w.done) != nth {
				t.Errorf("stopped at write %d, it ends with %v after the writes %v", nth, err, w.done)
			}
		})
	}
}

// TestRollOut_writesAgainWhatMeetsAnotherWriteAtItsEnd: the marker is still there.
func TestRollOut_writesAgainWhatMeetsAnotherWriteAtItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newMachineWorld(t, 1)
		w.run()
		w.before = func(_ fakeapi.Request, nth int) int { return map[int]int{4: http.StatusConflict}[nth] }
		if err := RollOut(t.Context(), w.follow(t), pool, rollingOut(machineset.InPlace), MachineHooks{}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"1 wanted with " + teamA, "pool-000 with " + teamA + ", node with " + teamA}, w.state()); diff != "" || w.tried != 5 {
			t.Errorf("after %d writes there is: %s", w.tried, diff)
		}
	})
}

// TestRollOut_tellsOfTheBudgetThatHoldsADrain also checks that PodDisruptionBudgets are listed only now and then.
func TestRollOut_tellsOfTheBudgetThatHoldsADrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newMachineWorld(t, 1)
		w.edit(func(u *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(u.Object, int64(9), "status", "observedGeneration")
		})
		w.machine("a", true)
		w.api.Put(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "web", Labels: map[string]string{"app": "web"}}, Spec: corev1.PodSpec{NodeName: "a"}})
		w.api.Put(&policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "guards-web"},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		})
		cluster, lists := w.follow(t), 0
		w.client.OnAnswer(func(r fakeapi.Request, _ int) {
			if r.Verb == "list" && r.Resource == "poddisruptionbudgets" {
				lists++
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := RollOut(ctx, cluster, pool, rollingOut(machineset.Rolling), MachineHooks{})
		late := new(MachinesError)
		if !errors.As(err, &late) || len(late.Holds) != 1 || !strings.Contains(late.Holds[0], "guards-web") {
			t.Errorf("it ends with %v, want that guards-web holds it", err)
		}
		if lists < 3 || lists > 6 {
			t.Errorf("in a minute it has listed budgets %d times", lists)
		}
	})
}

func TestWrite_knowsNoOtherIntents(t *testing.T) {
	t.Parallel()
	if err := (&machineRollout{}).write(t.Context(), machineset.Intent{Kind: "paint"}); err == nil || err.Error() != `nothing is known of "paint"` {
		t.Errorf("it ends with %v", err)
	}
}

// TestRun_labelsOfMachineSetsEndInTheMiddle where something has come since the first write.
func TestRun_labelsOfMachineSetsEndInTheMiddle(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		value string
		// meanwhile happens after the first write.
		meanwhile func(w *machineWorld, stop func())
		fails     error
		says      string
	}{
		"a MachineSet that is gone has nothing left to lose": {
			meanwhile: func(w *machineWorld, _ func()) { w.api.Remove(w.sets()[0]) },
		},
		"a label that another writer has given is a conflict": {
			value: "b", says: `label "tier" of node "pool-000" has another owner`,
			meanwhile: func(w *machineWorld, _ func()) {
				w.edit(func(u *unstructured.Unstructured) {
					annotated(label.OwnedAnnotation, "")(u)
					unstructured.RemoveNestedField(u.Object, "spec", "template", "spec", "metadata", "labels")
				})
			},
		},
		"one who stops it": {value: "b", fails: context.Canceled, meanwhile: func(_ *machineWorld, stop func()) { stop() }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newMachineWorld(t, 1)
				w.run()
				cluster := w.follow(t)
				if _, err := carry(t.Context(), cluster, labelling("pool", "a"), hooks{}); err != nil {
					t.Fatal(err)
				}
				w.done = nil
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				w.after = func(_ fakeapi.Request, _ int) {
					if len(w.done) == 1 {
						tt.meanwhile(w, stop)
					}
				}
				_, err := carry(ctx, cluster, labelling("pool", tt.value), hooks{})
				if (err != nil) != (tt.fails != nil || tt.says != "") || tt.fails != nil && !errors.Is(err, tt.fails) || err != nil && !strings.Contains(err.Error(), tt.says) {
					t.Errorf("it ends with %v, want %v that says %q", err, tt.fails, tt.says)
				}
				if tt.fails != nil && len(w.done) != 1 {
					t.Errorf("it went on to write %v", w.done)
				}
			})
		})
	}
}

// TestRun_labelsNothingOfAMachineSetWhoseTaintsCannotBeRead.
func TestRun_labelsNothingOfAMachineSetWhoseTaintsCannotBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newMachineWorld(t, 1)
		w.edit(annotated(taint.OwnedAnnotation, "{"))
		_, err := carry(t.Context(), w.follow(t), labelling("pool", "a"), hooks{})
		if err == nil || !strings.Contains(err.Error(), taint.OwnedAnnotation) || len(w.done) > 0 {
			t.Errorf("it ends with %v, and wrote %v", err, w.done)
		}
	})
}

// TestRun_goesOnOnceCountsAreBroughtBack.
func TestRun_goesOnOnceCountsAreBroughtBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newMachineWorld(t, 2)
		w.run()
		leftAtZero(w, "me")
		w.api.Add(aSet("web", 0))
		change := taintingSeveral(machineset.TemplateOnly, 1)
		change.MachineSets.Target = machineset.Target{Namespace: machineset.OperatorNamespace, Name: "pool"}
		change.Workloads = wanting(teamA, "web")
		cluster := w.follow(t)
		time.Sleep(10 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := carry(ctx, cluster, change, hooks{})
		if len(w.done) < 2 || w.done[0] != "patch machinesets" || w.done[1] != "patch statefulsets" {
			t.Errorf("it wrote %v: %v", w.done, err)
		}
	})
}

// TestHandOver_endsQuietlyWhereTheMachineSetGoesAfterAConflict.
func TestHandOver_endsQuietlyWhereTheMachineSetGoesAfterAConflict(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newMachineWorld(t, 0)
		left := machineset.RemnantRecord{{Key: "team", Effect: "NoSchedule", Owner: "me", Generation: "g1"}}
		w.edit(annotated(machineset.RemnantsAnnotation, left.String()))
		cluster := w.follow(t)
		w.before = func(fakeapi.Request, int) int {
			w.api.Remove(w.sets()[0])
			return http.StatusConflict
		}
		from, to := taint.Claim{Owner: "me", Generation: "g1"}, taint.Claim{Owner: "me", Generation: "g2", Seal: record.Seal{Nonce: "n2"}}
		if err := HandOver(t.Context(), cluster, machineset.Target{Namespace: machineset.OperatorNamespace, Name: "pool"}, from, to); err != nil {
			t.Errorf("it ends with %v", err)
		}
	})
}

// TestRun_takesNothingAwayThatRetiresWhereItCannotSeePods: pods may need it.
func TestRun_takesNothingAwayThatRetiresWhereItCannotSeePods(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status func(r fakeapi.Request) int
		want   map[string]string
		writes int
		fails  error
	}{
		"pods that cannot be listed": {
			status: func(r fakeapi.Request) int {
				return map[bool]int{true: http.StatusUnprocessableEntity}[r.Resource == "pods"]
			},
			want: map[string]string{"a": "-" + teamA, "b": "-" + teamA}, fails: kube.ErrInvalid,
		},
		"one workload that cannot be read, and no other": {
			status: func(r fakeapi.Request) int {
				return map[bool]int{true: http.StatusUnprocessableEntity}[r.Verb == "get" && r.Name == "a"]
			},
			want: map[string]string{"a": "-" + teamA, "b": ""}, writes: 1, fails: kube.ErrInvalid,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := newServer(t, aNode("n1", "gpu"))
				api.addSets(retiring("a", "*"+teamA), retiring("b", "*"+teamA))
				api.faulty(tt.status)
				err := contractNow(t.Context(), api.connect(t), toleration.Claim{Named: []taint.ID{{Key: "team", Effect: "NoExecute"}}, Known: []record.Seal{{}}})
				if !errors.Is(err, tt.fails) {
					t.Errorf("it ends with %v, want %v", err, tt.fails)
				}
				if diff := cmp.Diff(tt.want, api.tolerations()); diff != "" {
					t.Errorf("tolerations: %s", diff)
				}
				if begun, _ := api.writes(); len(begun) != tt.writes {
					t.Errorf("it wrote %v, want %d writes", begun, tt.writes)
				}
			})
		})
	}
	t.Run("nothing more once a user has stopped it", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			api := newServer(t, aNode("n1", "gpu"))
			api.addSets(retiring("a", "*"+teamA), retiring("b", "*"+teamA))
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			api.after = func(string, int) { stop() }
			_ = contractNow(ctx, api.connect(t), toleration.Claim{Named: []taint.ID{{Key: "team", Effect: "NoExecute"}}, Known: []record.Seal{{}}})
			if begun, _ := api.writes(); len(begun) != 1 {
				t.Errorf("it wrote %v", begun)
			}
		})
	})
}

// TestRun_doesNotWaitForPodsThatStopFollowingToShedLabels: those that are made anew do not
// require them.
func TestRun_doesNotWaitForPodsThatStopFollowingToShedLabels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := aNode("n1", "gpu")
		marks := label.Record{{Key: "pool", Owner: "me", Generation: generation}}
		n.Annotations = map[string]string{label.OwnedAnnotation: marks.String()}
		api := newServer(t, n)
		api.addSets(pinned(aSet("web", 1, "*"+teamA), "gpu", true))
		api.idle = true
		api.after = func(name string, _ int) {
			if name == "web" {
				time.AfterFunc(5*time.Second, func() {
					api.editSet("web", func(s *appsv1.StatefulSet) { onDelete(s); s.Status.ObservedGeneration = s.Generation + 1 })
				})
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := carry(ctx, api.follow(t, true), Request{
			Labels:    &planner.NodeLabels{Target: planner.Target{Name: "n1"}, Claim: label.Claim{Owner: "me", Generation: generation, Labels: map[string]string{"pool": "gpu"}, Release: true}},
			Workloads: pinning("", "web"),
		}, hooks{})
		if begun, _ := api.writes(); err != nil || !slices.Equal(begun, []string{"web", "n1"}) {
			t.Errorf("it ends with %v, and wrote %v", err, begun)
		}
	})
}

// TestWait_forAWorkloadWithoutPodsIsOver.
func TestWait_forAWorkloadWithoutPodsIsOver(t *testing.T) {
	t.Parallel()
	none := seen{workload: &workload.Workload{Wants: 3}}
	if done, err := (&wait{}).done(t.Context(), none); !done || err != nil || !none.ready(nil) {
		t.Errorf("done %t: %v", done, err)
	}
}

// TestRun_takesAwayWhatRetiresByTheNodesOfItsPods: the taint of a node on which none of them
// runs does not need it.
func TestRun_takesAwayWhatRetiresByTheNodesOfItsPods(t *testing.T) {
	t.Parallel()
	for taints, want := range map[string]string{"": "", teamA: "-" + teamA} {
		synctest.Test(t, func(t *testing.T) {
			api := newServer(t, aNode("n1", "gpu", strings.Fields(taints)...), aNode("n2", "gpu", teamA))
			api.addSets(retiring("web", "*"+teamA))
			if err := contractNow(t.Context(), api.connect(t), toleration.Claim{Named: []taint.ID{{Key: "team", Effect: "NoExecute"}}, Known: []record.Seal{{}}}); err != nil {
				t.Error(err)
			}
			if got := api.tolerations()["web"]; got != want {
				t.Errorf("with %q on the node of its pod, it has %q, want %q", taints, got, want)
			}
		})
	}
}
