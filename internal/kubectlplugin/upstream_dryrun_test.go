// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubectlplugin_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// TestUpstream_kubectlDrainDryRun has the facts of TestDeleteOrEvictWithDryRunServer in k8s.io/kubectl v0.37.2
// pkg/drain/drain_test.go: a drain that is only tried evicts and deletes no pod, and ends without waiting
// for one. kubectl sends the API server its requests with dryRun, and the plugin sends none.
func TestUpstream_kubectlDrainDryRun(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	for name, tt := range map[string]struct {
		flags []string
		says  string
	}{
		"a drain that is only tried":                   {says: "evicts 2 pods"},
		"a drain without evictions that is only tried": {[]string{"--disable-eviction"}, "deletes 2 pods, bypassing PodDisruptionBudgets"},
	} {
		rows.Run(t, name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				apps := c.Namespace(t)
				c.Node(t, acctest.Node{Name: "node"})
				for _, name := range []string{"mypod-1", "mypod-2"} {
					c.Pod(t, apps, name, "node", nil)
				}
				// The reader fails the test where anything but reads is sent.
				got := newReader(t, c).run(t, append([]string{"preview", "drain", "node", "--force"}, tt.flags...)...)
				for _, said := range []string{"mypod-1", "mypod-2", tt.says} {
					if !strings.Contains(got.out, said) {
						t.Errorf("the answer does not say %q:\n%s", said, got.out)
					}
				}
				for _, name := range []string{"mypod-1", "mypod-2"} {
					if p, err := c.Admin.CoreV1().Pods(apps).Get(t.Context(), name, metav1.GetOptions{}); err != nil || p.DeletionTimestamp != nil {
						t.Errorf("%s is deleted: %v", name, err)
					}
				}
				if got.code != 0 || c.Get(t, "node").Spec.Unschedulable {
					t.Errorf("it ends with %d: %s", got.code, got.err)
				}
			})
		})
	}
}

// TestUpstream_kubectlNodeNames has the fact of TestCordon there about node/NAME, which kubectl drain and
// kubectl taint take as well.
func TestUpstream_kubectlNodeNames(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	rows.Run(t, "node/NAME", func(t *testing.T) {
		t.Parallel()
		acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
			c.Node(t, acctest.Node{Name: "worker"})
			shop := c.Namespace(t)
			c.Pod(t, shop, "web", "worker", func(p *corev1.Pod) {
				p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web", Controller: new(true)}}
			})
			r := newReader(t, c)
			for _, args := range [][]string{
				{"preview", "drain", "NODE"}, {"preview", "nodes", "NODE", "team=a:NoExecute"}, {"untolerated", "web", "NODE", "-n", shop},
			} {
				at := slices.Index(args, "NODE")
				want := r.run(t, slices.Replace(slices.Clone(args), at, at+1, "worker")...)
				if want.code != 0 {
					t.Fatal(want.err)
				}
				for _, prefix := range []string{"node/", "nodes/", "no/"} {
					if got := r.run(t, slices.Replace(slices.Clone(args), at, at+1, prefix+"worker")...); got != want {
						t.Errorf("%s %s: %+v, want %+v", args, prefix, got, want)
					}
				}
			}
		})
	})
}
