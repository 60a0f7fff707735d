// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// Thing names an object of any kind.
type Thing struct {
	APIVersion, Kind, Namespace, Name string
}

// things returns the client for objects of a thing's kind and namespace.
func (c *Cluster) things(t testing.TB, thing Thing) dynamic.ResourceInterface {
	t.Helper()
	return of(c.dynamic(t), thing)
}

func of(client dynamic.Interface, thing Thing) dynamic.ResourceInterface {
	plural, _ := meta.UnsafeGuessKindToResource(schema.FromAPIVersionAndKind(thing.APIVersion, thing.Kind))
	resource := client.Resource(plural)
	if thing.Namespace == "" {
		return resource
	}
	return resource.Namespace(thing.Namespace)
}

// Make makes an object out of its content beside kind and name, as a person does
// by hand. It is deleted when the test ends.
func (c *Cluster) Make(t testing.TB, thing Thing, content map[string]any) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{}}
	for name, value := range content {
		object.Object[name] = value
	}
	object.SetAPIVersion(thing.APIVersion)
	object.SetKind(thing.Kind)
	object.SetNamespace(thing.Namespace)
	object.SetName(thing.Name)
	// Numbers and lists of the caller's types become those of JSON.
	raw, err := object.MarshalJSON()
	must(t, err)
	must(t, object.UnmarshalJSON(raw))
	made, err := c.things(t, thing).Create(t.Context(), object, metav1.CreateOptions{FieldManager: "kubectl-create"})
	must(t, err)
	t.Cleanup(func() {
		_ = c.things(t, thing).Delete(context.Background(), thing.Name, metav1.DeleteOptions{})
	})
	return made
}

// Objects is how objects of a thing's kind are read and written.
func (c *Cluster) Objects(t testing.TB, thing Thing) dynamic.ResourceInterface {
	t.Helper()
	return c.things(t, thing)
}

// Look reads an object, nil for none.
func (c *Cluster) Look(t testing.TB, thing Thing) *unstructured.Unstructured {
	t.Helper()
	object, err := c.things(t, thing).Get(t.Context(), thing.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	must(t, err)
	return object
}

// At returns what stands at a path of an object, nil for nothing.
func (c *Cluster) At(t testing.TB, thing Thing, path []string) any {
	t.Helper()
	object := c.Look(t, thing)
	if object == nil {
		t.Fatalf("%s %s is gone", thing.Kind, thing.Name)
	}
	value, _, err := unstructured.NestedFieldCopy(object.Object, path...)
	must(t, err)
	return value
}

// Observed waits until an object's controller has seen it as it is.
func (c *Cluster) Observed(t testing.TB, thing Thing) {
	t.Helper()
	Until(t, "the controller has seen "+thing.Kind+" "+thing.Name, func(context.Context) (bool, error) {
		return c.At(t, thing, []string{"metadata", "generation"}) == c.At(t, thing, []string{"status", "observedGeneration"}), nil
	})
}

// TolerationsAt returns the tolerations that stand at a path of an object.
func (c *Cluster) TolerationsAt(t testing.TB, thing Thing, path []string) []corev1.Toleration {
	t.Helper()
	raw, err := json.Marshal(c.At(t, thing, path))
	must(t, err)
	var out []corev1.Toleration
	must(t, json.Unmarshal(raw, &out))
	return out
}

// Change changes an object by a merge patch without a guard, as careless writers
// do, under the name of a field manager.
func (c *Cluster) Change(t testing.TB, thing Thing, manager, patch string) {
	t.Helper()
	_, err := c.things(t, thing).Patch(t.Context(), thing.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager})
	must(t, err)
}

// ChangeStatus changes the status of an object by a merge patch.
func (c *Cluster) ChangeStatus(t testing.TB, thing Thing, patch string) {
	t.Helper()
	_, err := c.things(t, thing).Patch(t.Context(), thing.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	must(t, err)
}

// Remove deletes an object and waits until it is gone. What it owns goes with
// it.
func (c *Cluster) Remove(t testing.TB, thing Thing) {
	t.Helper()
	policy := metav1.DeletePropagationBackground
	must(t, c.things(t, thing).Delete(t.Context(), thing.Name, metav1.DeleteOptions{PropagationPolicy: &policy}))
	Until(t, thing.Kind+" "+thing.Name+" is gone", func(context.Context) (bool, error) {
		return c.Look(t, thing) == nil, nil
	})
}

// Copy copies a field of one object to one of another, as an operator keeps
// doing: what goes wrong is tried again the next time.
func (c *Cluster) Copy(ctx context.Context, from Thing, field []string, to Thing, other []string) {
	client, err := dynamic.NewForConfig(c.REST)
	if err != nil {
		return
	}
	source, err := of(client, from).Get(ctx, from.Name, metav1.GetOptions{})
	if err != nil {
		return
	}
	target, err := of(client, to).Get(ctx, to.Name, metav1.GetOptions{})
	if err != nil {
		return
	}
	wanted, _, _ := unstructured.NestedFieldCopy(source.Object, field...)
	current, _, _ := unstructured.NestedFieldNoCopy(target.Object, other...)
	if apiequality.Semantic.DeepEqual(wanted, current) || unstructured.SetNestedField(target.Object, wanted, other...) != nil {
		return
	}
	_, _ = of(client, to).Update(ctx, target, metav1.UpdateOptions{})
}
