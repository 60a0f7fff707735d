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

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// waits drains n1 and n2 with a patience, and waits for replacements.
func (s *drainScene) waits(ctx context.Context, t *testing.T, patience time.Duration, changes ...func(*Drain)) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	d := Drain{NodeDrain: planner.NodeDrain{Nodes: []string{"n1", "n2"}, Rules: planner.DrainRules{IgnoreDaemonSets: true}}, AwaitReplacements: true}
	for _, change := range changes {
		change(&d)
	}
	return s.drain(ctx, s.api.follow(t, true), d)
}

// awaits returns the annotation of a node.
func (s *drainScene) awaits(node string) string {
	n, _ := fakeapi.Get[*corev1.Node](s.api.Server, "", node)
	return n.Annotations[snapshot.AwaitedAnnotation]
}

// waitingScene has a pod of one workload on n1, one of another on n2, and room on n3.
func waitingScene(t *testing.T) *drainScene {
	t.Helper()
	s := newDrainScene(t, hostNode("n1"), hostNode("n2"), hostNode("n3"))
	s.set("web", 1)
	s.set("db", 1)
	s.onNode("web-1", "n1", ofSet("web"))
	s.onNode("db-1", "n2", ofSet("db"))
	// As long as nothing else is said, controllers create pods that no node takes.
	s.ended = func(s *drainScene, pod string) {
		app, _, _ := strings.Cut(pod, "-")
		s.onNode(app+"-2", "", ofSet(app), unscheduled("no room"))
	}
	return s
}

const webAwaited = `[{"group":"apps","kind":"ReplicaSet","namespace":"shop","name":"web","pods":1}]`

// TestDrainNodes_theNextDrainWaitsForWhatAnEarlierOneEvicted, until it is ready; then no record is left.
func TestDrainNodes_theNextDrainWaitsForWhatAnEarlierOneEvicted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := waitingScene(t)
		for range 2 {
			err := s.waits(t.Context(), t, time.Minute)
			stopped := new(DrainError)
			if !errors.As(err, &stopped) || len(stopped.Missing) != 2 {
				t.Fatalf("it ends with %v", err)
			}
			if diff := cmp.Diff([]string{webAwaited, strings.ReplaceAll(webAwaited, "web", "db")}, []string{s.awaits("n1"), s.awaits("n2")}); diff != "" {
				t.Fatal(diff)
			}
		}
		s.onNode("web-2", "n3", ofSet("web"))
		time.AfterFunc(30*time.Second, func() { s.onNode("db-2", "n3", ofSet("db")) })
		began := time.Now()
		if err := s.waits(t.Context(), t, time.Minute); err != nil || time.Since(began) < 30*time.Second {
			t.Errorf("after %s it ends with %v", time.Since(began), err)
		}
		if left := s.awaits("n1") + s.awaits("n2"); left != "" {
			t.Errorf("left is %.200s", left)
		}
	})
}

// TestDrainNodes_stoppedAfterAnyWriteTheNextOneWaits for the replacements of both workloads.
func TestDrainNodes_stoppedAfterAnyWriteTheNextOneWaits(t *testing.T) {
	t.Parallel()
	// Two cordons, two records and two evictions.
	for nth := 1; nth <= 6; nth++ {
		synctest.Test(t, func(t *testing.T) {
			s := waitingScene(t)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			writes := 0
			s.before = func(*drainScene, fakeapi.Request) int {
				if writes++; writes == nth {
					time.AfterFunc(time.Millisecond, stop)
				}
				return 0
			}
			if err := s.waits(ctx, t, time.Hour); !errors.Is(err, context.Canceled) {
				t.Fatalf("stopped after write %d of %d, it ends with %v", nth, writes, err)
			}
			s.before = nil
			ready := time.AfterFunc(5*time.Minute, func() {
				s.onNode("web-2", "n3", ofSet("web"))
				s.onNode("db-2", "n3", ofSet("db"))
			})
			defer ready.Stop()
			began := time.Now()
			if err := s.waits(t.Context(), t, time.Hour); err != nil || time.Since(began) < 5*time.Minute {
				t.Errorf("stopped after write %d, the next drain ends after %s with %v", nth, time.Since(began), err)
			}
			if left := s.awaits("n1") + s.awaits("n2"); left != "" {
				t.Errorf("left is %.200s", left)
			}
		})
	}
}

// TestDrainNodes_aRecordThatIsNoneOfThisDrainIsIgnored, and removed.
func TestDrainNodes_aRecordThatIsNoneOfThisDrainIsIgnored(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		annotation string
		cordoned   bool
		change     func(*Drain)
	}{
		"of a node that takes pods again": {annotation: webAwaited},
		"damaged":                         {annotation: `[{"kind":`, cordoned: true},
		"without a name":                  {annotation: `[{"kind":"ReplicaSet","namespace":"shop","pods":3}]`, cordoned: true},
		"of a workload whose name no object can have": {annotation: strings.Replace(webAwaited, `"web"`, `"web/../db"`, 1), cordoned: true},
		"of a kind that is not served":                {annotation: strings.Replace(webAwaited, "apps", "example.com", 1), cordoned: true},
		"of a DaemonSet":                              {annotation: strings.Replace(webAwaited, "ReplicaSet", "DaemonSet", 1), cordoned: true},
		"of a namespace that can be none":             {annotation: strings.Replace(webAwaited, `"shop"`, `"a b"`, 1), cordoned: true},
		"of fewer than one pod":                       {annotation: strings.Replace(webAwaited, ":1}", ":-1}", 1), cordoned: true},
		"too long":                                    {annotation: "[" + strings.Repeat(" ", mostRecordBytes) + webAwaited[1:], cordoned: true},
		"of a workload that is gone":                  {annotation: strings.Replace(webAwaited, "web", "gone", 1), cordoned: true},
		"where the wait is switched off":              {annotation: webAwaited, cordoned: true, change: func(d *Drain) { d.AwaitReplacements = false }},
		"of more workloads than a node holds":         {annotation: "[" + strings.Repeat(webAwaited[1:len(webAwaited)-1]+",", 700) + webAwaited[1:], cordoned: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := hostNode("n1")
				n.Spec.Unschedulable, n.Annotations = tt.cordoned, map[string]string{snapshot.AwaitedAnnotation: tt.annotation}
				s := newDrainScene(t, n, hostNode("n2"))
				s.set("web", 1)
				if tt.change == nil {
					tt.change = func(*Drain) {}
				}
				if err := s.waits(t.Context(), t, 20*time.Second, tt.change); err != nil {
					t.Error(err)
				}
				if left := s.awaits("n1"); left != "" {
					t.Errorf("left is %.200s", left)
				}
			})
		})
	}
}

// TestDrainNodes_aNodeThatJoinsIsNoOtherPlace: it would go with the pool.
func TestDrainNodes_aNodeThatJoinsIsNoOtherPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := waitingScene(t)
		s.ended = func(s *drainScene, pod string) {
			app, _, _ := strings.Cut(pod, "-")
			joined := hostNode("n4")
			joined.Labels["pool"] = "old"
			s.api.store(joined)
			s.onNode(app+"-2", map[bool]string{true: "n4", false: "n3"}[app == "web"], ofSet(app))
		}
		err := s.waits(t.Context(), t, time.Minute, func(d *Drain) { d.Selects = func(n *snapshot.Node) bool { return n.Labels["pool"] == "old" } })
		stopped := new(DrainError)
		if !errors.As(err, &stopped) || len(stopped.Missing) != 1 {
			t.Fatalf("it ends with %v", err)
		}
		if got := stopped.Missing[0].String(); got != "ReplicaSet shop/web: 1 of 1 pods not ready on other nodes: pod web-2 runs on node n4, which joined during the drain" {
			t.Errorf("missing is %s", got)
		}
	})
}

// TestDrainNodes_aRecordWaitsForNoMorePodsThanItsWorkloadWants: any kubelet may write one on its node.
func TestDrainNodes_aRecordWaitsForNoMorePodsThanItsWorkloadWants(t *testing.T) {
	t.Parallel()
	record := func(of string) string { return `[{` + of + `,"namespace":"shop","pods":1000}]` }
	const web, custom = `"group":"apps","kind":"ReplicaSet","name":"web"`, `"group":"example.com","kind":"Server","name":"web"`
	for name, tt := range map[string]struct {
		record string
		scene  func(s *drainScene)
		// left is what it lacks when its time is over, empty where the record does not hold it up.
		left string
	}{
		"all replicas are ready elsewhere": {
			record: web, scene: func(s *drainScene) { s.onNode("web-1", "n2", ofSet("web")); s.onNode("web-2", "n2", ofSet("web")) },
		},
		"a ReplicaSet whose pods belong to a Deployment": {
			record: web, scene: func(s *drainScene) {
				set, _ := fakeapi.Get[*appsv1.ReplicaSet](s.api.Server, namespace, "web")
				yes := true
				set.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "shop", UID: "shop", Controller: &yes}}
				s.api.Put(set)
				s.onNode("web-1", "n2", ofSet("web"))
				s.onNode("web-2", "n2", ofSet("web"))
			},
		},
		"a Job with a UID that is none": {
			record: `"group":"batch","kind":"Job","name":"train","job":"made up"`, scene: func(s *drainScene) {
				s.controller(&batchv1.Job{}, "train")
				s.onNode("train-1", "n2", of("batch/v1", "Job", "train"))
			},
		},
		"a workload that wants no pods": {record: web, scene: func(s *drainScene) { s.set("web", 0) }},
		"a kind that creates no pods":   {record: custom, scene: func(*drainScene) {}},
		"pods of another kind that are ready elsewhere": {
			record: custom, scene: func(s *drainScene) { s.onNode("web-1", "n2", of("example.com/v1", "Server", "web")) },
		},
		"pods of another kind of which one is not ready": {
			record: custom, scene: func(s *drainScene) {
				s.onNode("web-1", "n2", of("example.com/v1", "Server", "web"))
				s.onNode("web-2", "n2", of("example.com/v1", "Server", "web"), notReady("probe"))
			},
			left: "Server shop/web: 1 of 2 pods not ready on other nodes: pod web-2: probe",
		},
		"replicas of which one is missing": {
			record: web, scene: func(s *drainScene) { s.onNode("web-1", "n2", ofSet("web")) },
			left: "ReplicaSet shop/web: 1 of 2 pods not ready on other nodes: its controller has not created them",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := hostNode("n1")
				n.Spec.Unschedulable, n.Annotations = true, map[string]string{snapshot.AwaitedAnnotation: record(tt.record)}
				s := newDrainScene(t, n, hostNode("n2"))
				s.set("web", 2)
				tt.scene(s)
				began := time.Now()
				err := s.waits(t.Context(), t, time.Minute, func(d *Drain) { d.Nodes = []string{"n1"} })
				left, stopped := "", new(DrainError)
				if errors.As(err, &stopped) {
					left = words(stopped.Missing)
				}
				if took := time.Since(began); left != tt.left || left == "" && (err != nil || took > 5*time.Second) {
					t.Errorf("after %s it ends with %v, want %q", took, err, tt.left)
				}
				if said := strings.Join(s.done, "\n"); strings.Contains(said, "1000") {
					t.Errorf("it says %s", said)
				}
			})
		})
	}
}

// TestDrainNodes_namesEachNodeWhoseRecordIsDamaged, and waits for what can be read of it.
func TestDrainNodes_namesEachNodeWhoseRecordIsDamaged(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		annotation, want string
		// waits is set where an entry can be read.
		waits bool
	}{
		"intact":             {annotation: webAwaited, waits: true},
		"cut off":            {annotation: webAwaited[:20], want: "n1: it is no JSON list of workloads"},
		"too long":           {annotation: "[" + strings.Repeat(" ", mostRecordBytes) + webAwaited[1:], want: "n1: it has 65615 bytes, and a drain writes at most 65536"},
		"too many":           {annotation: "[" + strings.Repeat(webAwaited[1:len(webAwaited)-1]+",", 500) + webAwaited[1:], want: "n1: it has 501 entries, and a drain writes at most 500"},
		"one entry, foreign": {annotation: `[{"kind":"` + "\u202e" + `"},` + webAwaited[1:], want: "n1: entry 1 of 2 names no workload", waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := hostNode("n1")
				n.Spec.Unschedulable, n.Annotations = true, map[string]string{snapshot.AwaitedAnnotation: tt.annotation}
				s := newDrainScene(t, n, hostNode("n2"))
				s.set("web", 1)
				var told []string
				err := s.waits(t.Context(), t, 20*time.Second, func(d *Drain) {
					d.Damaged = func(node string, err error) { told = append(told, node+": "+err.Error()) }
				})
				if got := strings.Join(told, "\n"); got != tt.want {
					t.Errorf("told is %q, want %q", got, tt.want)
				}
				if waits := err != nil; waits != tt.waits {
					t.Errorf("it ends with %v", err)
				}
			})
		})
	}
}

func TestReplaced_createsPods(t *testing.T) {
	t.Parallel()
	for owner, want := range map[snapshot.Owner]bool{
		snapshot.OwnerOf("apps/v1", "Deployment", "x"): true, snapshot.OwnerOf("apps/v1", "ReplicaSet", "x"): true, snapshot.OwnerOf("apps/v1", "StatefulSet", "x"): true,
		snapshot.OwnerOf("batch/v1", "Job", "x"): true, snapshot.OwnerOf("v1", "ReplicationController", "x"): true,
		snapshot.OwnerOf("apps/v1", "DaemonSet", "x"): false, snapshot.OwnerOf("batch/v1", "CronJob", "x"): false, snapshot.OwnerOf("v1", "Node", "x"): false, snapshot.OwnerOf("apps.kruise.io/v1beta1", "StatefulSet", "x"): false,
	} {
		r := replaced{controller: snapshot.WorkloadKey{Namespace: "shop", Owner: owner}}
		if r.createsPods() != want {
			t.Errorf("%s of group %q: %t", owner, owner.Group, !want)
		}
	}
}

func TestDamagedAwaited_ofCordonedNodes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		node snapshot.Node
		want bool
	}{
		"a record that cannot be read":            {snapshot.Node{Unschedulable: true, Awaited: "{"}, true},
		"one of a node that is no longer drained": {snapshot.Node{Awaited: "{"}, false},
		"no record": {snapshot.Node{Unschedulable: true}, false},
	} {
		if err := DamagedAwaited(&tt.node); (err != nil) != tt.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWords_nameTheFirstThreeReplacements(t *testing.T) {
	t.Parallel()
	var all []Replacement
	for i, want := range []string{
		"", "a: 1 of 2 pods not ready on other nodes", "a: 1 of 2 pods not ready on other nodes; b: 1 of 2 pods not ready on other nodes: no room",
		"a: 1 of 2 pods not ready on other nodes; b: 1 of 2 pods not ready on other nodes: no room; c: 1 of 2 pods not ready on other nodes",
		"a: 1 of 2 pods not ready on other nodes; b: 1 of 2 pods not ready on other nodes: no room; c: 1 of 2 pods not ready on other nodes; … and 1 more",
	} {
		if got := words(all); got != want {
			t.Errorf("of %d: %s", i, got)
		}
		all = append(all, Replacement{Workload: string(rune('a' + i)), Missing: 1, Wanted: 2, Why: map[int]string{1: "no room"}[i]})
	}
}

func TestHas_aRecordOfTheSameWorkload(t *testing.T) {
	t.Parallel()
	all := []awaited{{Group: "apps", Kind: "ReplicaSet", Namespace: "shop", Name: "web", Pods: 3}, {Group: "apps", Kind: "ReplicaSet", Namespace: "shop", Name: "db", Pods: 1}}
	for name, tt := range map[string]struct {
		one  awaited
		want bool
	}{
		"of another number of pods": {awaited{Group: "apps", Kind: "ReplicaSet", Namespace: "shop", Name: "db", Pods: 7}, true},
		"of another name":           {awaited{Group: "apps", Kind: "ReplicaSet", Namespace: "shop", Name: "x", Pods: 3}, false},
		"of another namespace":      {awaited{Group: "apps", Kind: "ReplicaSet", Namespace: "x", Name: "web", Pods: 3}, false},
		"of another kind":           {awaited{Group: "apps", Kind: "StatefulSet", Namespace: "shop", Name: "web", Pods: 3}, false},
	} {
		if has(all, tt.one) != tt.want || all[0].Pods != 3 {
			t.Errorf("%s: %t, %+v", name, !tt.want, all)
		}
	}
}
