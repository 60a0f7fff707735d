// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

const (
	manyNodes, manyWorkloads = 30, 5

	anyNumber = -1
)

// TestAccDedicatedNodes_requests counts what the API server sees of plan and apply
// over many nodes and several workloads. It does not run beside other tests: their
// applies take away tolerations that nothing needs any more, and so spare it writes.
//
//nolint:paralleltest // See above.
func TestAccDedicatedNodes_requests(t *testing.T) {
	c := acctest.Alone(t)
	acctest.NewCLI(t)
	p := &pool{t: t, c: c, name: acctest.Name(t, "pool"), namespace: c.Namespace(t)}
	labels := map[string]string{"field": p.name, "pool": p.name}
	c.Node(t, acctest.Node{Name: p.name + "-0", Labels: labels})
	// Nodes without anything to allocate take no pods.
	c.Nodes(t, manyNodes-1, func(n int) acctest.Node {
		return acctest.Node{Name: fmt.Sprintf("%s-%d", p.name, n+1), Quiet: true, Labels: labels}
	})
	workloads := ""
	for n := range manyWorkloads {
		name := fmt.Sprintf("web-%d", n)
		c.Deployment(t, p.namespace, name, 2, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"field": p.name} })
		workloads += fmt.Sprintf("    { kind = \"Deployment\", namespace = %q, name = %q, pin = true },\n", p.namespace, name)
	}
	cli := acctest.NewCLI(t)
	audit, provider := c.Audit(t)
	write := func(value string) {
		cli.Write(provider, fmt.Sprintf("resource %q \"this\" {\n  node_selector = \"pool=%s\"\n  taints = [{ key = \"team\", value = %q, effect = \"NoExecute\" }]\n  labels = { dedicated = %q }\n  workloads = [\n%s  ]\n}\n",
			typeName, p.name, value, p.name, workloads))
	}
	measure := func(phase string, most map[string]int, args ...string) {
		t.Helper()
		// Pods of a ReplicaSet that comes meanwhile have it listed again.
		for n := range manyWorkloads {
			c.Running(t, p.namespace, fmt.Sprintf("web-%d", n), 2)
		}
		audit.Reset()
		cli.MustRun(args...)
		wantRequests(t, phase, acctest.Within(audit.Requests(), p.namespace), most)
	}
	// Looking at the change takes one list of each kind, and one dry run of each
	// workload that would change; finding workloads by their marks lists these.
	unchanged := map[string]int{"get deployments": manyWorkloads, "get namespaces": 1, "list nodes": 1}
	look := sum(unchanged, map[string]int{
		"get namespaces": 1, "patch deployments": manyWorkloads, "list pods": 1, "list replicasets": 1, "list jobs": 1, "list daemonsets": 1,
		"list poddisruptionbudgets": 1, "list mutatingadmissionpolicies": 1, "list persistentvolumes": 1, "list resourcequotas": 1, "list limitranges": 1,
	})
	marked := map[string]int{"create selfsubjectrulesreviews": 1, "list deployments": 1, "list statefulsets": 1, "list replicasets": 1, "list cronjobs": 1, "list jobs": 1}
	// An apply plans again, reads nodes and pods once more before it decides, and reads the
	// nodes that it has written before it trusts the watch.
	apply := sum(look, marked, map[string]int{"list nodes": 2, "list pods": 1, "watch nodes": 1, "watch pods": 1})
	// Before it decides it lists the templates of DaemonSets again, where that was a while
	// ago: as it begins, and before the taints.
	apply["list daemonsets"] += 2
	// How often it looks whether pods have followed depends on how fast they are. The ReplicaSet that a rollout makes is
	// read by name, once.
	for _, polled := range []string{"get deployments", "list replicasets"} {
		apply[polled] = anyNumber
	}

	write("a")
	measure("plan that creates", sum(look, marked), "plan", "-input=false", "-out=plan")
	measure("apply that creates", sum(apply, map[string]int{"patch nodes": 2 * manyNodes, "patch deployments": manyWorkloads, "get replicasets": manyWorkloads}), "apply", "-input=false", "plan")
	measure("plan that changes nothing", unchanged, "plan", "-input=false")
	write("b")
	measure("plan that changes the value", sum(look, marked), "plan", "-input=false", "-out=plan")
	measure("apply that changes the value", sum(apply, map[string]int{"patch nodes": manyNodes, "patch deployments": 2 * manyWorkloads, "get replicasets": 2 * manyWorkloads}), "apply", "-input=false", "plan")
	// It is planned by a process of its own, after one that refreshes. There is
	// nothing to try, and no pod to evict.
	destroy := sum(unchanged, look, marked)
	destroy["patch deployments"] = 0
	measure("plan that destroys", destroy, "plan", "-destroy", "-input=false", "-out=plan")
	removal := sum(apply, map[string]int{"patch nodes": 2 * manyNodes})
	measure("apply that destroys", removal, "apply", "-input=false", "plan")
}

// wantRequests fails the test unless a phase makes exactly as many writes as are
// listed, and no more reads.
func wantRequests(t *testing.T, phase string, requests []acctest.AuditedRequest, most map[string]int) {
	t.Helper()
	count := acctest.Counted(t, phase, requests)
	for _, r := range acctest.Repeated(requests) {
		count[r.Verb+" "+r.Resource]--
	}
	for what, n := range count {
		if most[what] != anyNumber && n > most[what] {
			t.Errorf("%s made %d requests to %s, at most %d are allowed", phase, n, what, most[what])
		}
	}
	for what, n := range most {
		if strings.HasPrefix(what, "patch") && count[what] != n {
			t.Errorf("%s made %d requests to %s, want %d", phase, count[what], what, n)
		}
	}
}

// sum adds up requests.
func sum(all ...map[string]int) map[string]int {
	out := map[string]int{}
	for _, one := range all {
		for what, n := range one {
			out[what] += n
		}
	}
	return out
}
