// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package kubelet does on a kind cluster what kwok does on others: it gives each
// Node with kwok's annotation a kubelet, and here it is a real one. The workers of
// the cluster are the machines that kubelets run on, one on each, under the name of
// the Node that they serve for the moment. So what makes Nodes, tests and the
// invented cloud alike, need not distinguish which of the two plays their kubelets.
package kubelet

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	// Annotation is on the Nodes whose kubelet is played.
	Annotation = "kwok.x-k8s.io/node"
	// again is when a Node that found no free worker is looked at again.
	again = time.Second
)

// hosts start and stop kubelets on workers.
type hosts interface {
	// start makes a worker serve a Node of this name.
	start(ctx context.Context, worker, node string) error
	// stop ends the worker's kubelet and all of its pods.
	stop(ctx context.Context, worker string) error
}

// Add registers the controller, which adopts these workers, containers of the
// Docker engine: the Nodes that they were registered as are deleted. The container of
// the control plane signs the kubelets' certificates.
func Add(ctx context.Context, mgr manager.Manager, controlPlane string, workers []string, opts controller.Options) error {
	r := newReconciler(mgr.GetClient(), &docker{controlPlane: controlPlane}, workers)
	if err := r.takeOver(ctx, workers); err != nil {
		return err
	}
	opts.Reconciler, opts.MaxConcurrentReconciles = r, len(workers)
	c, err := controller.New("kubelet", mgr, opts)
	if err != nil {
		return err
	}
	return c.Watch(source.Kind(mgr.GetCache(), &corev1.Node{}, &handler.TypedEnqueueRequestForObject[*corev1.Node]{}))
}

type reconciler struct {
	client client.Client
	hosts  hosts

	mu sync.Mutex
	// free are the workers that serve no Node.
	free []string
	// serves is the worker of each Node that has one.
	serves map[string]string
}

func newReconciler(c client.Client, h hosts, workers []string) *reconciler {
	return &reconciler{client: c, hosts: h, free: append([]string(nil), workers...), serves: map[string]string{}}
}

// takeOver ends the kubelets that the workers run under their own names.
func (r *reconciler) takeOver(ctx context.Context, workers []string) error {
	for _, worker := range workers {
		if err := r.hosts.stop(ctx, worker); err != nil {
			return err
		}
		node := &corev1.Node{}
		node.Name = worker
		if err := client.IgnoreNotFound(r.client.Delete(ctx, node)); err != nil {
			return fmt.Errorf("deleting the node %s: %w", worker, err)
		}
	}
	return nil
}

// Reconcile gives a Node a kubelet, or takes it from one that is gone. A Node that is
// made again under the same name keeps it, as on a machine that registers again.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	node := &corev1.Node{}
	err := r.client.Get(ctx, request.NamespacedName, node)
	if apierrors.IsNotFound(err) {
		return reconcile.Result{}, r.release(ctx, request.Name)
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	if _, wanted := node.Annotations[Annotation]; !wanted || !node.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	worker, isNew := r.take(request.Name)
	if !isNew {
		return reconcile.Result{}, nil
	}
	if worker == "" {
		return reconcile.Result{RequeueAfter: again}, nil
	}
	klog.Infof("worker %s serves node %s", worker, request.Name)
	if err := r.hosts.start(ctx, worker, request.Name); err != nil {
		r.putBack(request.Name)
		return reconcile.Result{}, fmt.Errorf("starting the kubelet of %s on %s: %w", request.Name, worker, err)
	}
	return reconcile.Result{}, nil
}

// release ends the kubelet of a Node that is gone, if it has one.
func (r *reconciler) release(ctx context.Context, node string) error {
	r.mu.Lock()
	worker, ok := r.serves[node]
	r.mu.Unlock()
	if !ok {
		return nil
	}
	klog.Infof("worker %s has served node %s", worker, node)
	if err := r.hosts.stop(ctx, worker); err != nil {
		return fmt.Errorf("stopping the kubelet of %s on %s: %w", node, worker, err)
	}
	r.putBack(node)
	return nil
}

// take returns a free worker for a Node, "" where all of them serve; and whether the
// Node had none before.
func (r *reconciler) take(node string) (worker string, isNew bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if worker, ok := r.serves[node]; ok {
		return worker, false
	}
	if len(r.free) == 0 {
		return "", true
	}
	worker, r.free = r.free[0], r.free[1:]
	r.serves[node] = worker
	return worker, true
}

func (r *reconciler) putBack(node string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free = append(r.free, r.serves[node])
	delete(r.serves, node)
}
