// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package uncordonnodes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// pool is a pool of two nodes, and a command line with a drain and an uncordon of both.
type pool struct {
	*testing.T
	c    *acctest.Cluster
	cli  *acctest.CLI
	name string
}

func newPool(t *testing.T) *pool {
	t.Helper()
	p := &pool{T: t, c: acctest.Connect(t), cli: acctest.NewCLI(t), name: acctest.Name(t, "pool")}
	p.cli.NeedTerraform(14)
	for _, name := range p.nodes() {
		p.c.Node(t, acctest.Node{Name: name, Labels: map[string]string{"pool": p.name}})
	}
	return p
}

func (p *pool) nodes() []string { return []string{p.name + "-a", p.name + "-b"} }

func (p *pool) hcl() string {
	return fmt.Sprintf(`
action "kubetaint_drain_nodes" "this" {
  config {
    node_selector = %[1]q
    timeout       = "10s"
  }
}

action "kubetaint_uncordon_nodes" "this" {
  config {
    node_selector = %[1]q
  }
}
`, "pool="+p.name)
}

func args(verb, action string) []string {
	out := []string{verb, "-input=false", "-invoke=action.kubetaint_" + action + "_nodes.this"}
	if verb == "apply" {
		out = append(out, "-auto-approve")
	}
	return out
}

// open expects that nodes take pods, and that nothing of a drain is left on them.
func (p *pool) open(nodes ...string) {
	p.Helper()
	for _, name := range nodes {
		n := p.c.Get(p.T, name)
		if _, recorded := n.Annotations[snapshot.AwaitedAnnotation]; recorded || n.Spec.Unschedulable {
			p.Errorf("node %s: unschedulable is %t, its annotations are %v", name, n.Spec.Unschedulable, n.Annotations)
		}
	}
}

// TestAccUncordonNodes_afterADrainThatWasGivenUp new pods run on the nodes, and nothing of the drain is left.
func TestAccUncordonNodes_afterADrainThatWasGivenUp(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	apps, first, spare := p.c.Namespace(t), p.nodes()[0], p.name+"-spare"
	p.c.Node(t, acctest.Node{Name: spare})
	// Its pods begin on the first node, and would fit the spare one.
	suits := fmt.Sprintf(`{"metadata":{"labels":{"suits":%q}}}`, p.name)
	p.c.Patch(t, first, suits)
	p.c.Deployment(t, apps, "db", 2, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"suits": p.name} })
	p.c.Patch(t, spare, suits)
	p.c.Budget(t, apps, "strict", "db")
	p.cli.Write(p.c.Provider(t), p.hcl())
	out, ok := p.cli.Run(args("apply", "drain")...)
	if ok {
		t.Fatalf("the drain ended:\n%s", out)
	}
	acctest.WantAll(t, acctest.Unfold(out), "the drain timed out", "cannot be evicted yet: The disruption budget strict needs")
	if n := p.c.Get(t, first); n.Annotations[snapshot.AwaitedAnnotation] == "" || !n.Spec.Unschedulable {
		t.Fatalf("the drain has recorded nothing, so that the test shows nothing: %v", n.Annotations)
	}
	acctest.WantAll(t, acctest.Unfold(p.cli.MustRun(args("apply", "uncordon")...)), "node "+first+" is uncordoned, and the record of its interrupted drain is removed", "node "+p.nodes()[1]+" is uncordoned", "2 nodes uncordoned")
	p.open(p.nodes()...)
	p.c.Deployment(t, apps, "web", 2, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"pool": p.name} })
	p.c.Running(t, apps, "web", 2)
	acctest.WantAll(t, acctest.Unfold(p.cli.MustRun(args("apply", "uncordon")...)), "node "+p.nodes()[1]+" takes pods already", "0 nodes uncordoned, 2 took pods already")
}

// TestAccUncordonNodes_kill9AfterEachWrite leaves each node as it was, or without its cordon and its record. The next
// invocation continues.
func TestAccUncordonNodes_kill9AfterEachWrite(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	kills := 0
	for writes := range acctest.Kills(1) {
		for _, name := range p.nodes() {
			interrupted(t, p.c, name)
		}
		proxy := p.c.Proxy(t)
		p.cli.Write(proxy.Provider(t, p.c), p.hcl())
		plan := append(args("plan", "uncordon"), "-out=plan")
		p.cli.MustRun(plan...)
		killed := p.cli.ApplyAndKill(proxy, acctest.Request.Write, writes)
		if !killed {
			p.open(p.nodes()...)
			break
		}
		kills++
		var left int
		for _, name := range p.nodes() {
			n := p.c.Get(t, name)
			if _, recorded := n.Annotations[snapshot.AwaitedAnnotation]; recorded != n.Spec.Unschedulable {
				t.Fatalf("killed after write %d, node %s is written by half", writes, name)
			} else if recorded {
				left++
			}
		}
		t.Logf("killed after write %d: %d nodes are left", writes, left)
		p.cli.MustRun(args("apply", "uncordon")...)
		p.open(p.nodes()...)
	}
	// After the second write, the action may end before it is killed.
	if kills == 0 {
		t.Fatal("the action was not killed")
	}
}

// TestAccUncordonNodes_theExampleOfItsPage: a new input drains the node before the update and uncordons it afterwards,
// and by hand the pool takes pods again.
func TestAccUncordonNodes_theExampleOfItsPage(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	example, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "actions", "kubetaint_uncordon_nodes", "action.tf"))
	if err != nil {
		t.Fatal(err)
	}
	first := p.nodes()[0]
	write := func(input string) {
		t.Helper()
		p.cli.Write(p.c.Provider(t), strings.NewReplacer("worker-3", first, "pool=gpu", "pool="+p.name, "2026-01", input).Replace(string(example)))
	}
	write("2026-01")
	p.cli.MustRun("apply", "-auto-approve", "-input=false")
	for _, name := range p.nodes() {
		cordon(t, p.c, name)
	}
	write("2026-02")
	out := acctest.Unfold(p.cli.MustRun("apply", "-auto-approve", "-input=false"))
	acctest.WantAll(t, out, "1 node drained and cordoned", "0 added, 1 changed, 0 destroyed.", "node "+first+" is uncordoned", "1 node uncordoned")
	if drained, uncordoned := strings.Index(out, "1 node drained and cordoned"), strings.Index(out, "1 node uncordoned"); uncordoned < drained {
		t.Errorf("the order is another one:\n%s", out)
	}
	p.open(first)
	acctest.WantAll(t, acctest.Unfold(p.cli.MustRun("apply", "-auto-approve", "-input=false", "-invoke=action.kubetaint_uncordon_nodes.pool")), "1 node uncordoned, 1 took pods already")
	p.open(p.nodes()...)
}
