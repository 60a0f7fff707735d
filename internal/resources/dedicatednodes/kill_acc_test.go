// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"fmt"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccDedicatedNodes_kill9AfterEachWrite kills the real provider process under
// a real command line after each single write of a create, an update that changes
// everything, and a destroy, and runs the same apply again. In between, and in the
// end, every entry has an owner, and no pod is evicted.
func TestAccDedicatedNodes_kill9AfterEachWrite(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	workloads := map[string]string{"Deployment": pinned, "DaemonSet": pinned}
	first := wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: workloads}
	for _, s := range []struct{ from, to wish }{
		{wish{name: "create"}, first},
		{wish{name: "update", taints: first.taints, labels: first.labels, workloads: first.workloads}, wish{taints: "team=b:NoExecute zone=x:NoSchedule", labels: "reserved=gpu", workloads: workloads}},
		{wish{name: "taking a workload out", taints: first.taints, labels: first.labels, workloads: first.workloads}, wish{taints: first.taints, labels: first.labels, workloads: map[string]string{"Deployment": pinned}}},
		{wish{name: "destroy", taints: first.taints, labels: first.labels, workloads: first.workloads}, wish{}},
	} {
		t.Run(s.from.name, func(t *testing.T) {
			t.Parallel()
			if s.from.name != "update" {
				acctest.Exhaustive(t)
			}
			p := newPool(t, c, "Deployment", "DaemonSet")
			p.keyed = true
			cli := acctest.NewCLI(t)
			evicted := c.Evictions(t, p.namespace)
			kills := 0
			for writes := range acctest.Kills(4) {
				cli.Write(c.Provider(t), p.hcl(s.from))
				cli.MustRun("apply", "-auto-approve", "-input=false")
				p.want(s.from, "Deployment", "DaemonSet")
				p.settled("DaemonSet", s.from)
				if !p.killAfter(cli, p.hcl(s.to), acctest.Request.Write, writes) {
					break
				}
				kills++
				p.wantOwned("Deployment", "DaemonSet")
				cli.MustRun("apply", "-auto-approve", "-input=false")
				p.want(s.to, "Deployment", "DaemonSet")
				cli.WantEmptyPlan()
			}
			p.want(s.to, "Deployment", "DaemonSet")
			p.settled("Deployment", s.to)
			p.settled("DaemonSet", s.to)
			if names := evicted(); len(names) > 0 {
				t.Fatalf("the taint-eviction controller deleted %v", names)
			}
			if least := map[string]int{"create": 6, "update": 8, "destroy": 6}[s.from.name]; kills < acctest.MinKills(max(least, 1)) {
				t.Fatalf("the apply was killed only %d times", kills)
			}
			t.Logf("killed %d times", kills)
		})
	}
}

// killers is how many pools share the requests after which there is a kill.
const killers = 2

// TestAccDedicatedNodes_kill9AfterEachRequest does the same after the first request, and
// after each one from the first write on, reads among them, of an apply that changes the value of the taint and of the
// tolerations that are derived from it.
func TestAccDedicatedNodes_kill9AfterEachRequest(t *testing.T) {
	t.Parallel()
	acctest.Exhaustive(t)
	c := acctest.Connect(t)
	for killer := range killers {
		t.Run(fmt.Sprintf("requests_%d_of_%d", killer+1, killers), func(t *testing.T) {
			t.Parallel()
			p := newPool(t, c, "Deployment")
			p.keyed = true
			cli := acctest.NewCLI(t)
			evicted := c.Evictions(t, p.namespace)
			is := wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"Deployment": pinned}}
			to := is
			to.taints = "team=b:NoExecute"
			cli.Write(c.Provider(t), p.hcl(is))
			cli.MustRun("apply", "-auto-approve", "-input=false")
			kills := 0
			for counts, after := range acctest.KillPoints(killer+1, killers) {
				if !p.killAfter(cli, p.hcl(to), counts, after) {
					break
				}
				kills++
				p.wantOwned("Deployment")
				cli.MustRun("apply", "-auto-approve", "-input=false")
				p.want(to, "Deployment")
				cli.WantEmptyPlan()
				is, to = to, is
			}
			p.want(to, "Deployment")
			p.settled("Deployment", to)
			if names := evicted(); len(names) > 0 {
				t.Fatalf("the taint-eviction controller deleted %v", names)
			}
			if kills < 5 {
				t.Fatalf("the apply was killed only %d times", kills)
			}
			t.Logf("killed %d times", kills)
		})
	}
}

// killAfter applies and kills the provider after a number of requests of the apply
// phase, those included that the plan tries before.
func (p *pool) killAfter(cli *acctest.CLI, config string, counts func(acctest.Request) bool, after int) bool {
	p.t.Helper()
	proxy := p.c.Proxy(p.t)
	cli.Write(proxy.Provider(p.t, p.c), config)
	cli.MustRun("plan", "-input=false", "-out=plan")
	return cli.ApplyAndKill(proxy, counts, after)
}

// TestAccDedicatedNodes_aKilledUpdateIsGivenUp: an update adds a workload, which nothing else shows, and the
// configuration of before is restored.
func TestAccDedicatedNodes_aKilledUpdateIsGivenUp(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	p := newPool(t, c, "Deployment", "StatefulSet")
	p.keyed = true
	cli := acctest.NewCLI(t)
	before := wish{taints: "team=a:NoSchedule", labels: "dedicated=gpu", workloads: map[string]string{"StatefulSet": tolerating}}
	more := before
	more.workloads = map[string]string{"StatefulSet": tolerating, "Deployment": pinned}
	cli.Write(c.Provider(t), p.hcl(before))
	cli.MustRun("apply", "-auto-approve", "-input=false")
	left := 0
	for writes := 1; p.killAfter(cli, p.hcl(more), acctest.Request.Write, writes); writes++ {
		if spec, _ := c.Template(t, p.namespace, "Deployment", "deployment"); spec.NodeSelector["dedicated"] != "" {
			left++
		}
		cli.Write(c.Provider(t), p.hcl(before))
		cli.MustRun("apply", "-auto-approve", "-input=false")
		p.want(before, "Deployment", "StatefulSet")
		cli.WantEmptyPlan()
	}
	if left == 0 {
		t.Fatal("no kill has left the Deployment pinned")
	}
}
