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
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// pinning is the wish that StatefulSets tolerate the taint a and require the nodes of the
// pool, or that they give both up.
func pinning(pool string, names ...string) []Tolerations {
	out := wanting(map[bool]string{true: teamA}[pool != ""], names...)
	for i := range out {
		out[i].Pin = label.Claim{Owner: "me", Generation: generation, Labels: map[string]string{"pool": "gpu"}, Release: pool == ""}
		out[i].NoWait = false
	}
	return out
}

// pinned is a StatefulSet whose pods require a pool, by an owned node selector or a foreign one.
func pinned(s *appsv1.StatefulSet, pool string, ours bool) *appsv1.StatefulSet {
	s.Spec.Template.Spec.NodeSelector = map[string]string{"pool": pool}
	if ours {
		record := label.Record{{Key: "pool", Owner: "me", Generation: generation}}
		if s.Annotations == nil {
			s.Annotations = map[string]string{}
		}
		s.Annotations[label.OwnedAnnotation] = record.String()
	}
	return s
}

func damagedSet(s *appsv1.StatefulSet, annotation string) *appsv1.StatefulSet {
	s.Annotations = map[string]string{annotation: "{"}
	return s
}

func TestRun_pinsPodsToNodes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		set    *appsv1.StatefulSet
		change []Tolerations
		idle   bool

		// pool is what the template requires then.
		pool   string
		steps  []string
		writes int
		says   string
	}{
		"tolerations and pins come in one write": {
			set: aSet("web", 1), change: pinning("gpu", "web"), pool: "gpu", writes: 1, steps: []string{"add tolerations and a node selector to web"},
		},
		"a pin alone is a change": {
			set: aSet("web", 1, "*"+teamA), change: pinning("gpu", "web"), pool: "gpu", writes: 1, steps: []string{"add a node selector to web"},
		},
		"what is as wanted is not written": {set: pinned(aSet("web", 1, "*"+teamA), "gpu", true), change: pinning("gpu", "web"), pool: "gpu"},
		"a pin that is given up goes": {
			set: pinned(aSet("web", 1, "*"+teamA), "gpu", true), change: pinning("", "web"), writes: 1, steps: []string{"remove tolerations and a node selector from web"},
		},
		"a pin of another owner refuses": {
			set: pinned(aSet("web", 1, "*"+teamA), "web", false), change: pinning("gpu", "web"), pool: "web", says: `StatefulSet "shop/web" requires the label pool with the value "web"`,
		},
		"a pin of another owner stays":                 {set: pinned(aSet("web", 1), "gpu", false), change: pinning("", "web"), pool: "gpu"},
		"a record of pins that cannot be read refuses": {set: damagedSet(aSet("web", 1), label.OwnedAnnotation), change: pinning("gpu", "web"), says: label.OwnedAnnotation},
		"a record of pins is not needed without any": {
			set: damagedSet(aSet("web", 1), label.OwnedAnnotation), change: wanting(teamA, "web"), writes: 1, steps: []string{"add tolerations to web"},
		},
		"a record of tolerations that cannot be read refuses": {set: damagedSet(aSet("web", 1), toleration.OwnedAnnotation), change: wanting(teamA, "web"), says: toleration.OwnedAnnotation},
		"pods that do not require it yet are waited for": {
			set: aSet("web", 1, "*"+teamA), change: pinning("gpu", "web"), idle: true, pool: "gpu", writes: 1, steps: []string{"add a node selector to web"}, says: "still without the tolerations: web-pod-1",
		},
		"pods that do not follow refuse a pin": {
			set: onDelete(aSet("web", 1, "*"+teamA)), change: pinning("gpu", "web"), says: "do not follow: its update strategy is OnDelete",
		},
		"pods that do not follow are left where no resource waits": {
			set: onDelete(aSet("web", 1, "*"+teamA)), change: unwaited(pinning("gpu", "web")), pool: "gpu", writes: 1, steps: []string{"add a node selector to web"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := newServer(t, aNode("n1", "gpu"))
				api.addSets(tt.set)
				api.idle = tt.idle
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				steps, err := carry(ctx, api.follow(t, true), Request{Workloads: tt.change}, hooks{})
				if (err != nil) != (tt.says != "") || err != nil && !strings.Contains(err.Error(), tt.says) {
					t.Errorf("it ends with %v, want %q", err, tt.says)
				}
				if got := api.set("web").Spec.Template.Spec.NodeSelector["pool"]; got != tt.pool {
					t.Errorf("the template requires the pool %q, want %q", got, tt.pool)
				}
				if begun, _ := api.writes(); len(begun) != tt.writes {
					t.Errorf("it wrote %v, want %d writes", begun, tt.writes)
				}
				// Whether there is something to wait for depends on what the watch has shown.
				taken := slices.DeleteFunc(inShort(steps), func(step string) bool { return strings.HasPrefix(step, "wait") })
				if diff := cmp.Diff(tt.steps, taken, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("steps: %s", diff)
				}
			})
		})
	}
}

// TestRun_takesLabelsFromNodesOnceNoPodRequiresThem: a lost pod could not be recreated there.
func TestRun_takesLabelsFromNodesOnceNoPodRequiresThem(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		idle bool
		// label is what the node has in the end.
		label string
		says  string
	}{"after they have gone": {label: ""}, "not while they are there": {idle: true, label: "gpu", says: "still pinned to the nodes: web-pod-1"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := aNode("n1", "gpu")
				record := label.Record{{Key: "pool", Owner: "me", Generation: generation}}
				n.Annotations = map[string]string{label.OwnedAnnotation: record.String()}
				api := newServer(t, n)
				api.addSets(pinned(aSet("web", 1, "*"+teamA), "gpu", true))
				api.idle = tt.idle
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				change := Request{
					Labels:    &planner.NodeLabels{Target: planner.Target{Name: "n1"}, Claim: label.Claim{Owner: "me", Generation: generation, Labels: map[string]string{"pool": "gpu"}, Release: true}},
					Workloads: pinning("", "web"),
				}
				_, err := carry(ctx, api.follow(t, true), change, hooks{})
				if (err != nil) != (tt.says != "") || err != nil && !strings.Contains(err.Error(), tt.says) {
					t.Errorf("it ends with %v, want %q", err, tt.says)
				}
				api.edit("n1", func(now *corev1.Node) {
					if now.Labels["pool"] != tt.label {
						t.Errorf("the node has the label %q, want %q", now.Labels["pool"], tt.label)
					}
				})
				begun, _ := api.writes()
				if want := []string{"web", "n1"}[:map[bool]int{true: 1, false: 2}[tt.idle]]; !slices.Equal(begun, want) {
					t.Errorf("it wrote %v, want %v", begun, want)
				}
			})
		})
	}
}

// TestRun_makesPoliciesBeforeTaints, and takes out of them what no taint needs after these.
func TestRun_makesPoliciesBeforeTaints(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := newServer(t, aNode("n1", "gpu", "*"+teamA))
		api.make(t, giving("gpu", "me", teamA))
		cluster := api.follow(t, true)
		change := Request{Nodes: tainting(teamB), Policies: []admission.Claim{giving("gpu", "me", teamB), giving("more", "me", teamB)}}
		steps, err := carry(t.Context(), cluster, change, hooks{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"write policy gpu", "write policy more", "change taints of 1 node", "remove unneeded tolerations from policy gpu"}, steps); diff != "" {
			t.Errorf("steps: %s", diff)
		}
		for i := range change.Policies {
			change.Policies[i].Release = true
		}
		change.Nodes = tainting(teamB)
		change.Nodes.Claim.Release = true
		steps, err = carry(t.Context(), cluster, change, hooks{})
		if diff := cmp.Diff([]string{"change taints of 1 node", "delete policy gpu", "delete policy more"}, steps); err != nil || diff != "" {
			t.Errorf("%v, steps: %s", err, diff)
		}
		api.make(t, others(giving("gpu", "you", teamA)))
		before, _ := api.writes()
		foreign := Request{Nodes: tainting(teamA), Policies: []admission.Claim{giving("gpu", "me", teamA)}}
		if _, err := carry(t.Context(), cluster, foreign, hooks{}); err == nil || !strings.Contains(err.Error(), `is owned by "you"`) {
			t.Errorf("a policy of another owner: %v", err)
		}
		if after, _ := api.writes(); len(after) != len(before) {
			t.Errorf("it wrote %v", after[len(before):])
		}
	})
}

// TestRun_writesSeveralListsOfOneObject, each from what the one before has left.
func TestRun_writesSeveralListsOfOneObject(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newMachineWorld(t, 0)
		w.edit(func(u *unstructured.Unstructured) {
			for _, list := range []string{"a", "b"} {
				_ = unstructured.SetNestedSlice(u.Object, []any{}, "spec", list, "tolerations")
			}
		})
		var all []Tolerations
		for _, list := range []string{"a", "b"} {
			d := wanting(teamA, "pool")[0]
			d.Ref = workload.Ref{APIVersion: machineset.APIVersion, Kind: "MachineSet", Namespace: machineset.OperatorNamespace, Name: "pool"}
			d.Path, d.NoWait = []string{"spec", list, "tolerations"}, true
			d.Claim.Path = strings.Join(d.Path, ".")
			all = append(all, d)
		}
		if _, err := carry(t.Context(), w.follow(t), Request{Workloads: all}, hooks{}); err != nil {
			t.Fatal(err)
		}
		for _, list := range []string{"a", "b"} {
			if got := taintsOf(w.sets()[0], "spec", list, "tolerations"); got != teamA {
				t.Errorf("the list %s has %q", list, got)
			}
		}
		if fmt.Sprint(w.done) != "[patch machinesets patch machinesets]" || w.tried != 2 {
			t.Errorf("it wrote %v in %d tries", w.done, w.tried)
		}
	})
}

// TestRun_namesTheWorkloadThatCannotBeRead, and writes no other.
func TestRun_namesTheWorkloadThatCannotBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := newServer(t, aNode("n1", "gpu"))
		api.addSets(aSet("db", 1), aSet("web", 1))
		cluster := api.follow(t, true)
		api.faulty(func(r fakeapi.Request) int {
			return map[bool]int{true: http.StatusForbidden}[r.Verb == "get" && r.Name == "web"]
		})
		_, err := carry(t.Context(), cluster, Request{Workloads: wanting(teamA, "db", "web")}, hooks{})
		one := new(WorkloadError)
		if !errors.As(err, &one) || one.Ref.Name != "web" || !errors.Is(err, kube.ErrForbidden) || err.Error() != one.Err.Error() {
			t.Errorf("it ends with %v", err)
		}
		if begun, _ := api.writes(); len(begun) > 0 {
			t.Errorf("it wrote %v", begun)
		}
	})
}

// TestRun_saysThatItWaitsAfterTheTaints: what comes after them is not in their way.
func TestRun_saysThatItWaitsAfterTheTaints(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := newServer(t, aNode("n1", "gpu", "*"+teamA))
		api.addSets(aSet("web", 2, "*"+teamA))
		for name, nodes := range map[bool]*planner.NodeTaints{true: tainting(teamA), false: nil} {
			api.Remove(api.podsOf("web")[0])
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			_, err := carry(ctx, api.follow(t, true), Request{Nodes: nodes, Workloads: wanting(teamA, "web")}, hooks{})
			cancel()
			stuck := new(StuckError)
			if !errors.As(err, &stuck) || stuck.TaintsApplied != name || stuck.Missing == 0 {
				t.Errorf("with taints %t it ends with %v", name, err)
			}
			api.roll("web")
		}
	})
}
