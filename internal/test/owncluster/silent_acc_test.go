// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package owncluster_test

import (
	"context"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// TestAccEvictionPreview_aNodeThatFallsSilent: a node whose kubelet is not heard of any more
// is tainted by the node lifecycle controller, and what then happens is what the preview
// has said before. It runs alone: no node has a kubelet meanwhile.
//
//nolint:paralleltest // See above.
func TestAccEvictionPreview_aNodeThatFallsSilent(t *testing.T) {
	c := acctest.Faithful(t)
	tf := &acctest.Terraform{Provider: c.Provider(t)}
	acctest.Until(t, "no node of another test is left", func(ctx context.Context) (bool, error) {
		nodes, err := c.Admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		return err == nil && len(nodes.Items) == 0, err
	})
	// With most of the nodes silent, the controller would take the network to be at fault.
	c.Nodes(t, 3, func(int) acctest.Node {
		return acctest.Node{Name: acctest.Name(t, "other"), Quiet: true}
	})
	node, namespace := c.Station(t)
	evicted := c.Evictions(t, namespace)
	const taints = "node.kubernetes.io/unreachable:NoExecute node.kubernetes.io/unreachable:NoSchedule"
	got := tf.Verdicts(t, c, node, namespace, taints)
	want := map[string]string{"web": "evicted_after 300 no place", "quick": "evicted_after 3 no place", "agent": "stays", "network": "stays", "bare": "evicted_after 300"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	pod := func(app string) corev1.Pod {
		t.Helper()
		pods, err := c.Admin.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + app, FieldSelector: "spec.nodeName=" + node})
		if err != nil || len(pods.Items) != 1 {
			t.Fatalf("%d pods of %s: %v", len(pods.Items), app, err)
		}
		return pods.Items[0]
	}
	quick := pod("quick").Name
	// kwok is the kubelet of this node alone.
	c.Signal(t, "kwok", syscall.SIGSTOP)
	t.Cleanup(func() { c.Signal(t, "kwok", syscall.SIGCONT) })
	var silent *corev1.Node
	acctest.Until(t, "the node is tainted", func(ctx context.Context) (bool, error) {
		var err error
		silent, err = c.Admin.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
		return err == nil && len(silent.Spec.Taints) == 2, err
	})
	for _, x := range silent.Spec.Taints {
		if !strings.Contains(taints, taint.Format(x)) {
			t.Fatalf("the node has %s", taint.FormatAll(silent.Spec.Taints))
		}
	}
	acctest.Until(t, "the pod of quick is deleted", func(context.Context) (bool, error) {
		p := pod("quick")
		return p.Name == quick && p.DeletionTimestamp != nil, nil
	})
	if names := evicted(); len(names) != 1 || names[0] != quick {
		t.Fatalf("evicted are %v, want %s alone", names, quick)
	}
	for _, app := range []string{"web", "agent", "network", "bare"} {
		if p := pod(app); p.DeletionTimestamp != nil {
			t.Errorf("the pod of %s is deleted", app)
		}
	}
}
