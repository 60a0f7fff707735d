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

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// taintLinked taints the node once the pods of linked workloads carry what is wanted.
func taintLinked(ctx context.Context, cluster *kube.Cluster, desired []Tolerations) error {
	for i := range desired {
		desired[i].Linked = true
	}
	_, err := carry(ctx, cluster, Request{Nodes: tainting(teamA), Workloads: desired}, hooks{})
	return err
}

// TestRun_waitsForThePodsOfEachLink has the pods of one come first.
func TestRun_waitsForThePodsOfEachLink(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := newServer(t, aNode("n1", "gpu"))
		for _, name := range []string{"db", "web"} {
			api.addSets(aSet(name, 1))
			api.editSet(name, func(s *appsv1.StatefulSet) { s.Spec.Template = aSet("", 1, teamA).Spec.Template })
		}
		cluster := api.follow(t, true)
		api.read = func(name string, nth int) {
			// Each is read for the second time after a while without its pods.
			if nth == 2 {
				api.roll(name)
			}
		}
		if err := taintLinked(t.Context(), cluster, wanting(teamA, "db", "web")); err != nil {
			t.Fatal(err)
		}
		api.wantFollowed(t)
	})
}

// TestRun_waitsForNoLinkedWorkloadThatDoesNotExist, whether they are deleted before or
// during the wait: the taints come next, and there is no pod to evict.
func TestRun_waitsForNoLinkedWorkloadThatDoesNotExist(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := newServer(t, aNode("n1", "gpu"))
		api.addSets(aSet("web", 1))
		api.editSet("web", func(s *appsv1.StatefulSet) { s.Spec.Template = aSet("", 1, teamA).Spec.Template })
		cluster := api.follow(t, true)
		api.read = func(name string, nth int) {
			if name == "web" && nth == 2 {
				api.removeSet("web")
				api.removePods("web")
			}
		}
		uninstalled := wanting(teamA, "web")[0]
		uninstalled.Ref.APIVersion, uninstalled.Ref.Kind = "example.com/v1", "Gone"
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := taintLinked(ctx, cluster, append(wanting(teamA, "cache", "web"), uninstalled)); err != nil {
			t.Errorf("the wait ends with %v", err)
		}
		if api.readings()["web"] < 2 {
			t.Error("the workload was not deleted during the wait")
		}
		api.wantTaint(t, teamA)
	})
}

// TestRun_namesThePodsThatBlockARolloutInOrder: none of the two pods is ready.
func TestRun_namesThePodsThatBlockARolloutInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := newServer(t, aNode("n1", "gpu"))
		api.addSets(aSet("web", 2))
		api.editSet("web", func(s *appsv1.StatefulSet) { s.Spec.Template = aSet("", 1, teamA).Spec.Template })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := taintLinked(ctx, api.follow(t, true), wanting(teamA, "web"))
		stuck := new(StuckError)
		if !errors.As(err, &stuck) || stuck.Lost || len(stuck.Blocking) != 2 || !strings.Contains(err.Error(), "not ready, so that its controller replaces no other pod: ") {
			t.Errorf("the wait ends with %v", err)
		}
	})
}

// TestRun_looksAgainAtTheLinkThatCameFirst has another writer undo the first one while
// the second is waited for: the taint that comes next relies on both.
func TestRun_looksAgainAtTheLinkThatCameFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := newServer(t, aNode("n1", "gpu"))
		for _, name := range []string{"db", "web"} {
			api.addSets(aSet(name, 1, teamA))
		}
		template := func(name string, notations ...string) {
			api.editSet(name, func(s *appsv1.StatefulSet) { s.Spec.Template = aSet("", 1, notations...).Spec.Template })
		}
		api.editSet("web", func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Tolerations = nil })
		api.roll("web")
		cluster := api.follow(t, true)
		undone := 0
		api.read = func(name string, nth int) {
			switch {
			case name == "web" && nth == 2:
				template("web", teamA)
				api.roll("web")
				template("db")
				api.roll("db")
			case name == "db" && len(api.set("db").Spec.Template.Spec.Tolerations) == 0:
				if undone++; undone == 2 {
					template("db", teamA)
					api.roll("db")
				}
			}
		}
		if err := taintLinked(t.Context(), cluster, wanting(teamA, "db", "web")); err != nil {
			t.Fatal(err)
		}
		api.wantFollowed(t)
	})
}

// TestRun_aLinkedPodOnANodeThatIsGone holds its place forever, and what comes in its
// place one day is made from the newest template.
func TestRun_aLinkedPodOnANodeThatIsGone(t *testing.T) {
	t.Parallel()
	for name, strategy := range map[string]appsv1.StatefulSetUpdateStrategy{
		"is not waited for":                         {Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(0))}},
		"is waited for where it can come as it was": {Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(3))}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := newServer(t, aNode("n1", "gpu"))
				set := aSet("web", 3, teamA)
				set.Spec.UpdateStrategy = strategy
				api.addSets(set)
				api.Delete(fakeapi.Objects[*corev1.Pod](api.Server)[2])
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := taintLinked(ctx, api.follow(t, true), wanting(teamA, "web"))
				waits, want := *strategy.RollingUpdate.Partition > 0, teamA
				if waits {
					want = ""
				}
				if (err != nil) != waits {
					t.Errorf("the wait ends with %v", err)
				}
				api.wantTaint(t, want)
			})
		})
	}
}

// TestRun_aLinkedPodOfADaemonSetOnADeadNode stays terminating: the one in its place comes from the
// newest template, once its controller has seen that.
func TestRun_aLinkedPodOfADaemonSetOnADeadNode(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		observed int64
		want     string
	}{
		"holds up no taint":                             {2, teamA},
		"holds up the taint until the template is seen": {1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := newServer(t, aNode("n1", "gpu"), aNode("n2", "dead"))
				d := &appsv1.DaemonSet{
					ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "agent", UID: "uid-agent", Generation: 2},
					Spec:       appsv1.DaemonSetSpec{Template: aSet("", 1, teamA).Spec.Template},
					Status:     appsv1.DaemonSetStatus{DesiredNumberScheduled: 3, ObservedGeneration: tt.observed},
				}
				api.Put(d)
				for _, name := range []string{"agent-1", "agent-2", "dead"} {
					p := &corev1.Pod{
						ObjectMeta: metav1.ObjectMeta{
							Namespace: namespace, Name: name,
							OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))},
						},
						Spec: *d.Spec.Template.Spec.DeepCopy(), Status: corev1.PodStatus{Phase: corev1.PodRunning},
					}
					if p.Spec.NodeName = "n1"; name == "dead" {
						p.Spec.NodeName, p.Spec.Tolerations = "n2", nil
						p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: time.Now()}, []string{"example.com/held"}
					}
					api.Put(p)
				}
				kind, _ := workload.Lookup("apps/v1", "DaemonSet")
				desired := wanting(teamA, "agent")
				desired[0].Ref.Kind, desired[0].Path = "DaemonSet", kind.Path
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := taintLinked(ctx, api.follow(t, true), desired)
				if stuck := new(StuckError); (tt.want != "") != (err == nil) || err != nil && !errors.As(err, &stuck) {
					t.Errorf("the wait ends with %v", err)
				}
				api.wantTaint(t, tt.want)
			})
		})
	}
}

// wantTaint expects that the node n1 has this taint alone, or none.
func (a *testServer) wantTaint(t *testing.T, want string) {
	t.Helper()
	if got := strings.TrimPrefix(a.taints()["n1"], "*"); got != want {
		t.Errorf("the node has the taint %q, want %q", got, want)
	}
}

// wantFollowed expects that every pod carries the toleration that was waited for.
func (a *testServer) wantFollowed(t *testing.T) {
	t.Helper()
	for _, p := range fakeapi.Objects[*corev1.Pod](a.Server) {
		if len(p.Spec.Tolerations) != 1 {
			t.Errorf("the wait has ended before %s had followed", p.Name)
		}
	}
}

// TestWait_forPodsThatStillRequireLabelsSaysSo: what they lack is not what it waits for.
func TestWait_forPodsThatStillRequireLabelsSaysSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := newServer(t, aNode("n1", "gpu"))
		set := aSet("web", 2)
		set.Spec.Template.Spec.NodeSelector = map[string]string{"dedicated": "gpu"}
		api.addSets(set)
		api.editSet("web", func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.NodeSelector = nil })
		cluster := api.follow(t, true)
		// The next event is in time for the wait.
		if _, err := cluster.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
		d := wanting("", "web")[0]
		w, err := cluster.Workload(t.Context(), d.Ref, d.Path)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), lookAgain)
		defer cancel()
		a := wait{cluster: cluster, desired: d, waiting: shedding(map[string][]string{"dedicated": {"gpu"}}), known: known{workload: w}}
		stuck := new(StuckError)
		if err := a.end(ctx); !errors.As(err, &stuck) || stuck.Lost || !strings.Contains(err.Error(), "still pinned to the nodes: web-pod-1, web-pod-2") {
			t.Errorf("got %v", err)
		}
	})
}

// TestRun_doesNotRestOnLinkedPodsWhoseTemplateHasLostIt: what the watch shows may
// be older than the template.
func TestRun_doesNotRestOnLinkedPodsWhoseTemplateHasLostIt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		strategy appsv1.StatefulSetUpdateStrategyType
		ends     bool
	}{
		"pods that follow their template": {strategy: appsv1.RollingUpdateStatefulSetStrategyType},
		"pods that do not":                {strategy: appsv1.OnDeleteStatefulSetStrategyType, ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := newServer(t, aNode("n1", "gpu"))
				api.addSets(aSet("web", 1, teamA))
				api.editSet("web", func(s *appsv1.StatefulSet) {
					s.Spec.Template.Spec.Tolerations, s.Spec.UpdateStrategy.Type, s.Status.ObservedGeneration = nil, tt.strategy, s.Generation+1
				})
				patience := 2 * lookAgain
				if tt.ends {
					patience = time.Minute
				}
				cluster := api.follow(t, true)
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				err := taintLinked(ctx, cluster, wanting(teamA, "web"))
				if stuck := new(StuckError); tt.ends && err != nil || !tt.ends && (!errors.As(err, &stuck) || !strings.Contains(err.Error(), "its template does not have the tolerations")) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// TestRun_returnsTheWorkloadsAsItHasLeftThem, so that what is stored need not be read again.
func TestRun_returnsTheWorkloadsAsItHasLeftThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := newServer(t, aNode("n1", "gpu"))
		api.addSets(aSet("db", 0, teamA), aSet("web", 0))
		desired := wanting(teamA, "db", "gone", "web")
		desired[0].Linked, desired[1].Linked = true, true
		result, err := Run(t.Context(), api.follow(t, true), Request{Owner: "me", Workloads: desired}, eviction.ComparisonOff)
		if err != nil {
			t.Fatal(err)
		}
		if got := result.Workloads; len(got) != 1 || got[0].Workload.Name != "web" || len(got[0].Workload.Tolerations) != 1 || len(got[0].Claim.Tolerations) != 1 {
			t.Errorf("it returns %+v", got)
		}
	})
}
