// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drain

import (
	"context"
	"sync"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// namespaces starts a drain controller for each namespace that holds Machines.
//
// The one worker of OpenShift is an awkward habit to keep: a stuck drain holds
// up the others. But OpenShift has one namespace of Machines. Here each test has
// its own, and must not be held up by another one's. Options.OneAtATime keeps the habit.
type namespaces struct {
	mgr  manager.Manager
	opts Options
	// prototype is what all the controllers do.
	prototype reconcile.Reconciler

	mu      sync.Mutex
	started map[string]bool
}

// Add registers the controllers, or the one of OpenShift.
func Add(mgr manager.Manager, opts Options) error {
	clientset, err := kubernetes.NewForConfig(mgr.GetConfig())
	if err != nil {
		return err
	}
	drains := &reconciler{client: mgr.GetClient(), clientset: clientset, recorder: mgr.GetEventRecorder("machine-drain-controller"), opts: opts}
	if opts.OneAtATime {
		return addOne(mgr, drains)
	}
	n := &namespaces{mgr: mgr, opts: opts, started: map[string]bool{}, prototype: drains}
	c, err := controller.New("machine-drain-namespaces", mgr, controller.Options{Reconciler: n})
	if err != nil {
		return err
	}
	return c.Watch(source.Kind(mgr.GetCache(), &machinev1beta1.Machine{}, &handler.TypedEnqueueRequestForObject[*machinev1beta1.Machine]{}))
}

// addOne registers a controller with a single worker for all Machines
// (pkg/controller/machine/controller.go, AddWithActuator).
func addOne(mgr manager.Manager, drains *reconciler) error {
	c, err := controller.New("machine-drain-controller", mgr, controller.Options{
		Reconciler: drains, RateLimiter: drains.opts.rateLimiter(), MaxConcurrentReconciles: 1, SkipNameValidation: ptr.To(true),
	})
	if err != nil {
		return err
	}
	return c.Watch(source.Kind(mgr.GetCache(), &machinev1beta1.Machine{}, &handler.TypedEnqueueRequestForObject[*machinev1beta1.Machine]{}))
}

// Reconcile starts the controller of a Machine's namespace, once.
func (n *namespaces) Reconcile(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.started[request.Namespace] {
		return reconcile.Result{}, nil
	}
	if err := n.start(request.Namespace); err != nil {
		return reconcile.Result{}, err
	}
	n.started[request.Namespace] = true
	return reconcile.Result{}, nil
}

func (n *namespaces) start(namespace string) error {
	c, err := controller.NewUnmanaged("machine-drain-"+namespace, controller.Options{
		Reconciler:         n.prototype,
		RateLimiter:        n.opts.rateLimiter(),
		SkipNameValidation: ptr.To(true),
	})
	if err != nil {
		return err
	}
	mine := predicate.NewTypedPredicateFuncs(func(m *machinev1beta1.Machine) bool { return m.Namespace == namespace })
	err = c.Watch(source.Kind(n.mgr.GetCache(), &machinev1beta1.Machine{}, &handler.TypedEnqueueRequestForObject[*machinev1beta1.Machine]{}, mine))
	if err != nil {
		return err
	}
	// It starts immediately, since the manager runs.
	return n.mgr.Add(c)
}
