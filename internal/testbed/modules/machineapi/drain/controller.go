// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package drain plays the drain controller of OpenShift (machine-api-operator,
// pkg/controller/machine/drain_controller.go, August 2026): one Machine after
// the other, pods evicted through the Eviction API, and a back-off of 5 to 1000
// seconds after a failure. A drain that is stuck shows in no condition, only in
// events.
package drain

import (
	"context"
	"fmt"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/testbed/modules/machineapi/condition"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/testbed/modules/machineapi/machine"
)

// exclude is the annotation that keeps a Machine's node from being drained,
// whatever its value.
const exclude = "machine.openshift.io/exclude-node-draining"

// Options are the times that OpenShift has fixed.
type Options struct {
	// Timeout is how long one attempt lasts: 20s.
	Timeout time.Duration
	// BackoffBase and BackoffMax bound the pause between attempts: 5s to 1000s.
	BackoffBase, BackoffMax time.Duration
	// EvictionRetry is the pause between refused evictions in an attempt: none.
	EvictionRetry time.Duration
	// OneAtATime drains one Machine at a time in the whole cluster, as OpenShift does,
	// instead of one in each namespace.
	OneAtATime bool
}

type reconciler struct {
	client    client.Client
	clientset kubernetes.Interface
	recorder  events.EventRecorder
	opts      Options
}

func (o Options) rateLimiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedMaxOfRateLimiter(
		workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](o.BackoffBase, o.BackoffMax),
		&workqueue.TypedBucketRateLimiter[reconcile.Request]{Limiter: rate.NewLimiter(rate.Limit(10), 100)},
	)
}

// Reconcile drains the node of a Machine that is being deleted.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	m := &machinev1beta1.Machine{}
	if err := r.client.Get(ctx, request.NamespacedName, m); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if m.DeletionTimestamp.IsZero() || ptr.Deref(m.Status.Phase, "") != machinev1beta1.PhaseDeleting || condition.IsTrue(m, machinev1beta1.MachineDrained) {
		return reconcile.Result{}, nil
	}
	message := "Drain finished successfully"
	if _, excluded := m.Annotations[exclude]; excluded || m.Status.NodeRef == nil {
		r.event(m, "DrainSkipped", "Node drain skipped")
		message = "Node drain skipped"
	} else if len(m.Spec.LifecycleHooks.PreDrain) > 0 {
		klog.Infof("%s: not draining machine: lifecycle blocked by pre-drain hook", m.Name)
		r.event(m, "DrainBlocked", "Drain blocked by pre-drain hook")
		return reconcile.Result{}, nil // Until the Machine changes.
	} else if err := r.attempt(ctx, m); err != nil {
		return machine.OrLater(err)
	}
	base := m.DeepCopy()
	base.Status.Conditions = condition.Copy(m.Status.Conditions)
	condition.Set(m, condition.True(machinev1beta1.MachineDrained, message))
	if err := r.client.Status().Patch(ctx, m, client.MergeFrom(base)); err != nil {
		return reconcile.Result{}, fmt.Errorf("could not patch machine status: %w", err)
	}
	return reconcile.Result{}, nil
}

// attempt drains for as long as one attempt may last. The real controller sets
// Drained to false when it fails, on a copy that it never writes: so nothing is
// set here.
func (r *reconciler) attempt(ctx context.Context, m *machinev1beta1.Machine) error {
	r.event(m, "DrainProceeds", "Node drain proceeds")
	if err := r.drainNode(ctx, m); err != nil {
		klog.Errorf("%s: failed to drain node for machine: %v", m.Name, err)
		r.event(m, "DrainRequeued", "Node drain requeued: "+err.Error())
		return err
	}
	r.event(m, "DrainSucceeded", "Node drain succeeded")
	return nil
}

func (r *reconciler) event(m *machinev1beta1.Machine, reason, note string) {
	r.recorder.Eventf(m, nil, corev1.EventTypeNormal, reason, "Drain", "%s", note)
}
