// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package cloud

import (
	"context"
	"errors"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// joined is a cloud with an instance whose Node has just joined, uninitialized.
func joined(t *testing.T, age time.Duration, steps interceptor.Funcs) (client.WithWatch, *instance, *corev1.Node) {
	t.Helper()
	found := describe(&machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m", UID: "1"}}, &Spec{}, time.Now())
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: "m"}}
	if err := found.write(record); err != nil {
		t.Fatal(err)
	}
	node := nodeOf(found)
	uninitialize(node)
	node.CreationTimestamp = metav1.NewTime(time.Now().Add(-age))
	pool := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: "another-book"}}
	return fake.NewClientBuilder().WithObjects(record, pool, node).WithStatusSubresource(node).WithInterceptorFuncs(steps).Build(), found, node
}

func TestUninitialize_aNodeWithoutProviderIDAndAddresses(t *testing.T) {
	t.Parallel()
	found := describe(&machinev1beta1.Machine{}, &Spec{Node: NodeSpec{Taints: []corev1.Taint{{Key: "mine"}}}}, time.Now())
	node := nodeOf(found)
	uninitialize(node)
	if node.Spec.ProviderID != "" || len(node.Status.Addresses) > 0 || node.Labels["node.openshift.io/os_id"] == "" {
		t.Errorf("the node is %+v", node)
	}
	if got := node.Spec.Taints; len(got) != 2 || got[0].Key != "mine" || got[1] != (corev1.Taint{Key: uninitializedTaint, Value: "true", Effect: corev1.TaintEffectNoSchedule}) {
		t.Errorf("its taints are %v", got)
	}
	if len(found.Node.Taints) != 1 {
		t.Errorf("the taints of the instance are %v now", found.Node.Taints)
	}
}

func TestInitializer_providerIDAndTaintFirstThenAddresses(t *testing.T) {
	t.Parallel()
	var between corev1.Node
	objects, found, node := joined(t, time.Minute, interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
		return errors.Join(c.Get(ctx, client.ObjectKeyFromObject(o), &between), c.SubResource(sub).Patch(ctx, o, patch, opts...))
	}})
	i := &initializer{client: objects, direct: objects, after: time.Second}
	if _, err := i.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(node)}); err != nil {
		t.Fatal(err)
	}
	if between.Spec.ProviderID != found.ProviderID || uninitialized(&between) || len(between.Status.Addresses) > 0 {
		t.Errorf("before the addresses come, the node is %+v", between)
	}
	if err := objects.Get(t.Context(), client.ObjectKeyFromObject(node), node); err != nil {
		t.Fatal(err)
	}
	if got := node.Status.Addresses; len(got) == 0 || got[0].Address != found.Address {
		t.Errorf("the addresses are %v, want those of %s", got, found.Address)
	}
}

func TestInitializer_waitsForItsTime(t *testing.T) {
	t.Parallel()
	objects, _, node := joined(t, 0, interceptor.Funcs{})
	i := &initializer{client: objects, direct: objects, after: time.Hour}
	got, err := i.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(node)})
	if err != nil || got.RequeueAfter < 50*time.Minute {
		t.Fatalf("it comes again after %s, %v", got.RequeueAfter, err)
	}
	if err := objects.Get(t.Context(), client.ObjectKeyFromObject(node), node); err != nil || !uninitialized(node) {
		t.Errorf("the node is %+v, %v", node, err)
	}
}

// A test may make a node with the taint that no instance of the cloud stands behind.
func TestInitializer_leavesNodesWithoutAnInstance(t *testing.T) {
	t.Parallel()
	other := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "other", Labels: map[string]string{}}}
	uninitialize(other)
	objects := fake.NewClientBuilder().WithObjects(other).Build()
	i := &initializer{client: objects, direct: objects, after: time.Second}
	if got, err := i.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(other)}); err != nil || got.RequeueAfter != 0 {
		t.Fatalf("it comes again after %s, %v", got.RequeueAfter, err)
	}
	if err := objects.Get(t.Context(), client.ObjectKeyFromObject(other), other); err != nil || !uninitialized(other) {
		t.Errorf("the node is %+v, %v", other, err)
	}
}
