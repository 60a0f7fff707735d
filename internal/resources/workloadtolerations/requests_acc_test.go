// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

const (
	manyWorkloads = 30

	// previewRequests is what verdicts need, however many workloads there are: nodes,
	// pods, ReplicaSets, Jobs, DaemonSets, PDBs, quotas, LimitRanges, claims, volumes, and the namespace.
	previewRequests = 11

	// applyRequests is what an apply may ask for one workload. Six are always needed:
	// a dry run; a reading before the first write; the reading and the patch of the
	// write; a reading and the ReplicaSets once the pods have come. As many again may
	// come where pods are slow: a reading each time that the time without one has
	// doubled, a reading and the ReplicaSets while a controller has not told yet that
	// it has seen the change, and a list of ReplicaSets to learn whose new pods are.
	applyRequests = 12
)

// requested is what a phase asked of the API server: how often each kind of
// request came, such as "get deployments"; dry runs of a write are apart, and what was
// repeated after a conflict counts among all alone.
type requested struct {
	t     *testing.T
	phase string
	count map[string]int
	all   int
}

func countRequests(t *testing.T, phase string, requests []acctest.AuditedRequest) requested {
	t.Helper()
	r := requested{t, phase, map[string]int{}, len(requests)}
	for _, one := range requests {
		if !strings.HasPrefix(one.UserAgent, "terraform-provider-kubetaint/") {
			t.Errorf("%s: %s came from %q", phase, one, one.UserAgent)
		}
		name := one.Verb + " " + one.Resource
		if one.DryRun {
			name = "try " + name
		}
		r.count[name]++
	}
	for _, one := range acctest.Repeated(requests) {
		r.count[one.Verb+" "+one.Resource]--
	}
	t.Logf("%s: %d requests: %v", phase, r.all, r.count)
	return r
}

// atMost limits the number of all requests.
func (r requested) atMost(limit int) {
	r.t.Helper()
	if r.all > limit {
		r.t.Errorf("%s made %d requests, at most %d are allowed: %v", r.phase, r.all, limit, r.count)
	}
}

// limit limits the number of one kind of request.
func (r requested) limit(name string, limit int) {
	r.t.Helper()
	if r.count[name] > limit {
		r.t.Errorf("%s made %d requests to %s, at most %d are allowed", r.phase, r.count[name], name, limit)
	}
}

// exactly expects a number of one kind of request.
func (r requested) exactly(name string, number int) {
	r.t.Helper()
	if r.count[name] != number {
		r.t.Errorf("%s made %d requests to %s, not %d", r.phase, r.count[name], name, number)
	}
}

// writesNothing allows no write but dry runs.
func (r requested) writesNothing() {
	r.t.Helper()
	for name, n := range r.count {
		switch verb, _, _ := strings.Cut(name, " "); verb {
		case "get", "list", "watch", "try":
		default:
			r.t.Errorf("%s wrote to the cluster: %d requests to %s", r.phase, n, name)
		}
	}
}

// TestAccWorkloadTolerations_requests counts what the API server sees of plan and
// apply of thirty Deployments with a pod each, as resources by name and as one with
// a selector. It runs alone: pods of other tests make a snapshot ask for owners of more kinds.
//
//nolint:paralleltest // See above.
func TestAccWorkloadTolerations_requests(t *testing.T) {
	s := openShopOn(t, acctest.Alone(t))
	acctest.NewCLI(t)
	var made sync.WaitGroup
	for n := range manyWorkloads {
		made.Go(func() { s.labelled(s.make("Deployment", fmt.Sprintf("web-%d", n), 1, "foreign*", nil), "tier", "web") })
	}
	made.Wait()
	for _, tt := range []struct {
		name, where string
		// looks are the requests of a plan to resolve the target, and in which cluster.
		looks int
	}{
		{"thirty resources by name", fmt.Sprintf("for_each = toset([for n in range(%d) : \"web-${n}\"])\n  workload = { kind = \"Deployment\", namespace = %q, name = each.key }", manyWorkloads, s.namespace), 1 + manyWorkloads},
		// At refresh and at plan, a list of what is meant and of what may carry marks though
		// it has left the selector.
		{"one resource with a selector", fmt.Sprintf("workload = { kind = \"Deployment\", namespace = %q, selector = \"tier=web\" }", s.namespace), 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, cli := s.on(t), acctest.NewCLI(t)
			audit, provider := s.c.Audit(t)
			write := func(value string) {
				cli.Write(provider, "resource \"kubetaint_workload_tolerations\" \"this\" {\n  "+tt.where+"\n  tolerations = [{ key = \"team\", value = \""+value+"\", effect = \"NoExecute\" }]\n}\n")
			}
			measure := func(phase string, args ...string) requested {
				t.Helper()
				audit.Reset()
				cli.MustRun(args...)
				return countRequests(t, phase, audit.Requests())
			}
			plan := func(phase string) {
				t.Helper()
				r := measure(phase, "plan", "-input=false", "-out=plan")
				r.writesNothing()
				r.exactly("try patch deployments", manyWorkloads)
				r.limit("list pods", 1)
				r.atMost(tt.looks + previewRequests + manyWorkloads)
			}
			apply := func(phase string) {
				t.Helper()
				r := measure(phase, "apply", "-input=false", "plan")
				r.exactly("patch deployments", manyWorkloads)
				// Once for the plan that Terraform makes again, once to be followed.
				r.limit("list pods", 2)
				r.atMost(tt.looks + 2*previewRequests + manyWorkloads*applyRequests)
			}
			write("a")
			plan("plan that creates all")
			apply("apply that creates all")
			unchanged := measure("plan that changes nothing", "plan", "-input=false")
			unchanged.writesNothing()
			unchanged.limit("list pods", 0)
			unchanged.atMost(tt.looks)
			write("b")
			plan("plan that changes all")
			apply("apply that changes all")
			// Terraform refreshes in a process of its own before it plans a destroy.
			destroys := measure("plan that destroys all", "plan", "-destroy", "-input=false", "-out=plan")
			destroys.writesNothing()
			destroys.limit("list pods", 1)
			destroys.atMost(2*tt.looks + previewRequests)
			apply("apply that destroys all")
			if got := s.standing(s.thing("Deployment", "web-0"), s.pathOf("Deployment")); formatted(got) != formatted(acctest.ParseTolerations(t, "foreign*")) {
				t.Errorf("in the end web-0 has %q", formatted(got))
			}
		})
	}
}
