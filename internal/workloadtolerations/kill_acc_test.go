// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// killers is how many pools share the requests after which there is a kill.
const killers = 4

// TestAccOrder_kill9AfterEachRequest kills the real provider process under a real
// command line after each single request of an apply that changes the value of a
// taint and of the tolerations for it, and runs the same apply again.
func TestAccOrder_kill9AfterEachRequest(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	for killer := range killers {
		t.Run(fmt.Sprintf("requests_%d_of_%d", killer+1, killers), func(t *testing.T) {
			t.Parallel()
			p := newPool(t, c, "Deployment")
			cli := acctest.NewCLI(t)
			evicted := c.Evictions(t, p.namespace)
			values := []string{"team=a:NoExecute", "team=b:NoExecute"}
			cli.Write(c.Provider(t), p.config(values[0], values[0], toleratedBy, ""))
			cli.MustRun("apply", "-auto-approve", "-input=false")
			kills := 0
			for after := killer + 1; ; after += killers {
				values[0], values[1] = values[1], values[0]
				killed := killAfter(t, c, cli, p.config(values[0], values[0], toleratedBy, ""), after)
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

// killAfter applies and kills the provider after a number of requests of the
// apply phase. It returns false where the apply ends before that.
func killAfter(t *testing.T, c *acctest.Cluster, cli *acctest.CLI, config string, after int) bool {
	t.Helper()
	proxy := c.Proxy(t)
	cli.Write(proxy.Provider(t, c), config)
	cli.MustRun("plan", "-input=false", "-out=plan")
	var answered atomic.Int64
	killed := make(chan int, 1)
	proxy.After(func(r acctest.Request) {
		if !r.Watch && answered.Add(1) == int64(after) {
			killed <- cli.KillProvider()
		}
	})
	out, ok := cli.Run("apply", "-input=false", "plan")
	processes := 0
	if answered.Load() >= int64(after) {
		// The command line may end before the processes are counted.
		processes = <-killed
	}
	if !ok && processes == 0 {
		t.Fatalf("no process was killed after request %d, and the apply failed:\n%s", after, out)
	}
	proxy.After(nil)
	// A process that was on its way out when it was killed has done its work.
	return !ok
}

// wantOwners fails the test where a toleration that is not foreign has no mark,
// or a mark no toleration.
func (p *pool) wantOwners() {
	p.t.Helper()
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
