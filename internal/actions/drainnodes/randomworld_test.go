// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drainnodes_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// Kinds of workloads of a random cluster. Each of their pods requests one CPU.
const (
	deployment  = "Deployment"
	statefulSet = "StatefulSet"
	replicaSet  = "ReplicaSet"
	runningJob  = "Job"
	finishedJob = "finished Job"
)

// daemon is the name of the DaemonSet, whose pods request nothing.
const daemon = "agent"

// randomApp is a workload whose pods all run in the pool at first.
type randomApp struct {
	kind, name string
	pods       int
	// selector is the label that its nodes have: that of the pool, which is drained, or of all.
	selector string
	// budget is that of its PodDisruptionBudget, nil for none, and least returns how few pods were ready.
	budget *policyv1.PodDisruptionBudgetSpec
	least  func() int
	// unready is set where one of its pods is not ready at first.
	unready bool
}

// ready is how many of its pods are ready at first.
func (a *randomApp) ready() int {
	if a.unready {
		return a.pods - 1
	}
	return a.pods
}

// keeps is how many ready pods its PodDisruptionBudget keeps.
func (a *randomApp) keeps() int {
	if least := a.budget.MinAvailable; least != nil {
		kept, _ := intstr.GetScaledValueFromIntOrPercent(least, a.pods, true)
		return kept
	}
	most, _ := intstr.GetScaledValueFromIntOrPercent(a.budget.MaxUnavailable, a.pods, true)
	return max(a.pods-most, 0)
}

func (a *randomApp) String() string {
	out := fmt.Sprintf("%s %s with %d pods for %s", a.kind, a.name, a.pods, a.selector)
	if a.unready {
		out += ", one not ready"
	}
	if b := a.budget; b != nil {
		out += fmt.Sprintf(", PDB %v %v always allow %t", b.MinAvailable, b.MaxUnavailable, b.UnhealthyPodEvictionPolicy != nil)
	}
	return out
}

// randomWorld is a pool that is drained, with workloads, and other nodes with room for all or for some
// of its pods.
type randomWorld struct {
	*testing.T
	c          *acctest.Cluster
	r          *rand.Rand
	pool, apps string
	// drained are the nodes of the pool, and others those beside it.
	drained, others []string
	// room is how many pods fit on the others, negative for all.
	room int
	all  []*randomApp
}

func (w *randomWorld) String() string {
	return fmt.Sprintf("%d nodes, %d others with room for %d, %v", len(w.drained), len(w.others), w.room, w.all)
}

func newRandomWorld(t *testing.T, c *acctest.Cluster, r *rand.Rand) *randomWorld {
	t.Helper()
	w := &randomWorld{T: t, c: c, r: r, pool: acctest.Name(t, "pool"), room: -1}
	w.apps = c.Namespace(t)
	for n := range 1 + r.IntN(4) {
		w.drained = append(w.drained, fmt.Sprintf("%s-%d", w.pool, n))
		c.Node(t, acctest.Node{Name: w.drained[n], Labels: map[string]string{"pool": w.pool, "all": w.pool}})
	}
	pods := 0
	for n := range 1 + r.IntN(4) {
		a := w.app(n)
		w.all = append(w.all, a)
		w.begin(a)
		if a.selector == "all" && a.kind != finishedJob {
			pods += a.pods
		}
	}
	others := r.IntN(3)
	if others > 0 && r.IntN(2) == 0 {
		w.room = r.IntN(pods + 1)
	}
	for n := range others {
		node := acctest.Node{Name: fmt.Sprintf("%s-other-%d", w.pool, n), Labels: map[string]string{"all": w.pool}}
		if w.room >= 0 {
			room := (w.room + n) / others
			node.Allocatable = corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(int64(room), resource.DecimalSI), corev1.ResourceMemory: resource.MustParse("64Gi"), corev1.ResourcePods: resource.MustParse("110")}
		}
		w.others = append(w.others, node.Name)
		c.Node(t, node)
	}
	if r.IntN(2) == 0 {
		c.DaemonSet(t, w.apps, daemon, len(w.drained)+others, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"all": w.pool} })
	}
	return w
}

// app draws a workload.
func (w *randomWorld) app(n int) *randomApp {
	kinds := []string{deployment, deployment, statefulSet, replicaSet, runningJob, finishedJob}
	a := &randomApp{kind: kinds[w.r.IntN(len(kinds))], name: fmt.Sprintf("app-%d", n), pods: 1 + w.r.IntN(5), selector: "all"}
	if a.kind == runningJob {
		// The controller puts off each replacement for twice as long as the one before.
		a.pods = min(a.pods, 2)
	}
	if w.r.IntN(6) == 0 {
		a.selector = "pool"
	}
	if w.r.IntN(2) == 0 && a.kind != finishedJob {
		a.budget = w.budget(a)
		a.unready = a.kind != runningJob && w.r.IntN(4) == 0
	}
	return a
}

// budget draws a PodDisruptionBudget, which seldom allows no eviction at all.
func (w *randomWorld) budget(a *randomApp) *policyv1.PodDisruptionBudgetSpec {
	out := &policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": a.name}}}
	if w.r.IntN(3) == 0 {
		out.UnhealthyPodEvictionPolicy = new(policyv1.AlwaysAllow)
	}
	strict := w.r.IntN(8) == 0
	least, most := intstr.FromInt(w.r.IntN(a.pods)), intstr.FromInt(1+w.r.IntN(a.pods))
	if strict {
		least, most = intstr.FromInt(a.pods), intstr.FromInt(0)
	}
	switch form := w.r.IntN(3); {
	// A Job has no number of replicas that the other forms need.
	case form == 0 || a.kind == runningJob:
		out.MinAvailable = &least
	case form == 1:
		out.MaxUnavailable = &most
	default:
		out.MinAvailable = new(intstr.FromString([]string{"25%", "50%", "75%"}[w.r.IntN(3)]))
	}
	return out
}

// begin makes a workload, and waits until its pods and its PodDisruptionBudget are as they are to be.
func (w *randomWorld) begin(a *randomApp) {
	w.Helper()
	create := map[string]func(testing.TB, string, string, int32, func(*corev1.PodSpec)){
		deployment: w.c.Deployment, statefulSet: w.c.StatefulSet, replicaSet: w.c.ReplicaSet, runningJob: w.c.Job, finishedJob: w.c.Job,
	}[a.kind]
	create(w.T, w.apps, a.name, int32(a.pods), func(spec *corev1.PodSpec) {
		spec.NodeSelector = map[string]string{a.selector: w.pool}
		spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	})
	if a.kind == finishedJob {
		w.finish(a)
	}
	if a.unready {
		w.change(&w.podsOf(w.Context(), a.name)[w.r.IntN(a.pods)], func(p *corev1.Pod) {})
	}
	if a.budget != nil {
		w.guard(a)
	}
}

// change writes the status of a pod that is not ready any more.
func (w *randomWorld) change(p *corev1.Pod, change func(*corev1.Pod)) {
	w.Helper()
	acctest.Until(w.T, "pod "+p.Name+" is not ready", func(ctx context.Context) (bool, error) {
		pods := w.c.Admin.CoreV1().Pods(w.apps)
		now, err := pods.Get(ctx, p.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		now.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now()}}
		change(now)
		// A conflict is tried again.
		_, err = pods.UpdateStatus(ctx, now, metav1.UpdateOptions{})
		return err == nil, nil
	})
}

// finish lets the pods of a Job succeed.
func (w *randomWorld) finish(a *randomApp) {
	w.Helper()
	for _, p := range w.podsOf(w.Context(), a.name) {
		w.change(&p, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
	}
	acctest.Until(w.T, "the Job is complete", func(ctx context.Context) (bool, error) {
		job, err := w.c.Admin.BatchV1().Jobs(w.apps).Get(ctx, a.name, metav1.GetOptions{})
		return err == nil && job.Status.Succeeded == int32(a.pods) && job.Status.Active == 0, err
	})
}

// guard gives an app its PodDisruptionBudget, and waits until it counts.
func (w *randomWorld) guard(a *randomApp) {
	w.Helper()
	budgets := w.c.Admin.PolicyV1().PodDisruptionBudgets(w.apps)
	if _, err := budgets.Create(w.Context(), &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: a.name}, Spec: *a.budget}, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	acctest.Until(w.T, "the PodDisruptionBudget counts", func(ctx context.Context) (bool, error) {
		b, err := budgets.Get(ctx, a.name, metav1.GetOptions{})
		return err == nil && b.Status.ExpectedPods == int32(a.pods) && b.Status.CurrentHealthy == int32(a.ready()), err
	})
	a.least = w.c.LeastReady(w.T, w.apps, a.name)
}

// podsOf returns the pods of an app, sorted by name, without those that are being deleted.
func (w *randomWorld) podsOf(ctx context.Context, app string) []corev1.Pod {
	w.Helper()
	list, err := w.c.Admin.CoreV1().Pods(w.apps).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		w.Fatal(err)
	}
	return slices.SortedFunc(slices.Values(slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })),
		func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
}

// podsOn returns the pods of a node.
func (w *randomWorld) podsOn(ctx context.Context, node string) []corev1.Pod {
	w.Helper()
	list, err := w.c.Admin.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
	if err != nil {
		w.Fatal(err)
	}
	return list.Items
}

// hasRoom returns the name of another node that has room for one more pod, "" for none.
func (w *randomWorld) hasRoom(ctx context.Context) string {
	w.Helper()
	for _, name := range w.others {
		left := w.c.Get(w.T, name).Status.Allocatable.Cpu().Value()
		for _, p := range w.podsOn(ctx, name) {
			left -= p.Spec.Containers[0].Resources.Requests.Cpu().Value()
		}
		if left > 0 {
			return name
		}
	}
	return ""
}

// homeless returns why a pod that has a place does not run there, "" where each does. It counts pods and
// room by itself, and asks no simulation.
func (w *randomWorld) homeless(ctx context.Context) string {
	w.Helper()
	room := w.hasRoom(ctx)
	for _, a := range w.all {
		if a.kind == finishedJob {
			continue
		}
		pods, waiting, held := w.podsOf(ctx, a.name), 0, 0
		for _, p := range pods {
			switch {
			case p.Spec.NodeName == "":
				waiting++
			case !isReady(&p) && slices.Contains(w.others, p.Spec.NodeName):
				return "pod " + p.Name + " is not ready"
			case !isReady(&p):
				held++
			}
		}
		if waiting > 0 && a.selector == "all" && room != "" {
			return fmt.Sprintf("%d pods of %s wait, and node %s has room", waiting, a.name, room)
		}
		// A StatefulSet creates a pod when the one before it is ready.
		if len(pods) < a.pods && (waiting+held == 0 || a.kind != statefulSet) {
			return fmt.Sprintf("%s has %d pods", a.name, len(pods))
		}
	}
	return ""
}

func isReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// waitsForAll reports whether a drain waits for the replacements of all pods: none would stay Pending,
// and each was ready.
func (w *randomWorld) waitsForAll(plan string) bool {
	return !strings.Contains(plan, "pending") && !slices.ContainsFunc(w.all, func(a *randomApp) bool { return a.unready })
}
