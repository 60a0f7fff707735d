// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package cloud

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	// uninitializedTaint is what a kubelet registers its Node with where another
	// process speaks with the cloud (k8s.io/cloud-provider v0.37.2 api/well_known_taints.go).
	uninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized"
	// osLabel is what OpenShift's kubelets name their operating system by
	// (openshift/machine-config-operator templates/worker/01-worker-kubelet).
	osLabel = "node.openshift.io/os_id"
)

// uninitialize makes a Node one that no cloud controller has seen yet: without a
// provider ID, without addresses, and with a taint that keeps pods away. Its label shows
// that it is one of OpenShift.
func uninitialize(node *corev1.Node) {
	node.Labels[osLabel] = "rhel"
	node.Spec.ProviderID, node.Status.Addresses = "", nil
	node.Spec.Taints = append(slices.Clone(node.Spec.Taints), corev1.Taint{Key: uninitializedTaint, Value: "true", Effect: corev1.TaintEffectNoSchedule})
}

// initializer plays the controller of Nodes in an external cloud provider
// (k8s.io/cloud-provider v0.37.2 controllers/node/node_controller.go, syncNode): provider
// ID and taint change in one update, the addresses follow in another one. Until then
// nodelink finds no Machine of a Node, and between the two it works on a Node that
// changes meanwhile.
type initializer struct {
	client client.Client
	direct client.Reader
	// after is how long it takes.
	after time.Duration
}

func addInitializer(mgr manager.Manager, after time.Duration) error {
	c, err := controller.New("cloud-node-controller", mgr, controller.Options{
		Reconciler: &initializer{client: mgr.GetClient(), direct: mgr.GetAPIReader(), after: after},
	})
	if err != nil {
		return err
	}
	return c.Watch(source.Kind(mgr.GetCache(), &corev1.Node{}, &handler.TypedEnqueueRequestForObject[*corev1.Node]{}, predicate.NewTypedPredicateFuncs(uninitialized)))
}

func uninitialized(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, isUninitialized)
}

func isUninitialized(t corev1.Taint) bool { return t.Key == uninitializedTaint }

// Reconcile initializes a Node when it is time for it. One without an instance is
// another writer's.
func (i *initializer) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	node := &corev1.Node{}
	if err := i.direct.Get(ctx, request.NamespacedName, node); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !uninitialized(node) {
		return reconcile.Result{}, nil
	}
	found, err := i.instanceOf(ctx, node)
	if found == nil || err != nil {
		return reconcile.Result{}, err
	}
	// Times of the server are cut to whole seconds.
	if left := time.Until(node.CreationTimestamp.Add(i.after)); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	return reconcile.Result{}, client.IgnoreNotFound(i.initialize(ctx, node, found))
}

func (i *initializer) initialize(ctx context.Context, node *corev1.Node, found *instance) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := i.direct.Get(ctx, client.ObjectKeyFromObject(node), node); err != nil {
			return err
		}
		node.Spec.ProviderID = found.ProviderID
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, isUninitialized)
		return i.client.Update(ctx, node)
	})
	if err != nil {
		return err
	}
	base := node.DeepCopy()
	node.Status.Addresses = found.addresses()
	return i.client.Status().Patch(ctx, node, client.MergeFrom(base))
}

// instanceOf returns the instance whose Node this is, or nil.
func (i *initializer) instanceOf(ctx context.Context, node *corev1.Node) (*instance, error) {
	records := &corev1.ConfigMapList{}
	if err := i.client.List(ctx, records, client.InNamespace(Namespace)); err != nil {
		return nil, err
	}
	for n := range records.Items {
		if _, ok := records.Items[n].Data[recordKey]; !ok {
			continue
		}
		found, err := read(&records.Items[n])
		if err != nil {
			return nil, err
		}
		if found.NodeName == node.Name {
			return found, nil
		}
	}
	return nil, nil
}
