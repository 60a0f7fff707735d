// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
)

const (
	// kubeletsEnv reports that the nodes of tests are served by real kubelets, and how
	// many of them the cluster has. Elsewhere kwok plays them, of which there is no end.
	kubeletsEnv = "KUBETAINT_KUBELETS"
	// played is the annotation of nodes that want a kubelet, whatever plays it.
	played = "kwok.x-k8s.io/node"
	// renewEvery is a kubelet's own pace.
	renewEvery = 10 * time.Second
)

// RealKubelets reports whether real kubelets serve the nodes of tests, and run pods.
func RealKubelets() bool {
	return os.Getenv(kubeletsEnv) != ""
}

// NeedKwok skips a test on a cluster with real kubelets, and reports why it needs those
// that kwok plays.
func NeedKwok(t testing.TB, why string) {
	t.Helper()
	if RealKubelets() {
		t.Skip("needs kwok: " + why)
	}
}

// needKubelets skips a test on a cluster with fewer free kubelets than it makes nodes.
func (c *Cluster) needKubelets(t testing.TB, count int) {
	t.Helper()
	if count == 0 || c.api != nil || !RealKubelets() {
		return
	}
	all, err := strconv.Atoi(os.Getenv(kubeletsEnv))
	must(t, err)
	nodes, err := c.Admin.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	must(t, err)
	busy := 0
	for _, n := range nodes.Items {
		if _, ok := n.Annotations[played]; ok {
			busy++
		}
	}
	if busy+count > all {
		t.Skipf("needs kwok: %d nodes at a time, and the cluster has kubelets for %d", busy+count, all)
	}
}

// keepAlive renews the lease of a node that has no kubelet until the test ends, without
// which the node lifecycle controller holds it for lost within a minute. Where that fails,
// this is what comes of it.
func (c *Cluster) keepAlive(t testing.TB, node string) {
	t.Helper()
	leases := c.Admin.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: node},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &node, RenewTime: ptr.To(metav1.NowMicro())},
	}
	_, err := leases.Create(t.Context(), lease, metav1.CreateOptions{})
	must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	t.Cleanup(func() {
		stop()
		wg.Wait()
		_ = leases.Delete(context.Background(), node, metav1.DeleteOptions{})
	})
	wg.Go(func() {
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			renewed := []byte(`{"spec":{"renewTime":"` + time.Now().UTC().Format(metav1.RFC3339Micro) + `"}}`)
			_, _ = leases.Patch(ctx, node, types.MergePatchType, renewed, metav1.PatchOptions{})
		}, renewEvery)
	})
}
