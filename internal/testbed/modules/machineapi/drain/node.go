// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drain

import (
	"context"
	"fmt"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubectl/pkg/drain"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/testbed/modules/machineapi/machine"
)

// refused is the pause after which a drain that may not begin is tried again.
const refused = 20 * time.Second

// drainNode cordons the Node of a Machine and evicts its pods. A Node that is
// gone is drained.
func (r *reconciler) drainNode(ctx context.Context, m *machinev1beta1.Machine) error {
	node, err := r.clientset.CoreV1().Nodes().Get(ctx, m.Status.NodeRef.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("unable to get node %q: %w", m.Status.NodeRef.Name, err)
	}
	if err := r.allowed(ctx, node); err != nil {
		return fmt.Errorf("drain not permitted: %w", err)
	}
	helper := r.helper(ctx, node)
	if err := drain.RunCordonOrUncordon(helper, node, true); err != nil {
		klog.Warningf("cordon failed for node %q: %v", node.Name, err)
		return &machine.LaterError{After: refused}
	}
	if err := drain.RunNodeDrain(helper, node.Name); err != nil {
		klog.Warningf("drain failed for machine %q: %v", m.Name, err)
		return err
	}
	r.recorder.Eventf(m, nil, corev1.EventTypeNormal, "Deleted", "Drain", "Node %q drained", node.Name)
	return nil
}

// helper is kubectl's drain with OpenShift's settings: everything but pods of
// DaemonSets and mirror pods is evicted, PDBs are respected.
func (r *reconciler) helper(ctx context.Context, node *corev1.Node) *drain.Helper {
	helper := &drain.Helper{
		Ctx:                 ctx,
		Client:              r.clientset,
		Force:               true,
		IgnoreAllDaemonSets: true,
		DeleteEmptyDirData:  true,
		GracePeriodSeconds:  -1,
		// Then it is the turn of another Machine.
		Timeout: r.opts.Timeout,
		// Zero in OpenShift: a refused eviction is tried again without a pause.
		EvictErrorRetryDelay: r.opts.EvictionRetry,
		Out:                  logger(klog.Info),
		ErrOut:               logger(klog.Error),
	}
	if unreachable(node) {
		// Its kubelet never confirms that a pod is gone.
		helper.SkipWaitForDeleteTimeoutSeconds = 1
		helper.GracePeriodSeconds = 1
	}
	return helper
}

// allowed lets one control plane node at a time be drained, and any worker.
func (r *reconciler) allowed(ctx context.Context, node *corev1.Node) error {
	if node.Spec.Unschedulable || !controlPlane(node) {
		return nil
	}
	nodes := &corev1.NodeList{}
	if err := r.client.List(ctx, nodes); err != nil {
		return fmt.Errorf("could not list control plane nodes: %w", err)
	}
	for i := range nodes.Items {
		if controlPlane(&nodes.Items[i]) && nodes.Items[i].Spec.Unschedulable {
			return &machine.LaterError{After: refused}
		}
	}
	return nil
}

func controlPlane(node *corev1.Node) bool {
	_, current := node.Labels["node-role.kubernetes.io/control-plane"]
	_, former := node.Labels["node-role.kubernetes.io/master"]
	return current || former
}

func unreachable(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionUnknown
		}
	}
	return false
}

// logger passes what kubectl would print on to the log.
type logger func(args ...any)

func (l logger) Write(p []byte) (int, error) {
	l(string(p))
	return len(p), nil
}
