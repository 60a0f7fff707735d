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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// TestRun_decidesAgainFromTheWorkloadThatIsReadForTheWrite: another client has written to it
// after the plan.
func TestRun_decidesAgainFromTheWorkloadThatIsReadForTheWrite(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		set    *appsv1.StatefulSet
		change []Tolerations
		// other is what another client writes right before the first write.
		other func(*appsv1.StatefulSet)

		// done counts the writes that are carried out.
		done int
		says string
	}{
		"a record that cannot be read by then refuses": {
			change: wanting(teamA, "web"), says: toleration.OwnedAnnotation, other: func(s *appsv1.StatefulSet) { damagedSet(s, toleration.OwnedAnnotation) },
		},
		"a record of pins that cannot be read by then refuses": {
			change: pinning("gpu", "web"), says: label.OwnedAnnotation, other: func(s *appsv1.StatefulSet) { damagedSet(s, label.OwnedAnnotation) },
		},
		"a toleration that another resource owns by then refuses": {
			change: wanting(teamA, "web"), says: `is owned by "other"`, other: func(s *appsv1.StatefulSet) { become(s, aSet("web", 1, "!"+teamA)) },
		},
		"a label that is required with another value by then refuses": {
			change: pinning("gpu", "web"), says: `requires the label pool with the value "web"`, other: func(s *appsv1.StatefulSet) { pinned(s, "web", false) },
		},
		"pods that do not follow by then refuse a toleration": {
			change: wanting(teamA, "web"), says: "do not follow: its update strategy is OnDelete", other: func(s *appsv1.StatefulSet) { onDelete(s) },
		},
		"pods that do not follow by then refuse a pin": {
			set: aSet("web", 1, "*"+teamA), change: pinning("gpu", "web"), says: "do not follow: its update strategy is OnDelete", other: func(s *appsv1.StatefulSet) { onDelete(s) },
		},
		"pods that do not follow by then refuse nothing where no resource waits": {
			change: unwaited(wanting(teamA, "web")), done: 1, other: func(s *appsv1.StatefulSet) { onDelete(s) },
		},
		"pods that do not follow by then refuse nothing where their marks alone change": {
			set: remark(aSet("web", 1, "*"+teamA), func(m *toleration.Mark) { m.Generation = "g1" }), change: takingOver(wanting(teamA, "web")), done: 1, other: func(s *appsv1.StatefulSet) { onDelete(s) },
		},
		"pods that do not follow by then keep what is given up from going": {
			set: aSet("web", 1, "*"+teamA), change: waitedFor(wanting("", "web")), done: 1, other: func(s *appsv1.StatefulSet) { onDelete(s) },
		},
		"what is as wanted by then is not written": {
			change: unwaited(wanting(teamA, "web")), other: func(s *appsv1.StatefulSet) { become(s, aSet("web", 1, "*"+teamA)) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := newServer(t, aNode("n1", "gpu"))
				set := tt.set
				if set == nil {
					set = aSet("web", 1)
				}
				api.addSets(set)
				api.before = func(name string, write int) int {
					if write == 1 {
						api.editSet(name, tt.other)
					}
					return 0
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				_, err := carry(ctx, api.follow(t, true), Request{Workloads: tt.change}, hooks{})
				if (err != nil) != (tt.says != "") || err != nil && !strings.Contains(err.Error(), tt.says) {
					t.Errorf("it ends with %v, want %q", err, tt.says)
				}
				if begun, done := api.writes(); done != tt.done {
					t.Errorf("%d of the writes %v were carried out, want %d", done, begun, tt.done)
				}
			})
		})
	}
}

// become makes a StatefulSet what another one is, for what a change depends on.
func become(s, other *appsv1.StatefulSet) {
	s.Annotations, s.Spec.Template = other.Annotations, other.Spec.Template
}

func waitedFor(desired []Tolerations) []Tolerations {
	for i := range desired {
		desired[i].NoWait = false
	}
	return desired
}

func takingOver(desired []Tolerations) []Tolerations {
	for i := range desired {
		desired[i].Claim.TakeOver = true
	}
	return desired
}

// TestRun_checksTheLimitsForNodesThatHaveComeSince, and for these alone.
func TestRun_checksTheLimitsForNodesThatHaveComeSince(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		most int64
		// stranding is set where pods that nothing comes in place of may be evicted.
		stranding bool
		// first is set where a pod runs on the first node. A node comes once the first one is written,
		// with so many pods, and the watch reports pods much later where lags is set.
		first bool
		pods  int
		lags  bool
		// has is an owned taint that the node that comes has, and its pods tolerate.
		has string
		// reverted has another writer take the taint away from the first node then.
		reverted bool

		exceeds int
	}{
		"pods on it count":                                    {stranding: true, pods: 2, exceeds: 2},
		"pods that the watch has not shown count":             {stranding: true, pods: 1, lags: true, exceeds: 1},
		"as many pods as are allowed may be evicted":          {stranding: true, most: 2, pods: 2},
		"a node without pods exceeds nothing":                 {stranding: true},
		"pods on nodes that were looked at do not count":      {stranding: true, most: 1, first: true, pods: 1, reverted: true},
		"pods on nodes that were looked at are not named":     {stranding: true, most: 1, first: true, pods: 2, reverted: true, exceeds: 2},
		"pods that would be stranded stop it without a limit": {most: 9, pods: 1, has: teamB, exceeds: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newMachineWorld(t, 0)
				w.api.Add(aNode("n1", "gpu"))
				onNode := func(name, node string, tolerations ...corev1.Toleration) {
					w.api.Put(&corev1.Pod{
						ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(aSet("web", 1), metav1.SchemeGroupVersion.WithKind("Thing"))}},
						Spec:       corev1.PodSpec{NodeName: node, Tolerations: tolerations}, Status: corev1.PodStatus{Phase: corev1.PodRunning},
					})
				}
				if tt.first {
					onNode("first", "n1")
				}
				cluster := w.follow(t)
				w.client.OnEvent(func(o metav1.Object) time.Duration {
					return map[bool]time.Duration{true: time.Hour}[tt.lags && strings.HasPrefix(o.GetName(), "later")]
				})
				w.after = func(_ fakeapi.Request, nth int) {
					if nth > 1 {
						return
					}
					if tt.reverted {
						fakeapi.Edit(w.api, "", "n1", func(n *corev1.Node) { n.Spec.Taints = nil })
					}
					n2, tolerations := aNode("n2", "gpu"), []corev1.Toleration(nil)
					if tt.has != "" {
						n2, tolerations = aNode("n2", "gpu", "*"+tt.has), []corev1.Toleration{tolerating(tt.has)}
					}
					for n := range tt.pods {
						onNode(fmt.Sprintf("later-%d", n), "n2", tolerations...)
					}
					w.api.Add(n2)
				}
				_, err := Run(t.Context(), cluster, Request{Nodes: tainting(teamA), Limits: eviction.Limits{MaxPods: &tt.most, EvictStranded: tt.stranding}}, eviction.ComparisonOff)
				over := new(LimitsError)
				if errors.As(err, &over) != (tt.exceeds > 0) || err != nil && tt.exceeds == 0 {
					t.Fatalf("it ends with %v, want that %d pods exceed the limits", err, tt.exceeds)
				}
				n2, _ := fakeapi.Get[*corev1.Node](w.api, "", "n2")
				if slices.ContainsFunc(n2.Spec.Taints, func(has corev1.Taint) bool { return taint.Format(has) == teamA }) != (tt.exceeds == 0) {
					t.Errorf("the node that came has the taints %v", n2.Spec.Taints)
				}
				if tt.exceeds == 0 {
					return
				}
				if !over.Began || len(over.Report.Pods) != tt.exceeds || len(over.Steps) != 1 || strings.Join(over.Steps[0].Nodes.Names(), " ") != "n2" {
					t.Errorf("it counts %d pods for %v (began: %t), want %d on the node n2", len(over.Report.Pods), over.Steps, over.Began, tt.exceeds)
				}
			})
		})
	}
}

// TestRun_endsWithTheErrorOfARead, whichever it is: what it has not seen it takes for nothing.
func TestRun_endsWithTheErrorOfARead(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func() Request{
		"of a change of everything": func() Request { return fromAToB("db", "web") },
		"of a change of links": func() Request {
			return Request{Nodes: tainting("team=c:NoSchedule"), Links: []string{ownID("web")}, Shared: &planner.Shared{}, Limits: eviction.Limits{MaxPods: new(int64(9))}}
		},
		"of labels and pins": func() Request {
			return Request{
				Labels:    &planner.NodeLabels{Target: planner.Target{Name: "n1"}, Claim: label.Claim{Owner: "me", Generation: generation, Labels: map[string]string{"tier": "x"}}},
				Workloads: pinning("gpu", "web"),
			}
		},
		"of a drain": func() Request { return Request{Drain: &Drain{NodeDrain: planner.NodeDrain{Nodes: []string{"n1"}}}} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for nth, last := 1, false; !last; nth++ {
				synctest.Test(t, func(t *testing.T) {
					api := newServer(t, aNode("n1", "gpu", "*"+teamA))
					api.addSets(aSet("db", 1, "*"+teamA), aSet("web", 1, "*"+teamA))
					for _, p := range api.podsOf("db") {
						// A pod that stops no drain, and is gone immediately.
						p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
						api.Put(p)
					}
					cluster, reads := api.follow(t, false), 0
					what := ""
					api.faulty(func(r fakeapi.Request) int {
						if r.Write() || r.Verb == "watch" {
							return 0
						}
						if reads++; reads == nth {
							what = r.String()
						}
						return map[bool]int{true: http.StatusUnprocessableEntity}[reads == nth]
					})
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					defer cancel()
					_, err := carry(ctx, cluster, change(), hooks{})
					if last = what == ""; last {
						return
					}
					if !errors.Is(err, kube.ErrInvalid) {
						t.Errorf("%s is answered with an error, and it ends with %v", what, err)
					}
				})
			}
		})
	}
}

// TestRun_waitsForReplicaSetsThatMayStillMakePodsOfAnOlderTemplate of a Deployment.
func TestRun_waitsForReplicaSetsThatMayStillMakePodsOfAnOlderTemplate(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		// wants is how many pods the older ReplicaSet wants, and has how many it tells of.
		wants, has int32
		older      []string
		// yields has it want none any more after a while.
		yields, waits bool
	}{
		"one that wants pods is waited for":                  {wants: 1, waits: true},
		"one that tells of pods is waited for":               {has: 1, waits: true},
		"one that wants none any more is not waited for":     {},
		"one that comes to want none is waited for until it": {wants: 1, yields: true},
		"one whose pods have the toleration as well is none": {wants: 1, older: []string{teamA}},
		"one whose pods lack it beside others is one":        {wants: 1, older: []string{teamB}, waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := newServer(t, aNode("n1", "gpu"))
				selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
				template := func(notations ...string) corev1.PodTemplateSpec {
					out := aSet("", 1, notations...).Spec.Template
					out.Labels = selector.MatchLabels
					return out
				}
				web := &appsv1.Deployment{
					ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web", UID: "uid-web", Generation: 1},
					Spec:       appsv1.DeploymentSpec{Replicas: new(int32(1)), Selector: selector, Template: template(teamA)},
				}
				replicaSet := func(name string, wants, has int32, notations ...string) *appsv1.ReplicaSet {
					return &appsv1.ReplicaSet{
						ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name), Labels: selector.MatchLabels, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(web, appsv1.SchemeGroupVersion.WithKind("Deployment"))}},
						Spec:       appsv1.ReplicaSetSpec{Replicas: &wants, Selector: selector, Template: template(notations...)},
						Status:     appsv1.ReplicaSetStatus{Replicas: has, ObservedGeneration: 9},
					}
				}
				newest, older := replicaSet("web-b", 1, 1, teamA), replicaSet("web-a", tt.wants, tt.has, tt.older...)
				pod := &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web-b-1", Labels: selector.MatchLabels, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(newest, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}},
					Spec:       template(teamA).Spec, Status: corev1.PodStatus{Phase: corev1.PodRunning},
				}
				pod.Spec.NodeName = "n1"
				for _, o := range []*appsv1.ReplicaSet{newest, older} {
					api.Put(o)
				}
				api.Put(web)
				api.Put(pod)
				fakeapi.Edit(api.Server, namespace, "web", func(d *appsv1.Deployment) { d.Status.ObservedGeneration = d.Generation + 1 })
				if tt.yields {
					time.AfterFunc(20*time.Second, func() {
						fakeapi.Edit(api.Server, namespace, "web-a", func(r *appsv1.ReplicaSet) { r.Spec.Replicas = new(int32(0)); r.Status.Replicas = 0 })
					})
				}
				kind, _ := workload.Lookup("apps/v1", "Deployment")
				wait := wanting(teamA, "web")
				wait[0].Ref.Kind, wait[0].Path = "Deployment", kind.Path
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				began := time.Now()
				err := taintLinked(ctx, api.follow(t, true), wait)
				if stuck := new(StuckError); errors.As(err, &stuck) != tt.waits || err != nil && !tt.waits {
					t.Errorf("it ends with %v", err)
				}
				if soon := time.Since(began) < 15*time.Second; soon == (tt.waits || tt.yields) {
					t.Errorf("it has waited for %s", time.Since(began))
				}
				if n := api.taints()["n1"]; (n == "") != tt.waits {
					t.Errorf("the node has the taints %q", n)
				}
			})
		})
	}
}

// TestStuckError_showsWhyARolloutIsStuck, which its controller has written.
func TestStuckError_showsWhyARolloutIsStuck(t *testing.T) {
	t.Parallel()
	web := &workload.Workload{Ref: workload.Ref{APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout", Namespace: "shop", Name: "web"}, Wants: 3}
	web.Rolling.Stands = workload.Stop{Why: "it was aborted"}
	err := &StuckError{Workload: web, Err: errors.New("too late")}
	if diff := cmp.Diff(`Rollout "shop/web" has not finished rolling out (its rollout is stuck: it was aborted): too late`, err.Error()); diff != "" {
		t.Error(diff)
	}
}
