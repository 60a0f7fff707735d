// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

const (
	manyNodes = 200

	// maxPlanRequests is what a plan that evicts no pod may need, whatever the number of nodes and
	// resources; maxApplyRequests what the apply phase may. In a plan, resources of one node each ask how many
	// pods there are beside that: as many nodes could have more than a list of these is worth.
	maxPlanRequests  = 12
	maxApplyRequests = manyNodes*105/100 + 12
)

// wantFew checks the number of requests of a phase, and that a plan neither
// writes nor, where nothing changes, looks at pods.
func wantFew(t *testing.T, phase string, requests []acctest.AuditedRequest, limit, asks int, planning, unchanged bool) {
	t.Helper()
	count := acctest.Counted(t, phase, requests)
	if planning {
		limit += asks
	}
	if len(requests) > limit {
		t.Errorf("%s made %d requests, at most %d are allowed: %v", phase, len(requests), limit, count)
	}
	// An apply lists them for the plan that Terraform makes again, and once more
	// right before the first write, where pods might be stranded by it.
	most := 2 + asks
	switch {
	case unchanged:
		most = 0
	case planning:
		most = 1 + asks
	}
	if count["list pods"] > most {
		t.Errorf("%s listed pods %d times", phase, count["list pods"])
	}
	writes := slices.ContainsFunc(requests, func(r acctest.AuditedRequest) bool {
		return !r.DryRun && (r.Verb == "patch" || r.Verb == "update" || r.Verb == "create")
	})
	if planning && writes {
		t.Errorf("%s wrote to the cluster: %v", phase, count)
	}
	if !planning && count["patch nodes"] < manyNodes {
		t.Errorf("%s patched %d nodes of %d: the count shows nothing", phase, count["patch nodes"], manyNodes)
	}
}

// TestAccNodeTaints_requests counts what the API server sees of plan and apply
// over 200 nodes, as one resource with a selector and as 200 by name. It runs alone: a
// ReplicaSet that another test makes in the middle of a plan is looked up by a request more.
//
//nolint:paralleltest // See above.
func TestAccNodeTaints_requests(t *testing.T) {
	acctest.CountsRequests(t)
	c := acctest.Alone(t)
	acctest.NewCLI(t)
	pool := acctest.Name(t, "pool")
	namespace := c.Namespace(t)
	c.Nodes(t, manyNodes, func(n int) acctest.Node {
		return acctest.Node{Name: fmt.Sprintf("%s-%d", pool, n), Quiet: true, Labels: map[string]string{"pool": pool}}
	})
	for n := range 20 {
		name := fmt.Sprintf("%s-%d", pool, n)
		c.Pod(t, namespace, name, name, nil)
	}
	bySelector := "resource \"kubetaint_node_taints\" \"this\" {\n  node_selector = \"pool=" + pool + "\"\n"
	byName := "resource \"kubetaint_node_taints\" \"this\" {\n  for_each = toset([for n in range(200) : \"" + pool + "-${n}\"])\n  node_name = each.key\n"
	for name, head := range map[string]string{"one resource with a selector": bySelector, "two hundred resources by name": byName} {
		t.Run(name, func(t *testing.T) {
			asks := 0
			if head == byName {
				acctest.Exhaustive(t)
				asks = 1
			}
			cli := acctest.NewCLI(t)
			audit, provider := c.Audit(t)
			write := func(value string) {
				cli.Write(provider, head+"  taints = [{ key = \"dedicated\", value = \""+value+"\", effect = \"NoSchedule\" }]\n}\n")
			}
			measure := func(phase string, limit int, planning, unchanged bool, args ...string) {
				t.Helper()
				audit.Reset()
				cli.MustRun(args...)
				wantFew(t, phase, audit.Requests(), limit, asks, planning, unchanged)
			}
			write("gpu")
			measure("plan that creates all", maxPlanRequests, true, false, "plan", "-input=false", "-out=plan")
			measure("apply that creates all", maxApplyRequests, false, false, "apply", "-input=false", "plan")
			measure("plan that changes nothing", maxPlanRequests, true, true, "plan", "-input=false")
			write("web")
			measure("plan that changes all", maxPlanRequests, true, false, "plan", "-input=false", "-out=plan")
			measure("apply that changes all", maxApplyRequests, false, false, "apply", "-input=false", "plan")
			measure("plan that destroys all", maxPlanRequests, true, true, "plan", "-destroy", "-input=false", "-out=plan")
			measure("apply that destroys all", maxApplyRequests, false, false, "apply", "-input=false", "plan")
		})
	}
}
