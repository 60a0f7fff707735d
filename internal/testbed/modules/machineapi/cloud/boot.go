// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package cloud

import (
	"context"
	"errors"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Add registers what makes instances boot and end, and returns the cloud. The
// namespace of its books must exist. Where initialize is not zero, a controller like
// that of an external cloud provider takes so long to initialize each Node.
func Add(mgr manager.Manager, initialize time.Duration, opts controller.Options) (*Cloud, error) {
	c := &Cloud{client: mgr.GetClient(), direct: mgr.GetAPIReader(), recorder: mgr.GetEventRecorder("invented-cloud")}
	opts.Reconciler = &booter{client: c.client, direct: c.direct, external: initialize > 0}
	boot, err := controller.New("cloud", mgr, opts)
	if err != nil {
		return nil, err
	}
	if initialize > 0 {
		if err := addInitializer(mgr, initialize); err != nil {
			return nil, err
		}
	}
	instances := predicate.NewTypedPredicateFuncs(func(record *corev1.ConfigMap) bool {
		_, ok := record.Data[recordKey]
		return ok && record.Namespace == Namespace
	})
	return c, boot.Watch(source.Kind(mgr.GetCache(), &corev1.ConfigMap{}, &handler.TypedEnqueueRequestForObject[*corev1.ConfigMap]{}, instances))
}

type booter struct {
	client client.Client
	// direct reads past the cache.
	direct client.Reader
	// external reports that a cloud controller initializes the Nodes.
	external bool
}

// Reconcile makes the Node of an instance join when it is time for it, and
// strikes out an instance that has ended.
func (b *booter) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	record := &corev1.ConfigMap{}
	if err := b.client.Get(ctx, request.NamespacedName, record); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	found, err := read(record)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !found.GoneAt.IsZero() {
		if left := time.Until(found.GoneAt); left > 0 {
			return reconcile.Result{RequeueAfter: left}, nil
		}
		return reconcile.Result{}, client.IgnoreNotFound(b.client.Delete(ctx, record))
	}
	if found.Joined {
		return reconcile.Result{}, nil
	}
	if left := time.Until(found.BootsAt); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	return reconcile.Result{}, b.boot(ctx, found, record.DeepCopy())
}

// boot makes the Node and writes down that it has. Where the instance has been
// given up in between, no other record would name that Node.
func (b *booter) boot(ctx context.Context, found *instance, record *corev1.ConfigMap) error {
	node := nodeOf(found)
	if b.external {
		uninitialize(node)
	}
	if err := b.client.Create(ctx, node); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	found.Joined = true
	if err := found.write(record); err != nil {
		return err
	}
	err := b.client.Update(ctx, record)
	if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return err
	}
	given, lookErr := b.givenUp(ctx, client.ObjectKeyFromObject(record))
	if lookErr != nil || !given {
		// The cache may have shown an older state than was written here: the Node
		// has joined then, and the next look finds it.
		return errors.Join(client.IgnoreNotFound(err), lookErr)
	}
	return client.IgnoreNotFound(b.client.Delete(ctx, node))
}

// givenUp reports whether an instance ends or has ended.
func (b *booter) givenUp(ctx context.Context, key client.ObjectKey) (bool, error) {
	record := &corev1.ConfigMap{}
	if err := b.direct.Get(ctx, key, record); err != nil {
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}
	now, err := read(record)
	return err == nil && !now.GoneAt.IsZero(), err
}

// nodeOf returns the Node that the instance's kubelet would register.
func nodeOf(i *instance) *corev1.Node {
	labels := map[string]string{
		corev1.LabelHostname:             i.NodeName,
		corev1.LabelOSStable:             "linux",
		corev1.LabelArchStable:           "amd64",
		"node-role.kubernetes.io/worker": "",
	}
	maps.Copy(labels, i.Node.Labels)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: i.NodeName, Labels: labels, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}},
		Spec:       corev1.NodeSpec{ProviderID: i.ProviderID, Taints: i.Node.Taints},
		Status: corev1.NodeStatus{
			Addresses: i.addresses(), Allocatable: i.Node.Allocatable, Capacity: i.Node.Allocatable,
		},
	}
}
