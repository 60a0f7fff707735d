// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// scenario is an example that needs a cluster alone.
type scenario struct {
	// files are those of the examples' folder that make one configuration.
	files []string
	// pool is the label of the nodes, KEY=VALUE.
	pool string
	// own are texts of the configuration that name what others have, too: OWN is the test's name.
	own []string
	// workloads are KIND/NAME, with a label after a space where a selector matches it.
	workloads []string
	// before are the node's taints, and taints those that the example comes to.
	before []corev1.Taint
	taints string
	// preview is set where an output has the preview of a change, which is another one after it.
	preview bool
}

// applied are these examples.
var applied = map[string]scenario{
	"draining a pool": {
		files: []string{"scenarios/draining-a-pool/main.tf"}, pool: "pool=old", own: []string{`Deployment/shop/`, `Deployment/OWN/`, `StatefulSet/data/`, `StatefulSet/OWN/`},
		workloads: []string{"Deployment/web", "StatefulSet/db"}, taints: "pool-retired:NoExecute, pool-retired:NoSchedule",
	},
	"GPU nodes": {
		files: []string{"scenarios/gpu-nodes/main.tf"}, pool: "accelerator=nvidia", own: []string{`"gpu-operator"`, `"OWN"`, `"ml"`, `"OWN"`},
		workloads: []string{"DaemonSet/nvidia-device-plugin", "Deployment/training needs=gpu"}, taints: "nvidia.com/gpu=present:NoSchedule", preview: true,
	},
	"a single node": {
		files: []string{"scenarios/single-node/main.tf"}, pool: "pool=OWN", own: []string{`node_selector = "node-role.kubernetes.io/control-plane"`, `node_selector = "node-role.kubernetes.io/control-plane,pool=OWN"`},
		before: []corev1.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}},
	},
	"special hardware": {
		files: []string{"scenarios/special-hardware/main.tf"}, pool: "accelerator=nvidia",
		own:       []string{`"gpu-operator"`, `"OWN"`, `name = "gpu"`, `name = "OWN"`, `requests = ["nvidia.com/gpu"]`, `requests = ["example.com/OWN"]`},
		workloads: []string{"DaemonSet/nvidia-device-plugin"}, taints: "nvidia.com/gpu=present:NoSchedule",
	},
	"nodes of a team": {
		files: []string{"scenarios/team-nodes/main.tf"}, pool: "pool=shop", own: []string{`= "shop"`, `= "OWN"`, `["shop"`, `["OWN"`, `"platform"`, `"OWN"`},
		workloads: []string{"Deployment/checkout", "Deployment/cart", "Deployment/search", "DaemonSet/agent tier=agent"}, taints: "dedicated=OWN:NoExecute",
	},
	"linked taints": {
		files: []string{"guides/changing-taints/linked.tf"}, pool: "pool=a", own: []string{`"shop"`, `"OWN"`, `"platform"`, `"OWN"`},
		workloads: []string{"Deployment/checkout", "DaemonSet/log-shipper"}, taints: "team=a:NoExecute",
	},
	"the first steps": {
		files: []string{"guides/getting-started/main.tf", "guides/getting-started/tolerations.tf"}, pool: "pool=OWN", own: []string{`"kubetaint-worker"`, `"OWN"`, `"default"`, `"OWN"`},
		workloads: []string{"Deployment/web"}, taints: "dedicated=demo:NoExecute",
	},
	"approved evictions": {
		files: []string{"guides/running-in-ci/approved.tf"}, pool: "pool=ml", own: []string{`"ml/*"`, `"OWN/*"`, `"shop/Deployment/web"`, `"OWN/Deployment/web"`},
		workloads: []string{"Deployment/web"}, taints: "dedicated=ml:NoExecute",
	},
	"limits on evictions": {files: []string{"guides/running-in-ci/budget.tf"}, pool: "pool=spot", workloads: []string{"Deployment/web"}, taints: "spot:NoExecute"},
}

// elsewhere are the scenarios that other tests apply.
var elsewhere = map[string]bool{
	// TestAccDedicatedNodes_infraNodes
	"infra-nodes": true,
	// make demo-openshift
	"infra-machines": true,
}

// ownBlocks are the blocks that the test replaces.
var ownBlocks = regexp.MustCompile(`(?ms)^terraform \{.*?^\}\n|^provider "kubetaint" \{(?:\}|.*?^\})\n`)

// read returns the configuration of a scenario with names of the test's own.
func (s scenario) read(t *testing.T, own string) string {
	t.Helper()
	var all strings.Builder
	for _, file := range s.files {
		text, err := os.ReadFile(filepath.Join(repository, "examples", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		all.Write(ownBlocks.ReplaceAll(text, nil))
	}
	key, _, _ := strings.Cut(s.pool, "=")
	config := all.String()
	for i := 0; i < len(s.own); i += 2 {
		if !strings.Contains(config, s.own[i]) {
			t.Fatalf("the example has no %s:\n%s", s.own[i], config)
		}
	}
	config = strings.NewReplacer(append([]string{`"` + s.pool + `"`, `"` + key + `=OWN"`}, s.own...)...).Replace(config)
	return strings.ReplaceAll(config, "OWN", own)
}

// TestAccScenarios_examplesHoldWhatTheyShow applies each example that needs a cluster alone, finds nothing
// to do after that, and destroys it.
func TestAccScenarios_examplesHoldWhatTheyShow(t *testing.T) {
	t.Parallel()
	all := map[string]bool{}
	for name, s := range applied {
		for _, file := range s.files {
			all[filepath.Base(filepath.Dir(file))] = true
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, cli := acctest.Connect(t), acctest.NewCLI(t)
			j := job{c: c, cli: cli, own: c.Namespace(t)}
			key, _, _ := strings.Cut(s.pool, "=")
			j.node(t, key, s.before...)
			for _, w := range s.workloads {
				j.workload(t, key, w)
			}
			cli.Write(c.Provider(t), s.read(t, j.own))
			cli.MustRun("plan", "-input=false", "-out=plan")
			cli.MustRun("apply", "-input=false", "plan")
			if s.preview {
				cli.MustRun("apply", "-input=false", "-auto-approve")
			}
			cli.WantEmptyPlan()
			j.wantTaints(t, j.own, strings.ReplaceAll(s.taints, "OWN", j.own))
			cli.MustRun("destroy", "-input=false", "-auto-approve")
			if after := c.Taints(t, j.own); len(s.before) == 0 && after != "" || len(s.before) > 0 && after == "" {
				t.Errorf("after the destroy, the node has the taints %q", after)
			}
		})
	}
	entries, err := os.ReadDir(filepath.Join(repository, "examples", "scenarios"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !all[entry.Name()] && !elsewhere[entry.Name()] {
			t.Errorf("no test applies the scenario %s", entry.Name())
		}
	}
}

// workload makes a workload on the test's node.
func (j job) workload(t *testing.T, pool, written string) {
	t.Helper()
	written, selected, labelled := strings.Cut(written, " ")
	kind, name, _ := strings.Cut(written, "/")
	switch kind {
	case "DaemonSet":
		j.c.DaemonSet(t, j.own, name, 1, j.onlyOn(pool))
	case "StatefulSet":
		j.c.StatefulSet(t, j.own, name, 1, j.onlyOn(pool))
	default:
		j.c.Deployment(t, j.own, name, 1, j.onlyOn(pool))
	}
	if labelled {
		key, value, _ := strings.Cut(selected, "=")
		j.c.Change(t, acctest.Thing{APIVersion: "apps/v1", Kind: kind, Namespace: j.own, Name: name}, "kubectl", `{"metadata":{"labels":{"`+key+`":"`+value+`"}}}`)
	}
}
