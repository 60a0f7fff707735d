// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccOrder_evictsNoPod changes taints and tolerations together, in
// every way in which they can change, and watches whom the real taint-eviction
// controller deletes.
func TestAccOrder_evictsNoPod(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	for _, how := range []link{toleratedBy, dependsOn} {
		for _, flag := range []string{"-parallelism=10", "-parallelism=1"} {
			t.Run(string(how)+" "+flag, func(t *testing.T) {
				t.Parallel()
				if flag == "-parallelism=1" {
					acctest.Exhaustive(t)
				}
				p := newPool(t, c, "Deployment", "StatefulSet", "DaemonSet")
				cli := acctest.NewCLI(t)
				evicted := c.Evictions(t, p.namespace)
				for _, step := range []struct{ name, taints, tolerations string }{
					{"adding both", "team=a:NoExecute", "team=a:NoExecute"},
					{"changing the value", "team=b:NoExecute", "team=b:NoExecute"},
					{"changing the effect to NoSchedule", "team=b:NoSchedule", "team=b:NoSchedule"},
					{"changing the effect to NoExecute", "team=b:NoExecute", "team=b:NoExecute"},
					{"changing the key and adding another", "group=b:NoExecute zone=x:NoSchedule", "group=b:NoExecute zone=x:NoSchedule"},
					{"changing two taints at once", "group=c:NoExecute zone=y:NoExecute", "group=c:NoExecute zone=y:NoExecute"},
					{"removing one of both", "group=c:NoExecute", "group=c:NoExecute"},
					{"removing both from the configuration", "", ""},
					{"adding the tolerations alone", "", "team=a:NoExecute"},
					{"adding the taint to them", "team=a:NoExecute", "team=a:NoExecute"},
					{"removing the taint alone", "", "team=a:NoExecute"},
					{"removing the tolerations after it", "", ""},
				} {
					cli.Write(c.Provider(t), p.config(step.taints, step.tolerations, how, ""))
					out, ok := cli.Run("apply", "-auto-approve", "-input=false", flag)
					if !ok {
						t.Fatalf("%s failed:\n%s", step.name, out)
					}
					p.want(step.taints, step.tolerations)
					cli.WantEmptyPlan()
					// A rollout that a taint stalls would come to its end once that is gone.
					p.settled()
				}
				if names := evicted(); len(names) > 0 {
					t.Fatalf("the taint-eviction controller deleted %v", names)
				}
			})
		}
	}
}

// TestAccOrder_withoutALinkIsRefusedBeforeTheFirstWrite shows that a change that
// would strand pods writes no taint, whichever way the resources happen to be
// walked, and that the message reports how to link them.
func TestAccOrder_withoutALinkIsRefusedBeforeTheFirstWrite(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	for name, tt := range map[string]struct {
		how  link
		flag string
	}{
		string(noLink):                    {noLink, "-parallelism=10"},
		string(noLink) + ", one by one":   {noLink, "-parallelism=1"},
		string(wrongWay):                  {wrongWay, "-parallelism=10"},
		string(wrongWay) + ", one by one": {wrongWay, "-parallelism=1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.flag == "-parallelism=1" {
				acctest.Exhaustive(t)
			}
			p := newPool(t, c, "Deployment")
			cli := acctest.NewCLI(t)
			cli.Write(c.Provider(t), p.config("team=a:NoExecute", "team=a:NoExecute", toleratedBy, ""))
			cli.MustRun("apply", "-auto-approve", "-input=false")
			p.settled()
			evicted := c.Evictions(t, p.namespace)
			// The taint comes first: by the graph, or because the tolerations are
			// left out of this run.
			args := []string{"apply", "-auto-approve", "-input=false", "-no-color", tt.flag}
			if tt.how == noLink {
				args = append(args, "-target=kubetaint_node_taints.pool")
			}
			cli.Write(c.Provider(t), p.config("team=b:NoExecute", "team=b:NoExecute", tt.how, ""))
			out, ok := cli.Run(args...)
			if ok {
				t.Fatalf("stranding pods is let through:\n%s", out)
			}
			for _, want := range []string{"4 pods tolerate the replaced taint, but not the new one", "This apply has written no taint to nodes ", "tolerated_by", "kubetaint_workload_tolerations", `stranded = "evict"`} {
				if !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(out, "│", "")), " "), want) {
					t.Errorf("the message does not say %q:\n%s", want, out)
				}
			}
			for _, node := range p.nodes {
				if got := c.Taints(t, node); got != p.own("team=a:NoExecute") {
					t.Errorf("node %s was changed to %s", node, got)
				}
			}
			if got := c.Tolerations(t, p.namespace, "Deployment", "deployment"); got != "foreign Exists, "+p.own("team=a:NoExecute") {
				t.Errorf("the workload was changed to %s", got)
			}
			if names := evicted(); len(names) > 0 {
				t.Fatalf("the taint-eviction controller deleted %v", names)
			}
			// Linked, the same change goes through.
			cli.Write(c.Provider(t), p.config("team=b:NoExecute", "team=b:NoExecute", toleratedBy, ""))
			cli.MustRun("apply", "-auto-approve", "-input=false")
			p.want("team=b:NoExecute", "team=b:NoExecute")
			cli.WantEmptyPlan()
		})
	}
}

func TestAccOrder_strandedPodsAreEvictedWhereThatIsAskedFor(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	for _, flag := range []string{"-parallelism=10", "-parallelism=1"} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			p := newPool(t, c, "Deployment")
			cli := acctest.NewCLI(t)
			cli.Write(c.Provider(t), p.config("team=a:NoExecute", "team=a:NoExecute", toleratedBy, ""))
			cli.MustRun("apply", "-auto-approve", "-input=false")
			p.settled()
			evicted := c.Evictions(t, p.namespace)
			cli.Write(c.Provider(t), p.config("team=b:NoExecute", "team=b:NoExecute", wrongWay, "  evictions = { stranded = \"evict\" }\n"))
			cli.MustRun("apply", "-auto-approve", "-input=false", flag)
			p.want("team=b:NoExecute", "team=b:NoExecute")
			p.settled()
			if names := evicted(); len(names) < 4 {
				t.Fatalf("only %v were evicted", names)
			}
		})
	}
}

// TestAccOrder_tolerationStaysAsLongAsItsTaint removes only the tolerations:
// they retire, which is no drift, and go with the taint.
func TestAccOrder_tolerationStaysAsLongAsItsTaint(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	for _, how := range []link{toleratedBy, dependsOn} {
		for _, flag := range []string{"-parallelism=10", "-parallelism=1"} {
			t.Run(string(how)+" "+flag, func(t *testing.T) {
				t.Parallel()
				p := newPool(t, c, "Deployment", "DaemonSet")
				cli := acctest.NewCLI(t)
				evicted := c.Evictions(t, p.namespace)
				cli.Write(c.Provider(t), p.config("team=a:NoExecute", "team=a:NoExecute", how, ""))
				cli.MustRun("apply", "-auto-approve", "-input=false", flag)
				cli.Write(c.Provider(t), p.config("team=a:NoExecute", "", how, ""))
				out := cli.MustRun("apply", "-auto-approve", "-input=false", "-no-color", flag)
				if !strings.Contains(out, "stays for now: "+p.own("team=a:NoExecute")) {
					t.Fatalf("nothing says that the toleration stays:\n%s", out)
				}
				cli.WantEmptyPlan()
				for _, kind := range p.workloads {
					if got := c.Tolerations(t, p.namespace, kind, strings.ToLower(kind)); got != "foreign Exists, "+p.own("team=a:NoExecute") {
						t.Fatalf("%s has the tolerations %q", kind, got)
					}
				}
				cli.Write(c.Provider(t), "")
				cli.MustRun("apply", "-auto-approve", "-input=false", flag)
				p.want("", "")
				p.settled()
				if names := evicted(); len(names) > 0 {
					t.Fatalf("the taint-eviction controller deleted %v", names)
				}
			})
		}
	}
}

// TestAccOrder_unneededTolerationIsTakenAwayByThePlanAfter lets another writer
// remove the taint: the retiring toleration is drift then, and goes. It does not run
// beside other tests, any apply of which would take it away.
//
//nolint:paralleltest // See above.
func TestAccOrder_unneededTolerationIsTakenAwayByThePlanAfter(t *testing.T) {
	c := acctest.Alone(t)
	p := newPool(t, c, "Deployment")
	cli := acctest.NewCLI(t)
	both := "team=a:NoExecute other=x:NoExecute"
	cli.Write(c.Provider(t), p.config("team=a:NoExecute", both, toleratedBy, ""))
	cli.MustRun("apply", "-auto-approve", "-input=false")
	// The taint leaves the state and stays on the nodes, as if another tool had
	// put it there.
	cli.MustRun("state", "rm", "kubetaint_node_taints.pool")
	cli.Write(c.Provider(t), p.config("", "other=x:NoExecute", toleratedBy, ""))
	cli.MustRun("apply", "-auto-approve", "-input=false")
	cli.WantEmptyPlan()
	for _, node := range p.nodes {
		c.Patch(t, node, `{"spec":{"taints":[]},"metadata":{"annotations":{"kubetaint.io/owned-taints":null}}}`)
	}
	if out, _ := cli.Run("plan", "-input=false", "-no-color"); !strings.Contains(out, "1 to change") {
		t.Fatalf("the unneeded toleration is no drift:\n%s", out)
	}
	cli.MustRun("apply", "-auto-approve", "-input=false")
	p.want("", "other=x:NoExecute")
	cli.WantEmptyPlan()
}

// TestAccOrder_daemonSetNeverLosesMoreThanItAllows watches a DaemonSet through
// the change of a value, to the end of the rollout that takes the old toleration away.
func TestAccOrder_daemonSetNeverLosesMoreThanItAllows(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	for _, how := range []link{toleratedBy, dependsOn} {
		for _, parallelism := range []string{"-parallelism=10", "-parallelism=1"} {
			t.Run(string(how)+" with "+parallelism, func(t *testing.T) {
				t.Parallel()
				p := newPool(t, c, "DaemonSet")
				cli := acctest.NewCLI(t)
				cli.Write(c.Provider(t), p.config("team=a:NoExecute", "team=a:NoExecute", how, ""))
				cli.MustRun("apply", "-auto-approve", "-input=false", parallelism)
				p.settled()
				least := c.LeastReady(t, p.namespace, "daemonset")
				cli.Write(c.Provider(t), p.config("team=b:NoExecute", "team=b:NoExecute", how, ""))
				cli.MustRun("apply", "-auto-approve", "-input=false", parallelism)
				p.rolledOut("daemonset")
				if got := p.c.Tolerations(t, p.namespace, "DaemonSet", "daemonset"); strings.Contains(got, p.own("team=a:NoExecute")) || !strings.Contains(got, p.own("team=b:NoExecute")) {
					t.Fatalf("the template has %q", got)
				}
				if ready := least(); ready < len(p.nodes)-1 {
					t.Fatalf("only %d of %d pods were ready at some moment, and maxUnavailable is 1", ready, len(p.nodes))
				}
			})
		}
	}
}

// rolledOut waits until every pod of a DaemonSet is one of its present template.
func (p *pool) rolledOut(name string) {
	p.t.Helper()
	p.c.Observed(p.t, acctest.Thing{APIVersion: "apps/v1", Kind: "DaemonSet", Namespace: p.namespace, Name: name})
	acctest.Until(p.t, "DaemonSet "+name+" is rolled out", func(ctx context.Context) (bool, error) {
		d, err := p.c.Admin.AppsV1().DaemonSets(p.namespace).Get(ctx, name, metav1.GetOptions{})
		return err == nil && d.Status.ObservedGeneration == d.Generation && d.Status.UpdatedNumberScheduled == int32(len(p.nodes)) && d.Status.NumberReady == int32(len(p.nodes)), err
	})
}

// TestAccOrder_withoutALinkEitherOrderEvictsNoPod runs unlinked changes
// at the same time: the taint is refused until the pods happen to be ready.
func TestAccOrder_withoutALinkEitherOrderEvictsNoPod(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	p := newPool(t, c, "Deployment")
	cli := acctest.NewCLI(t)
	cli.Write(c.Provider(t), p.config("team=a:NoExecute", "team=a:NoExecute", toleratedBy, ""))
	cli.MustRun("apply", "-auto-approve", "-input=false")
	evicted := c.Evictions(t, p.namespace)
	for value, flag := range map[string]string{"b": "-parallelism=10", "c": "-parallelism=1"} {
		cli.Write(c.Provider(t), p.config("team="+value+":NoExecute", "team="+value+":NoExecute", noLink, ""))
		for runs := 0; ; runs++ {
			out, ok := cli.Run("apply", "-auto-approve", "-input=false", flag)
			if ok {
				break
			}
			if runs == 2 {
				t.Fatalf("the change does not get through:\n%s", out)
			}
		}
		p.want("team="+value+":NoExecute", "team="+value+":NoExecute")
	}
	if names := evicted(); len(names) > 0 {
		t.Fatalf("the taint-eviction controller deleted %v", names)
	}
}
