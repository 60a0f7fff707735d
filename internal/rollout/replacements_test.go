// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// of gives a pod a controller.
func of(apiVersion, kind, name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID("uid-" + kind + "-" + name), Controller: &yes}}
	}
}

// ofSet gives a pod a ReplicaSet.
func ofSet(name string) func(*corev1.Pod) { return of("apps/v1", "ReplicaSet", name) }

func notReady(why string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Message: why}}
	}
}

// unscheduled is a pod that no node takes.
func unscheduled(why string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.NodeName, p.Status.Phase = "", corev1.PodPending
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: why}}
	}
}

func ended(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }

func only(node string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"kubernetes.io/hostname": node} }
}

func namedByTemplate(p *corev1.Pod) {
	p.ManagedFields = []metav1.ManagedFieldsEntry{{FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:nodeName":{}}}`)}}
}

func toleratingCordons(p *corev1.Pod) {
	p.Spec.Tolerations = []corev1.Toleration{{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists}}
}

// controller puts an object there that creates pods.
func (s *drainScene) controller(o interface {
	metav1.Object
	runtime.Object
}, name string,
) {
	kinds := map[bool]string{true: "Job", false: "ReplicaSet"}
	_, isJob := o.(*batchv1.Job)
	o.SetNamespace(namespace)
	o.SetName(name)
	o.SetUID(types.UID("uid-" + kinds[isJob] + "-" + name))
	s.api.Put(o)
}

func (s *drainScene) set(name string, replicas int32) {
	s.controller(&appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Replicas: &replicas}}, name)
}

// TestDrainNodes_waitsForReplacements: n1 is drained, and n2 takes pods.
func TestDrainNodes_waitsForReplacements(t *testing.T) {
	t.Parallel()
	const patience = 90 * time.Second
	// later runs a change some seconds from now.
	later := func(seconds int, change func()) { time.AfterFunc(time.Duration(seconds)*time.Second, change) }
	for name, tt := range map[string]struct {
		scene func(s *drainScene)
		// ended is told of each pod that is gone.
		ended func(s *drainScene, pod string)
		off   bool
		// seconds is how long it takes, about; left is what it lacks when its time is over.
		seconds int
		left    []string
	}{
		"a replacement that runs elsewhere ends it": {
			scene: func(s *drainScene) { s.set("web", 1); s.onNode("web-1", "n1", ofSet("web")) },
			ended: func(s *drainScene, _ string) { s.onNode("web-2", "n2", ofSet("web")) },
		},
		"a replacement is waited for until it is ready": {
			scene: func(s *drainScene) { s.set("web", 1); s.onNode("web-1", "n1", ofSet("web")) },
			ended: func(s *drainScene, _ string) {
				s.onNode("web-2", "n2", ofSet("web"), notReady("probe"))
				later(40, func() { s.onNode("web-2", "n2", ofSet("web")) })
			},
			seconds: 40,
		},
		"nothing is waited for where that is switched off": {
			off:   true,
			scene: func(s *drainScene) { s.set("web", 1); s.onNode("web-1", "n1", ofSet("web")) },
		},
		"pods that run elsewhere already do not count as replacements": {
			scene: func(s *drainScene) {
				s.set("web", 3)
				s.onNode("web-1", "n1", ofSet("web"))
				s.onNode("web-2", "n2", ofSet("web"))
				s.onNode("web-3", "n2", ofSet("web"))
			},
			ended: func(s *drainScene, _ string) { later(20, func() { s.onNode("web-4", "n2", ofSet("web")) }) }, seconds: 20,
		},
		"a replacement that no node takes is named with what the scheduler reports": {
			scene: func(s *drainScene) { s.set("web", 1); s.onNode("web-1", "n1", ofSet("web")) },
			ended: func(s *drainScene, _ string) {
				s.onNode("web-2", "", ofSet("web"), unscheduled("0/2 nodes are available: 1 Insufficient cpu."))
			},
			seconds: 90, left: []string{"ReplicaSet shop/web: 1 of 1 pods not ready on other nodes: pod web-2: 0/2 nodes are available: 1 Insufficient cpu"},
		},
		"both evicted pods of a workload are waited for": {
			scene: func(s *drainScene) {
				s.set("web", 2)
				s.onNode("web-1", "n1", ofSet("web"))
				s.onNode("web-2", "n1", ofSet("web"))
			},
			ended: func(s *drainScene, _ string) { s.onNode("web-3", "n2", ofSet("web")) }, seconds: 90,
			left: []string{"ReplicaSet shop/web: 1 of 2 pods not ready on other nodes: its controller has not created them"},
		},
		"a replacement that is not ready and does not show why": {
			scene: func(s *drainScene) { s.set("web", 1); s.onNode("web-1", "n1", ofSet("web")) },
			ended: func(s *drainScene, _ string) { s.onNode("web-2", "n2", ofSet("web"), notReady("")) }, seconds: 90,
			left: []string{"ReplicaSet shop/web: 1 of 1 pods not ready on other nodes: pod web-2 is not ready"},
		},
		"a replacement that runs and is not ready is named with why": {
			scene: func(s *drainScene) {
				s.set("web", 2)
				s.onNode("web-1", "n1", ofSet("web"))
				s.onNode("web-2", "n2", ofSet("web"))
			},
			ended: func(s *drainScene, _ string) {
				s.onNode("web-3", "n2", ofSet("web"), notReady("containers with unready status: [main]"))
			},
			seconds: 90, left: []string{"ReplicaSet shop/web: 1 of 2 pods not ready on other nodes: pod web-3: containers with unready status: [main]"},
		},
		"a pod on a drained node is no replacement": {
			scene:   func(s *drainScene) { s.set("web", 1); s.onNode("web-1", "n1", ofSet("web")) },
			ended:   func(s *drainScene, _ string) { s.onNode("web-2", "n1", ofSet("web")) },
			seconds: 90, left: []string{"ReplicaSet shop/web: 1 of 1 pods not ready on other nodes: pod web-2 runs on the drained node n1 again"},
		},
		"a pod on a drained node that is uncordoned is no replacement": {
			scene: func(s *drainScene) { s.set("web", 1); s.onNode("web-1", "n1", ofSet("web")) },
			ended: func(s *drainScene, _ string) {
				s.api.Put(hostNode("n1"))
				s.onNode("web-2", "n1", ofSet("web"))
			},
			seconds: 90, left: []string{"ReplicaSet shop/web: 1 of 1 pods not ready on other nodes: pod web-2 runs on the drained node n1 again, which has been uncordoned"},
		},
		"a pod on a drained node that tolerates the cordon is one": {
			scene: func(s *drainScene) { s.set("web", 1); s.onNode("web-1", "n1", ofSet("web"), toleratingCordons) },
			ended: func(s *drainScene, _ string) { s.onNode("web-2", "n1", ofSet("web"), toleratingCordons) },
		},
		"a pod on a drained node that its template names is one": {
			scene: func(s *drainScene) { s.set("web", 1); s.onNode("web-1", "n1", ofSet("web"), namedByTemplate) },
			ended: func(s *drainScene, _ string) { s.onNode("web-2", "n1", ofSet("web"), namedByTemplate) },
		},
		"a pod on a drained node that tolerates the cordon is waited for until it is ready": {
			scene: func(s *drainScene) { s.set("web", 1); s.onNode("web-1", "n1", ofSet("web"), toleratingCordons) },
			ended: func(s *drainScene, _ string) {
				s.onNode("web-2", "n1", ofSet("web"), toleratingCordons, notReady("probe"))
			},
			seconds: 90, left: []string{"ReplicaSet shop/web: 1 of 1 pods not ready on other nodes: pod web-2: probe"},
		},
		"a controller that creates nothing is named": {
			scene:   func(s *drainScene) { s.set("web", 1); s.onNode("web-1", "n1", ofSet("web")) },
			seconds: 90, left: []string{"ReplicaSet shop/web: 1 of 1 pods not ready on other nodes: its controller has not created them"},
		},
		"what the last look has found is explained where the time is over in the middle of the next one": {
			scene: func(s *drainScene) {
				s.set("web", 1)
				s.onNode("web-1", "n1", ofSet("web"))
				began := time.Now()
				s.read = func(r fakeapi.Request) fakeapi.Fault {
					if r.Resource == "replicasets" && time.Since(began) > 70*time.Second {
						return fakeapi.NoAnswer
					}
					return fakeapi.None
				}
			},
			seconds: 90, left: []string{"ReplicaSet shop/web: 1 of 1 pods not ready on other nodes: its controller has not created them"},
		},
		"a workload that is scaled down is not waited for": {
			scene: func(s *drainScene) { s.set("web", 1); s.onNode("web-1", "n1", ofSet("web")) },
			ended: func(s *drainScene, _ string) { later(30, func() { s.set("web", 0) }) }, seconds: 30,
		},
		"a workload that is deleted is not waited for": {
			scene: func(s *drainScene) { s.set("web", 1); s.onNode("web-1", "n1", ofSet("web")) },
			ended: func(s *drainScene, _ string) {
				set, _ := fakeapi.Get[*appsv1.ReplicaSet](s.api.Server, namespace, "web")
				s.api.Remove(set)
			},
		},
		"a pod of an unknown kind is waited for": {
			scene: func(s *drainScene) { s.onNode("web-1", "n1") },
			ended: func(s *drainScene, _ string) { later(30, func() { s.onNode("web-2", "n2") }) }, seconds: 30,
		},
		"what the plan calls Pending is not waited for": {
			scene: func(s *drainScene) { s.set("web", 1); s.onNode("web-1", "n1", ofSet("web"), only("n1")) },
		},
		"no pod of a workload is waited for where the plan calls all of its evicted ones Pending": {
			scene: func(s *drainScene) {
				s.set("web", 2)
				s.onNode("web-1", "n1", ofSet("web"), only("n1"))
				s.onNode("web-2", "n2", ofSet("web"))
			},
			ended: func(s *drainScene, _ string) { s.onNode("web-2", "n2", ofSet("web"), notReady("probe")) },
		},
		"a pod that was not ready before is not waited for": {
			scene: func(s *drainScene) { s.set("web", 1); s.onNode("web-1", "n1", ofSet("web"), notReady("probe")) },
		},
		"a pod that was being deleted before is not waited for": {
			scene: func(s *drainScene) {
				s.set("web", 1)
				s.onNode("web-1", "n1", ofSet("web"))
				p, _ := fakeapi.Get[*corev1.Pod](s.api.Server, namespace, "web-1")
				s.api.Delete(p)
				later(2, func() { s.end("web-1") })
				s.onNode("web-2", "", ofSet("web"), unscheduled("no room"))
			},
		},
		"a completed pod is not waited for": {
			scene: func(s *drainScene) { s.set("web", 1); s.onNode("web-1", "n1", ofSet("web"), ended) },
		},
		"a pod of a DaemonSet of another group is not waited for": {
			scene: func(s *drainScene) { s.onNode("agent-1", "n1", of("apps.kruise.io/v1beta1", "DaemonSet", "agent")) },
		},
		"a Job that runs on is waited for": {
			scene: func(s *drainScene) {
				s.controller(&batchv1.Job{}, "train")
				s.onNode("train-1", "n1", of("batch/v1", "Job", "train"))
			},
			ended: func(s *drainScene, _ string) {
				later(30, func() { s.onNode("train-2", "n2", of("batch/v1", "Job", "train")) })
			},
			seconds: 30,
		},
		"a Job that has finished is not waited for": {
			scene: func(s *drainScene) {
				s.controller(&batchv1.Job{}, "train")
				s.onNode("train-1", "n1", of("batch/v1", "Job", "train"))
			},
			ended: func(s *drainScene, _ string) {
				s.controller(&batchv1.Job{Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}}}, "train")
			},
		},
		"the last pod of a Job that succeeds meanwhile is not waited for": {
			scene: func(s *drainScene) {
				s.controller(&batchv1.Job{Spec: batchv1.JobSpec{Completions: new(int32(1))}}, "train")
				s.onNode("train-1", "n1", of("batch/v1", "Job", "train"))
			},
			ended: func(s *drainScene, _ string) {
				s.controller(&batchv1.Job{Spec: batchv1.JobSpec{Completions: new(int32(1))}, Status: batchv1.JobStatus{Succeeded: 1}}, "train")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newDrainScene(t, hostNode("n1"), hostNode("n2"))
				s.ended = tt.ended
				tt.scene(s)
				cluster := s.api.follow(t, true)
				if _, err := cluster.Snapshot(t.Context()); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				began := time.Now()
				err := s.drain(ctx, cluster, Drain{NodeDrain: planner.NodeDrain{Nodes: []string{"n1"}, Rules: planner.DrainRules{IgnoreDaemonSets: true}}, AwaitReplacements: !tt.off})
				if took := int(time.Since(began).Seconds()); took < tt.seconds || took > tt.seconds+12 {
					t.Errorf("it took %d seconds, want %d", took, tt.seconds)
				}
				var left []string
				if stopped := new(DrainError); errors.As(err, &stopped) {
					for _, r := range stopped.Missing {
						left = append(left, r.String())
					}
					if !slices.Equal(stopped.Drained, []string{"n1"}) || !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("it ends with %v, and %v are drained", err, stopped.Drained)
					}
				} else if err != nil {
					t.Errorf("it ends with %v", err)
				}
				if diff := cmp.Diff(tt.left, left); diff != "" {
					t.Errorf("what is missing: %s", diff)
				}
				if told := strings.Contains(strings.Join(s.done, "\n"), "waiting for replacements of evicted pods: "); told != (tt.seconds > 0) && !strings.Contains(name, "Job") && !strings.Contains(name, "deleted") {
					t.Errorf("the progress is %q", s.done)
				}
			})
		})
	}
}

// hostNode has its name as a label.
func hostNode(name string) *corev1.Node {
	n := aNode(name, "gpu")
	n.Labels[corev1.LabelHostname] = name
	return n
}
