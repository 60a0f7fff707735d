// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// drainedNode is a node that a drain has cordoned and not ended on.
func drainedNode(name string) *corev1.Node {
	n := cordonedNode(aNode(name, "gpu"))
	n.Annotations = map[string]string{snapshot.AwaitedAnnotation: webAwaited}
	return n
}

func TestUncordonNodes(t *testing.T) {
	t.Parallel()
	n1, n2 := func() *corev1.Node { return cordonedNode(aNode("n1", "gpu")) }, func() *corev1.Node { return cordonedNode(aNode("n2", "gpu")) }
	refuse := func(code int, names ...string) func(*drainScene, fakeapi.Request) int {
		return func(_ *drainScene, r fakeapi.Request) int {
			for _, name := range names {
				if r.Name == name {
					return code
				}
			}
			return 0
		}
	}
	// once has something happen before the first write.
	once := func(change func(s *drainScene)) func(*drainScene, fakeapi.Request) int {
		return func(s *drainScene, _ fakeapi.Request) int {
			if len(s.done) == 1 {
				change(s)
			}
			return 0
		}
	}
	edit := func(change func(n *corev1.Node)) func(s *drainScene) {
		return func(s *drainScene) { fakeapi.Edit(s.api.Server, "", "n1", change) }
	}
	const forgets = ", and the record of its interrupted drain is removed"
	for name, tt := range map[string]struct {
		nodes  []*corev1.Node
		before func(s *drainScene, r fakeapi.Request) int
		done   []string
		want   Uncordoned
		fails  error
		// cordoned are the nodes that still take no pods.
		cordoned []string
	}{
		"cordoned nodes are uncordoned in order": {
			nodes: []*corev1.Node{n1(), n2()}, done: []string{"patch n1", "node n1 is uncordoned", "patch n2", "node n2 is uncordoned"},
			want: Uncordoned{Written: []string{"n1", "n2"}},
		},
		"a node that takes pods is not written": {
			nodes: []*corev1.Node{aNode("n1", "gpu"), n2()}, done: []string{"node n1 takes pods already", "patch n2", "node n2 is uncordoned"},
			want: Uncordoned{Written: []string{"n2"}, Already: []string{"n1"}},
		},
		"the record of an interrupted drain goes in the same write": {
			nodes: []*corev1.Node{drainedNode("n1")}, done: []string{"patch n1", "node n1 is uncordoned" + forgets}, want: Uncordoned{Written: []string{"n1"}},
		},
		"a record goes from a node that takes pods": {
			nodes: []*corev1.Node{func() *corev1.Node { n := drainedNode("n1"); n.Spec.Unschedulable = false; return n }()},
			done:  []string{"patch n1", "node n1 takes pods already" + forgets}, want: Uncordoned{Already: []string{"n1"}},
		},
		"a node that another client writes is read again": {
			nodes: []*corev1.Node{n1()}, before: once(edit(func(n *corev1.Node) { n.Labels["x"] = "y" })),
			done: []string{"patch n1", "patch n1", "node n1 is uncordoned"}, want: Uncordoned{Written: []string{"n1"}},
		},
		"a record that a drain writes meanwhile goes as well": {
			nodes: []*corev1.Node{n1()}, before: once(edit(func(n *corev1.Node) { n.Annotations = drainedNode("n1").Annotations })),
			done: []string{"patch n1", "patch n1", "node n1 is uncordoned" + forgets}, want: Uncordoned{Written: []string{"n1"}},
		},
		"a node that another client uncordons meanwhile is not written again": {
			nodes: []*corev1.Node{n1()}, before: once(edit(func(n *corev1.Node) { n.Spec.Unschedulable = false })),
			done: []string{"patch n1", "node n1 is uncordoned"}, want: Uncordoned{Written: []string{"n1"}},
		},
		"a node that is recreated and not meant stays as it is": {
			nodes: []*corev1.Node{n1()}, before: once(edit(func(n *corev1.Node) { n.UID, n.Labels = "other", nil })),
			done: []string{"patch n1", "node n1 is not selected any more"}, want: Uncordoned{Gone: []string{"n1"}}, cordoned: []string{"n1"},
		},
		"a node that is deleted meanwhile": {
			nodes: []*corev1.Node{n1(), n2()}, before: once(func(s *drainScene) { s.api.Remove(n1()) }),
			done: []string{"patch n1", "node n1 is deleted", "patch n2", "node n2 is uncordoned"}, want: Uncordoned{Written: []string{"n2"}, Gone: []string{"n1"}},
		},
		"a node that cannot be written stops no other": {
			nodes: []*corev1.Node{n1(), n2()}, before: refuse(http.StatusForbidden, "n1"),
			done: []string{"patch n1", "node n1 could not be uncordoned: patch node n1: injected by the test", "patch n2", "node n2 is uncordoned"},
			want: Uncordoned{Written: []string{"n2"}, Left: []string{"n1"}}, fails: kube.ErrForbidden, cordoned: []string{"n1"},
		},
		"the error is that of the first node": {
			nodes: []*corev1.Node{n1(), n2()}, before: func(_ *drainScene, r fakeapi.Request) int {
				return map[string]int{"n1": http.StatusForbidden, "n2": http.StatusUnprocessableEntity}[r.Name]
			},
			done: []string{"patch n1", "node n1 could not be uncordoned: patch node n1: injected by the test", "patch n2", "node n2 could not be uncordoned: patch node n2: the server rejected our request due to an error in our request"},
			want: Uncordoned{Left: []string{"n1", "n2"}}, fails: kube.ErrForbidden, cordoned: []string{"n1", "n2"},
		},
		"the error that ends it comes with that of the first node": {
			nodes: []*corev1.Node{n1(), n2()}, before: func(_ *drainScene, r fakeapi.Request) int {
				return map[string]int{"n1": http.StatusForbidden, "n2": http.StatusUnauthorized}[r.Name]
			},
			done: []string{"patch n1", "node n1 could not be uncordoned: patch node n1: injected by the test", "patch n2", "the uncordon ends at node n2: patch node n2: the server has asked for the client to provide credentials"},
			want: Uncordoned{Left: []string{"n1", "n2"}}, fails: kube.ErrUnauthorized, cordoned: []string{"n1", "n2"},
		},
		"refused credentials end it": {
			nodes: []*corev1.Node{n1(), n2()}, before: refuse(http.StatusUnauthorized, "n1", "n2"),
			done: []string{"patch n1", "the uncordon ends at node n1: patch node n1: the server has asked for the client to provide credentials"}, want: Uncordoned{Left: []string{"n1", "n2"}}, fails: kube.ErrUnauthorized, cordoned: []string{"n1", "n2"},
		},
		"an answer that is lost is no second write": {
			nodes: []*corev1.Node{n1()}, before: func(s *drainScene, _ fakeapi.Request) int {
				return map[int]int{1: int(fakeapi.CutAfter)}[len(s.done)]
			},
			done: []string{"patch n1", "patch n1", "node n1 is uncordoned"}, want: Uncordoned{Written: []string{"n1"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newDrainScene(t, tt.nodes...)
				cluster := s.api.follow(t, false)
				s.before = tt.before
				got, err := s.uncordon(t.Context(), cluster, namesOf(tt.nodes)...)
				if !errors.Is(err, tt.fails) || (err != nil) != (tt.fails != nil) {
					t.Errorf("it ends with %v, want %v", err, tt.fails)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
				if diff := cmp.Diff(tt.done, s.done); diff != "" {
					t.Error(diff)
				}
				var cordoned []string
				for _, n := range fakeapi.Objects[*corev1.Node](s.api.Server) {
					if n.Spec.Unschedulable {
						cordoned = append(cordoned, n.Name)
					} else if n.Annotations[snapshot.AwaitedAnnotation] != "" {
						t.Errorf("a record is left on node %s", n.Name)
					}
				}
				if diff := cmp.Diff(tt.cordoned, cordoned); diff != "" {
					t.Errorf("cordoned: %s", diff)
				}
			})
		})
	}
}

// TestUncordonNodes_keepsBothErrors: the node that was refused is not why the others are left.
func TestUncordonNodes_keepsBothErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newDrainScene(t, cordonedNode(aNode("n1", "gpu")), cordonedNode(aNode("n2", "gpu")), cordonedNode(aNode("n3", "gpu")), cordonedNode(aNode("n4", "gpu")))
		cluster := s.api.follow(t, false)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		s.before = func(_ *drainScene, r fakeapi.Request) int {
			return map[string]int{"n1": http.StatusForbidden, "n3": http.StatusTooManyRequests}[r.Name]
		}
		got, err := s.uncordon(ctx, cluster, "n1", "n2", "n3", "n4")
		if diff := cmp.Diff(Uncordoned{Written: []string{"n2"}, Left: []string{"n1", "n3", "n4"}}, got); diff != "" {
			t.Error(diff)
		}
		ended := new(UncordonError)
		if !errors.As(err, &ended) || !errors.Is(ended.Err, context.DeadlineExceeded) || !errors.Is(ended.Before, kube.ErrForbidden) {
			t.Errorf("it ends with %#v", err)
		}
		if last := s.done[len(s.done)-1]; !strings.HasPrefix(last, "the uncordon ends at node n3: ") {
			t.Errorf("the last line is %q", last)
		}
	})
}

// uncordon uncordons nodes of the pool gpu.
func (s *drainScene) uncordon(ctx context.Context, cluster *kube.Cluster, nodes ...string) (Uncordoned, error) {
	return UncordonNodes(ctx, cluster, Uncordon{
		Nodes: nodes, Selects: func(n *snapshot.Node) bool { return n.Labels["pool"] == "gpu" }, Progress: func(what string) { s.note("%s", what) },
	})
}

// TestUncordonNodes_givesUpWhatAnInterruptedDrainWaitsFor: a later drain does not wait for it, also after kubectl cordon.
func TestUncordonNodes_givesUpWhatAnInterruptedDrainWaitsFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := waitingScene(t)
		stopped := new(DrainError)
		if err := s.waits(t.Context(), t, time.Minute); !errors.As(err, &stopped) || len(stopped.Missing) != 2 {
			t.Fatalf("the first drain ends with %v", err)
		}
		_, err := UncordonNodes(t.Context(), s.api.follow(t, false), Uncordon{Nodes: []string{"n1", "n2"}, Selects: func(*snapshot.Node) bool { return true }})
		if left := s.awaits("n1") + s.awaits("n2"); err != nil || left != "" {
			t.Fatalf("it ends with %v, left is %q", err, left)
		}
		for _, name := range []string{"n1", "n2"} {
			fakeapi.Edit(s.api.Server, "", name, func(n *corev1.Node) { n.Spec.Unschedulable = true })
		}
		began := time.Now()
		if err := s.waits(t.Context(), t, time.Minute); err != nil || time.Since(began) > time.Second {
			t.Errorf("after %s the next drain ends with %v", time.Since(began), err)
		}
	})
}

// TestUncordonNodes_anEndOfTheTimeLeavesTheNodesThatFollow as they were.
func TestUncordonNodes_anEndOfTheTimeLeavesTheNodesThatFollow(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		after time.Duration
		stop  bool
		fails error
	}{
		"its time is over": {after: 3 * time.Second, fails: context.DeadlineExceeded},
		"a user stops it":  {after: time.Hour, stop: true, fails: context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newDrainScene(t, cordonedNode(aNode("n1", "gpu")), drainedNode("n2"), drainedNode("n3"))
				cluster := s.api.follow(t, false)
				ctx, cancel := context.WithTimeout(t.Context(), tt.after)
				defer cancel()
				s.before = func(_ *drainScene, r fakeapi.Request) int {
					if r.Name != "n2" {
						return 0
					}
					if tt.stop {
						cancel()
					}
					return http.StatusTooManyRequests
				}
				got, err := s.uncordon(ctx, cluster, "n1", "n2", "n3")
				if diff := cmp.Diff(Uncordoned{Written: []string{"n1"}, Left: []string{"n2", "n3"}}, got); diff != "" || !errors.Is(err, tt.fails) {
					t.Errorf("it ends with %v: %s", err, diff)
				}
				if ended := new(UncordonError); errors.As(err, &ended) {
					t.Errorf("no node failed before: %v", ended.Before)
				}
				if told := strings.Join(s.done, "\n"); strings.Contains(told, "could not") || strings.Contains(told, "n3") {
					t.Errorf("done is\n%s", told)
				}
				for _, name := range []string{"n2", "n3"} {
					if n, _ := fakeapi.Get[*corev1.Node](s.api.Server, "", name); !n.Spec.Unschedulable || s.awaits(name) == "" {
						t.Errorf("node %s is written by half: %+v", name, n)
					}
				}
			})
		})
	}
}
