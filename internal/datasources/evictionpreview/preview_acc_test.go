// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

func TestAccEvictionPreview_resultsServeChecksPreconditionsAndOutputs(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	cli := acctest.NewCLI(t)
	node, namespace := acctest.Name(t, "node"), c.Namespace(t)
	c.Node(t, acctest.Node{Name: node})
	sixty := int64(60)
	c.Pod(t, namespace, "leaves", node, nil)
	c.Pod(t, namespace, "later", node, func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &sixty}}
	})
	c.Pod(t, namespace, "stays", node, func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	})
	cli.Write(c.Provider(t), fmt.Sprintf(`
data "kubetaint_eviction_preview" "this" {
  node_name = %q
  taints    = [provider::kubetaint::parse_taint("dedicated=gpu:NoExecute")]

  lifecycle {
    postcondition {
      condition     = self.summary.evicted_now == 1
      error_message = "postcondition"
    }
  }
}

check "nobody_leaves" {
  assert {
    condition     = data.kubetaint_eviction_preview.this.summary.evicted_now == 0
    error_message = "the check sees ${data.kubetaint_eviction_preview.this.summary.evicted_now} pod"
  }
}

output "pods" {
  value = { for p in data.kubetaint_eviction_preview.this.pods : p.name => "${p.verdict} ${p.after_seconds == null ? 0 : p.after_seconds} ${p.lost}" }
}

output "markdown" {
  value = data.kubetaint_eviction_preview.this.markdown
}
`, node))
	if out := cli.MustRun("apply", "-auto-approve", "-input=false"); !strings.Contains(out, "the check sees 1 pod") {
		t.Fatalf("the check did not fail:\n%s", out)
	}
	var pods map[string]string
	if err := json.Unmarshal([]byte(cli.MustRun("output", "-json", "pods")), &pods); err != nil {
		t.Fatal(err)
	}
	if len(pods) != 2 || pods["leaves"] != "evicted_now 0 true" || pods["later"] != "evicted_after 60 true" {
		t.Fatalf("pods are %v", pods)
	}
	if markdown := cli.MustRun("output", "-raw", "markdown"); !strings.Contains(markdown, namespace+"/leaves") || !strings.Contains(markdown, "60s") {
		t.Fatalf("the Markdown does not tell what happens:\n%s", markdown)
	}
}

func TestAccEvictionPreview_reservedTaintsAreWelcome(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	tf := &acctest.Terraform{Provider: c.Provider(t)}
	node, namespace := acctest.Name(t, "node"), c.Namespace(t)
	c.Node(t, acctest.Node{Name: node})
	c.Pod(t, namespace, "web", node, nil)
	preview, d := tf.Data(t, "kubetaint_eviction_preview", map[string]any{
		"node_name": node, "taints": acctest.Objects(t, "node.kubernetes.io/unreachable:NoExecute"),
	})
	if d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	// The admission plug-in DefaultTolerationSeconds has given the pod 300 s.
	pods := preview["pods"].([]any)
	if len(pods) != 1 || pods[0].(map[string]any)["verdict"] != "evicted_after" || pods[0].(map[string]any)["after_seconds"] != int64(300) {
		t.Fatalf("pods are %v", pods)
	}
}

func TestAccEvictionPreview_mirrorPodsOfStaticPodsStay(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	tf := &acctest.Terraform{Provider: c.Provider(t)}
	node, namespace := acctest.Name(t, "node"), c.Namespace(t)
	c.Node(t, acctest.Node{Name: node, Quiet: true})
	c.Pod(t, namespace, "static", node, func(p *corev1.Pod) {
		p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
		p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}}
	})
	acctest.Until(t, "the preview knows the pod", func(context.Context) (bool, error) {
		preview, d := tf.Data(t, "kubetaint_eviction_preview", map[string]any{
			"node_name": node, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute"), "include_unaffected": true,
		})
		pods, _ := preview["pods"].([]any)
		if d.Errors() != "" || len(pods) != 1 {
			return false, nil
		}
		if verdict := pods[0].(map[string]any)["verdict"]; verdict != "stays" {
			t.Fatalf("the verdict is %v", verdict)
		}
		return true, nil
	})
}
