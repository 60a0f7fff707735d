// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// killers is how many pools share the requests after which there is a kill.
const killers = 2

// TestAccOrder_kill9AfterEachRequest kills the real provider process under a real
// command line after the first request of an apply that changes the value of a
// taint and of the tolerations for it, and after each one from the first write on, and
// runs the same apply again.
func TestAccOrder_kill9AfterEachRequest(t *testing.T) {
	t.Parallel()
	acctest.Exhaustive(t)
	c := acctest.Connect(t)
	for link, name := range map[link]string{toleratedBy: "tolerated_by", dependsOn: "depends_on"} {
		for killer := range killers {
			t.Run(fmt.Sprintf("%s/requests_%d_of_%d", name, killer+1, killers), func(t *testing.T) {
				t.Parallel()
				p := newPool(t, c, "Deployment")
				cli := acctest.NewCLI(t)
				evicted := c.Evictions(t, p.namespace)
				values := []string{"team=a:NoExecute", "team=b:NoExecute"}
				cli.Write(c.Provider(t), p.config(values[0], values[0], link, ""))
				cli.MustRun("apply", "-auto-approve", "-input=false")
				kills := 0
				for counts, after := range acctest.KillPoints(killer+1, killers) {
					values[0], values[1] = values[1], values[0]
					killed := killAfter(t, c, cli, p.config(values[0], values[0], link, ""), counts, after)
					if !killed {
						break
					}
					kills++
					p.wantOwners()
					cli.MustRun("apply", "-auto-approve", "-input=false")
					p.want(values[0], values[0])
					cli.WantEmptyPlan()
				}
				p.want(values[0], values[0])
				p.settled()
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
}

// TestAccOrder_kill9AfterEachWrite does the same after each write of applies that
// add, take away, and take away a part of it.
func TestAccOrder_kill9AfterEachWrite(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	const both, one = "team=a:NoExecute zone=x:NoExecute", "team=a:NoExecute"
	for name, s := range map[string]struct{ taints, tolerations, nextTaints, nextTolerations string }{
		"adding both":                 {"", "", both, both},
		"removing both":               {both, both, "", ""},
		"removing one of both":        {both, both, one, one},
		"changing the effect":         {"team=a:NoSchedule", "team=a:NoSchedule", one, one},
		"changing the key":            {one, one, "group=a:NoExecute", "group=a:NoExecute"},
		"removing the taint alone":    {both, both, one, both},
		"changing two taints at once": {both, both, "team=b:NoExecute zone=y:NoExecute", "team=b:NoExecute zone=y:NoExecute"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "changing two taints at once" {
				acctest.Exhaustive(t)
			}
			p := newPool(t, c, "Deployment")
			cli := acctest.NewCLI(t)
			evicted := c.Evictions(t, p.namespace)
			kills := 0
			for after := range acctest.Kills(3) {
				cli.Write(c.Provider(t), p.config(s.taints, s.tolerations, dependsOn, ""))
				cli.MustRun("apply", "-auto-approve", "-input=false")
				p.want(s.taints, s.tolerations)
				if !killAfter(t, c, cli, p.config(s.nextTaints, s.nextTolerations, dependsOn, ""), acctest.Request.Write, after) {
					break
				}
				kills++
				p.wantOwners()
				cli.MustRun("apply", "-auto-approve", "-input=false")
				p.want(s.nextTaints, s.nextTolerations)
				cli.WantEmptyPlan()
			}
			p.want(s.nextTaints, s.nextTolerations)
			p.settled()
			if names := evicted(); len(names) > 0 {
				t.Fatalf("the taint-eviction controller deleted %v", names)
			}
			// Each of the nodes is written at least.
			if kills < acctest.MinKills(len(p.nodes)) {
				t.Fatalf("the apply was killed only %d times", kills)
			}
			t.Logf("killed %d times", kills)
		})
	}
}

// killAfter applies and kills the provider after a number of requests of the
// apply phase. It returns false where the apply ends before that.
func killAfter(t *testing.T, c *acctest.Cluster, cli *acctest.CLI, config string, counts func(acctest.Request) bool, after int) bool {
	t.Helper()
	proxy := c.Proxy(t)
	cli.Write(proxy.Provider(t, c), config)
	cli.MustRun("plan", "-input=false", "-out=plan")
	return cli.ApplyAndKill(proxy, counts, after)
}

// wantOwners fails the test where a taint, or a toleration that is not foreign, has
// no mark, or a mark has none of them.
func (p *pool) wantOwners() {
	p.t.Helper()
	for _, name := range p.nodes {
		node := p.c.Get(p.t, name)
		record, err := taint.ParseRecord(node.Annotations[taint.OwnedAnnotation])
		if err != nil || len(record) != len(node.Spec.Taints) {
			p.t.Fatalf("node %s has the taints %s and the record %s (%v)", name, taint.FormatAll(node.Spec.Taints), record, err)
		}
		for _, mark := range record {
			if taint.Find(node.Spec.Taints, mark.ID()) < 0 {
				p.t.Fatalf("node %s has the mark %v and not the taint", name, mark)
			}
		}
	}
	for _, kind := range p.workloads {
		spec, annotations := p.c.Template(p.t, p.namespace, kind, strings.ToLower(kind))
		record, err := toleration.ParseRecord(annotations[toleration.OwnedAnnotation])
		if err != nil {
			p.t.Fatal(err)
		}
		if len(spec.Tolerations) != len(record)+1 {
			p.t.Fatalf("%s has the tolerations %v and the record %v", kind, spec.Tolerations, record)
		}
		for _, mark := range record {
			if !toleration.Contains(spec.Tolerations, mark.Toleration()) {
				p.t.Fatalf("%s has the mark %v and not the toleration", kind, mark)
			}
		}
	}
}
