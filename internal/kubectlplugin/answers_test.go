// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubectlplugin_test

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/golden"
)

// TestPreview_answers has the whole answer of each command and format, with the exit code.
func TestPreview_answers(t *testing.T) {
	t.Parallel()
	apply := []string{"preview", "nodes", "-l", "pool=gpu", "dedicated=gpu:NoExecute"}
	for name, args := range map[string][]string{
		"nodes.table":      apply,
		"nodes.wide":       append(apply, "-o", "wide"),
		"nodes.json":       append(apply, "-o", "json"),
		"nodes.yaml":       append(apply, "-o", "yaml"),
		"nodes.markdown":   append(apply, "-o=markdown"),
		"nodes.jsonpath":   append(apply, `-o=jsonpath={range .pods[?(@.lost==true)]}{.namespace}/{.name}{"\n"}{end}`),
		"nodes.template":   append(apply, "--template={{.apiVersion}} {{.kind}}: {{.summary.pending}} pending\n", "-o=go-template"),
		"nodes-names":      {"preview", "nodes", "worker-2", "worker-1", "dedicated=gpu:NoExecute", "dedicated=gpu:NoSchedule"},
		"nodes-removal":    {"preview", "nodes", "worker-3", "old-", "new=1:NoSchedule"},
		"nodes-no-match":   {"preview", "nodes", "-l", "pool=none", "dedicated=gpu:NoExecute"},
		"nodes-already":    {"preview", "node", "worker-3", "old:NoSchedule"},
		"drain":            {"preview", "drain", "worker-2"},
		"drain-no-match":   {"preview", "drain", "-l", "pool=none"},
		"drain.json":       {"preview", "drain", "worker-2", "-o", "json"},
		"drain.markdown":   {"preview", "drain", "worker-2", "-o", "markdown"},
		"tolerates":        {"tolerates", "-n", "shop", "statefulset/cache", "dedicated=gpu:NoExecute", "old:NoSchedule"},
		"tolerates.json":   {"tolerates", "-n", "shop", "pod/cache-0", "dedicated=gpu:NoExecute", "-o", "json"},
		"untolerated":      {"untolerated", "-n", "shop", "train-0"},
		"untolerated.yaml": {"untolerated", "-n", "shop", "statefulsets.apps/train", "worker-3", "worker-1", "-o", "yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
				got := shop(t, c).run(t, args...)
				golden.Check(t, name+".golden", got.String())
			})
		})
	}
}

// TestPreview_theGuideShowsAnAnswer: the text is in the guide "Preview evictions with kubectl".
func TestPreview_theGuideShowsAnAnswer(t *testing.T) {
	t.Parallel()
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		golden.Check(t, "guide.golden", shop(t, c).run(t, "preview", "nodes", "-l", "pool=gpu", "dedicated=gpu:NoExecute").out)
	})
}
