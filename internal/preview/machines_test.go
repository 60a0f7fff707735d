// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package preview

import (
	"strings"
	"testing"

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
	for golds, f := range map[string]*MachineSets{
		"machines-rolling":       {Target: machineset.Target{Namespace: "openshift-machine-api", Selector: role}, Rollout: machineset.Rollout{Strategy: machineset.Rolling, MaxUnavailable: 1}},
		"machines-scale-to-zero": {Target: machineset.Target{Namespace: "openshift-machine-api", Name: "gpu-a"}, Rollout: machineset.Rollout{Strategy: machineset.ScaleToZero}},
		"machines-in-place":      {Target: machineset.Target{Namespace: "openshift-machine-api", Name: "gpu-b"}, Rollout: machineset.Rollout{Strategy: machineset.InPlace}},
		"machines-template-only": {Target: machineset.Target{Namespace: "openshift-machine-api", Name: "gpu-b"}, Rollout: machineset.Rollout{Strategy: machineset.TemplateOnly}},
		"machines-none":          {Target: machineset.Target{Namespace: "elsewhere", Selector: role}, Rollout: machineset.Rollout{Strategy: machineset.Rolling, MaxUnavailable: 1}},
	} {
		t.Run(golds, func(t *testing.T) {
			t.Parallel()
			s, all := station()
			golden.Check(t, golds+".golden.md", WhatIf{MachineSets: f, Taints: []corev1.Taint{gpu}}.imagine(s, all, eviction.ComparisonOff, 1).Markdown())
		})
	}
}

// A rollout that is refused, or may be held up, is no note, even where no pod is evicted.
func TestMarkdown_doubtsAboutARolloutAreAWarning(t *testing.T) {
	t.Parallel()
	for hive, want := range map[bool]string{false: "> [!NOTE]\n", true: "> [!WARNING]\n"} {
		idle := machines("idle", node("idle"))
		idle.Set.Hive = hive
		f := &MachineSets{Target: machineset.Target{Namespace: idle.Set.Namespace, Name: "idle"}, Rollout: machineset.Rollout{Strategy: machineset.InPlace}}
		got := WhatIf{MachineSets: f, Taints: []corev1.Taint{gpu}}.imagine(cluster([]*snapshot.Node{idle.Nodes["idle"]}), []machineset.Observed{idle}, eviction.ComparisonOff, 1).Markdown()
		if !strings.HasPrefix(got, want) || hive != strings.Contains(got, "**What may go wrong**") {
			t.Errorf("Hive manages it: %t, and the preview is\n%s", hive, got)
		}
	}
}

// Doubts are refusals of a rollout and obstacles in its way, and nothing else.
func TestImagine_doubts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		set    string
		change func(all []machineset.Observed)
		want   []string
	}{
		"what the resource refuses":           {"gpu-b", func(all []machineset.Observed) { all[1].Set.Hive = true }, []string{`MachineSet "openshift-machine-api/gpu-b" is refused: Hive manages this MachineSet`}},
		"what holds the machines up":          {"gpu-a", nil, []string{"waits for the lifecycle hook Migrate of storage", `PodDisruptionBudget "shop/train" allows no eviction`}},
		"nothing where nothing holds them up": {"gpu-b", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, all := station()
			if tt.change != nil {
				tt.change(all)
			}
			f := &MachineSets{Target: machineset.Target{Namespace: "openshift-machine-api", Name: tt.set}, Rollout: machineset.Rollout{Strategy: machineset.ScaleToZero}}
			got := strings.Join(WhatIf{MachineSets: f, Taints: []corev1.Taint{gpu}}.imagine(s, all, eviction.ComparisonOff, 1).Doubts, "\n")
			if len(tt.want) == 0 && got != "" {
				t.Errorf("it says %s", got)
			}
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("nothing says %q in %s", want, got)
				}
			}
		})
	}
}
