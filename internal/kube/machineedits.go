// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// PatchSet writes a MachineSet in one patch with the UID and the resource version
// of what was read: template, count and marker change together or not at all. It
// returns the MachineSet as it stands afterwards. Errors: ErrConflict where another
// writer has written it since, ErrNotFound, ErrInvalid, those of the API server.
func (c *Cluster) PatchSet(ctx context.Context, s *machineset.Set, w *machineset.SetWrite) (*machineset.Set, error) {
	written, err := c.patchMachineAPI(ctx, "machinesets", s.Namespace, s.Name, setPatch(s, w))
	if err != nil {
		return nil, err
	}
	set := slimSet(written)
	c.sets.offer(set)
	return set, nil
}

func setPatch(s *machineset.Set, w *machineset.SetWrite) map[string]any {
	annotations, spec, template := map[string]any{}, map[string]any{}, map[string]any{}
	if t := w.Template; t != nil {
		template["taints"] = listOf(t.Taints)
		annotations[taint.OwnedAnnotation] = orNothing(t.Record.String())
	}
	if l := w.Labels; l != nil {
		if len(l.Changes) > 0 {
			template["metadata"] = map[string]any{"labels": l.Changes}
		}
		annotations[label.OwnedAnnotation] = orNothing(l.Record.String())
	}
	if r := w.Remnants; r != nil {
		annotations[machineset.RemnantsAnnotation] = orNothing(r.String())
	}
	if len(template) > 0 {
		spec["template"] = map[string]any{"spec": template}
	}
	if w.Replicas != nil {
		spec["replicas"] = *w.Replicas
	}
	if w.MarkerChanges {
		annotations[machineset.MarkerAnnotation] = orNothing(w.Marker.String())
	}
	return map[string]any{
		"metadata": map[string]any{"uid": s.UID, "resourceVersion": s.ResourceVersion, "annotations": annotations},
		"spec":     spec,
	}
}

// listOf keeps an empty list a list: null would mean that nothing is said.
func listOf(taints []corev1.Taint) []corev1.Taint {
	if taints == nil {
		return []corev1.Taint{}
	}
	return taints
}

// orNothing is nil, which takes an annotation away, for an empty value.
func orNothing(value string) any {
	if value == "" {
		return nil
	}
	return value
}

// PatchMachineTaints writes the taints of a Machine, guarded as PatchSet is.
// nodelink brings them to the node, and NoExecute evicts from then on.
func (c *Cluster) PatchMachineTaints(ctx context.Context, m *machineset.Machine, taints []corev1.Taint) error {
	return c.patchMachine(ctx, m, map[string]any{}, map[string]any{"taints": listOf(taints)})
}

// PatchMachineLabels writes labels that nodelink brings to the Machine's node, guarded
// as PatchSet is; nil takes one away.
func (c *Cluster) PatchMachineLabels(ctx context.Context, m *machineset.Machine, changes map[string]*string) error {
	return c.patchMachine(ctx, m, map[string]any{}, map[string]any{"metadata": map[string]any{"labels": changes}})
}

// ChooseMachine marks a Machine as one that goes first when its MachineSet is
// scaled down. An empty value would have no effect (delete_policy.go).
func (c *Cluster) ChooseMachine(ctx context.Context, m *machineset.Machine) error {
	return c.patchMachine(ctx, m, map[string]any{deleteMachineAnnotation: "true"}, nil)
}

func (c *Cluster) patchMachine(ctx context.Context, m *machineset.Machine, annotations, spec map[string]any) error {
	body := map[string]any{"metadata": map[string]any{"uid": m.UID, "resourceVersion": m.ResourceVersion, "annotations": annotations}}
	if spec != nil {
		body["spec"] = spec
	}
	written, err := c.patchMachineAPI(ctx, "machines", m.Namespace, m.Name, body)
	if err == nil {
		c.machines.offer(slimMachine(written))
	}
	return err
}

// DeleteMachine deletes a Machine as it was read, and no other of its name. What
// is gone already is no error. Errors: ErrConflict where another writer has written
// it since, those of the API server.
func (c *Cluster) DeleteMachine(ctx context.Context, m *machineset.Machine) error {
	version := m.ResourceVersion
	err := writing.do(ctx, bounded(func(ctx context.Context) error {
		return c.machineAPI("machines", m.Namespace).Delete(ctx, m.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &m.UID, ResourceVersion: &version}})
	}))
	c.noteWrite()
	if err = wrap("delete machine "+m.Key(), err); errors.Is(err, ErrNotFound) {
		c.machines.forget(m.Key())
		return nil
	}
	if err != nil {
		return err
	}
	return c.RereadMachine(ctx, m.Key())
}

// RereadMachine reads a Machine past what is known: after a conflict, and after a
// delete, whose answer does not report what stands there now.
func (c *Cluster) RereadMachine(ctx context.Context, key string) error {
	m, known := c.machines.get(key)
	if !known {
		return nil
	}
	object, err := c.read(ctx, "machines", m.Namespace, m.Name)
	if errors.Is(err, ErrNotFound) {
		c.machines.forget(key)
		return nil
	}
	if err == nil {
		c.machines.offer(slimMachine(object))
	}
	return err
}

// RereadSet reads a MachineSet past what is known. Errors: ErrNotFound, those of
// the API server.
func (c *Cluster) RereadSet(ctx context.Context, s *machineset.Set) (*machineset.Set, error) {
	object, err := c.read(ctx, "machinesets", s.Namespace, s.Name)
	if errors.Is(err, ErrNotFound) {
		c.sets.forget(s.Key())
	}
	if err != nil {
		return nil, err
	}
	set := slimSet(object)
	c.sets.offer(set)
	return set, nil
}

func (c *Cluster) read(ctx context.Context, plural, namespace, name string) (*unstructured.Unstructured, error) {
	var object *unstructured.Unstructured
	err := writing.do(ctx, bounded(func(ctx context.Context) (err error) {
		object, err = c.machineAPI(plural, namespace).Get(ctx, name, metav1.GetOptions{})
		return err
	}))
	return object, wrap("get "+plural+" "+namespace+"/"+name, err)
}

func (c *Cluster) patchMachineAPI(ctx context.Context, plural, namespace, name string, content map[string]any) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	var written *unstructured.Unstructured
	err = writing.do(ctx, bounded(func(ctx context.Context) (err error) {
		written, err = c.machineAPI(plural, namespace).Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{})
		return err
	}))
	c.noteWrite()
	return written, wrap("patch "+plural+" "+namespace+"/"+name, err)
}

func (c *Cluster) machineAPI(plural, namespace string) dynamic.ResourceInterface {
	return c.dynamic.Resource(machinev1beta1.GroupVersion.WithResource(plural)).Namespace(namespace)
}

// noteWrite remembers when this process has last written.
func (c *Cluster) noteWrite() {
	now := time.Now()
	c.wrote.Store(&now)
}

// NextMachines returns when something about MachineSets, Machines or nodes has
// changed, or after a while.
func (c *Cluster) NextMachines(ctx context.Context, atMost time.Duration) {
	bounded, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	changed := make(chan struct{}, 3)
	for _, wait := range []func(context.Context){c.sets.next, c.machines.next, c.nodes.next} {
		go func() {
			wait(bounded)
			changed <- struct{}{}
		}()
	}
	<-changed
}
