// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/golden"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// machines is a MachineSet with a machine for each of these nodes.
func machines(name string, nodes ...*snapshot.Node) machineset.Observed {
	o := machineset.Observed{
		Set:   &machineset.Set{Namespace: "openshift-machine-api", Name: name, Replicas: len(nodes), Labels: map[string]string{"role": "gpu"}, Observed: true},
		Nodes: map[string]*snapshot.Node{},
	}
	for _, n := range nodes {
		n.Allocatable = &snapshot.Resources{MilliCPU: 8000, Memory: 32 << 30, Pods: 100}
		o.Machines = append(o.Machines, &machineset.Machine{Name: name + "-" + n.Name, Phase: "Running", Node: n.Name})
		o.Nodes[n.Name] = n
	}
	return o
}

// station is two MachineSets and pods of which some fit only there.
func station() (*snapshot.Snapshot, []machineset.Observed) {
	train := pod("shop", "train", "train-1", "a", corev1.Toleration{Key: gpu.Key, Operator: corev1.TolerationOpExists})
	train.Scheduling.NodeSelector = map[string]string{"pool": "gpu"}
	stuck := pod("shop", "queue", "queue-1", "b")
	stuck.Scheduling.NodeSelector = map[string]string{"pool": "gpu"}
	agent := pod("ops", "agent", "agent-1", "a")
	agent.Controller.Kind = "DaemonSet"
	s := cluster([]*snapshot.Node{node("a"), node("b"), {Name: "c"}}, train, stuck, agent, pod("shop", "web", "web-1", "b"), pod("ops", "", "debug", "a"))
	s.Budgets = snapshot.Budgets{"shop": {{Name: "train", Selector: labels.SelectorFromSet(labels.Set{"app": "train"}), Most: new(int32(0))}}}
	gpus := machines("gpu-a", s.Nodes["a"])
	gpus.Machines[0].Hooks = []string{"Migrate of storage"}
	return s, []machineset.Observed{gpus, machines("gpu-b", s.Nodes["b"]), machines("other")}
}

func TestMarkdown_machineSets(t *testing.T) {
	t.Parallel()
	role := labels.SelectorFromSet(labels.Set{"role": "gpu"})
	for golds, f := range map[string]*fleet{
		"machines-rolling":       {target: machineset.Target{Namespace: "openshift-machine-api", Selector: role}, rollout: machineset.Rollout{Strategy: machineset.Rolling, MaxUnavailable: 1}},
		"machines-scale-to-zero": {target: machineset.Target{Namespace: "openshift-machine-api", Name: "gpu-a"}, rollout: machineset.Rollout{Strategy: machineset.ScaleToZero}},
		"machines-in-place":      {target: machineset.Target{Namespace: "openshift-machine-api", Name: "gpu-b"}, rollout: machineset.Rollout{Strategy: machineset.InPlace}},
		"machines-template-only": {target: machineset.Target{Namespace: "openshift-machine-api", Name: "gpu-b"}, rollout: machineset.Rollout{Strategy: machineset.TemplateOnly}},
		"machines-none":          {target: machineset.Target{Namespace: "elsewhere", Selector: role}, rollout: machineset.Rollout{Strategy: machineset.Rolling, MaxUnavailable: 1}},
	} {
		t.Run(golds, func(t *testing.T) {
			t.Parallel()
			s, all := station()
			golden.Check(t, golds+".golden.md", whatIf{fleet: f, taints: []corev1.Taint{gpu}}.imagine(s, all, eviction.ComparisonOff, 1).markdown())
		})
	}
}

// A rollout that is refused, or may be held up, is no note, even where no pod is evicted.
func TestMarkdown_doubtsAboutARolloutAreAWarning(t *testing.T) {
	t.Parallel()
	for hive, want := range map[bool]string{false: "> [!NOTE]\n", true: "> [!WARNING]\n"} {
		idle := machines("idle", node("idle"))
		idle.Set.Hive = hive
		f := &fleet{target: machineset.Target{Namespace: idle.Set.Namespace, Name: "idle"}, rollout: machineset.Rollout{Strategy: machineset.InPlace}}
		got := whatIf{fleet: f, taints: []corev1.Taint{gpu}}.imagine(cluster([]*snapshot.Node{idle.Nodes["idle"]}), []machineset.Observed{idle}, eviction.ComparisonOff, 1).markdown()
		if !strings.HasPrefix(got, want) || hive != strings.Contains(got, "**What may go wrong**") {
			t.Errorf("Hive manages it: %t, and the preview is\n%s", hive, got)
		}
	}
}

func TestImagine_remarks(t *testing.T) {
	t.Parallel()
	rolling := machineset.Rollout{Strategy: machineset.ScaleToZero}
	for name, tt := range map[string]struct {
		fleet  *fleet
		change func(all []machineset.Observed)
		want   []string
		fails  bool
	}{
		"a MachineSet that there is not":      {&fleet{target: machineset.Target{Namespace: "openshift-machine-api", Name: "none"}, rollout: rolling}, nil, []string{`Unable to preview MachineSet "openshift-machine-api/none"`}, true},
		"a selector that matches nothing":     {&fleet{target: machineset.Target{Namespace: "openshift-machine-api", Selector: labels.SelectorFromSet(labels.Set{"role": "none"})}, rollout: rolling}, nil, []string{`No MachineSet matches "role=none": applying dedicated=gpu:NoExecute changes nothing`}, false},
		"what the resource refuses":           {&fleet{target: machineset.Target{Namespace: "openshift-machine-api", Name: "gpu-b"}, rollout: rolling}, func(all []machineset.Observed) { all[1].Set.Hive = true }, []string{`MachineSet "openshift-machine-api/gpu-b" is refused: Hive manages this MachineSet`}, false},
		"what holds the machines up":          {&fleet{target: machineset.Target{Namespace: "openshift-machine-api", Name: "gpu-a"}, rollout: rolling}, nil, []string{"waits for the lifecycle hook Migrate of storage", `PodDisruptionBudget "shop/train" allows no eviction`}, false},
		"nothing where nothing holds them up": {&fleet{target: machineset.Target{Namespace: "openshift-machine-api", Name: "gpu-b"}, rollout: rolling}, nil, nil, false},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			s, all := station()
			if tt.change != nil {
				tt.change(all)
			}
			var diags diag.Diagnostics
			w := whatIf{fleet: tt.fleet, taints: []corev1.Taint{gpu}}.imagine(s, all, eviction.ComparisonOff, 1)
			w.fleet.remark(w.nothing(), &diags)
			text := ""
			for _, d := range diags {
				text += d.Summary() + "\n" + d.Detail() + "\n"
			}
			if diags.HasError() != tt.fails || len(tt.want) == 0 && text != "" {
				t.Errorf("it says %s", text)
			}
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("nothing says %q in %s", want, text)
				}
			}
		})
	}
}
