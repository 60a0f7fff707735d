// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drainnodes_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// randomApp is a Deployment of a random cluster.
type randomApp struct {
	name     string
	replicas int
	// selector is the label that its nodes have: that of the pool, which is drained, or of all.
	selector string
	// least is how many pods its PodDisruptionBudget keeps ready, negative for none.
	least int
}

// stuck reports whether the PodDisruptionBudget refuses the last eviction for ever.
func (a randomApp) stuck(elsewhere bool) bool {
	return a.least >= a.replicas || a.selector == "pool" && a.least > 0 || !elsewhere && a.least > 0
}

const clusters = 30

// TestDrainNodes_inRandomClusters evicts no pod against a PodDisruptionBudget, and where it ends every
// evicted pod that has a place runs elsewhere: the pool's nodes are deleted without losing a pod.
func TestDrainNodes_inRandomClusters(t *testing.T) {
	t.Parallel()
	for seed := range uint64(clusters) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) { drainRandom(t, c, rand.New(rand.NewPCG(seed, 31))) })
		})
	}
}

// TestAccDrainNodes_inRandomClusters is the same on the real API server, controllers and scheduler.
func TestAccDrainNodes_inRandomClusters(t *testing.T) {
	acctest.Exhaustive(t)
	t.Parallel()
	for seed := range uint64(clusters) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			drainRandom(t, acctest.Connect(t), rand.New(rand.NewPCG(seed, 31)))
		})
	}
}

func drainRandom(t *testing.T, c *acctest.Cluster, r *rand.Rand) {
	t.Helper()
	pool, apps, tf := acctest.Name(t, "pool"), c.Namespace(t), &acctest.Terraform{Provider: c.Provider(t)}
	var drained []string
	for n := range 1 + r.IntN(4) {
		drained = append(drained, fmt.Sprintf("%s-%d", pool, n))
		c.Node(t, acctest.Node{Name: drained[n], Labels: map[string]string{"pool": pool, "all": pool}})
	}
	elsewhere := r.IntN(3)
	all, least := randomApps(r, elsewhere), map[string]func() int{}
	for _, a := range all {
		c.Deployment(t, apps, a.name, int32(a.replicas), func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{a.selector: pool} })
		c.Running(t, apps, a.name, a.replicas)
		if a.least >= 0 {
			guard(t, c, apps, a)
			least[a.name] = c.LeastReady(t, apps, a.name)
		}
	}
	for n := range elsewhere {
		c.Node(t, acctest.Node{Name: fmt.Sprintf("%s-other-%d", pool, n), Labels: map[string]string{"all": pool}})
	}
	reasons := c.Disruptions(t, apps)
	if r.IntN(2) == 0 {
		// Stopped early, and the next one goes on.
		tf.Invoke(t, "kubetaint_drain_nodes", map[string]any{"node_selector": "pool=" + pool, "timeout": fmt.Sprintf("%dms", 1+r.IntN(400))})
	}
	stuck, timeout := false, "10m"
	for _, a := range all {
		stuck = stuck || a.stuck(elsewhere > 0)
	}
	if stuck {
		timeout = "20s"
	}
	d := tf.Invoke(t, "kubetaint_drain_nodes", map[string]any{"node_selector": "pool=" + pool, "timeout": timeout})
	if failed := d.Errors() != ""; failed != stuck || failed && !strings.Contains(d.Errors(), "the drain timed out") {
		t.Fatalf("%+v with %d other nodes: stuck is %t, and it ends with %q", all, elsewhere, stuck, d.Errors())
	}
	if !stuck {
		for _, node := range drained {
			c.DeleteNode(t, node)
		}
	}
	for _, a := range all {
		if !stuck && a.selector == "all" && elsewhere > 0 {
			c.Running(t, apps, a.name, a.replicas)
		}
	}
	for pod, why := range reasons() {
		if why != acctest.ByDrain {
			t.Errorf("pod %s is deleted by %s", pod, why)
		}
	}
	for _, a := range all {
		if seen, guarded := least[a.name]; guarded {
			if got := seen(); got < a.least {
				t.Errorf("%+v had %d ready pods", a, got)
			}
		}
	}
}

func randomApps(r *rand.Rand, elsewhere int) []randomApp {
	out := make([]randomApp, 1+r.IntN(4))
	for i := range out {
		a := randomApp{name: fmt.Sprintf("app-%d", i), replicas: 1 + r.IntN(5), selector: "all", least: -1}
		if r.IntN(6) == 0 {
			a.selector = "pool"
		}
		if r.IntN(2) == 0 {
			a.least = r.IntN(a.replicas)
			if r.IntN(8) == 0 {
				a.least = a.replicas
			}
		}
		if (a.selector == "pool" || elsewhere == 0) && r.IntN(2) == 0 {
			a.least = min(a.least, 0)
		}
		out[i] = a
	}
	return out
}

// guard gives an app a PodDisruptionBudget, and waits until it counts.
func guard(t *testing.T, c *acctest.Cluster, namespace string, a randomApp) {
	t.Helper()
	at := intstr.FromInt(a.least)
	_, err := c.Admin.PolicyV1().PodDisruptionBudgets(namespace).Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: a.name},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &at, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": a.name}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	acctest.Until(t, "the PodDisruptionBudget counts", func(ctx context.Context) (bool, error) {
		pdb, err := c.Admin.PolicyV1().PodDisruptionBudgets(namespace).Get(ctx, a.name, metav1.GetOptions{})
		return err == nil && pdb.Status.ExpectedPods == int32(a.replicas) && pdb.Status.CurrentHealthy == int32(a.replicas), err
	})
}
