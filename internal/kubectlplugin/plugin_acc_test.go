// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubectlplugin_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccPlugin_theRoleForPlansIsEnough on a real API server: the plugin's answers are those of the
// provider, discovery finds kubectl's short names, and every request is a read.
func TestAccPlugin_theRoleForPlansIsEnough(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	pool, apps := acctest.Name(t, "pool"), c.Namespace(t)
	c.Node(t, acctest.Node{Name: pool, Labels: map[string]string{"plugin": pool}})
	c.Deployment(t, apps, "web", 2, func(spec *corev1.PodSpec) {
		spec.NodeSelector = map[string]string{"plugin": pool}
		spec.Tolerations = []corev1.Toleration{{Key: "other", Operator: corev1.TolerationOpExists}}
	})
	// Both must read one cluster: pods and nodes of other tests count in it, too.
	moment := c.Moment(t)
	r, tf := newReader(t, moment), &acctest.Terraform{Provider: moment.Provider(t)}
	want, d := tf.Data(t, "kubetaint_eviction_preview", map[string]any{"node_selector": "plugin=" + pool, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute")})
	if d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	got := r.run(t, "preview", "nodes", "-l", "plugin="+pool, "dedicated=gpu:NoExecute", "-o", "json", "--max-pods=1")
	if got.code != 2 || got.err != "error: 2 pods would be evicted, and --max-pods allows 1\n" {
		t.Fatalf("got\n%s", got)
	}
	answer := fields(t, got.out).(map[string]any)
	for _, name := range []string{"pods", "workloads", "summary", "markdown"} {
		if diff := cmp.Diff(plain(t, want[name]), answer[name]); diff != "" {
			t.Errorf("%s: the plugin says otherwise than the provider:\n%s", name, diff)
		}
	}
	if got := r.run(t, "preview", "drain", pool); got.code != 0 {
		t.Errorf("drain: got\n%s", got)
	}
	for _, short := range []string{"deploy/web", "deployments.apps/web"} {
		if got := r.run(t, "tolerates", "-n", apps, short, "other:NoExecute"); got.code != 0 || got.err != "" {
			t.Errorf("%s: got\n%s", short, got)
		}
	}
	if got := r.run(t, "untolerated", "-n", apps, "deploy/web", pool); got.code != 0 || got.out != "" {
		t.Errorf("untolerated: got\n%s", got)
	}
}
