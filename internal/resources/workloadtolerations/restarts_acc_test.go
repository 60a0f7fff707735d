// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/golden"
)

// announced returns what a plan says of restarts by taints that go.
func announced(cli *acctest.CLI) (warnings []string) {
	for _, w := range cli.PlanWarnings() {
		if strings.HasPrefix(w.Summary, "Removing team=") {
			warnings = append(warnings, w.Summary+"\n\n"+w.Detail+"\n")
		}
	}
	return warnings
}

// uids returns the UIDs of the running pods of a workload.
func (p *pool) uids(app string) []string {
	p.t.Helper()
	pods, err := p.c.Admin.CoreV1().Pods(p.namespace).List(p.t.Context(), metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		p.t.Fatal(err)
	}
	var out []string
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp == nil {
			out = append(out, string(pod.UID))
		}
	}
	return out
}

// replaced waits until none of these pods lives and their number is full again.
func (p *pool) replaced(app string, old []string) {
	p.t.Helper()
	acctest.Until(p.t, "the pods of "+app+" are replaced", func(context.Context) (bool, error) {
		return !slices.ContainsFunc(p.uids(app), func(uid string) bool { return slices.Contains(old, uid) }), nil
	})
	p.c.Running(p.t, p.namespace, app, len(old))
}

// TestAccOrder_planOfTaintsAnnouncesTheRestartsThatTheyLeadTo leaves tolerations
// retiring, and takes away the taint that pods need. What the plan announces is
// what comes, and no pod is evicted by it. It does not run beside tests whose
// tolerations retire: an apply takes away whatever no taint of the cluster needs any
// more, and the plan names it.
//
//nolint:paralleltest // See above.
func TestAccOrder_planOfTaintsAnnouncesTheRestartsThatTheyLeadTo(t *testing.T) {
	c := acctest.Alone(t)
	for name, tt := range map[string]struct {
		kinds []string
		// tolerations are those that leave team=a retiring, taints what comes then.
		tolerations, taints string
	}{
		"restarts_by_removal":       {kinds: []string{"Deployment"}, tolerations: "", taints: ""},
		"restarts_by_another_value": {kinds: []string{"Deployment", "DaemonSet"}, tolerations: "team=b:NoExecute", taints: "team=b:NoExecute"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, c, tt.kinds...)
			cli := acctest.NewCLI(t)
			apply := func(taints, tolerations string) {
				t.Helper()
				cli.Write(c.Provider(t), p.config(taints, tolerations, toleratedBy, ""))
				cli.MustRun("apply", "-auto-approve", "-input=false")
			}
			apply("team=a:NoExecute", "team=a:NoExecute")
			apply("team=a:NoExecute", tt.tolerations)
			p.settled()
			if text := announced(cli); len(text) > 0 {
				t.Fatalf("nothing changes, and the plan says: %q", text)
			}
			cli.Write(c.Provider(t), p.config("team=a:NoExecute other=x:NoSchedule", tt.tolerations, toleratedBy, "  evictions = { stranded = \"evict\" }\n"))
			if text := announced(cli); len(text) > 0 {
				t.Fatalf("no taint goes, and the plan says: %q", text)
			}
			cli.Write(c.Provider(t), p.config(tt.taints, tt.tolerations, toleratedBy, ""))
			golden.Check(t, name+".golden", strings.NewReplacer(p.namespace, "shop", p.name, "gpu").Replace(strings.Join(announced(cli), "\n")))

			evicted, old := c.Evictions(t, p.namespace), map[string][]string{}
			for _, kind := range tt.kinds {
				old[strings.ToLower(kind)] = p.uids(strings.ToLower(kind))
			}
			cli.MustRun("apply", "-auto-approve", "-input=false")
			for app, uids := range old {
				p.replaced(app, uids)
			}
			p.want(tt.taints, tt.tolerations)
			if names := evicted(); len(names) > 0 {
				t.Fatalf("the taint-eviction controller deleted %v", names)
			}
			cli.WantEmptyPlan()
		})
	}
}

// TestAccOrder_restartsAreAnnouncedOnceWhereSeveralTaintsLeadToThem has a taint of
// its own resource on each node: the toleration is needed until the last one goes.
//
//nolint:paralleltest // Like the test above.
func TestAccOrder_restartsAreAnnouncedOnceWhereSeveralTaintsLeadToThem(t *testing.T) {
	c := acctest.Alone(t)
	p := newPool(t, c, "DaemonSet")
	cli := acctest.NewCLI(t)
	write := func(tolerations string, nodes ...string) {
		t.Helper()
		config := p.config("", tolerations, noLink, "")
		for i, node := range p.nodes {
			if slices.Contains(nodes, node) {
				config += fmt.Sprintf("resource \"kubetaint_node_taints\" \"node_%d\" {\n  node_name = %q\n  taints = [{ key = \"team\", value = \"a\", effect = \"NoExecute\" }]\n", i, node)
				if tolerations != "" {
					config += "  depends_on = [kubetaint_workload_tolerations.daemonset]\n"
				}
				config += "}\n"
			}
		}
		cli.Write(c.Provider(t), config)
	}
	write("team=a:NoExecute", p.nodes...)
	cli.MustRun("apply", "-auto-approve", "-input=false")
	write("", p.nodes...)
	cli.MustRun("apply", "-auto-approve", "-input=false")

	// The DaemonSet's pod on the other node needs the toleration still.
	write("", p.nodes[1])
	if text := announced(cli); len(text) > 0 {
		t.Fatalf("pods on %s live by the toleration, and the plan says: %q", p.nodes[1], text)
	}
	write("")
	warnings := announced(cli)
	if len(warnings) != 1 || !strings.Contains(warnings[0], "restarts 2 pods of DaemonSet \""+p.namespace+"/daemonset\" in 1 rollout") {
		t.Fatalf("it is announced as %q", warnings)
	}
	old := p.uids("daemonset")
	cli.MustRun("apply", "-auto-approve", "-input=false")
	p.replaced("daemonset", old)
	p.want("", "")
}
