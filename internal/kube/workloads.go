// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// Mistakes in a reference other than in its name.
var (
	// ErrNoKind reports that the cluster does not serve a kind of object.
	ErrNoKind = errors.New("the cluster does not serve this kind")
	// ErrNoVersion reports that the cluster serves a kind of object in other versions alone.
	ErrNoVersion = errors.New("the cluster does not serve this version")
	// ErrNamespaced reports that objects of a kind have a namespace, and none is
	// named; ErrNotNamespaced that one is named and they have none.
	ErrNamespaced    = errors.New("objects of this kind have a namespace")
	ErrNotNamespaced = errors.New("objects of this kind have no namespace")
)

// ResourceOf returns the resource and its API group that an answer of the API server is about,
// such as deployments.apps; nothing where the answer does not say.
func ResourceOf(err error) string {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || status.Status().Details == nil || status.Status().Details.Kind == "" {
		return ""
	}
	d := status.Status().Details
	return printable.Line(schema.GroupResource{Group: d.Group, Resource: d.Kind}.String())
}

// Gone reports whether an error reports that there is no such object, or not even its kind.
func Gone(err error) bool {
	return errors.Is(err, ErrNotFound) || errors.Is(err, ErrNoKind)
}

// workloads remembers the objects that carry tolerations, by reference and path.
type workloads struct {
	mu    sync.Mutex
	known map[workload.Ref]*unstructured.Unstructured
	// daemons grows with everything that becomes known of a DaemonSet.
	daemons int
}

// WorkloadEdit is what a workload's tolerations and record should be.
type WorkloadEdit struct {
	Tolerations []corev1.Toleration
	Record      toleration.Record
	// Template is set where the list itself is to be written.
	Template bool
	// Pins are the entries of the template's node selector, nil where neither
	// these nor their record are written.
	Pins *LabelEdit
	// Created is the proof that is written into a ConfigMap which must be created. Proved reports
	// that the one which is there was created like that: it may be deleted with the last entry.
	Created string
	Proved  bool
}

// Workload returns an object that carries tolerations at a path. It is read once
// per process, and again by EditWorkload and FreshWorkload. Errors: ErrNotFound,
// ErrNoKind, *workload.PathError, *workload.ConfigError, and those of the API server.
func (c *Cluster) Workload(ctx context.Context, ref workload.Ref, path []string) (*workload.Workload, error) {
	c.workloads.mu.Lock()
	object, known := c.workloads.known[ref.Whole()]
	c.workloads.mu.Unlock()
	if known {
		return c.observe(ctx, ref, object, path, c.Workload)
	}
	return c.FreshWorkload(ctx, ref, path)
}

// FreshWorkload reads an object as it is now. Errors: those of Workload.
func (c *Cluster) FreshWorkload(ctx context.Context, ref workload.Ref, path []string) (*workload.Workload, error) {
	objects, err := c.objects(ctx, ref)
	if err != nil {
		return nil, err
	}
	var object *unstructured.Unstructured
	err = c.patience().do(ctx, bounded(func(ctx context.Context) error {
		var err error
		object, err = objects.Get(ctx, ref.Name, metav1.GetOptions{})
		return err
	}))
	if err = wrap("get "+ref.Whole().String(), err); errors.Is(err, ErrNotFound) && ref.Component != "" {
		object, err = workload.NoConfig(ref), nil
	}
	if err != nil {
		if errors.Is(err, ErrNotFound) {
			c.workloads.keep(ref, nil)
		}
		return nil, err
	}
	c.workloads.keep(ref, object)
	return c.observe(ctx, ref, object, path, c.FreshWorkload)
}

// Workloads returns the objects of a kind in a namespace matching a selector
// matches, as they are now.
func (c *Cluster) Workloads(ctx context.Context, kind workload.Ref, selector labels.Selector, path []string) ([]*workload.Workload, error) {
	matched, _, err := c.listWorkloads(ctx, kind, selector, path, selector.String())
	return matched, err
}

// WorkloadsAndMarked returns the same, and those of the other objects of the kind in
// the namespace that carry a record, with one list of all.
func (c *Cluster) WorkloadsAndMarked(ctx context.Context, kind workload.Ref, selector labels.Selector, path []string) ([]*workload.Workload, []Marked, error) {
	return c.listWorkloads(ctx, kind, selector, path, "")
}

func (c *Cluster) listWorkloads(ctx context.Context, kind workload.Ref, selector labels.Selector, path []string, listed string) (matched []*workload.Workload, marked []Marked, err error) {
	objects, err := c.objects(ctx, kind)
	if err != nil {
		return nil, nil, err
	}
	err = c.each(ctx, kind.Kind+" objects", func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		o.LabelSelector = listed
		return objects.List(ctx, o)
	}, func() { matched, marked = nil, nil }, func(o runtime.Object) error {
		object := o.(*unstructured.Unstructured) //nolint:forcetypeassert // A dynamic list holds nothing else.
		object.SetAPIVersion(kind.APIVersion)
		object.SetKind(kind.Kind)
		if !selector.Matches(labels.Set(object.GetLabels())) {
			ref := workload.Ref{APIVersion: kind.APIVersion, Kind: kind.Kind, Namespace: object.GetNamespace(), Name: object.GetName()}
			if m, is := recordsOn(ref, object); is {
				marked = append(marked, m)
			}
			return nil
		}
		w, err := c.observe(ctx, workload.Ref{}, object, path, c.Workload)
		if err == nil {
			c.workloads.keep(w.Ref, object)
			matched = append(matched, w)
		}
		return err
	})
	return matched, marked, err
}

// unserved makes sure that a version of an API is not served where no kind of it is found: that
// is so as well while its API server is out of reach. Errors: those of that server.
func (c *Cluster) unserved(ctx context.Context, apiVersion string) error {
	_, err := c.serves.ServerResourcesForGroupVersionWithContext(ctx, apiVersion)
	if errors.Is(err, memory.ErrCacheNotFound) || apierrors.IsNotFound(err) {
		return nil
	}
	return wrap("find out about "+apiVersion, err)
}

// objects returns the client for an object's kind and namespace.
func (c *Cluster) objects(ctx context.Context, ref workload.Ref) (dynamic.ResourceInterface, error) {
	if kind, known := workload.Lookup(ref.APIVersion, ref.Kind); known {
		return scoped(c.dynamic.Resource(kind.Resource()), ref.Namespace, kind.Cluster), nil
	}
	gvk := ref.GroupVersionKind()
	mapping, err := c.mapping(ctx, gvk)
	if meta.IsNoMatchError(err) {
		if err := c.unserved(ctx, ref.APIVersion); err != nil {
			return nil, err
		}
		if other, err := c.mapper.RESTMapping(gvk.GroupKind()); err == nil {
			// The objects are there, in another version: they are not gone.
			return nil, fmt.Errorf("%w: it serves %s in %s, and not in %s", ErrNoVersion, ref.Kind, other.GroupVersionKind.GroupVersion(), ref.APIVersion)
		}
		return nil, fmt.Errorf("%w: %s of %s", ErrNoKind, ref.Kind, ref.APIVersion)
	}
	if err != nil {
		return nil, wrap("find out about "+gvk.String(), err)
	}
	cluster := mapping.Scope.Name() == meta.RESTScopeNameRoot
	switch {
	case !cluster && ref.Namespace == "":
		return nil, fmt.Errorf("%w: %s of %s", ErrNamespaced, ref.Kind, ref.APIVersion)
	case cluster && ref.Namespace != "":
		return nil, fmt.Errorf("%w: %s of %s", ErrNotNamespaced, ref.Kind, ref.APIVersion)
	}
	return scoped(c.dynamic.Resource(mapping.Resource), ref.Namespace, cluster), nil
}

func scoped(resource dynamic.NamespaceableResourceInterface, namespace string, cluster bool) dynamic.ResourceInterface {
	if cluster || namespace == "" {
		return resource
	}
	return resource.Namespace(namespace)
}

func (w *workloads) keep(ref workload.Ref, object *unstructured.Unstructured) {
	ref = ref.Whole()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known == nil {
		w.known = map[workload.Ref]*unstructured.Unstructured{}
	}
	if old := w.known[ref]; ref.Owner().DaemonSet() && (old == nil || object == nil || old.GetUID() != object.GetUID() || old.GetGeneration() != object.GetGeneration()) {
		w.daemons++
	}
	if object == nil {
		delete(w.known, ref)
		return
	}
	w.known[ref] = object
}

// observe takes from an object what is needed, finds out which pods follow from it
// where its kind does not tell, and reads what an operator makes of it. Of an object with
// components it takes the one that is named.
func (c *Cluster) observe(ctx context.Context, ref workload.Ref, object *unstructured.Unstructured, path []string, read readWorkload) (*workload.Workload, error) {
	if ref.Component != "" {
		w, err := workload.ObserveComponent(object, ref)
		if err != nil {
			return nil, err
		}
		return w, c.operands(ctx, w, read)
	}
	w, err := workload.Observe(object, path)
	if err != nil {
		return nil, err
	}
	if w.Pods == nil {
		if w.Pods, err = c.descendants(ctx, object); err != nil && !errors.Is(err, ErrForbidden) {
			return nil, err
		}
		w.Direct(object)
	}
	return w, c.operands(ctx, w, read)
}

// EditWorkload reads an object, lets decide return its desired state, and writes that
// in one patch which carries the resource version: another writer's change between
// the read and the write makes the patch fail and everything begin anew. A nil
// edit writes nothing. It returns the object as it stands afterwards. Errors:
// those of Workload, of decide, and of the API server.
func (c *Cluster) EditWorkload(ctx context.Context, ref workload.Ref, path []string, decide func(*workload.Workload) (*WorkloadEdit, error)) (*workload.Workload, error) {
	var out *workload.Workload
	err := c.edits.inTurn(ctx, ref.Whole().String(), func(int) error {
		w, err := c.FreshWorkload(ctx, ref, path)
		if err != nil {
			return err
		}
		edit, err := decide(w)
		if err != nil || edit == nil {
			out = w
			return err
		}
		written, err := c.patchWorkload(ctx, w, edit, writing, metav1.PatchOptions{})
		if err != nil {
			return err
		}
		c.workloads.keep(ref, written)
		c.noteWrite()
		out, err = c.observe(ctx, ref, written, path, c.FreshWorkload)
		return err
	})
	return out, err
}

// TryWorkload asks the API server whether it would take an edit, without making
// it: its own rules, admission policies and feature gates answer. A field that it
// does not know it drops without an error. Errors: those of the API server,
// ErrInvalid among them; *workload.PathError.
func (c *Cluster) TryWorkload(ctx context.Context, w *workload.Workload, edit *WorkloadEdit) error {
	written, err := c.patchWorkload(ctx, w, edit, reading, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return err
	}
	added := toleration.Without(edit.Tolerations, w.Tolerations)
	if w.Component != "" {
		return w.Holds(written, added)
	}
	return workload.Kept(written, w.Path, added)
}

func (c *Cluster) patchWorkload(ctx context.Context, w *workload.Workload, edit *WorkloadEdit, patience retryPolicy, opts metav1.PatchOptions) (*unstructured.Unstructured, error) {
	objects, err := c.objects(ctx, w.Ref)
	if err != nil {
		return nil, err
	}
	if w.Component != "" {
		return writeConfig(ctx, objects, w, edit, patience, opts.DryRun)
	}
	body, err := workloadPatch(w, edit)
	if err != nil {
		return nil, err
	}
	var written *unstructured.Unstructured
	err = patience.do(ctx, bounded(func(ctx context.Context) error {
		var err error
		written, err = objects.Patch(ctx, w.Name, types.MergePatchType, body, opts)
		return err
	}))
	return written, wrap("patch "+w.String(), err)
}

// workloadPatch is a merge patch with the UID and the resource version of what
// was read. An empty list is taken away, as it stood before the first entry, and
// with it the objects that were made for it.
func workloadPatch(w *workload.Workload, edit *WorkloadEdit) ([]byte, error) {
	var record any
	if s := edit.Record.String(); s != "" {
		record = s
	}
	annotations := map[string]any{toleration.OwnedAnnotation: record}
	patch := map[string]any{}
	var gone, written [][]string
	if edit.Template && len(edit.Tolerations) > 0 {
		written = append(written, w.Path)
		if err := set(patch, edit.Tolerations, w.Path); err != nil {
			return nil, err
		}
	} else if edit.Template {
		gone = append(gone, w.Path)
	}
	if edit.Pins != nil {
		annotations[label.OwnedAnnotation] = edit.Pins.record()
		for key, value := range edit.Pins.Changes {
			path := append(slices.Clone(w.PinPath()), key)
			if value == nil {
				gone = append(gone, path)
				continue
			}
			written = append(written, path)
			if err := set(patch, *value, path); err != nil {
				return nil, err
			}
		}
	}
	for _, path := range w.Around.Emptied(gone, written) {
		if err := set(patch, nil, path); err != nil {
			return nil, err
		}
	}
	patch["metadata"] = map[string]any{"uid": w.UID, "resourceVersion": w.ResourceVersion, "annotations": annotations}
	return json.Marshal(patch)
}

// set puts any value at a path: what is set by unstructured alone must consist
// of plain JSON types.
func set(patch map[string]any, value any, path []string) error {
	if err := unstructured.SetNestedField(patch, nil, path...); err != nil {
		return err
	}
	parent := patch
	for _, name := range path[:len(path)-1] {
		parent = parent[name].(map[string]any) //nolint:forcetypeassert // Made by the line before.
	}
	parent[path[len(path)-1]] = value
	return nil
}
