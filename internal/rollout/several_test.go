// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// severalSets has MachineSets of these names, each of one machine that runs.
func severalSets(t *testing.T, names ...string) *machineWorld {
	t.Helper()
	w := newMachineWorld(t, 0)
	for _, name := range names {
		s := &machinev1beta1.MachineSet{ObjectMeta: metav1.ObjectMeta{
			Namespace: machineset.OperatorNamespace, Name: name, UID: types.UID("uid-of-" + name), Labels: map[string]string{"group": "several"},
		}}
		s.Spec.Replicas = ptr.To[int32](1)
		w.put("MachineSet", s)
	}
	w.run()
	return w
}

// taintingSeveral gives all of them the taint a.
func taintingSeveral(strategy machineset.Strategy, atOnce int) Request {
	return Request{
		Owner: "me",
		MachineSets: &planner.DesiredSets{
			Target:  machineset.Target{Namespace: machineset.OperatorNamespace, Selector: labels.SelectorFromSet(labels.Set{"group": "several"})},
			Desired: rollingOut(strategy), AtOnce: atOnce,
		},
		Machines: Machines{Slots: &Slots{}},
	}
}

// editOne is a write of another client to one of the MachineSets.
func (w *machineWorld) editOne(name string, change func(*unstructured.Unstructured)) {
	for _, u := range w.sets() {
		if u.GetName() == name {
			u.SetResourceVersion("")
			change(u)
			w.api.Put(u)
		}
	}
}

// interrupt leaves a MachineSet as a rollout in place leaves it after its first write.
func (w *machineWorld) interrupt(name string) {
	w.editOne(name, func(u *unstructured.Unstructured) {
		annotated(machineset.MarkerAnnotation, (&machineset.Marker{ID: "me", Strategy: machineset.InPlace, OriginalReplicas: 1}).String())(u)
		_ = unstructured.SetNestedSlice(u.Object, []any{map[string]any{"key": "team", "value": "a", "effect": "NoExecute"}}, "spec", "template", "spec", "taints")
		record := taint.Record{{Key: "team", Effect: "NoExecute", Owner: "me", Generation: generation}}
		annotated(taint.OwnedAnnotation, record.String())(u)
	})
}

// pod puts a pod that has a controller, and runs nowhere else, on the node of a MachineSet.
func (w *machineWorld) pod(name, set string, tolerations ...corev1.Toleration) {
	for _, n := range fakeapi.Objects[*corev1.Node](w.api) {
		if n.Labels["pool"] == set {
			w.api.Put(&corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": "web"}, OwnerReferences: []metav1.OwnerReference{
					*metav1.NewControllerRef(aSet("web", 1), metav1.SchemeGroupVersion.WithKind("Thing")),
				}},
				Spec:   corev1.PodSpec{NodeName: n.Name, NodeSelector: map[string]string{"pool": set}, Tolerations: tolerations},
				Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
			})
		}
	}
}

// tainted names the MachineSets whose nodes have a taint, by name.
func (w *machineWorld) tainted() string {
	var out []string
	for _, n := range fakeapi.Objects[*corev1.Node](w.api) {
		if len(n.Spec.Taints) > 0 {
			out = append(out, n.Labels["pool"])
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// refuseMachineOf refuses the writes to the machine of a MachineSet.
func refuseMachineOf(set string) func(fakeapi.Request, int) int {
	return func(r fakeapi.Request, _ int) int {
		return map[bool]int{true: http.StatusForbidden}[r.Resource == "machines" && strings.HasPrefix(r.Name, set+"-")]
	}
}

// TestRun_rollsSeveralMachineSetsOut in turn, as many in parallel as the request permits.
func TestRun_rollsSeveralMachineSetsOut(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		atOnce  int
		prepare func(w *machineWorld, c *Request)
		before  func(fakeapi.Request, int) int
		// takes is how long each is asked about before its first write.
		takes time.Duration
		// together has the first one wait until the second one has begun.
		together bool

		// began are those that began, tainted those that came to their end.
		began, tainted string
		waits          int
		// failed are those that failed, and fails is the error.
		failed string
		fails  error
		says   string
	}{
		"one after the other, by name":                  {atOnce: 1, began: "a b c", tainted: "a b c", waits: 2},
		"at least one at a time":                        {atOnce: 0, began: "a b c", tainted: "a b c", waits: 2},
		"one whose rollout was interrupted comes first": {atOnce: 1, prepare: func(w *machineWorld, _ *Request) { w.interrupt("c") }, began: "c a b", tainted: "a b c", waits: 2},
		"two at once":                                   {atOnce: 2, together: true, began: "a b c", tainted: "a b c", waits: 1},
		"no message reports that one waits": {
			atOnce: 1, prepare: func(_ *machineWorld, c *Request) { c.Machines.Waits = nil }, began: "a b c", tainted: "a b c",
		},
		"none begins after one that fails": {
			atOnce: 1, before: refuseMachineOf("a"), began: "a", waits: 1, failed: "a", fails: kube.ErrForbidden, says: "injected by the test",
		},
		"one that was interrupted goes on after one that fails": {
			atOnce: 1, prepare: func(w *machineWorld, _ *Request) { w.interrupt("a"); w.interrupt("b") }, before: refuseMachineOf("a"), began: "a b", tainted: "b", waits: 2, failed: "a", fails: kube.ErrForbidden,
		},
		"one that has begun goes on when another one fails, and none begins": {
			atOnce: 2, together: true, before: refuseMachineOf("a"), began: "a b", tainted: "b", waits: 1, failed: "a", fails: kube.ErrForbidden,
		},
		"each has the whole time from its turn on": {
			atOnce: 1, takes: 40 * time.Second, prepare: func(_ *machineWorld, c *Request) { c.Machines.Timeout = time.Minute }, began: "a b c", tainted: "a b c", waits: 2,
		},
		"one that takes longer than it may fails": {
			atOnce: 1, takes: 61 * time.Second, prepare: func(_ *machineWorld, c *Request) { c.Machines.Timeout = time.Minute },
			began: "a", waits: 1, failed: "a", fails: context.DeadlineExceeded,
		},
		"one whose turn does not come in time says that it has waited": {
			atOnce: 1, waits: 1, failed: "a", fails: context.DeadlineExceeded, says: "waiting for another rollout to end",
			prepare: func(_ *machineWorld, c *Request) {
				// One of another resource, which does not end.
				_, _ = c.Machines.Slots.Begin(context.Background(), "other", 1, func() {})
			},
		},
		"one that must not be changed is refused before its first write": {
			atOnce: 1, failed: "a", waits: 1, says: "Hive manages this MachineSet",
			prepare: func(w *machineWorld, _ *Request) {
				w.editOne("a", func(u *unstructured.Unstructured) {
					u.SetLabels(map[string]string{"group": "several", "hive.openshift.io/managed": "true"})
				})
			},
		},
		"one whose record cannot be read is told of when all others have come to their end": {
			atOnce: 1, began: "a c", tainted: "a c", waits: 1, failed: "b", says: taint.OwnedAnnotation,
			prepare: func(w *machineWorld, _ *Request) {
				w.interrupt("b")
				w.editOne("b", annotated(machineset.MarkerAnnotation, ""))
				w.editOne("b", annotated(taint.OwnedAnnotation, "{"))
				for _, m := range w.machines() {
					if strings.HasPrefix(m.GetName(), "b-") {
						_ = unstructured.SetNestedSlice(m.Object, []any{map[string]any{"key": "team", "value": "a", "effect": "NoExecute"}}, "spec", "taints")
						w.api.Put(m)
					}
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := severalSets(t, "c", "b", "a")
				change, began, waits := taintingSeveral(machineset.InPlace, tt.atOnce), []string(nil), 0
				var mu sync.Mutex
				second := make(chan struct{})
				change.Machines.Waits = func() { waits++ }
				change.Machines.Hooks.Approve = func(o machineset.Observed) error {
					mu.Lock()
					began = append(began, o.Set.Name)
					nth := len(began)
					mu.Unlock()
					time.Sleep(tt.takes)
					switch {
					case tt.together && nth == 1:
						<-second
					case tt.together && nth == 2:
						close(second)
					}
					return nil
				}
				if tt.prepare != nil {
					tt.prepare(w, &change)
					time.Sleep(10 * time.Second)
				}
				w.before = tt.before
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				_, err := carry(ctx, w.follow(t), change, hooks{})
				failed, all := []string(nil), SetErrors(nil)
				if errors.As(err, &all) {
					for _, one := range all {
						failed = append(failed, one.Set.Name)
					}
				}
				if strings.Join(failed, " ") != tt.failed || err != nil && tt.failed == "" {
					t.Errorf("it ends with %v, which is about %v, want about %q", err, failed, tt.failed)
				}
				if tt.failed != "" && (tt.fails != nil && !errors.Is(err, tt.fails) || !strings.Contains(err.Error(), tt.says)) {
					t.Errorf("it ends with %v, want %v that says %q", err, tt.fails, tt.says)
				}
				if tt.together {
					slices.Sort(began)
				}
				if strings.Join(began, " ") != tt.began {
					t.Errorf("%v began, want %s", began, tt.began)
				}
				if tt.failed == "b" {
					// Its node has the taint of its Machine, whatever the record says.
					fakeapi.Edit(w.api, "", nodeOfSet(w, "b"), func(n *corev1.Node) { n.Spec.Taints = nil })
				}
				if got := w.tainted(); got != tt.tainted {
					t.Errorf("%q have the taint, want %q", got, tt.tainted)
				}
				if waits != tt.waits {
					t.Errorf("it told %d times that one waits, want %d", waits, tt.waits)
				}
			})
		})
	}
}

func nodeOfSet(w *machineWorld, set string) string {
	for _, n := range fakeapi.Objects[*corev1.Node](w.api) {
		if n.Labels["pool"] == set {
			return n.Name
		}
	}
	return ""
}

// TestRun_checksTheLimitsRightBeforeEachMachineSet: pods may have come since the plan.
func TestRun_checksTheLimitsRightBeforeEachMachineSet(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		strategy machineset.Strategy
		most     int64
		// pods are the MachineSets on whose nodes pods run; later are those on whose nodes
		// pods come when the first one begins.
		pods, later []string
		interrupted string

		tainted string
		exceeds string
	}{
		"all together within the limit":                        {most: 2, pods: []string{"a", "b"}, tainted: "a b"},
		"all together exceed what each one would not":          {most: 1, pods: []string{"a", "b"}, exceeds: "a b"},
		"pods that come meanwhile count for their own":         {most: 1, later: []string{"b", "b"}, tainted: "a", exceeds: "b b"},
		"pods that come meanwhile may be as many as the limit": {most: 2, later: []string{"b", "b"}, tainted: "a b"},
		"a rollout that was interrupted goes on":               {most: 0, pods: []string{"b"}, interrupted: "b", tainted: "a b"},
		"a template alone evicts no pod":                       {most: 0, strategy: machineset.TemplateOnly, pods: []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := severalSets(t, "a", "b")
				strategy := machineset.InPlace
				if tt.strategy != "" {
					strategy = tt.strategy
				}
				change := taintingSeveral(strategy, 1)
				change.Limits = eviction.Limits{MaxPods: &tt.most, EvictStranded: true}
				for nth, set := range tt.pods {
					w.pod("web-"+string(rune('0'+nth)), set)
				}
				if tt.interrupted != "" {
					w.interrupt(tt.interrupted)
				}
				cluster := w.follow(t)
				change.Machines.Hooks.Approve = func(o machineset.Observed) error {
					if o.Set.Name == "a" {
						for nth, set := range tt.later {
							w.pod("later-"+string(rune('0'+nth)), set)
						}
						synctest.Wait()
					}
					return nil
				}
				_, err := carry(t.Context(), cluster, change, hooks{})
				over := new(LimitsError)
				if errors.As(err, &over) != (tt.exceeds != "") || err != nil && tt.exceeds == "" {
					t.Fatalf("it ends with %v, want that the pods of %q exceed the limit", err, tt.exceeds)
				}
				if tt.exceeds != "" {
					var sets []string
					for _, v := range over.Report.Pods {
						set, _, _ := strings.Cut(v.Pod.Node, "-")
						sets = append(sets, set)
					}
					slices.Sort(sets)
					if strings.Join(sets, " ") != tt.exceeds || !over.Began {
						t.Errorf("it counts the pods of %v, want %s (began: %t)", sets, tt.exceeds, over.Began)
					}
				}
				if got := w.tainted(); got != tt.tainted {
					t.Errorf("%q have the taint, want %q", got, tt.tainted)
				}
			})
		})
	}
}

// TestRun_doesNotBeginADrainThatNeverEnds, neither by its plan nor by what came since then.
func TestRun_doesNotBeginADrainThatNeverEnds(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(context.Context, *kube.Cluster, Request) error{
		"by its plan": func(ctx context.Context, c *kube.Cluster, change Request) error {
			_, err := Run(ctx, c, change, eviction.ComparisonOff)
			if all := SetErrors(nil); errors.As(err, &all) {
				return errors.New("it has begun")
			}
			return err
		},
		"right before its first write": func(ctx context.Context, c *kube.Cluster, change Request) error {
			_, err := carry(ctx, c, change, hooks{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := severalSets(t, "a")
				w.pod("web-0", "a", tolerating(teamA))
				w.pod("web-1", "a", tolerating(teamA))
				w.api.Put(&policyv1.PodDisruptionBudget{
					ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
					Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, MaxUnavailable: ptr.To(intstr.FromInt32(1))},
					Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1, DesiredHealthy: 1, CurrentHealthy: 2, ExpectedPods: 2, ObservedGeneration: 9},
				})
				change := taintingSeveral(machineset.ScaleToZero, 1)
				change.MachineSets.Desired.Rollout.Removed = true
				change.Limits.EvictStranded = true
				before := w.state()
				err := run(t.Context(), w.follow(t), change)
				refused := new(SetRefusedError)
				if !errors.As(err, &refused) || refused.Set.Name != "a" || len(refused.Refusals) != 1 || !strings.Contains(err.Error(), "wait for each other") {
					t.Errorf("it ends with %v, want that the budget holds the drain forever", err)
				}
				if diff := cmp.Diff(before, w.state()); diff != "" {
					t.Errorf("it changed: %s", diff)
				}
			})
		})
	}
}
