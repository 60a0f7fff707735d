// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesetsdata_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// differences are those of all machines of a result, with machines counted: their
// names are random.
func differences(set map[string]any) map[string]int {
	out := map[string]int{}
	for _, one := range set["machines"].([]any) {
		for _, d := range one.(map[string]any)["differences"].([]any) {
			diff := d.(map[string]any)
			out[fmt.Sprintf("%s %s %s=%v:%s", diff["on"], diff["difference"], diff["key"], diff["value"], diff["effect"])]++
		}
	}
	return out
}

func TestAccMachineSets_tellWhatMachinesAndNodesLack(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	c.NeedMachines(t)
	tf := &acctest.Terraform{Provider: c.Provider(t)}
	namespace := c.Namespace(t)
	p := c.MachineSet(t, acctest.MachineSet{
		Namespace: namespace, Name: acctest.Name(t, "ms"), Replicas: 2, Taints: "vendor=x:NoSchedule", Labels: map[string]string{"pool": "gpu"},
		Annotations: map[string]string{
			"autoscaling.openshift.io/machineautoscaler":                      namespace + "/gpu",
			"machine.openshift.io/cluster-api-autoscaler-node-group-min-size": "1",
			"machine.openshift.io/cluster-api-autoscaler-node-group-max-size": "5",
		},
	})
	c.MachineSet(t, acctest.MachineSet{Namespace: namespace, Name: acctest.Name(t, "other")})
	i := &acctest.Instance{Type: "kubetaint_machine_set_taints"}
	if d := tf.Apply(t, i, map[string]any{
		"namespace": namespace, "name": p.Name, "taints": acctest.Objects(t, "team=a:NoSchedule"), "rollout": map[string]any{"strategy": "template_only"},
	}); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	read := func(selector any) []any {
		t.Helper()
		found, d := tf.Data(t, "kubetaint_machine_sets", map[string]any{"namespace": namespace, "selector": selector})
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		return found["machine_sets"].([]any)
	}
	if got := len(read(nil)); got != 2 {
		t.Fatalf("%d MachineSets are told of, want 2", got)
	}
	all := read("pool=gpu")
	if len(all) != 1 {
		t.Fatalf("%d MachineSets match, want one", len(all))
	}
	set := all[0].(map[string]any)
	owner, _ := tf.Attributes(t, i)["id"].(string)
	want := []any{
		map[string]any{"key": "team", "value": "a", "effect": "NoSchedule", "owner": owner},
		map[string]any{"key": "vendor", "value": "x", "effect": "NoSchedule", "owner": nil},
	}
	if diff := cmp.Diff(want, set["taints"]); diff != "" {
		t.Errorf("the taints: %s", diff)
	}
	if diff := cmp.Diff(map[string]int{"machine missing team=a:NoSchedule": 2, "node missing team=a:NoSchedule": 2}, differences(set)); diff != "" {
		t.Errorf("the differences: %s", diff)
	}
	if set["name"] != p.Name || fmt.Sprint(set["replicas"]) != "2" || set["rollout"] != nil {
		t.Errorf("it is %v with %v replicas and the rollout %v", set["name"], set["replicas"], set["rollout"])
	}
	if bounds, _ := set["autoscaler"].(map[string]any); fmt.Sprint(bounds["name"], bounds["min"], bounds["max"]) != fmt.Sprint(namespace+"/gpu", 1, 5) {
		t.Errorf("the autoscaler is %v", set["autoscaler"])
	}
	var names []string
	for _, one := range set["machines"].([]any) {
		machine := one.(map[string]any)
		names = append(names, machine["name"].(string))
		if machine["phase"] != "Running" || machine["node"] == nil || machine["deleting"] != false || machine["error"] != nil {
			t.Errorf("a machine is %v", machine)
		}
	}
	if diff := cmp.Diff(p.Names(), names); diff != "" {
		t.Errorf("the machines: %s", diff)
	}
	// Entries that the template no longer has are reported as well.
	if d := tf.Apply(t, i, nil); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	c.Change(t, p.Thing, "somebody", `{"spec":{"template":{"spec":{"taints":[]}}}}`)
	set = read("pool=gpu")[0].(map[string]any)
	if diff := cmp.Diff(map[string]int{"machine extra vendor=x:NoSchedule": 2, "node extra vendor=x:NoSchedule": 2}, differences(set)); diff != "" {
		t.Errorf("the differences once the template has none: %s", diff)
	}
}

// TestAccMachineSets_tellOfAnInterruptedRollout kills an apply in the middle.
func TestAccMachineSets_tellOfAnInterruptedRollout(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	c.NeedMachines(t)
	namespace := c.Namespace(t)
	p := c.MachineSet(t, acctest.MachineSet{Namespace: namespace, Name: acctest.Name(t, "ms"), Replicas: 2})
	cli, proxy := acctest.NewCLI(t), c.Proxy(t)
	config := fmt.Sprintf(`
resource "kubetaint_machine_set_taints" "this" {
  namespace = %q
  name      = %q
  taints    = [{ key = "team", value = "a", effect = "NoSchedule" }]
  rollout   = { strategy = "surge" }
}
`, namespace, p.Name)
	cli.Write(proxy.Provider(t, c), config)
	cli.MustRun("plan", "-input=false", "-out=plan")
	if !cli.ApplyAndKill(proxy, acctest.Request.Write, 1) {
		t.Fatal("the apply ended before it was killed")
	}
	tf := &acctest.Terraform{Provider: c.Provider(t)}
	found, d := tf.Data(t, "kubetaint_machine_sets", map[string]any{"namespace": namespace})
	if d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	set := found["machine_sets"].([]any)[0].(map[string]any)
	rollout, _ := set["rollout"].(map[string]any)
	if rollout["strategy"] != "surge" || fmt.Sprint(rollout["replicas"], set["replicas"]) != "2 3" || !strings.HasPrefix(fmt.Sprint(rollout["owner"]), "terraform/machine_set_taints/"+namespace) || rollout["started_at"] == nil {
		t.Errorf("the rollout is %v, with %v replicas", rollout, set["replicas"])
	}
	cli.MustRun("apply", "-auto-approve", "-input=false")
	p.Want(2, "team=a:NoSchedule")
	found, _ = tf.Data(t, "kubetaint_machine_sets", map[string]any{"namespace": namespace})
	set = found["machine_sets"].([]any)[0].(map[string]any)
	if set["rollout"] != nil || len(differences(set)) > 0 {
		t.Errorf("afterwards the rollout is %v and there are differences: %v", set["rollout"], differences(set))
	}
}

func TestAccMachineSets_withoutTheMachineAPISayThatThereIsNone(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	proxy := c.Proxy(t)
	proxy.Spoil(func(r acctest.Request) acctest.Fault {
		if strings.Contains(r.Path, "machine.openshift.io") {
			return 404
		}
		return acctest.None
	})
	tf := &acctest.Terraform{Provider: proxy.Provider(t, c)}
	_, d := tf.Data(t, "kubetaint_machine_sets", map[string]any{})
	for _, want := range []string{"Unable to find MachineSets: the cluster has no Machine API", "kubetaint_node_taints works on any cluster"} {
		if !strings.Contains(d.Errors(), want) {
			t.Errorf("it does not say %q: %s", want, d.Errors())
		}
	}
}
