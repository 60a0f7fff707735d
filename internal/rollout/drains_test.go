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
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// drainScene is a drain, and what happens meanwhile. What has been done is written down in
// its order.
type drainScene struct {
	api  *testServer
	done []string
	// before decides about a write to a pod or a node; lingers keeps the kubelet from
	// ending pods that terminate.
	before func(s *drainScene, r fakeapi.Request) int
	// read decides about a read.
	read    func(r fakeapi.Request) fakeapi.Fault
	lingers bool
	// ended is told of each pod that the kubelet has ended.
	ended func(s *drainScene, pod string)
	// approve answers the nth question.
	approve func(s *drainScene, nth int) error
	asked   int
	// evictions are the moments at which each pod was asked for last.
	evictions map[string]time.Time
}

func newDrainScene(t *testing.T, nodes ...*corev1.Node) *drainScene {
	t.Helper()
	s := &drainScene{api: newServer(t, nodes...), evictions: map[string]time.Time{}}
	s.api.client.OnRequest(func(r fakeapi.Request) fakeapi.Fault {
		if !r.Write() {
			if s.read == nil {
				return fakeapi.None
			}
			return s.read(r)
		}
		switch {
		case r.Subresource == "eviction":
			s.noteRemoval("evict", r.Name)
		case r.Verb == "delete":
			s.noteRemoval("delete", r.Name)
		default:
			s.note("%s %s", r.Verb, r.Name)
		}
		if s.before == nil {
			return fakeapi.None
		}
		return fakeapi.Fault(s.before(s, r))
	})
	s.api.client.OnAnswer(func(r fakeapi.Request, status int) {
		removed := r.Subresource == "eviction" && status == http.StatusCreated || r.Verb == "delete" && status == http.StatusOK
		if removed && !s.lingers {
			s.end(r.Name)
		}
	})
	return s
}

func (s *drainScene) note(format string, args ...any) {
	s.done = append(s.done, fmt.Sprintf(format, args...))
}

func (s *drainScene) noteRemoval(verb, pod string) {
	last, again := s.evictions[pod]
	s.evictions[pod] = time.Now()
	if again {
		s.note("%s %s again after %ds", verb, pod, int(time.Since(last).Seconds()))
		return
	}
	s.note("%s %s", verb, pod)
}

// sorted is what was done, with evictions that follow each other by name: the order of the
// pods of a node says nothing.
func (s *drainScene) sorted() []string {
	out := slices.Clone(s.done)
	for from := 0; from < len(out); from++ {
		to := from
		for to < len(out) && strings.HasPrefix(out[to], "evict ") {
			to++
		}
		slices.Sort(out[from:to])
		from = max(from, to-1)
	}
	return out
}

// end is the kubelet.
func (s *drainScene) end(pod string) {
	if p, there := fakeapi.Get[*corev1.Pod](s.api.Server, namespace, pod); there {
		s.api.Remove(p)
	}
	if s.ended != nil {
		s.ended(s, pod)
	}
}

// drain drains nodes, and nothing else.
func (s *drainScene) drain(ctx context.Context, cluster *kube.Cluster, d Drain) error {
	d.Progress = func(what string) { s.note("%s", what) }
	d.Waiting = func(node string, pods []string) { s.note("%s: %s", node, strings.Join(pods, ", ")) }
	_, err := carry(ctx, cluster, Request{Drain: &d}, hooks{begin: func(context.Context, planner.Plan) error {
		s.asked++
		s.note("approve")
		if s.approve == nil {
			return nil
		}
		return s.approve(s, s.asked)
	}})
	return err
}

// drains nodes and reports nothing.
func quietly(ctx context.Context, cluster *kube.Cluster, d Drain) error {
	_, err := Run(ctx, cluster, Request{Drain: &d}, eviction.ComparisonOff)
	return err
}

// onNode puts a pod with a controller on a node.
func (s *drainScene) onNode(name, node string, changes ...func(*corev1.Pod)) {
	owner := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "rs", UID: "rs"}}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: map[string]string{"app": name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, metav1.SchemeGroupVersion.WithKind("Thing"))},
		},
		Spec: corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	for _, change := range changes {
		change(p)
	}
	s.api.Put(p)
}

// guard has a PodDisruptionBudget allow so many disruptions of a pod.
func (s *drainScene) guard(pod string, allowed int32) {
	s.api.Put(&policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "budget-of-" + pod},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": pod}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed, DesiredHealthy: 1, CurrentHealthy: 1, ObservedGeneration: 9},
	})
}

func cordonedNode(n *corev1.Node) *corev1.Node {
	n.Spec.Unschedulable = true
	return n
}

func orphan(p *corev1.Pod) { p.OwnerReferences = nil }

func TestDrainNodes(t *testing.T) {
	t.Parallel()
	no := errors.New("no")
	n1, n2 := func() *corev1.Node { return aNode("n1", "gpu") }, func() *corev1.Node { return aNode("n2", "gpu") }
	const held = "pod shop/db cannot be evicted yet: The disruption budget budget-of-db needs 1 healthy pods and has 1 currently"
	begun := []string{"approve", "patch n1", "node n1 is cordoned", "approve"}
	for name, tt := range map[string]struct {
		nodes []*corev1.Node
		// drain are the names of the nodes that are drained, n1 where it is nil.
		drain   []string
		scene   func(s *drainScene)
		lingers bool
		before  func(s *drainScene, r fakeapi.Request) int
		// read decides about a read.
		read    func(r fakeapi.Request) fakeapi.Fault
		approve func(s *drainScene, nth int) error

		done []string
		// fails is the error, and left the rest of what a DrainError tells.
		fails error
		left  DrainError
		says  string
	}{
		"all nodes are cordoned before the first pod goes, and they are emptied in order": {
			nodes: []*corev1.Node{n1(), n2()}, drain: []string{"n2", "n1"},
			scene: func(s *drainScene) { s.onNode("web", "n1"); s.onNode("db", "n1"); s.onNode("cache", "n2") },
			done: []string{
				"approve", "patch n2", "node n2 is cordoned", "patch n1", "node n1 is cordoned", "approve",
				"draining node n2: evicting 1 pod", "evict cache", "n2: pod shop/cache is being evicted", "node n2 is drained",
				"draining node n1: evicting 2 pods", "evict db", "evict web", "n1: pod shop/db is being evicted, pod shop/web is being evicted", "node n1 is drained",
			},
		},
		"a node that is cordoned already is not written": {
			nodes: []*corev1.Node{cordonedNode(n1())},
			done:  []string{"approve", "approve", "draining node n1: evicting 0 pods", "node n1 is drained"},
		},
		"a node that is not there is as empty as it can be": {
			drain: []string{"n1"},
			done:  []string{"approve", "approve", "draining node n1: evicting 0 pods", "node n1 is drained"},
		},
		"a node that goes while it is cordoned is as empty as it can be": {
			nodes: []*corev1.Node{n1()}, before: func(s *drainScene, _ fakeapi.Request) int { s.api.Remove(n1()); return 0 },
			done: []string{"approve", "patch n1", "approve", "draining node n1: evicting 0 pods", "node n1 is drained"},
		},
		"a pod that a budget holds is asked for again after five seconds, and told once": {
			nodes: []*corev1.Node{n1()}, scene: func(s *drainScene) { s.onNode("web", "n1"); s.guard("web", 0) },
			before: func(s *drainScene, r fakeapi.Request) int {
				if strings.Count(strings.Join(s.done, " "), "again") == 2 {
					s.guard("web", 1)
				}
				return 0
			},
			done: append(slices.Clone(begun), "draining node n1: evicting 1 pod", "evict web",
				"n1: pod shop/web cannot be evicted yet: The disruption budget budget-of-web needs 1 healthy pods and has 1 currently",
				"evict web again after 5s", "evict web again after 5s", "n1: pod shop/web is being evicted", "node n1 is drained"),
		},
		"a pod that terminates already is waited for, and not evicted": {
			nodes: []*corev1.Node{n1()}, lingers: true,
			scene: func(s *drainScene) {
				s.onNode("web", "n1")
				p, _ := fakeapi.Get[*corev1.Pod](s.api.Server, namespace, "web")
				s.api.Delete(p)
				time.AfterFunc(20*time.Second, func() { s.end("web") })
			},
			done: append(slices.Clone(begun), "draining node n1: evicting 1 pod", "n1: pod shop/web is terminating", "node n1 is drained"),
		},
		"a pod that comes in spite of the cordon is left": {
			nodes: []*corev1.Node{n1()}, scene: func(s *drainScene) { s.onNode("web", "n1") },
			before: func(s *drainScene, r fakeapi.Request) int {
				if r.Subresource == "eviction" {
					s.onNode("tolerant", "n1")
				}
				return 0
			},
			done: append(slices.Clone(begun), "draining node n1: evicting 1 pod", "evict web", "n1: pod shop/web is being evicted", "node n1 is drained"),
		},
		"a pod without a controller stops it before the first write": {
			nodes: []*corev1.Node{n1()}, scene: func(s *drainScene) { s.onNode("web", "n1"); s.onNode("bare", "n1", orphan) },
			says: "pod shop/bare has no controller that would recreate it",
		},
		"a pod that two budgets cover stops it before the first write": {
			nodes: []*corev1.Node{n1()},
			scene: func(s *drainScene) {
				s.onNode("web", "n1")
				s.guard("web", 1)
				s.guard("other", 1)
				fakeapi.Edit(s.api.Server, namespace, "budget-of-other", func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector.MatchLabels["app"] = "web" })
			},
			says: "pod shop/web is covered by 2 PodDisruptionBudgets",
		},
		"a pod on another node stops nothing": {
			nodes: []*corev1.Node{n1(), n2()}, scene: func(s *drainScene) { s.onNode("bare", "n2", orphan) },
			done: append(slices.Clone(begun), "draining node n1: evicting 0 pods", "node n1 is drained"),
		},
		"a pod without a controller that comes before the cordon stops it before the first eviction": {
			nodes: []*corev1.Node{n1(), n2()}, drain: []string{"n1", "n2"}, scene: func(s *drainScene) { s.onNode("web", "n1") },
			before: func(s *drainScene, _ fakeapi.Request) int { s.onNode("bare", "n1", orphan); return 0 },
			done:   []string{"approve", "patch n1", "node n1 is cordoned", "patch n2", "node n2 is cordoned"},
			says:   "pod shop/bare has no controller that would recreate it", left: DrainError{Cordoned: []string{"n1", "n2"}},
		},
		"a no stops it before the first write": {
			nodes: []*corev1.Node{n1()}, scene: func(s *drainScene) { s.onNode("web", "n1") },
			approve: func(*drainScene, int) error { return no }, done: begun[:1], fails: no, says: "no",
		},
		"a no to what came before the cordon stops it before the first eviction": {
			nodes: []*corev1.Node{n1()}, scene: func(s *drainScene) { s.onNode("web", "n1") },
			approve: func(_ *drainScene, nth int) error { return map[int]error{2: no}[nth] }, done: begun, fails: no, left: DrainError{Cordoned: []string{"n1"}},
		},
		"a cordon that is refused ends it": {
			nodes: []*corev1.Node{n1(), n2()}, drain: []string{"n1", "n2"}, scene: func(s *drainScene) { s.onNode("web", "n1") },
			before: func(_ *drainScene, r fakeapi.Request) int {
				return map[bool]int{true: http.StatusForbidden}[r.Name == "n2"]
			},
			done: []string{"approve", "patch n1", "node n1 is cordoned", "patch n2"}, fails: kube.ErrForbidden, left: DrainError{Cordoned: []string{"n1"}},
		},
		"an eviction that is refused for good ends it, and says on which node": {
			nodes: []*corev1.Node{cordonedNode(n1()), n2()}, drain: []string{"n1", "n2"}, scene: func(s *drainScene) { s.onNode("web", "n2") },
			before: func(_ *drainScene, r fakeapi.Request) int {
				return map[bool]int{true: http.StatusForbidden}[r.Subresource == "eviction"]
			},
			done:  []string{"approve", "patch n2", "node n2 is cordoned", "approve", "draining node n1: evicting 0 pods", "node n1 is drained", "draining node n2: evicting 1 pod", "evict web"},
			fails: kube.ErrForbidden, left: DrainError{Node: "n2", Cordoned: []string{"n1", "n2"}, Drained: []string{"n1"}},
		},
		"pods that are left when its time is over are named with what holds them": {
			nodes: []*corev1.Node{n1()}, scene: func(s *drainScene) { s.onNode("db", "n1"); s.guard("db", 0) },
			done: append(slices.Clone(begun), "draining node n1: evicting 1 pod", "evict db", "n1: "+held,
				"evict db again after 5s", "evict db again after 5s", "evict db again after 5s", "evict db again after 5s", "evict db again after 5s"),
			fails: context.DeadlineExceeded, left: DrainError{Node: "n1", Cordoned: []string{"n1"}, Waiting: []string{held}},
			says: "draining node n1: " + held + ": context deadline exceeded",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newDrainScene(t, tt.nodes...)
				s.before, s.lingers, s.approve = tt.before, tt.lingers, tt.approve
				if tt.scene != nil {
					tt.scene(s)
				}
				nodes := tt.drain
				if nodes == nil {
					nodes = []string{"n1"}
				}
				cluster := s.api.follow(t, true)
				if _, err := cluster.Snapshot(t.Context()); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 28*time.Second)
				defer cancel()
				err := s.drain(ctx, cluster, Drain{NodeDrain: planner.NodeDrain{Nodes: nodes}, GracePeriod: new(int64(7))})
				if (err != nil) != (tt.fails != nil || tt.says != "") || tt.fails != nil && !errors.Is(err, tt.fails) || err != nil && !strings.Contains(err.Error(), tt.says) {
					t.Errorf("it ends with %v, want %v that says %q", err, tt.fails, tt.says)
				}
				if left := new(DrainError); errors.As(err, &left) {
					left.Err = nil
					if diff := cmp.Diff(tt.left, *left); diff != "" {
						t.Errorf("the error tells: %s", diff)
					}
				}
				if diff := cmp.Diff(tt.done, s.sorted()); diff != "" {
					t.Errorf("what was done: %s", diff)
				}
			})
		})
	}
}

// TestDrainNodes_givesPodsTheGracePeriod, and asks no controller where there are no hooks.
func TestDrainNodes_givesPodsTheGracePeriod(t *testing.T) {
	t.Parallel()
	type row struct {
		grace   *int64
		deletes bool
	}
	for _, tt := range []row{{}, {grace: new(int64(7))}, {deletes: true}, {new(int64(7)), true}} {
		grace := tt.grace
		synctest.Test(t, func(t *testing.T) {
			s := newDrainScene(t, aNode("n1", "gpu"))
			s.onNode("web", "n1", func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = new(int64(60)) })
			s.lingers = true
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := quietly(ctx, s.api.follow(t, true), Drain{NodeDrain: planner.NodeDrain{Nodes: []string{"n1"}, Rules: planner.DrainRules{DisableEviction: tt.deletes}}, GracePeriod: grace}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("it ends with %v", err)
			}
			want := int64(60)
			if grace != nil {
				want = *grace
			}
			p, _ := fakeapi.Get[*corev1.Pod](s.api.Server, namespace, "web")
			if p.DeletionGracePeriodSeconds == nil || *p.DeletionGracePeriodSeconds != want {
				t.Errorf("the pod has %v seconds, want %d", p.DeletionGracePeriodSeconds, want)
			}
		})
	}
}
