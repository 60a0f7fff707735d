// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccEvictionPreview_machineSetsByStrategy asks by a real command line what each
// strategy would do: what runs, and by what it leaves, is held against the controllers
// by TestAccMachineSetTaints_predictions.
func TestAccEvictionPreview_machineSetsByStrategy(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	c.NeedMachines(t)
	namespace, apps := c.Namespace(t), c.Namespace(t)
	p := c.MachineSet(t, acctest.MachineSet{Namespace: namespace, Name: acctest.Name(t, "ms"), Replicas: 1, Labels: map[string]string{"role": "gpu"}})
	c.Deployment(t, apps, "web", 1, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"pool": p.Name} })
	c.DaemonSet(t, apps, "agent", 1, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"pool": p.Name} })
	cli := acctest.NewCLI(t)
	cli.Write(c.Provider(t), fmt.Sprintf(`
# What is not known before apply must not be refused.
resource "terraform_data" "strategy" {
  input = "rolling"
}

data "kubetaint_eviction_preview" "this" {
  for_each = toset(["template_only", "in_place", "surge", "scale_to_zero"])
  machine_sets = {
    namespace = %[1]q
    selector  = "role=gpu"
    rollout   = { strategy = each.key }
  }
  taints = [provider::kubetaint::parse_taint("team=a:NoExecute")]
}

data "kubetaint_eviction_preview" "later" {
  machine_sets = {
    namespace = %[1]q
    name      = %[2]q
    rollout   = { strategy = terraform_data.strategy.output, max_unavailable = 2 }
  }
  taints = [provider::kubetaint::parse_taint("team=a:NoExecute")]
}

output "verdicts" {
  value = merge({ for name, d in data.kubetaint_eviction_preview.this : name => join(" ", [for p in d.pods : "${p.owner} ${p.verdict}"]) },
    { rolling = join(" ", [for p in data.kubetaint_eviction_preview.later.pods : "${p.owner} ${p.verdict}"]) })
}
`, namespace, p.Name))
	cli.MustRun("apply", "-auto-approve", "-input=false")
	out := cli.MustRun("output", "verdicts")
	for strategy, want := range map[string]string{
		"template_only": "", "in_place": "DaemonSet/agent evicted_now Deployment/web evicted_now",
		"rolling": "DaemonSet/agent stays Deployment/web drained", "surge": "DaemonSet/agent stays Deployment/web drained", "scale_to_zero": "DaemonSet/agent stays Deployment/web drained",
	} {
		found := false
		for line := range strings.Lines(out) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), " = ")
			found = found || strings.Trim(strings.TrimSpace(name), `"`) == strategy && strings.Trim(value, `"`) == want
		}
		if !found {
			t.Errorf("%s: want %q in\n%s", strategy, want, out)
		}
	}
}

// TestAccEvictionPreview_machineSetsThatAreRefused are previewed all the same, with
// what the resource would say to them.
func TestAccEvictionPreview_machineSetsThatAreRefused(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	c.NeedMachines(t)
	tf, namespace := &acctest.Terraform{Provider: c.Provider(t)}, c.Namespace(t)
	p := c.MachineSet(t, acctest.MachineSet{Namespace: namespace, Name: acctest.Name(t, "ms"), Replicas: 1, Annotations: map[string]string{
		"autoscaling.openshift.io/machineautoscaler": "openshift-machine-api/gpu", "machine.openshift.io/cluster-api-autoscaler-node-group-max-size": "1",
		"capacity.cluster-autoscaler.kubernetes.io/taints": "team=old:NoExecute",
	}})
	good := map[string]any{"namespace": namespace, "name": p.Name, "rollout": map[string]any{"strategy": "surge"}}
	ask := func(change map[string]any, more map[string]any) (map[string]any, acctest.Diagnostics) {
		return tf.Data(t, "kubetaint_eviction_preview", acctest.With(map[string]any{"machine_sets": acctest.With(good, change), "taints": acctest.Objects(t, "team=a:NoExecute")}, more))
	}
	seen, d := ask(nil, nil)
	for _, want := range []string{"is refused: MachineAutoscaler \"openshift-machine-api/gpu\" has a maximum of 1", `taints of the MachineSet is "team=old:NoExecute"`} {
		if !strings.Contains(d.Warnings(), want) || d.Errors() != "" {
			t.Errorf("nothing says %q: %s%s", want, d.Errors(), d.Warnings())
		}
	}
	if markdown := fmt.Sprint(seen["markdown"]); !strings.Contains(markdown, "**What may go wrong**") || !strings.Contains(markdown, "replaces machines, and evicts no pods") {
		t.Errorf("the Markdown is %s", markdown)
	}
	for name, tt := range map[string]struct {
		change, more map[string]any
		want         []string
	}{
		"nodes and MachineSets":           {nil, map[string]any{"node_name": "worker-1"}, []string{"node_name", "machine_sets"}},
		"neither a name nor a selector":   {map[string]any{"name": nil}, nil, []string{"name", "selector"}},
		"both a name and a selector":      {map[string]any{"selector": "a=b"}, nil, []string{"name", "selector"}},
		"a selector that does not parse":  {map[string]any{"name": nil, "selector": "=="}, nil, []string{`AttributeName("selector")`}},
		"a strategy that there is not":    {map[string]any{"rollout": map[string]any{"strategy": "recreate"}}, nil, []string{`AttributeName("strategy")`}},
		"a parameter of another strategy": {map[string]any{"rollout": map[string]any{"strategy": "surge", "max_unavailable": 2}}, nil, []string{`AttributeName("max_unavailable")`, "is only for the strategy rolling"}},
		"a MachineSet that there is not":  {map[string]any{"name": "nobody"}, nil, []string{`AttributeName("name")`, "no MachineSet of this name"}},
	} {
		_, d := ask(tt.change, tt.more)
		for _, want := range tt.want {
			if !strings.Contains(d.Errors(), want) {
				t.Errorf("%s: nothing says %q in %q", name, want, d.Errors())
			}
		}
	}
}
