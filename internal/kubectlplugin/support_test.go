// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubectlplugin_test

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kubectlplugin"
)

// ran is a run of the plugin.
type ran struct {
	out, err string
	code     int
}

// reader runs the plugin on a cluster with the rights that are documented for plans.
type reader struct {
	c                 *acctest.Cluster
	kubeconfig, token string
	log               *acctest.Audit
	// transport leads to the cluster.
	transport http.RoundTripper
}

func newReader(t *testing.T, c *acctest.Cluster) *reader {
	t.Helper()
	log, token := c.AuditWith(t, acctest.RightsToPlan(t)...)
	return &reader{c: c, kubeconfig: c.Kubeconfig(t), token: token, log: log, transport: c.REST.Transport}
}

// run runs it, and fails the test where it sends anything but reads, or is refused one.
func (r *reader) run(t *testing.T, args ...string) ran {
	t.Helper()
	defer func() {
		for _, sent := range r.log.Requests() {
			// The API server keeps nothing of a question about rights.
			asks := sent.Resource == "selfsubjectrulesreviews"
			if sent.Verb != "get" && sent.Verb != "list" && !asks || sent.Code == http.StatusForbidden {
				t.Errorf("%v sends %s, which is answered with %d", args, sent, sent.Code)
			}
		}
	}()
	config := genericclioptions.NewConfigFlags(true).WithWrapConfigFn(func(rc *rest.Config) *rest.Config {
		rc.Transport = r.transport
		return rc
	})
	cache := t.TempDir()
	config.KubeConfig, config.BearerToken, config.CacheDir = &r.kubeconfig, &r.token, &cache
	var out, err bytes.Buffer
	code := kubectlplugin.Run(t.Context(), args, "test", config, genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &err})
	return ran{out.String(), err.String(), code}
}

// shop is a cluster in which pods of a pool become lost, pending and drained, and some stay. It may
// have more nodes before.
func shop(t *testing.T, c *acctest.Cluster, more ...string) *reader {
	t.Helper()
	for _, name := range []string{"worker-1", "worker-2"} {
		c.Node(t, acctest.Node{Name: name, Labels: map[string]string{"pool": "gpu"}})
	}
	c.Node(t, acctest.Node{Name: "worker-3", Labels: map[string]string{"pool": "spare"}, Taints: []corev1.Taint{{Key: "old", Effect: corev1.TaintEffectNoSchedule}}})
	for _, name := range []string{"shop", "ops"} {
		if _, err := c.Admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	old := corev1.Toleration{Key: "old", Operator: corev1.TolerationOpExists}
	pool := map[string]string{"pool": "gpu"}
	c.StatefulSet(t, "shop", "train", 2, func(spec *corev1.PodSpec) { spec.NodeSelector = pool })
	seconds := int64(60)
	c.StatefulSet(t, "shop", "cache", 1, func(spec *corev1.PodSpec) {
		spec.NodeSelector = pool
		spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds}}
	})
	c.DaemonSet(t, "ops", "agent", 3+len(more), func(spec *corev1.PodSpec) {
		spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	})
	c.Pod(t, "ops", "debug", "worker-1", func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{old} })
	return newReader(t, c)
}

// String is all that a run leaves.
func (r ran) String() string {
	return fmt.Sprintf("%s--- stderr\n%s--- exit code %d\n", r.out, r.err, r.code)
}
