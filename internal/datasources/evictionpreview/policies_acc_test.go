// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// examples is the folder of what guides consist of.
var examples = filepath.Join("..", "..", "..", "examples")

// TestAccEvictionPreview_policiesRefusePlans has conftest and Open Policy Agent judge plans of the
// guide's module, which the real command line has made.
func TestAccEvictionPreview_policiesRefusePlans(t *testing.T) {
	t.Parallel()
	opa := acctest.OnRequest(t, "KUBETAINT_OPA", "Open Policy Agent", "testacc-guides")
	conftest := acctest.OnRequest(t, "KUBETAINT_CONFTEST", "conftest", "testacc-guides")
	use := usage(t)
	const alone = `
resource "kubetaint_node_taints" "alone" {
  node_selector = "pool=gpu"
  taints        = [{ key = "dedicated", value = "gpu", effect = "NoExecute" }]
}
`
	const absent = `
resource "kubetaint_node_taints" "absent" {
  node_selector = "pool=gpu"
  absent_taints = [{ key = "new", effect = "NoSchedule" }]
}

data "kubetaint_eviction_preview" "absent" {
  node_selector = "pool=gpu"
  absent_taints = [{ key = "new", effect = "NoSchedule" }]
}
`
	// The module reads its preview only at apply.
	late := strings.Replace(use, "source ", "depends_on = [terraform_data.new]\n  source ", 1) + `
resource "terraform_data" "new" {}
`
	const unpreviewed = "the plan has no kubetaint_eviction_preview of these nodes and taints"
	for name, tt := range map[string]struct {
		config string
		// lost are bare pods that are evicted.
		lost   int
		change func(summary map[string]any)
		want   []string
	}{
		"a plan that evicts no pod is allowed":     {use, 0, nil, nil},
		"a lost pod":                               {use, 1, nil, []string{"module.gpu.data.kubetaint_eviction_preview.this: lost pods: 1, the limit is 0"}},
		"more pods than the limit":                 {use, 0, set("evicted_now", 6, "evicted_after", 3, "unknown", 1, "drained", 1), []string{"module.gpu.data.kubetaint_eviction_preview.this: evicted pods: 11, the limit is 10"}},
		"as many pods as the limit are allowed":    {use, 0, set("evicted_now", 6, "evicted_after", 3, "preempted", 1), nil},
		"a replacement that may stay Pending":      {use, 0, set("pending_max", 2), []string{"module.gpu.data.kubetaint_eviction_preview.this: pending pods: 2, the limit is 0"}},
		"taints without a preview":                 {alone, 0, nil, []string{"kubetaint_node_taints.alone: " + unpreviewed}},
		"a preview that is read only at apply":     {late, 0, nil, []string{"module.gpu.kubetaint_node_taints.this: " + unpreviewed}},
		"absent taints with a preview of the same": {absent, 0, nil, nil},
		"a preview of other taints":                {use + strings.Replace(alone, "NoExecute", "NoSchedule", 1), 0, nil, []string{"kubetaint_node_taints.alone: " + unpreviewed}},
		"a preview of other nodes":                 {use + strings.Replace(alone, "pool=gpu", "pool=gpu,large", 1), 0, nil, []string{"kubetaint_node_taints.alone: " + unpreviewed}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, cli := acctest.Connect(t), acctest.NewCLI(t)
			pool, namespace := acctest.Name(t, "pool"), c.Namespace(t)
			c.Node(t, acctest.Node{Name: pool, Labels: map[string]string{"pool": pool}})
			c.Pod(t, namespace, "stays", pool, func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} })
			if tt.lost > 0 {
				c.Pod(t, namespace, "leaves", pool, nil)
			}
			cli.Write(c.Provider(t), strings.ReplaceAll(tt.config, "pool=gpu", "pool="+pool))
			if err := os.CopyFS(filepath.Join(cli.Dir, "modules"), os.DirFS(filepath.Join(examples, "modules"))); err != nil {
				t.Fatal(err)
			}
			cli.MustRun("get")
			cli.MustRun("plan", "-input=false", "-out=plan")
			plan := map[string]any{}
			if err := json.Unmarshal([]byte(cli.MustRun("show", "-json", "plan")), &plan); err != nil {
				t.Fatal(err)
			}
			if tt.change != nil {
				tt.change(summaryIn(t, plan))
			}
			file := written(t, cli.Dir, plan)
			if got := denied(t, opa, file); !slices.Equal(got, tt.want) {
				t.Errorf("OPA says %q, want %q", got, tt.want)
			}
			if got := failed(t, conftest, file); !slices.Equal(got, tt.want) {
				t.Errorf("conftest says %q, want %q", got, tt.want)
			}
		})
	}
}

// usage is how the guide calls the module.
func usage(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "templates", "guides", "check-plans-with-opa-or-sentinel.md.tmpl"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(raw), "```hcl\nmodule ")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatal("the guide does not call the module")
	}
	return "module " + block
}

// set changes counts of a summary.
func set(pairs ...any) func(map[string]any) {
	return func(summary map[string]any) {
		for i := 0; i < len(pairs); i += 2 {
			summary[pairs[i].(string)] = pairs[i+1]
		}
	}
}

// summaryIn returns the summary of the one preview of a plan.
func summaryIn(t *testing.T, value any) map[string]any {
	t.Helper()
	switch value := value.(type) {
	case map[string]any:
		if value["type"] == "kubetaint_eviction_preview" && value["mode"] == "data" {
			return value["values"].(map[string]any)["summary"].(map[string]any)
		}
		for name, one := range value {
			if name == "configuration" {
				continue
			}
			if found := summaryIn(t, one); found != nil {
				return found
			}
		}
	case []any:
		for _, one := range value {
			if found := summaryIn(t, one); found != nil {
				return found
			}
		}
	}
	return nil
}

// written returns the file of a plan that policies read.
func written(t *testing.T, dir string, plan map[string]any) string {
	t.Helper()
	raw, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "plan.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// policies is the folder of the policies of the guide.
var policies = filepath.Join(examples, "policies", "opa")

// denied returns what the policy says of a plan, asked by Open Policy Agent.
func denied(t *testing.T, opa, file string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), opa, "eval", "--format=json", "--strict", "--input", file, "--data", policies, "data.main.deny").Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var judged struct {
		Result []struct {
			Expressions []struct{ Value []string }
		}
	}
	if err := json.Unmarshal(out, &judged); err != nil || len(judged.Result) != 1 || len(judged.Result[0].Expressions) != 1 {
		t.Fatalf("OPA prints %s", out)
	}
	return judged.Result[0].Expressions[0].Value
}

// failed returns what the policy says of a plan, asked by conftest, which must fail if that is something.
func failed(t *testing.T, conftest, file string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), conftest, "test", "--policy", policies, "--output=json", file).Output()
	var judged []struct {
		Failures []struct{ Msg string }
	}
	if json.Unmarshal(out, &judged) != nil || len(judged) != 1 {
		t.Fatalf("%v: conftest prints %s", err, out)
	}
	var said []string
	for _, one := range judged[0].Failures {
		said = append(said, one.Msg)
	}
	if (err != nil) != (len(said) > 0) {
		t.Errorf("conftest ends with %v and says %q", err, said)
	}
	return said
}
