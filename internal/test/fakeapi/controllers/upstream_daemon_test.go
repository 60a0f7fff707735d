// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package controllers

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// TestUpstream_daemonSetsOfTheFake has the facts of k8s.io/kubernetes v1.37.2
// pkg/controller/daemon/daemon_controller_test.go about taints and labels of nodes, several pods on one node,
// completed and terminating ones, and the status, and those of update_test.go about the pace of a rollout.
func TestUpstream_daemonSetsOfTheFake(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	both := []appsv1.DaemonSetUpdateStrategy{{Type: appsv1.OnDeleteDaemonSetStrategyType}, unavailable(intstr.FromInt32(1))}
	one := []appsv1.DaemonSetUpdateStrategy{surging(intstr.FromInt32(1))}
	for _, tt := range []struct {
		name       string
		strategies []appsv1.DaemonSetUpdateStrategy
		nodes      int
		play       func(s *daemonScene)
	}{
		{"several pods on a node", both, 5, severalPods},
		{"several pods on a node, surge", one, 5, severalPods},
		{"a failed pod", both, 1, func(s *daemonScene) {
			s.pod("node-0", "failed", 1, failed)
			s.step(0, 1)
			s.step(1, 0)
		}},
		{"a failed pod beside three others", both, 1, func(s *daemonScene) {
			s.pod("node-0", "failed", 1, failed)
			for n := range int64(3) {
				s.pod("node-0", fmt.Sprintf("pod-%d", n), 2+n)
			}
			s.step(0, 3)
			s.deleted("failed", "pod-1", "pod-2")
		}},
		{"a pod that terminates", both, 1, func(s *daemonScene) {
			s.pod("node-0", "pod", 1, terminating)
			s.step(0, 0)
		}},
		{"surge, an older pod that is ready", one, 5, func(s *daemonScene) {
			s.pod("node-1", "newest", 100)
			s.pod("node-1", "old", 50, older, isReady)
			s.pod("node-1", "surplus", 60, older, isReady)
			s.pod("node-2", "other", 100)
			s.step(3, 1)
			s.deleted("surplus")
		}},
		{"surge, an older pod that is not ready", one, 5, func(s *daemonScene) {
			s.pod("node-1", "newest", 100)
			s.pod("node-1", "old", 50, older)
			s.pod("node-1", "surplus", 60, older, isReady)
			s.pod("node-2", "other", 100)
			s.step(3, 2)
			s.deleted("old", "surplus")
		}},
		{"surge, a node whose older pod terminates", one, 5, func(s *daemonScene) {
			s.pod("node-0", "newest", 100)
			for n := range 4 {
				s.pod(fmt.Sprintf("node-%d", n), fmt.Sprintf("old-%d", n), 1, older, isReady)
			}
			s.pod("node-4", "old-4", 1, older, isReady, terminating)
			s.step(1, 0)
		}},
		{"a NoSchedule taint", both, 1, func(s *daemonScene) {
			s.taint("node-0", "dedicated=user1:NoSchedule")
			s.pod("node-0", "pod", 1)
			s.step(0, 0)
		}},
		{"a NoExecute taint", both, 1, func(s *daemonScene) {
			s.taint("node-0", "dedicated=user1:NoExecute")
			s.pod("node-0", "pod", 1)
			s.step(0, 1)
		}},
		{"a NoSchedule taint before there is a pod", both, 1, func(s *daemonScene) {
			s.taint("node-0", "dedicated=user1:NoSchedule")
			s.step(0, 0)
		}},
		{"taints that each DaemonSet tolerates", both, 1, func(s *daemonScene) {
			s.taint("node-0", "node.kubernetes.io/disk-pressure:NoSchedule", "node.kubernetes.io/memory-pressure:NoSchedule", "node.kubernetes.io/pid-pressure:NoSchedule")
			s.step(1, 0)
		}},
		{"a label that is required", both, 7, func(s *daemonScene) {
			for n := range 3 {
				s.api.Put(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", 4+n), Labels: map[string]string{"color": "blue"}}})
			}
			s.change(func(spec *appsv1.DaemonSetSpec) {
				spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
					NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "color", Operator: corev1.NodeSelectorOpIn, Values: []string{"blue"}}}}},
				}}}
			})
			s.step(3, 0)
		}},
		{"the status after a step", both, 5, func(s *daemonScene) {
			s.step(5, 0)
			if got := s.set().Status.CurrentNumberScheduled; got != 5 {
				s.Errorf("its status counts %d pods", got)
			}
		}},
		{"the status counts ready pods", both, 2, func(s *daemonScene) {
			s.step(2, 0)
			s.step(0, 0)
			before := s.set().Status.NumberReady
			s.ready()
			s.step(0, 0)
			if after := s.set().Status.NumberReady; before != 0 || after != 2 {
				s.Errorf("its status counts %d ready pods, and then %d", before, after)
			}
		}},
	} {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			for _, strategy := range tt.strategies {
				tt.play(newDaemonScene(t, tt.nodes, strategy))
			}
		})
	}
	for name, play := range rollouts() {
		rows.Run(t, name, func(t *testing.T) {
			t.Parallel()
			play(t)
		})
	}
	boundsRows(t, rows)
	podRows(t, rows, both)
}

func severalPods(s *daemonScene) {
	s.pod("node-1", "a", 1)
	for n, count := range map[int]int{2: 2, 3: 5} {
		for i := range count {
			s.pod(fmt.Sprintf("node-%d", n), fmt.Sprintf("pod-%d-%d", n, i), int64(i))
		}
	}
	s.pod("node-4", "b", 1, elsewhere)
	s.pod("node-4", "c", 1, elsewhere)
	s.step(2, 5)
	s.deleted("pod-2-1", "pod-3-1", "pod-3-2", "pod-3-3", "pod-3-4")
}

// rolling is a scene whose pods are all ready.
func rolling(t *testing.T, nodes int) *daemonScene {
	t.Helper()
	s := newDaemonScene(t, nodes, appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType})
	s.step(nodes, 0)
	s.ready()
	return s
}

func rollouts() map[string]func(t *testing.T) {
	int32s := intstr.FromInt32
	return map[string]func(t *testing.T){
		"a rollout, 2 unavailable": func(t *testing.T) {
			s := rolling(t, 5)
			s.rollTo("foo2/bar2", unavailable(int32s(2)))
			for _, n := range []int{2, 2, 1, 0} {
				s.step(0, n)
				s.step(n, 0)
				s.ready()
			}
		},
		"a rollout, 2 more": func(t *testing.T) {
			s := rolling(t, 5)
			s.rollTo("foo2/bar2", surging(int32s(2)))
			for _, n := range [][2]int{{2, 0}, {2, 2}, {1, 2}, {0, 1}} {
				s.step(n[0], n[1])
				s.step(0, 0)
				s.ready()
			}
		},
		"a rollout, 1 more, and a node whose taint is tolerated no more": func(t *testing.T) {
			s := newDaemonScene(t, 5, surging(int32s(1)))
			const key = "node-role.kubernetes.io/control-plane"
			s.change(func(spec *appsv1.DaemonSetSpec) {
				spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: key, Operator: corev1.TolerationOpExists}}
			})
			s.api.Put(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-0"}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: key, Effect: corev1.TaintEffectNoSchedule}}}})
			s.step(5, 0)
			s.ready()
			s.change(func(spec *appsv1.DaemonSetSpec) { spec.Template.Spec.Tolerations = nil })
			s.step(1, 1)
			if len(s.removed) != 1 || !strings.HasPrefix(s.removed[0], "foo-node-0-") {
				t.Errorf("it deletes %q first", s.removed)
			}
			s.step(0, 0)
			for range 3 {
				s.ready()
				s.step(1, 1)
				s.step(0, 0)
			}
			s.ready()
			s.step(0, 1)
			s.step(0, 0)
		},
		"a rollout whose new pods are not ready": func(t *testing.T) {
			s := rolling(t, 5)
			s.rollTo("foo2/bar2", unavailable(int32s(3)))
			s.step(0, 3)
			s.step(3, 0)
			s.step(0, 0)
		},
		"a rollout in the middle of another one": func(t *testing.T) {
			s := rolling(t, 5)
			for _, image := range []string{"foo2/bar2", "foo2/bar3"} {
				s.rollTo(image, unavailable(int32s(2)))
				s.step(0, 2)
				s.step(2, 0)
				s.step(0, 0)
			}
			if got := s.readyPods(); len(got) != 3 {
				t.Errorf("%q are ready, want 3", got)
			}
		},
		"rollouts replace pods that are not ready first": func(t *testing.T) {
			s := rolling(t, 20)
			s.rollTo("foo2/bar2", unavailable(int32s(10)))
			s.step(0, 10)
			s.step(10, 0)
			s.step(0, 0)
			old := s.readyPods()
			for n := range int32(10) {
				s.rollTo(fmt.Sprintf("foo2/bar3-%d", n), unavailable(int32s(n)))
				s.step(0, 10)
				s.step(10, 0)
				s.step(0, 0)
				if got := s.readyPods(); !slices.Equal(got, old) {
					t.Errorf("%d unavailable: %q are ready, want %q", n, got, old)
				}
			}
			s.rollTo("foo2/bar4", unavailable(int32s(11)))
			s.step(0, 11)
			s.step(11, 0)
			s.step(0, 0)
			if got := s.readyPods(); len(got) != 9 {
				t.Errorf("%q are ready, want 9", got)
			}
		},
		"a rollout among pods that are not ready, new ones and older ones": oldAndNewUnready,
		"a rollout of pods none of which is ready": func(t *testing.T) {
			s := newDaemonScene(t, 5, appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType})
			s.step(5, 0)
			s.rollTo("foo2/bar2", unavailable(int32s(3)))
			s.step(0, 5)
			s.step(5, 0)
			s.step(0, 0)
		},
		"a strategy alone changes": func(t *testing.T) {
			s := newDaemonScene(t, 5, appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType})
			s.step(5, 0)
			s.change(func(spec *appsv1.DaemonSetSpec) { spec.UpdateStrategy = unavailable(int32s(3)) })
			s.step(0, 0)
		},
	}
}

// oldAndNewUnready has 88 new pods and 2 older ones that are not ready, and 10 older ones that are, of
// which 10 may be unavailable.
func oldAndNewUnready(t *testing.T) {
	t.Helper()
	s := rolling(t, 100)
	before := fakeapi.View[*corev1.Pod](s.api)[0].Labels[hashLabel]
	s.rollTo("foo2/bar2", unavailable(intstr.FromInt32(10)))
	for range 10 {
		s.step(0, 10)
		s.step(10, 0)
		s.ready()
	}
	s.step(0, 0)
	var unready []string
	for n, p := range fakeapi.Objects[*corev1.Pod](s.api) {
		if n >= 10 {
			p.Status.Conditions = nil
		}
		if n < 12 {
			p.Labels[hashLabel] = before
			if n >= 10 {
				unready = append(unready, p.Name)
			}
		}
		s.api.Put(p)
	}
	s.step(0, 2)
	s.deleted(unready...)
	s.step(2, 0)
	s.step(0, 0)
}

// boundsRows has the cases of TestGetUnavailableNumbers.
func boundsRows(t *testing.T, rows *upstream.Rows) {
	t.Helper()
	for _, tt := range []struct {
		name     string
		strategy appsv1.DaemonSetUpdateStrategy
		nodes    int
		// pods are on the first nodes, and the last of them may terminate.
		pods                      int
		ends                      bool
		surge, unavailable, empty int
	}{
		{name: "bounds: no nodes", strategy: unavailable(intstr.FromInt32(0))},
		{name: "bounds: 1 unavailable", strategy: unavailable(intstr.FromInt32(1)), nodes: 2, pods: 2, unavailable: 1},
		{name: "bounds: none unavailable, and a node without a pod", strategy: unavailable(intstr.FromInt32(0)), nodes: 2, pods: 1, unavailable: 1, empty: 1},
		{name: "bounds: none more, and a node without a pod", strategy: surging(intstr.FromInt32(0)), nodes: 2, pods: 1, unavailable: 1, empty: 1},
		{name: "bounds: half unavailable", strategy: unavailable(intstr.FromString("50%")), nodes: 2, pods: 2, unavailable: 1},
		{name: "bounds: half more", strategy: surging(intstr.FromString("50%")), nodes: 2, pods: 2, surge: 1},
		{name: "bounds: as many more", strategy: surging(intstr.FromString("100%")), nodes: 2, pods: 2, surge: 2},
		{name: "bounds: half unavailable of 3, and a pod that terminates", strategy: unavailable(intstr.FromString("50%")), nodes: 3, pods: 2, ends: true, unavailable: 2, empty: 1},
	} {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			s := newDaemonScene(t, tt.nodes, tt.strategy)
			for n := range tt.pods {
				changes := []func(*corev1.Pod){isReady}
				if tt.ends && n == tt.pods-1 {
					changes = append(changes, terminating)
				}
				s.pod(fmt.Sprintf("node-%d", n), fmt.Sprintf("pod-%d", n), time.Now().Unix(), changes...)
			}
			d, _ := fakeapi.ViewOne[*appsv1.DaemonSet](s.api, daemonNamespace, "foo")
			of := daemonsOf(s.api, d, s.failed)
			surge, unavailable, wants := of.bounds()
			if surge != tt.surge || unavailable != tt.unavailable || wants != tt.nodes {
				t.Errorf("%d more and %d unavailable of %d, want %d and %d of %d", surge, unavailable, wants, tt.surge, tt.unavailable, tt.nodes)
			}
			if empty := len(of.places()) - len(of.pods); empty != tt.empty {
				t.Errorf("%d nodes are empty, want %d", empty, tt.empty)
			}
		})
	}
}
