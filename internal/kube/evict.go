// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// HeldError reports that a pod cannot be evicted now, and may be later.
type HeldError struct {
	// Why is what the API server says, such as which PodDisruptionBudget forbids it.
	Why string
	Err error
}

// Error reports why.
func (e *HeldError) Error() string { return e.Why }

// Unwrap returns the API server's error.
func (e *HeldError) Unwrap() error { return e.Err }

// ErrNoEvictions reports that evictions are not served: kubectl deletes the pods then, past
// their PodDisruptionBudgets, and the provider does not.
var ErrNoEvictions = errors.New("evictions are not served (pods/eviction of policy/v1)")

// Evict asks for a pod to be evicted, that of this UID and no other of its name; a
// nil grace period is the pod's own. What is gone already is no error. Errors:
// *HeldError where asking again later may do, ErrNoEvictions, those of the API server.
func (c *Cluster) Evict(ctx context.Context, p *snapshot.Pod, gracePeriod *int64) error {
	err := bounded(func(ctx context.Context) error {
		return c.client.policy.Evictions(p.Namespace).Evict(ctx, &policyv1.Eviction{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}, DeleteOptions: new(deletionOf(p, gracePeriod)),
		})
	})(ctx)
	c.noteWrite()
	switch {
	case err == nil, apierrors.IsNotFound(err) && namesObject(err):
		return nil
	case apierrors.IsNotFound(err):
		return fmt.Errorf("evict pod %s: %w: %w", p.Key(), ErrNoEvictions, oneLine{err})
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case transient(err), apierrors.IsConflict(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause):
		// As kubectl drain does, and beside it whatever else passes: it goes on for as
		// long as there is time (k8s.io/kubectl v0.37.2 pkg/drain/drain.go, evictPods). A PDB
		// whose status is damaged forbids evictions until its controller has written it anew.
		return &HeldError{Why: refusal(err), Err: err}
	}
	return wrap("evict pod "+p.Key(), err)
}

// deletionOf are the options to delete a pod of this UID, and no other of its name.
func deletionOf(p *snapshot.Pod, gracePeriod *int64) metav1.DeleteOptions {
	return metav1.DeleteOptions{GracePeriodSeconds: gracePeriod, Preconditions: &metav1.Preconditions{UID: new(p.UID)}}
}

// ErrMayNotDelete reports that the credentials, or an admission policy, do not allow that a pod is
// deleted. Only drains that disable evictions need that right.
var ErrMayNotDelete = errors.New("pods must not be deleted")

// DeletePod deletes a pod in place of an eviction, which no PodDisruptionBudget forbids; otherwise it
// is like Evict. Errors: *HeldError where asking again later may do, ErrMayNotDelete, those of the API
// server.
func (c *Cluster) DeletePod(ctx context.Context, p *snapshot.Pod, gracePeriod *int64) error {
	err := bounded(func(ctx context.Context) error {
		return c.client.core.Pods(p.Namespace).Delete(ctx, p.Name, deletionOf(p, gracePeriod))
	})(ctx)
	c.noteWrite()
	switch {
	case err == nil, apierrors.IsNotFound(err) && namesObject(err):
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case transient(err), apierrors.IsConflict(err):
		// Another pod has the name: the next look at the node does not find this one.
		return &HeldError{Why: refusal(err), Err: err}
	}
	err = wrap("delete pod "+p.Key(), err)
	if errors.Is(err, ErrForbidden) {
		return fmt.Errorf("%w: %w", ErrMayNotDelete, err)
	}
	return err
}

// namesObject reports whether an answer with 404 names the object that is not there. Where an
// address is not served, the answer is no Status, or one without a name.
func namesObject(err error) bool {
	status := apierrors.APIStatus(nil)
	return errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Name != "" &&
		!apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// refusal is what the API server says about an eviction that it refuses: the causes
// name the PDBs.
func refusal(err error) string {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || status.Status().Details == nil || len(status.Status().Details.Causes) == 0 {
		return printable.Line(err.Error())
	}
	var out []string
	for _, cause := range status.Status().Details.Causes {
		out = append(out, strings.TrimSuffix(cause.Message, "."))
	}
	return printable.Line(strings.Join(out, "; "))
}

// Cordon makes a node take no more pods. A node recreated under the same name is
// another node. Errors: ErrNotFound, ErrConflict, those of the API server.
func (c *Cluster) Cordon(ctx context.Context, n *snapshot.Node) error {
	return c.patchDrained(ctx, "cordon node "+n.Name, n, map[string]any{"metadata": map[string]any{"uid": n.UID}, "spec": map[string]any{"unschedulable": true}})
}

// RecordAwaited writes on a node what its drain waits for, and removes that where it is empty.
// Errors: those of Cordon.
func (c *Cluster) RecordAwaited(ctx context.Context, n *snapshot.Node, awaited string) error {
	value := any(awaited)
	if awaited == "" {
		value = nil
	}
	return c.patchDrained(ctx, "write the annotations of node "+n.Name, n, map[string]any{"metadata": map[string]any{"uid": n.UID, "annotations": map[string]any{snapshot.AwaitedAnnotation: value}}})
}

// patchDrained writes a node that is drained.
func (c *Cluster) patchDrained(ctx context.Context, what string, n *snapshot.Node, patch map[string]any) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	var written *snapshot.Node
	err = writing.do(ctx, bounded(func(ctx context.Context) error {
		node, err := c.client.core.Nodes().Patch(ctx, n.Name, types.MergePatchType, body, metav1.PatchOptions{})
		if err == nil {
			written = slimNode(node)
		}
		return err
	}))
	c.noteWrite()
	if err == nil {
		c.nodes.offer(written)
	}
	return wrap(what, err)
}
