// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package owncluster_test

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// TestAccNodeTaints_apiServerRestartsInTheMiddleOfAnApply runs alone: the requests of other
// tests would fail with the API server.
//
//nolint:paralleltest // See above.
func TestAccNodeTaints_apiServerRestartsInTheMiddleOfAnApply(t *testing.T) {
	c := acctest.Faithful(t)
	const foreign = "foreign=1:NoSchedule"
	pool := acctest.Name(t, "pool")
	var nodes []string
	for n := range 6 {
		nodes = append(nodes, fmt.Sprintf("%s-%d", pool, n))
		c.Node(t, acctest.Node{Name: nodes[n], Quiet: true, Labels: map[string]string{"pool": pool}, Taints: acctest.Parse(t, foreign)})
	}
	proxy := c.Proxy(t)
	tf := &acctest.Terraform{Provider: proxy.Provider(t, c)}
	i := &acctest.Instance{Type: "kubetaint_node_taints"}
	for _, all := range []string{"dedicated=gpu:NoSchedule", "dedicated=web:NoSchedule"} {
		config := map[string]any{"node_selector": "pool=" + pool, "taints": acctest.Objects(t, all)}
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
		for _, name := range nodes {
			wantOwned(t, c, name, foreign+", "+all)
		}
	}
	tf.Destroy(t, i)
}

// wantOwned expects these taints of a node, and that the last of them alone is marked.
func wantOwned(t *testing.T, c *acctest.Cluster, name, want string) {
	t.Helper()
	node := c.Get(t, name)
	if got := taint.FormatAll(node.Spec.Taints); got != want {
		t.Fatalf("taints of %s are %q, want %q", name, got, want)
	}
	record, err := taint.ParseRecord(c.Record(t, name))
	if err != nil {
		t.Fatal(err)
	}
	if last := node.Spec.Taints[len(node.Spec.Taints)-1]; len(record) != 1 || record[0].ID() != taint.IDOf(last) {
		t.Fatalf("node %s has the marks %s", name, record)
	}
}
