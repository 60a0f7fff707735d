// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"context"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// beat is the kubelet of nodes that kwok leaves alone, as long as the test runs: it renews
// their leases, by which the node lifecycle controller tells that they live.
func beat(t *testing.T, c *acctest.Cluster, nodes []string) {
	t.Helper()
	leases := c.Admin.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	t.Cleanup(func() {
		stop()
		wg.Wait()
	})
	wg.Go(func() {
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			for _, node := range nodes {
				now := metav1.NowMicro()
				_, err := leases.Patch(ctx, node, types.MergePatchType, []byte(`{"spec":{"renewTime":"`+now.UTC().Format(metav1.RFC3339Micro)+`"}}`), metav1.PatchOptions{})
				if apierrors.IsNotFound(err) {
					_, err = leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &node, RenewTime: &now}}, metav1.CreateOptions{})
				}
				if err != nil && ctx.Err() == nil {
					t.Errorf("renewing the lease of node %s: %v", node, err)
				}
			}
		}, 5*time.Second)
	})
}

// TestAccEvictionPreview_aNodeThatFallsSilent: a node whose kubelet is not heard of any more
// is tainted by the node lifecycle controller, and what then happens is what the preview
// has said before.
func TestAccEvictionPreview_aNodeThatFallsSilent(t *testing.T) {
	t.Parallel()
	c := acctest.Own(t, "--controller-manager-flags", "--node-monitor-grace-period=40s --node-monitor-period=1s")
	tf := &acctest.Terraform{Provider: c.Provider(t)}
	// With most of the nodes silent, the controller would take the network to be at fault.
	others := make([]string, 3)
	c.Nodes(t, len(others), func(n int) acctest.Node {
		others[n] = acctest.Name(t, "other")
		return acctest.Node{Name: others[n], Quiet: true}
	})
	beat(t, c, others)
	node, namespace := station(t, c)
	evicted := c.Evictions(t, namespace)
	const taints = "node.kubernetes.io/unreachable:NoExecute node.kubernetes.io/unreachable:NoSchedule"
	got := told(t, c, tf, node, namespace, taints)
	want := map[string]string{"web": "evicted_after 300 no place", "quick": "evicted_after 3 no place", "agent": "stays", "network": "stays", "bare": "evicted_after 300 no place"}
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
