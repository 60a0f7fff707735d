// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drainnodes_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccDrainNodes_disableEvictionBypassesABudget that allows nothing: the plan says so, and without
// the option the drain waits. The pods of a Deployment move to the other node.
func TestAccDrainNodes_disableEvictionBypassesABudget(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.open("a")
	s.c.Deployment(t, s.apps, "db", 2, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"open": s.pool} })
	s.open("b")
	s.c.Budget(t, s.apps, "strict", "db")
	a, may := s.node("a"), s.c.ProviderAt(t, s.c.REST.Host, s.c.TokenAnd(t, acctest.RightsToDeletePods(t)...))

	s.cli.Write(may, s.byName(`timeout = "15s"`))
	s.says(s.cli.MustRun("plan", "-input=false", invoke), neverEnds, "PDB allows 0")
	s.fails(apply, "the drain timed out", "cannot be evicted yet: The disruption budget strict needs")
	s.edit("a", func(n *corev1.Node) { n.Spec.Unschedulable = false })
	if got := s.pods(a); got != twoDBs {
		t.Fatalf("node a has %q", got)
	}

	s.cli.Write(s.c.Provider(t), s.byName("disable_eviction = true"))
	s.fails(apply, "With disable_eviction, a drain deletes pods, and the credentials have no permission for that", `cannot delete resource "pods"`, "These nodes are cordoned, and stay so: "+a)
	if got := s.pods(a); got != twoDBs {
		t.Fatalf("without the right to delete pods node a has %q", got)
	}

	s.cli.Write(may, s.byName("disable_eviction = true"))
	s.apply(`Draining node "`+a+`" deletes 2 pods, bypassing PodDisruptionBudgets: 2 beyond a PodDisruptionBudget`, "PDB allows 0, bypassed",
		"draining node "+a+": deleting 2 pods, bypassing PodDisruptionBudgets", "the deleted pods have replacements that are ready on other nodes", "1 node drained and cordoned")
	s.cordoned("a")
	s.c.Running(t, s.apps, "db", 2)
	if got := s.pods(s.node("b")); got != twoDBs {
		t.Fatalf("node b has %q", got)
	}
}

// TestAccDrainNodes_podSelectorLeavesOtherPods: they stop no drain and hold none, and no replacement of
// theirs is waited for.
func TestAccDrainNodes_podSelectorLeavesOtherPods(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.on(s.node("a"), "db", 1, nil)
	s.c.Budget(t, s.apps, "strict", "db")
	s.c.Pod(t, s.apps, "bare", s.node("a"), func(p *corev1.Pod) { p.Labels = map[string]string{"app": "bare"} })
	s.open("a")
	s.c.Deployment(t, s.apps, "web", 3, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"open": s.pool} })
	s.open("b")
	a := s.node("a")
	s.cli.Write(s.c.Provider(t), s.byName())
	s.fails(apply, "1 pod stops the drain", "pod "+s.apps+"/bare on node "+a)
	s.cordoned()

	s.cli.Write(s.c.Provider(t), s.byName(`pod_selector = "app in (web)"`))
	s.apply(`Draining node "`+a+`" of pods matching "app in (web)" evicts 3 pods`, "draining node "+a+": evicting 3 pods", `1 node drained of pods matching "app in (web)" and cordoned`)
	s.cordoned("a")
	if got := s.pods(a); got != "bare db" {
		t.Fatalf("node a has %q", got)
	}
	if got := s.pods(s.node("b")); got != "web"+strings.Repeat(" web", 2) {
		t.Fatalf("node b has %q", got)
	}
	s.cli.Write(s.c.Provider(t), s.byName(`pod_selector = "app=web"`))
	s.says(s.cli.MustRun("plan", "-input=false", invoke), `No pod on node "`+a+`" matches "app=web": the drain evicts none`)
}
