// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// everyResource is one resource of each type that the cluster can have, on objects of a
// test's own.
func everyResource(t *testing.T, c *acctest.Cluster) string {
	t.Helper()
	c.NeedMachines(t)
	namespace, node, policy := c.Namespace(t), acctest.Name(t, "node"), acctest.Name(t, "policy")
	c.Node(t, acctest.Node{Name: node, Quiet: true})
	pool := c.MachineSet(t, acctest.MachineSet{Namespace: namespace, Name: acctest.Name(t, "ms"), Replicas: 1})
	for _, name := range []string{"web", "db"} {
		c.Deployment(t, namespace, name, 0, func(*corev1.PodSpec) {})
	}
	policies := ""
	if _, err := c.Admin.AdmissionregistrationV1().MutatingAdmissionPolicies().List(t.Context(), metav1.ListOptions{}); err == nil {
		// Kubernetes 1.36 and newer.
		policies = fmt.Sprintf(`
resource "kubetaint_toleration_policy" "this" {
  name        = %q
  match       = { namespaces = [%q] }
  tolerations = [{ key = "team", value = "a", effect = "NoSchedule" }]
}
`, policy, namespace)
	}
	return policies + fmt.Sprintf(`
resource "kubetaint_node_taints" "this" {
  node_name = %[1]q
  taints    = [{ key = "team", value = "a", effect = "NoSchedule" }]
}
resource "kubetaint_machine_set_taints" "this" {
  namespace = %[2]q
  name      = %[3]q
  taints    = [{ key = "team", value = "a", effect = "NoSchedule" }]
  rollout   = { strategy = "template_only" }
}
resource "kubetaint_workload_tolerations" "this" {
  workload    = { kind = "Deployment", namespace = %[2]q, name = "web" }
  tolerations = [{ key = "team", value = "a", effect = "NoSchedule" }]
}
resource "kubetaint_dedicated_nodes" "this" {
  node_names = [%[1]q]
  taints     = [{ key = "crew", value = "a", effect = "NoSchedule" }]
  workloads  = [{ kind = "Deployment", namespace = %[2]q, name = "db" }]
}
resource "kubetaint_namespace_tolerations" "this" {
  namespace = %[2]q
  default   = [{ key = "team", value = "a", effect = "NoSchedule" }]
}
`, node, namespace, pool.Name)
}

// TestAccProvider_aClusterThatCannotBeReadKeepsEveryState: a plan ends with warnings, and
// asks for nothing, whichever command line makes it; not all of them store identities.
func TestAccProvider_aClusterThatCannotBeReadKeepsEveryState(t *testing.T) {
	t.Parallel()
	c, cli := acctest.Connect(t), acctest.NewCLI(t)
	resources := everyResource(t, c)
	types := regexp.MustCompile(`"kubetaint_[a-z_]+"`)
	reach := func(host, token string) {
		cli.Env("KUBE_HOST", host)
		cli.Env("KUBE_TOKEN", token)
	}
	cli.Env("KUBE_CLUSTER_CA_CERT_DATA", c.CA(t))
	reach(c.REST.Host, c.Token(t))
	cli.Write(nil, resources)
	cli.MustRun("apply", "-auto-approve", "-input=false")
	// The context of commands ends before clean-up functions begin.
	defer func() {
		reach(c.REST.Host, c.Token(t))
		cli.Write(nil, resources)
		cli.MustRun("destroy", "-auto-approve", "-input=false")
	}()
	kept := func(said string) {
		t.Helper()
		var warned int
		for _, w := range cli.PlanWarnings() {
			if strings.Contains(w.Summary, said) {
				warned++
			}
		}
		if warned == 0 {
			t.Errorf("no warning says %q", said)
		}
		cli.MustRun("apply", "-refresh-only", "-auto-approve", "-input=false")
		for _, of := range types.FindAllString(resources, -1) {
			if !strings.Contains(string(cli.State()), of) {
				t.Errorf("%s: %s is not in the state any more", said, of)
			}
		}
	}

	reach("https://127.0.0.1:1", c.Token(t))
	kept("Unable to read the cluster at ")
	cli.WantEmptyPlan()

	reach(c.REST.Host, "kubetaint-test-expired")
	kept("the credentials were refused")
	cli.WantEmptyPlan()

	// The address comes from what the same run is about to change.
	reach("", c.Token(t))
	unknown := func(host string) {
		cli.Write(nil, "resource \"terraform_data\" \"host\" {\n  input = \""+host+"\"\n}\n\nprovider \"kubetaint\" {\n  host = terraform_data.host.output\n}\n"+resources)
	}
	unknown(c.REST.Host)
	cli.MustRun("apply", "-auto-approve", "-input=false", "-target=terraform_data.host")
	unknown(c.REST.Host + "/")
	kept("the provider block is not known yet")
}
