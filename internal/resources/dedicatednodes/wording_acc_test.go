// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"fmt"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccDedicatedNodes_otherWordingIsNoChange: the command line accepts that the plan keeps the state's
// wording of workloads and policy, where nothing changes and beside another change.
func TestAccDedicatedNodes_otherWordingIsNoChange(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	p := newPool(t, c, "Deployment", "StatefulSet")
	cli := acctest.NewCLI(t)
	p.admitting(p.name, nil)
	write := func(value, admission, first, second string) {
		workload := func(kind, name, more string) string {
			return fmt.Sprintf("    { kind = %q, namespace = %q, name = %q%s },\n", kind, p.namespace, name, more)
		}
		all := map[string]string{
			"Deployment": workload("Deployment", "deployment", ""), "StatefulSet": workload("StatefulSet", "statefulset", ""),
			"wordy Deployment": workload("Deployment", "deployment", `, api_version = "apps/v1", pin = false`),
		}
		cli.Write(c.Provider(t), fmt.Sprintf("resource %q \"this\" {\n  node_selector = \"pool=%s\"\n  taints = [{ key = %q, value = %q, effect = \"NoSchedule\" }]\n  workloads = [\n%s%s  ]\n  admission = { name = %q, match = { namespaces = [%q] }%s }\n}\n",
			typeName, p.name, p.name, value, all[first], all[second], p.name, p.namespace, admission))
	}
	write("a", "", "Deployment", "StatefulSet")
	cli.MustRun("apply", "-auto-approve", "-input=false")
	write("a", `, pin = false, failure_policy = "Ignore"`, "StatefulSet", "wordy Deployment")
	cli.WantEmptyPlan()
	write("b", `, pin = false, failure_policy = "Ignore"`, "StatefulSet", "wordy Deployment")
	cli.MustRun("apply", "-auto-approve", "-input=false")
	cli.WantEmptyPlan()
	cli.MustRun("destroy", "-auto-approve", "-input=false")
	p.want(wish{}, "Deployment", "StatefulSet")
}
