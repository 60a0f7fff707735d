// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// NodeEdit is what a node's taints and record should be, or its labels and theirs, or that it
// takes pods again.
type NodeEdit struct {
	Taints []corev1.Taint
	Record taint.Record
	// Labels are written in place of the taints, where they are set.
	Labels *LabelEdit
	// Unrecorded leaves the record of who owns what as it is, whether it can be read or
	// not.
	Unrecorded bool
	// Uncordon lets pods in again, and removes what a drain has recorded on the node, in place of all that.
	Uncordon bool
}

// LabelEdit is the entries of a map that change, nil for those that go, and what
// the record of them should be. The rest of the map is not sent.
type LabelEdit struct {
	Changes map[string]*string
	Record  label.Record
}

// record returns the annotation's value, nil for none.
func (e *LabelEdit) record() any {
	if s := e.Record.String(); s != "" {
		return s
	}
	return nil
}

// EditNode reads a node, lets decide return its desired state, and writes that in
// one patch which carries the resource version: another writer's change between
// the read and the write makes the patch fail and everything begin anew. A nil
// edit writes nothing. The list of taints is replaced whole, as every kind of
// patch would do (it is atomic); what keeps foreign entries is the guard.
//
// The first try uses the node as the snapshot knows it, so that an undisturbed
// edit is one request. It returns the node as it stands afterwards. Errors:
// ErrNotFound, those of decide, and those of the API server.
func (c *Cluster) EditNode(ctx context.Context, name string, decide func(*snapshot.Node) (*NodeEdit, error)) (*snapshot.Node, error) {
	var out *snapshot.Node
	err := c.edits.inTurn(ctx, "nodes/"+name, func(conflicts int) error {
		node, known := c.nodes.get(name)
		if conflicts > 0 || !known {
			fresh, err := c.readNode(ctx, name, writing.do)
			if err != nil {
				return err
			}
			node = fresh
		}
		edit, err := decide(node)
		if err != nil || edit == nil {
			out = node
			return err
		}
		written, err := c.patchNode(ctx, node, edit)
		switch {
		case err == nil:
			c.nodes.offer(written)
			out = written
		case errors.Is(err, ErrNotFound):
			c.nodes.forget(name)
		}
		return err
	})
	return out, err
}

// PatchNodeTaints writes the taints of a node as it was read, and leaves the record
// of who owns them as it is. Errors: ErrConflict where another writer has written it
// since, ErrNotFound, those of the API server.
func (c *Cluster) PatchNodeTaints(ctx context.Context, node *snapshot.Node, taints []corev1.Taint) (*snapshot.Node, error) {
	written, err := c.patchNode(ctx, node, &NodeEdit{Taints: taints, Unrecorded: true})
	if err == nil {
		c.nodes.offer(written)
	}
	return written, err
}

// PatchNodeLabels writes labels of a node as it was read, guarded in the same way; nil
// takes one away. The record of who owns them stays as it is.
func (c *Cluster) PatchNodeLabels(ctx context.Context, node *snapshot.Node, changes map[string]*string) (*snapshot.Node, error) {
	written, err := c.patchNode(ctx, node, &NodeEdit{Labels: &LabelEdit{Changes: changes}, Unrecorded: true})
	if err == nil {
		c.nodes.offer(written)
	}
	return written, err
}

// RereadNode reads a node past what is known. Errors: ErrNotFound, those of the
// API server.
func (c *Cluster) RereadNode(ctx context.Context, name string) (*snapshot.Node, error) {
	return c.readNode(ctx, name, writing.do)
}

// readNode reads one node past the snapshot, and repeats that as such a policy does.
func (c *Cluster) readNode(ctx context.Context, name string, policy func(context.Context, func(context.Context) error) error) (*snapshot.Node, error) {
	var node *snapshot.Node
	err := policy(ctx, bounded(func(ctx context.Context) error {
		n, err := c.client.core.Nodes().Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			node = slimNode(n)
		}
		return err
	}))
	if err = wrap("get node "+name, err); errors.Is(err, ErrNotFound) {
		c.nodes.forget(name)
	}
	if err != nil {
		return nil, err
	}
	c.nodes.offer(node)
	return node, nil
}

func (c *Cluster) patchNode(ctx context.Context, node *snapshot.Node, edit *NodeEdit) (*snapshot.Node, error) {
	body, err := nodePatch(node, edit)
	if err != nil {
		return nil, err
	}
	var written *snapshot.Node
	err = writing.do(ctx, bounded(func(ctx context.Context) error {
		n, err := c.client.core.Nodes().Patch(ctx, node.Name, types.MergePatchType, body, metav1.PatchOptions{})
		if err == nil {
			written = slimNode(n)
		}
		return err
	}))
	c.noteWrite()
	return written, wrap("patch node "+node.Name, err)
}

// nodePatch is a merge patch with the UID and the resource version of what was
// read: a node recreated under the same name is another node.
func nodePatch(node *snapshot.Node, edit *NodeEdit) ([]byte, error) {
	metadata := map[string]any{"uid": node.UID, "resourceVersion": node.ResourceVersion}
	if edit.Uncordon {
		// Null as kubectl uncordon writes it (k8s.io/kubectl v0.37.2 pkg/drain/cordon.go): false is not stored.
		if node.Awaited != "" {
			metadata["annotations"] = map[string]any{snapshot.AwaitedAnnotation: nil}
		}
		return json.Marshal(map[string]any{"metadata": metadata, "spec": map[string]any{"unschedulable": nil}})
	}
	if edit.Labels != nil {
		metadata["labels"] = edit.Labels.Changes
		if !edit.Unrecorded {
			metadata["annotations"] = map[string]any{label.OwnedAnnotation: edit.Labels.record()}
		}
		return json.Marshal(map[string]any{"metadata": metadata})
	}
	if !edit.Unrecorded {
		var record any
		if s := edit.Record.String(); s != "" {
			record = s
		}
		metadata["annotations"] = map[string]any{taint.OwnedAnnotation: record}
	}
	taints := edit.Taints
	if taints == nil {
		taints = []corev1.Taint{}
	}
	return json.Marshal(map[string]any{"metadata": metadata, "spec": map[string]any{"taints": taints}})
}
