// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"context"
	"sync"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccNodeTaints_apiServerRestartsInTheMiddleOfAnApply runs alone: the requests of other
// tests would fail with the API server.
//
//nolint:paralleltest // See above.
func TestAccNodeTaints_apiServerRestartsInTheMiddleOfAnApply(t *testing.T) {
	c := acctest.Alone(t)
	pool, nodes := pool(t, c, 6)
	proxy := c.Proxy(t)
	tf := &acctest.Terraform{Provider: proxy.Provider(t, c)}
	i := newInstance()
	for _, all := range []string{"dedicated=gpu:NoSchedule", "dedicated=web:NoSchedule"} {
		config := taintsOf(t, all)(pool)
		planned := tf.Plan(t, i, config)
		if errors := planned.Diagnostics.Errors(); errors != "" {
			t.Fatal(errors)
		}
		var once sync.Once
		proxy.After(func(r acctest.Request) {
			if r.Write() {
				once.Do(func() { c.Signal(t, "kube-apiserver", syscall.SIGKILL) })
			}
		})
		if d := tf.Carry(t, i, planned, config); d.Errors() != "" {
			t.Fatalf("an apply must outlast the restart of the API server: %s", d.Errors())
		}
		proxy.After(nil)
		acctest.Until(t, "the API server is back", func(ctx context.Context) (bool, error) {
			_, err := c.Admin.CoreV1().Nodes().Get(ctx, nodes[0], metav1.GetOptions{})
			return err == nil && tf.Walk(t).Refresh(i).Errors() == "", nil
		})
		wantOwned(t, c, nodes, ", "+all)
	}
	tf.Destroy(t, i)
}
