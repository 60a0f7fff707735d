// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drainnodes_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

var (
	planned = []string{"plan", "-input=false", "-out=plan"}
	applied = []string{"apply", "-input=false", "plan"}
)

// evictedOnly expects that the eviction API has deleted so many pods, and nothing else any.
func evictedOnly(t *testing.T, reasons map[string]string, want int) {
	t.Helper()
	for pod, why := range reasons {
		if why != acctest.ByDrain {
			t.Errorf("pod %s is deleted by %s", pod, why)
		}
	}
	if len(reasons) != want {
		t.Errorf("%d pods were evicted, want %d: %v", len(reasons), want, reasons)
	}
}

// TestAccDrainNodes_rotatesAPool replaces the machines of a pool: these are deleted once their pods
// run elsewhere.
func TestAccDrainNodes_rotatesAPool(t *testing.T) {
	t.Parallel()
	s := newCloud(t)
	s.runs(pools{names: []string{"blue"}}, "web", 4)
	s.spare()
	leave, least := s.c.Disruptions(t, s.apps), s.c.LeastReady(t, s.apps, "web")
	s.write(pools{names: []string{"blue"}, generation: 1})
	s.says(s.cli.MustRun(planned...), `Draining 2 nodes matching "pool=`+s.pool+`-blue" evicts 4 pods`, "Deployment "+s.apps+"/web", `terraform_data.pool["blue"] must be replaced`)
	s.says(s.cli.MustRun(applied...), "2 nodes drained and cordoned", "the evicted pods have replacements that are ready on other nodes", "Apply complete! Resources: 2 added, 0 changed, 2 destroyed.")
	evictedOnly(t, leave(), 4)
	t.Logf("at least %d of 4 pods were ready", least())
	s.wants("blue")
	s.c.Running(t, s.apps, "web", 4)
	s.cli.WantEmptyPlan()
}

// TestAccDrainNodes_aBudgetThatHoldsStopsTheDestroy by default, and the next apply goes on.
func TestAccDrainNodes_aBudgetThatHoldsStopsTheDestroy(t *testing.T) {
	t.Parallel()
	s := newCloud(t)
	s.runs(pools{names: []string{"blue"}}, "db", 2)
	s.spare()
	letGo := s.c.Budget(t, s.apps, "strict", "db")
	s.write(pools{names: []string{"blue"}, generation: 1, drain: []string{`timeout = "20s"`}})
	s.says(s.cli.MustRun(planned...), `Draining nodes matching "pool=`+s.pool+`-blue" gets stuck on PodDisruptionBudgets`, `PodDisruptionBudget "`+s.apps+`/strict" allows no eviction`, s.apps+"/db-")
	s.fails(applied, "the drain timed out", "cannot be evicted yet: The disruption budget strict needs", "These nodes are cordoned, and stay so: ")
	s.wants("blue")
	s.c.Running(t, s.apps, "db", 2)
	letGo()
	s.write(pools{names: []string{"blue"}, generation: 1})
	s.says(s.cli.MustRun(planned...), "Cordoned already, by an earlier drain or by another user: ", "evicts 2 pods")
	s.says(s.cli.MustRun(applied...), "Apply complete! Resources: 2 added, 0 changed, 2 destroyed.")
	s.c.Running(t, s.apps, "db", 2)
	s.cli.WantEmptyPlan()
}

// TestAccDrainNodes_onFailureContinueDestroysInSpiteOfABudget is what the guide warns of.
func TestAccDrainNodes_onFailureContinueDestroysInSpiteOfABudget(t *testing.T) {
	t.Parallel()
	s := newCloud(t)
	s.runs(pools{names: []string{"blue"}}, "db", 2)
	s.spare()
	s.c.Budget(t, s.apps, "strict", "db")
	s.write(pools{names: []string{"blue"}, generation: 1, trigger: "on_failure = continue", drain: []string{`timeout = "5s"`}})
	s.cli.MustRun(planned...)
	s.says(s.cli.MustRun(applied...), "Warning: Unable to drain", "Apply complete! Resources: 2 added, 0 changed, 2 destroyed.")
}

// TestAccDrainNodes_aRefusedPlanDestroysNothing where a pool is replaced, and where all is destroyed.
func TestAccDrainNodes_aRefusedPlanDestroysNothing(t *testing.T) {
	t.Parallel()
	s := newCloud(t)
	s.runs(pools{names: []string{"blue"}}, "web", 2)
	s.spare()
	limited := pools{names: []string{"blue"}, generation: 1, drain: []string{"evictions = { max_pods = 1 }"}}
	s.write(limited)
	const refused = "2 pods would be evicted, and max_pods allows 1"
	s.fails(planned, refused)
	s.fails([]string{"plan", "-destroy", "-input=false"}, refused)
	s.fails([]string{"apply", "-auto-approve", "-input=false"}, refused, "Nothing has been written.")
	s.wants("blue")
	s.c.Running(t, s.apps, "web", 2)
	// A pod that comes after the plan is refused at apply, before the first write.
	limited.drain = []string{"evictions = { max_pods = 2 }"}
	s.write(limited)
	s.cli.MustRun(planned...)
	s.c.Deployment(t, s.apps, "late", 1, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"pool": s.pool + "-blue"} })
	s.c.Running(t, s.apps, "late", 1)
	s.fails(applied, "3 pods would be evicted, and max_pods allows 2", "Nothing has been written.")
	s.wants("blue")
}

// TestAccDrainNodes_kill9InTheMiddleOfARotation: no machine goes while pods are on it, and the next
// apply goes on.
func TestAccDrainNodes_kill9InTheMiddleOfARotation(t *testing.T) {
	t.Parallel()
	s := newCloud(t)
	config := pools{names: []string{"blue"}}
	s.runs(config, "web", 3)
	s.spare()
	kills := 0
	for writes := range acctest.Kills(4) {
		// All pods are in the pool.
		s.home("web", 3)
		leave := s.c.Disruptions(t, s.apps)
		config.generation++
		proxy := s.c.Proxy(t)
		s.writeAt(proxy.Provider(t, s.c), config)
		s.cli.MustRun(planned...)
		killed := s.cli.ApplyAndKill(proxy, acctest.Request.Write, writes)
		if killed {
			kills++
			s.wants("blue")
			s.cli.MustRun("apply", "-auto-approve", "-input=false")
		}
		evictedOnly(t, leave(), 3)
		s.c.Running(t, s.apps, "web", 3)
		if !killed {
			break
		}
	}
	if kills < acctest.MinKills(5) {
		t.Fatalf("killed %d times", kills)
	}
	t.Logf("killed %d times", kills)
}

// TestAccDrainNodes_blueGreen is the guide's: an old pool is drained while a new one has room, and a drain that fails is repeated by the next apply.
func TestAccDrainNodes_blueGreen(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	example, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "guides", "rotating-pools", "blue-green", "main.tf"))
	if err != nil {
		t.Fatal(err)
	}
	// The stage's nodes are the pools.
	s.edit("a", func(n *corev1.Node) { n.Labels["pool"], n.Labels["fleet"] = s.pool+"-blue", s.pool })
	s.edit("b", func(n *corev1.Node) { n.Labels["pool"] = s.pool + "-green" })
	config := strings.NewReplacer(`"pool=${each.key}"`, `"pool=`+s.pool+`-${each.key}"`, `"2h"`, `"15s"`).Replace(string(example))
	s.c.Deployment(t, s.apps, "web", 3, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"fleet": s.pool} })
	s.cli.Write(s.c.Provider(t), config)
	s.fails(planned, "3 pods would stay Pending, and max_pending allows 0")
	s.edit("b", func(n *corev1.Node) { n.Labels["fleet"] = s.pool })
	letGo := s.c.Budget(t, s.apps, "strict", "web")
	s.cli.MustRun(planned...)
	s.fails(applied, "the drain timed out", "cannot be evicted yet: The disruption budget strict needs")
	letGo()
	leave := s.c.Disruptions(t, s.apps)
	s.says(s.cli.MustRun("apply", "-auto-approve", "-input=false"), "evicts 3 pods", "1 node drained and cordoned", "Apply complete! Resources: 1 added")
	evictedOnly(t, leave(), 3)
	s.c.Running(t, s.apps, "web", 3)
	s.cordoned("a")
	s.cli.WantEmptyPlan()
}

// TestAccDrainNodes_replacementsThatNoNodeTakesStopTheDestroy: the plan saw room, and at apply there
// is none. The next apply waits for the same pods, which are evicted already.
func TestAccDrainNodes_replacementsThatNoNodeTakesStopTheDestroy(t *testing.T) {
	t.Parallel()
	s := newCloud(t)
	s.runs(pools{names: []string{"blue"}}, "web", 2)
	s.spare()
	config := pools{names: []string{"blue"}, generation: 1, drain: []string{`timeout = "15s"`}}
	proxy := s.c.Proxy(t)
	s.writeAt(proxy.Provider(t, s.c), config)
	s.cli.MustRun(planned...)
	// The last look is before the first eviction.
	proxy.Spoil(func(r acctest.Request) acctest.Fault {
		if strings.HasSuffix(r.Path, "/eviction") {
			s.label("spare", "fleet", "")
		}
		return acctest.None
	})
	missing := []string{"the wait for replacements of evicted pods timed out", "Deployment " + s.apps + "/web: 2 of 2 pods not ready on other nodes: pod web-", "nodes are available", "kubectl uncordon"}
	s.fails(applied, missing...)
	s.wants("blue")
	proxy.Spoil(nil)
	s.fails([]string{"apply", "-auto-approve", "-input=false"}, missing...)
	s.wants("blue")
	s.label("spare", "fleet", s.pool)
	s.says(s.cli.MustRun("apply", "-auto-approve", "-input=false"), "Apply complete! Resources: 2 added, 0 changed, 2 destroyed.")
	s.c.Running(t, s.apps, "web", 2)
}
