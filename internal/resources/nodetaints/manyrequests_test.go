// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// crew is many resources with a node each, which one process works on, ten in parallel, as Terraform does
// by default.
type crew struct {
	tf      *acctest.Terraform
	audit   *acctest.Audit
	all     []*acctest.Instance
	planned []acctest.Planned
}

// phase has one process do something for each resource, and returns what it requested.
func (c *crew) phase(t *testing.T, name string, do func(walk *acctest.Walk, n int) acctest.Diagnostics) []acctest.AuditedRequest {
	t.Helper()
	c.audit.Reset()
	walk := c.tf.Walk(t)
	slots := make(chan struct{}, 10)
	var all sync.WaitGroup
	for n := range c.all {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if d := do(walk, n); d.Errors() != "" {
				t.Errorf("%s: %s", name, d.Errors())
			}
		})
	}
	all.Wait()
	requests := c.audit.Requests()
	acctest.Counted(t, name, requests)
	for _, r := range requests {
		if r.Code == http.StatusConflict {
			t.Errorf("%s: %s met a conflict: no other client writes here", name, r)
		}
	}
	return requests
}

// carry plans and applies a configuration, nil for none, and returns what either requested.
func (c *crew) carry(t *testing.T, name string, config func(n int) map[string]any) (plan, apply []acctest.AuditedRequest) {
	t.Helper()
	plan = c.phase(t, "plan that "+name, func(walk *acctest.Walk, n int) acctest.Diagnostics {
		d := walk.Refresh(c.all[n])
		c.planned[n] = walk.Plan(c.all[n], config(n))
		return append(d, c.planned[n].Diagnostics...)
	})
	apply = c.phase(t, "apply that "+name, func(walk *acctest.Walk, n int) acctest.Diagnostics {
		return walk.ApplyChange(c.all[n], c.planned[n], config(n))
	})
	return plan, apply
}

// TestNodeTaints_twoHundredByName: an apply of 200 resources with a node each makes at most 1.05 requests for
// each node and 12 more, and siblings never conflict, on one node neither. To destroy them, a process reads
// nothing twice but for nodes: before the first write and, at most twice, to confirm what was written.
func TestNodeTaints_twoHundredByName(t *testing.T) {
	t.Parallel()
	acctest.TooLong(t)
	acctest.CountsRequests(t)
	for name, tc := range map[string]struct {
		nodes, perNode int
		selector       bool
	}{
		"a node each":      {nodes: manyNodes, perNode: 1},
		"two on each node": {nodes: 20, perNode: 2},
		"a selector":       {nodes: manyNodes, selector: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				pool, namespace := acctest.Name(t, "pool"), c.Namespace(t)
				c.Nodes(t, tc.nodes, func(n int) acctest.Node {
					return acctest.Node{Name: fmt.Sprintf("%s-%d", pool, n), Quiet: true, Labels: map[string]string{"pool": pool}}
				})
				for n := range 20 {
					c.Pod(t, namespace, fmt.Sprintf("pod-%d", n), fmt.Sprintf("%s-%d", pool, n), nil)
				}
				to := func(value string) func(n int) map[string]any {
					return func(n int) map[string]any {
						if tc.selector {
							return map[string]any{"node_selector": "pool=" + pool, "taints": acctest.Objects(t, "dedicated="+value+":NoSchedule")}
						}
						return map[string]any{"node_name": fmt.Sprintf("%s-%d", pool, n/tc.perNode), "taints": acctest.Objects(t, fmt.Sprintf("dedicated-%d=%s:NoSchedule", n%tc.perNode, value))}
					}
				}
				resources := max(tc.nodes*tc.perNode, 1)
				audit, provider := c.Audit(t)
				many := crew{tf: &acctest.Terraform{Provider: provider}, audit: audit, all: make([]*acctest.Instance, resources), planned: make([]acctest.Planned, resources)}
				for n := range many.all {
					many.all[n] = newInstance()
				}
				for _, value := range []string{"gpu", "web"} {
					_, apply := many.carry(t, "sets all to "+value, to(value))
					wantAtMost(t, value, apply)
				}
				plan, apply := many.carry(t, "destroys all", func(int) map[string]any { return nil })
				wantAtMost(t, "destroy", apply)
				wantReadOnce(t, "plan that destroys all", plan, 1)
				wantReadOnce(t, "apply that destroys all", apply, 3)
			})
		})
	}
}

func wantAtMost(t *testing.T, phase string, requests []acctest.AuditedRequest) {
	t.Helper()
	if len(requests) > maxApplyRequests {
		t.Errorf("%s: %d requests, at most %d are allowed", phase, len(requests), maxApplyRequests)
	}
}

// wantReadOnce checks that a process has read nothing twice, but for so many lists of nodes.
func wantReadOnce(t *testing.T, phase string, requests []acctest.AuditedRequest, nodes int) {
	t.Helper()
	read := map[string]int{}
	for _, r := range requests {
		if slices.Contains([]string{"get", "list", "watch"}, r.Verb) {
			read[r.String()]++
		}
	}
	for what, times := range read {
		if most := map[bool]int{true: nodes, false: 1}[what == "list nodes"]; times > most {
			t.Errorf("%s: %s %d times, at most %d are allowed", phase, what, times, most)
		}
	}
}
