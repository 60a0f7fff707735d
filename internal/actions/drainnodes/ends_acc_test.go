// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drainnodes_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// The words of a plan for a drain, and for its outcome.
const (
	ends      = "ends"
	mayNotEnd = "may get stuck on PodDisruptionBudgets"
	neverEnds = "gets stuck on PodDisruptionBudgets"
	refused   = "the eviction API evicts no pod that more than one covers"
)

// budgets are the PodDisruptionBudgets of a row. Those without a selector cover the app db.
type budgets []policyv1.PodDisruptionBudgetSpec

func (b budgets) with(change func(*policyv1.PodDisruptionBudgetSpec)) budgets {
	b = slices.Clone(b)
	for i := range b {
		change(&b[i])
	}
	return b
}

// ending is a node with three pods that are drained, and one with a fourth pod and room for some of them.
type ending struct {
	*testing.T
	c               *acctest.Cluster
	namespace, pool string
}

// TestAccDrainNodes_saysWhetherItEnds: what the plan reports of three pods of a PodDisruptionBudget comes true. A drain of
// pods that two of these cover is refused, and no request evicts them.
func TestAccDrainNodes_saysWhetherItEnds(t *testing.T) {
	t.Parallel()
	acctest.NeedKwok(t, "nodes of a chosen size")
	at := func(s string) *intstr.IntOrString { v := intstr.Parse(s); return &v }
	least := func(n string) budgets { return budgets{{MinAvailable: at(n)}} }
	most := func(n string) budgets { return budgets{{MaxUnavailable: at(n)}} }
	always := func(b budgets) budgets {
		return b.with(func(s *policyv1.PodDisruptionBudgetSpec) { s.UnhealthyPodEvictionPolicy = new(policyv1.AlwaysAllow) })
	}
	of := func(labels map[string]string, b budgets) budgets {
		return b.with(func(s *policyv1.PodDisruptionBudgetSpec) { s.Selector = &metav1.LabelSelector{MatchLabels: labels} })
	}
	two := func(one, other budgets) budgets { return slices.Concat(one, other) }
	const first, fourth = "first", "fourth"
	some := []string{"minAvailable 3, room for all", "maxUnavailable 1, room for two", "minAvailable 75%, no room", "maxUnavailable 1, another is not ready", "AlwaysAllow, maxUnavailable 2, two are not ready", "AlwaysAllow, maxUnavailable 0, no drained one is ready", "two that allow all, room for all", "two, and one of other pods, room for all"}
	for name, tt := range map[string]struct {
		budgets budgets
		room    int
		// unready are the pods that are not ready: the first ready one of those that are drained, or the
		// fourth one.
		unready []string
		want    string
	}{
		"maxUnavailable 0, room for all":                         {most("0"), 3, nil, neverEnds},
		"maxUnavailable 0%, room for all":                        {most("0%"), 3, nil, neverEnds},
		"minAvailable 4, room for all":                           {least("4"), 3, nil, neverEnds},
		"minAvailable 100%, room for all":                        {least("100%"), 3, nil, neverEnds},
		"maxUnavailable 1, room for all":                         {most("1"), 3, nil, ends},
		"maxUnavailable 25%, room for all":                       {most("25%"), 3, nil, ends},
		"minAvailable 3, room for all":                           {least("3"), 3, nil, ends},
		"maxUnavailable 1, room for two":                         {most("1"), 2, nil, mayNotEnd},
		"maxUnavailable 1, room for one":                         {most("1"), 1, nil, neverEnds},
		"minAvailable 75%, no room":                              {least("75%"), 0, nil, neverEnds},
		"maxUnavailable 2, no room":                              {most("2"), 0, nil, neverEnds},
		"maxUnavailable 50%, room for one":                       {most("50%"), 1, nil, mayNotEnd},
		"minAvailable 2, room for two":                           {least("2"), 2, nil, ends},
		"minAvailable 1, no room":                                {least("1"), 0, nil, ends},
		"maxUnavailable 1, another is not ready":                 {most("1"), 3, []string{fourth}, neverEnds},
		"minAvailable 2, another is not ready":                   {least("2"), 3, []string{fourth}, ends},
		"minAvailable 2, another is not ready, room for one":     {least("2"), 1, []string{fourth}, neverEnds},
		"maxUnavailable 1, a drained one is not ready":           {most("1"), 3, []string{first}, ends},
		"maxUnavailable 1, two are not ready":                    {most("1"), 3, []string{first, fourth}, neverEnds},
		"AlwaysAllow, maxUnavailable 1, two are not ready":       {always(most("1")), 3, []string{first, fourth}, neverEnds},
		"AlwaysAllow, maxUnavailable 2, two are not ready":       {always(most("2")), 3, []string{first, fourth}, ends},
		"AlwaysAllow, maxUnavailable 0, no drained one is ready": {always(most("0")), 3, []string{first, first, first}, ends},
		"maxUnavailable 0, no drained one is ready":              {most("0"), 3, []string{first, first, first}, neverEnds},
		"maxUnavailable 2, two are not ready, and enough of it":  {most("2"), 3, []string{first, fourth}, ends},
		"two that allow all, room for all":                       {two(most("4"), least("0")), 3, nil, refused},
		"two, and one of them allows none, room for all":         {two(most("0"), most("1")), 3, nil, refused},
		"two, and one of all pods, room for all":                 {two(most("4"), of(nil, most("4"))), 3, nil, refused},
		"two, and one of other pods, room for all":               {two(most("1"), of(map[string]string{"app": "other"}, most("0"))), 3, nil, ends},
		"AlwaysAllow, two that allow all, no drained is ready":   {always(two(most("4"), most("4"))), 3, []string{first, first, first}, refused},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			if !slices.Contains(some, name) {
				acctest.Exhaustive(t)
			}
			e := &ending{T: t, c: acctest.Connect(t), pool: acctest.Name(t, "pool")}
			e.namespace = e.c.Namespace(t)
			e.begin(tt.room, tt.budgets, tt.unready)
			timeout := "150s"
			if tt.want == neverEnds {
				timeout = "20s"
			}
			d := (&acctest.Terraform{Provider: e.c.Provider(t)}).Invoke(t, "kubetaint_drain_nodes", map[string]any{"node_name": e.drained(), "timeout": timeout})
			said := ends
			for _, word := range []string{mayNotEnd, neverEnds} {
				if strings.Contains(d.Warnings(), word) {
					said = word
				}
			}
			if strings.Contains(d.Errors(), refused) {
				said = refused
			}
			if said != tt.want {
				t.Errorf("the plan reports that it %s, want %s: %s", said, tt.want, d.Warnings()+d.Errors())
			}
			if tt.want == refused {
				e.neverEvicted(d.Errors())
				return
			}
			timedOut := strings.Contains(d.Errors(), "the drain timed out")
			if ended := d.Errors() == ""; !ended && !timedOut || said == ends && !ended || said == neverEnds && ended {
				t.Errorf("the plan reports that it %s, and the drain reports %q", said, d.Errors())
			}
		})
	}
}

// TestAccDrainNodes_allNodesOfAWorkload: three pods run on the three drained nodes alone, and no other node takes one. The
// first replacement stays Pending, and the PodDisruptionBudget allows no second eviction.
func TestAccDrainNodes_allNodesOfAWorkload(t *testing.T) {
	t.Parallel()
	acctest.NeedKwok(t, "nodes of a chosen size")
	e := &ending{T: t, c: acctest.Connect(t), pool: acctest.Name(t, "pool")}
	e.namespace = e.c.Namespace(t)
	for _, suffix := range []string{"-a", "-b", "-c"} {
		e.node(e.pool+suffix, 1)
	}
	e.deploy(3)
	e.c.Running(t, e.namespace, "db", 3)
	most := intstr.FromInt32(1)
	e.protect(budgets{{MaxUnavailable: &most}}, 3, 3)
	d := (&acctest.Terraform{Provider: e.c.Provider(t)}).Invoke(t, "kubetaint_drain_nodes", map[string]any{"node_selector": "pool=" + e.pool, "timeout": "20s"})
	if !strings.Contains(d.Warnings(), neverEnds) {
		t.Errorf("the plan does not report that the drain %s: %s", neverEnds, d.Warnings())
	}
	if !strings.Contains(d.Errors(), "the drain timed out") {
		t.Errorf("the drain reports %q", d.Errors())
	}
}

func (e *ending) drained() string { return e.pool + "-a" }

// begin runs the pods, the first three where they are drained, and waits until the PDB counts them.
func (e *ending) begin(room int, all budgets, unready []string) {
	e.Helper()
	e.node(e.drained(), 3)
	e.deploy(3)
	e.node(e.pool+"-b", room+1)
	_, err := e.c.Admin.AppsV1().Deployments(e.namespace).Patch(e.Context(), "db", types.MergePatchType, []byte(`{"spec":{"replicas":4}}`), metav1.PatchOptions{})
	e.must(err)
	e.c.Running(e, e.namespace, "db", 4)
	for _, which := range unready {
		e.unready(map[string]string{"first": e.drained(), "fourth": e.pool + "-b"}[which])
	}
	e.protect(all, 4, 4-len(unready))
}

// deploy runs pods of which a node has room for as many as it is made for.
func (e *ending) deploy(pods int32) {
	e.Helper()
	e.c.Deployment(e, e.namespace, "db", pods, func(s *corev1.PodSpec) {
		s.NodeSelector = map[string]string{"pool": e.pool}
		s.Containers[0].Resources.Requests = corev1.ResourceList{"memory": resource.MustParse("1Gi")}
	})
}

// protect makes the PodDisruptionBudgets, and waits until they count so many pods, of which some are healthy, or the pods of another app.
func (e *ending) protect(all budgets, pods int32, healthy int) {
	e.Helper()
	client := e.c.Admin.PolicyV1().PodDisruptionBudgets(e.namespace)
	for i, spec := range all {
		expected, healthy, name := pods, int32(healthy), fmt.Sprintf("db-%d", i)
		if spec.Selector == nil {
			spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}
		}
		if app := spec.Selector.MatchLabels["app"]; app != "" && app != "db" {
			expected, healthy = 0, 0
		}
		_, err := client.Create(e.Context(), &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
		e.must(err)
		acctest.Until(e, "the PodDisruptionBudget counts the pods", func(ctx context.Context) (bool, error) {
			b, err := client.Get(ctx, name, metav1.GetOptions{})
			return err == nil && b.Status.ObservedGeneration == b.Generation && b.Status.ExpectedPods == expected && b.Status.CurrentHealthy == healthy, err
		})
	}
}

// neverEvicted cordons the node and tries to evict its pods for 20 seconds, as other drains do: the API refuses
// each eviction, and the pods are still there. The plan names each of them.
func (e *ending) neverEvicted(planned string) {
	e.Helper()
	e.c.Patch(e, e.drained(), `{"spec":{"unschedulable":true}}`)
	pods, onNode := e.c.Admin.CoreV1().Pods(e.namespace), metav1.ListOptions{FieldSelector: "spec.nodeName=" + e.drained()}
	before, err := pods.List(e.Context(), onNode)
	e.must(err)
	if len(before.Items) != 3 {
		e.Fatalf("%d pods on the node, want 3", len(before.Items))
	}
	err = wait.PollUntilContextTimeout(e.Context(), time.Second, 20*time.Second, true, func(context.Context) (bool, error) {
		for i := range before.Items {
			name := before.Items[i].Name
			err := pods.EvictV1(e.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: e.namespace}})
			if !apierrors.IsInternalError(err) {
				e.Errorf("the eviction of %s: %v, want an internal error", name, err)
				return true, nil
			}
			if !strings.Contains(planned, name) {
				e.Errorf("the plan does not name %s: %s", name, planned)
			}
		}
		return false, nil
	})
	if !wait.Interrupted(err) {
		e.Errorf("not all evictions were refused: %v", err)
	}
	after, err := pods.List(e.Context(), onNode)
	e.must(err)
	if !slices.EqualFunc(after.Items, before.Items, func(a, b corev1.Pod) bool { return a.UID == b.UID && a.DeletionTimestamp == nil }) {
		e.Errorf("the node has the pods %v, want %v", after.Items, before.Items)
	}
}

// node makes one with room for as many pods.
func (e *ending) node(name string, pods int) {
	e.Helper()
	e.c.Node(e, acctest.Node{Name: name, Labels: map[string]string{"pool": e.pool, corev1.LabelHostname: name}, Allocatable: corev1.ResourceList{
		"cpu": resource.MustParse("4"), "memory": resource.MustParse(fmt.Sprintf("%dGi", pods)), "pods": resource.MustParse("20"),
	}})
}

// unready does what a kubelet does to a pod whose readiness probe fails.
func (e *ending) unready(node string) {
	e.Helper()
	acctest.Until(e, "a pod of "+node+" is not ready", func(ctx context.Context) (bool, error) {
		pods, err := e.c.Admin.CoreV1().Pods(e.namespace).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
		if err != nil || len(pods.Items) == 0 {
			return false, err
		}
		sorted := slices.SortedFunc(slices.Values(pods.Items), func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
		at := slices.IndexFunc(sorted, func(p corev1.Pod) bool {
			return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
			})
		})
		if at < 0 {
			return false, nil
		}
		p := &sorted[at]
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now()}}
		_, err = e.c.Admin.CoreV1().Pods(e.namespace).UpdateStatus(ctx, p, metav1.UpdateOptions{})
		return err == nil, nil
	})
}

func (e *ending) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}
