// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccEvictionPreview_moduleCountsTolerationsOfThePlan: the guide's module passes them to the preview, and limits,
// links and absent taints to the resource.
func TestAccEvictionPreview_moduleCountsTolerationsOfThePlan(t *testing.T) {
	t.Parallel()
	c, cli := acctest.Connect(t), acctest.NewCLI(t)
	pool, namespace := acctest.Name(t, "pool"), c.Namespace(t)
	c.Node(t, acctest.Node{Name: pool, Labels: map[string]string{"pool": pool}, Taints: []corev1.Taint{{Key: "old", Effect: corev1.TaintEffectPreferNoSchedule}}})
	c.Deployment(t, namespace, "web", 1, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"pool": pool} })
	c.Running(t, namespace, "web", 1)
	cli.Write(c.Provider(t), strings.NewReplacer("POOL", pool, "NAMESPACE", namespace).Replace(`
resource "kubetaint_workload_tolerations" "web" {
  workload    = { kind = "Deployment", namespace = "NAMESPACE", name = "web" }
  tolerations = [{ key = "dedicated", operator = "Exists" }]
}

module "gpu" {
  source        = "./modules/previewed-taints"
  node_selector = "pool=POOL"
  taints        = [{ key = "dedicated", value = "gpu", effect = "NoExecute" }]
  absent_taints = [{ key = "old", effect = "PreferNoSchedule" }]
  tolerated_by  = [kubetaint_workload_tolerations.web.id]
  evictions     = { max_pods = 0 }

  added_tolerations = [{
    kind        = "Deployment"
    namespace   = "NAMESPACE"
    name        = "web"
    tolerations = [{ key = "dedicated", operator = "Exists" }]
  }]
}
`))
	if err := os.CopyFS(filepath.Join(cli.Dir, "modules"), os.DirFS(filepath.Join(examples, "modules"))); err != nil {
		t.Fatal(err)
	}
	cli.MustRun("get")
	cli.MustRun("plan", "-input=false", "-out=plan")
	text := cli.MustRun("show", "-json", "plan")
	plan := map[string]any{}
	if err := json.Unmarshal([]byte(text), &plan); err != nil {
		t.Fatal(err)
	}
	if summary := summaryIn(t, plan); summary["stays"] != 1.0 || summary["evicted_now"] != 0.0 {
		t.Errorf("the preview counts %v", summary)
	}
	acctest.WantAll(t, text, `"max_pods":0`, `"tolerated_by":["terraform/workload_tolerations/Deployment/`+namespace+`/web/`)
	cli.MustRun("apply", "-input=false", "plan")
	if got := c.Taints(t, pool); got != "dedicated=gpu:NoExecute" {
		t.Errorf("the node has the taints %s", got)
	}
	cli.MustRun("destroy", "-input=false", "-auto-approve")
	if got := c.Taints(t, pool); got != "old:PreferNoSchedule" {
		t.Errorf("after the destroy, the node has the taints %s", got)
	}
}
