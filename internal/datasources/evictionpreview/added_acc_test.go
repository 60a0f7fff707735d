// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

func TestAccEvictionPreview_tolerationsThatWouldBeAddedCount(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	tf := &acctest.Terraform{Provider: c.Provider(t)}
	node, namespace := acctest.Name(t, "node"), c.Namespace(t)
	c.Node(t, acctest.Node{Name: node, Labels: map[string]string{"only": node}})
	c.Deployment(t, namespace, "web", 2, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"only": node} })
	added := func(name string) []any {
		return []any{map[string]any{"kind": "Deployment", "namespace": namespace, "name": name, "tolerations": []any{
			map[string]any{"key": "dedicated", "value": "gpu", "effect": "NoExecute", "toleration_seconds": 60},
		}}}
	}
	config := map[string]any{"node_name": node, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute")}
	for name, want := range map[string]int64{"web": 0, "misspelled": 2} {
		preview, d := tf.Data(t, "kubetaint_eviction_preview", acctest.With(config, map[string]any{"added_tolerations": added(name)}))
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		summary := preview["summary"].(map[string]any)
		if summary["evicted_now"] != want || summary["evicted_after"] != 2-want {
			t.Errorf("with tolerations for %s the summary is %v", name, summary)
		}
		if warned := strings.Contains(d.Warnings(), "No pod is owned by Deployment "+namespace+"/misspelled"); warned != (name == "misspelled") {
			t.Errorf("with tolerations for %s the warnings are %q", name, d.Warnings())
		}
	}
}

// TestAccEvictionPreview_addedTolerationsMayBeUnknown: a variable is, when a configuration
// is checked.
func TestAccEvictionPreview_addedTolerationsMayBeUnknown(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	cli, node := acctest.NewCLI(t), acctest.Name(t, "node")
	c.Node(t, acctest.Node{Name: node})
	cli.Write(c.Provider(t), `variable "extra" {
  type = list(object({ kind = string, namespace = string, name = string, tolerations = set(any) }))
}

data "kubetaint_eviction_preview" "this" {
  node_name         = "`+node+`"
  taints            = [{ key = "dedicated", value = "gpu", effect = "NoExecute" }]
  added_tolerations = var.extra
}
`)
	cli.MustRun("validate")
	cli.MustRun("plan", "-input=false", "-var", `extra=[{kind="Deployment",namespace="x",name="y",tolerations=[{key="dedicated",operator="Exists"}]}]`)
}
