// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// writeConfig writes one component of a ConfigMap, and the records of it, unless another client has
// written the ConfigMap since it was read. One that does not exist is created, and deleted again once nothing
// is left in it: not on the word of an annotation that others may have written. Errors: *workload.ConfigError, those of the API server.
func writeConfig(ctx context.Context, objects dynamic.ResourceInterface, w *workload.Workload, edit *WorkloadEdit, patience retryPolicy, dryRun []string) (*unstructured.Unstructured, error) {
	text, err := rewritten(w, edit)
	if err != nil {
		return nil, err
	}
	annotations, write := recordsOf(w, edit), patchConfig
	switch left := leaves(w, edit); {
	case w.ResourceVersion == "":
		annotations[workload.CreatedAnnotation], write = edit.Created, createConfig
	case !left && edit.Proved && w.Config.Alone && strings.TrimSpace(text) == "":
		write = deleteConfig
	case !left && edit.Proved && w.Config.Last:
		// Others have put something into it: it is theirs now.
		annotations[workload.CreatedAnnotation] = nil
	}
	var written *unstructured.Unstructured
	err = patience.do(ctx, bounded(func(ctx context.Context) error {
		written, err = write(ctx, objects, w, text, annotations, dryRun)
		return err
	}))
	doing := "write " + w.Whole().String()
	if err = wrap(doing, err); errors.Is(err, ErrNotFound) && w.ResourceVersion != "" {
		// It was deleted after it was read: the next try creates it.
		return nil, &Error{Class: ErrConflict, Doing: doing, Err: errors.New("it has been deleted")}
	}
	return written, err
}

// leaves reports whether an edit leaves records of the component. One that is not written stays.
func leaves(w *workload.Workload, edit *WorkloadEdit) bool {
	if len(edit.Record) > 0 {
		return true
	}
	if edit.Pins != nil {
		return len(edit.Pins.Record) > 0
	}
	return len(w.LabelRecord) > 0 || w.LabelRecordErr != nil
}

func rewritten(w *workload.Workload, edit *WorkloadEdit) (string, error) {
	var list *[]corev1.Toleration
	if edit.Template {
		list = &edit.Tolerations
	}
	var selector map[string]*string
	if edit.Pins != nil {
		selector = edit.Pins.Changes
	}
	return w.Rewritten(list, selector)
}

// recordsOf are the records that an edit writes, by annotation; nil for one that goes.
func recordsOf(w *workload.Workload, edit *WorkloadEdit) map[string]any {
	out := map[string]any{w.Annotation(toleration.OwnedAnnotation): nil}
	if s := edit.Record.String(); s != "" {
		out[w.Annotation(toleration.OwnedAnnotation)] = s
	}
	if edit.Pins != nil {
		out[w.Annotation(label.OwnedAnnotation)] = edit.Pins.record()
	}
	return out
}

func patchConfig(ctx context.Context, objects dynamic.ResourceInterface, w *workload.Workload, text string, annotations map[string]any, dryRun []string) (*unstructured.Unstructured, error) {
	patch := map[string]any{"metadata": map[string]any{"uid": w.UID, "resourceVersion": w.ResourceVersion, "annotations": annotations}}
	if text != w.Config.Text {
		patch["data"] = map[string]any{workload.ConfigKey: text}
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	return objects.Patch(ctx, w.Name, types.MergePatchType, body, metav1.PatchOptions{DryRun: dryRun})
}

func createConfig(ctx context.Context, objects dynamic.ResourceInterface, w *workload.Workload, text string, annotations map[string]any, dryRun []string) (*unstructured.Unstructured, error) {
	object := workload.NoConfig(w.Ref)
	records := map[string]string{}
	for name, value := range annotations {
		if s, is := value.(string); is {
			records[name] = s
		}
	}
	object.SetAnnotations(records)
	object.Object["data"] = map[string]any{workload.ConfigKey: text}
	return objects.Create(ctx, object, metav1.CreateOptions{DryRun: dryRun})
}

// deleteConfig deletes a ConfigMap, and returns what stands for one that does not exist.
func deleteConfig(ctx context.Context, objects dynamic.ResourceInterface, w *workload.Workload, _ string, _ map[string]any, dryRun []string) (*unstructured.Unstructured, error) {
	err := objects.Delete(ctx, w.Name, metav1.DeleteOptions{DryRun: dryRun, Preconditions: &metav1.Preconditions{UID: &w.UID, ResourceVersion: &w.ResourceVersion}})
	if errors.Is(wrap("delete", err), ErrNotFound) {
		err = nil
	}
	return workload.NoConfig(w.Ref), err
}

// configRecords reads the records in the ConfigMaps of OpenShift's monitoring, once per process. Not every
// cluster has them, and who has no rights to them has given them no tolerations.
func (c *Cluster) configRecords(ctx context.Context) ([]Marked, error) {
	return c.configs.get(ctx, func() ([]Marked, error) {
		var out []Marked
		for _, ref := range workload.Configs() {
			kind, _ := workload.Lookup(ref.APIVersion, ref.Kind)
			var object *metav1.PartialObjectMetadata
			err := reading.do(ctx, bounded(func(ctx context.Context) error {
				var err error
				object, err = c.meta.Resource(kind.Resource()).Namespace(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
				return err
			}))
			err = wrap("get "+ref.String(), err)
			if errors.Is(err, ErrNotFound) || errors.Is(err, ErrForbidden) {
				continue
			}
			if err != nil {
				return nil, err
			}
			out = append(out, marksOf(ref, object)...)
		}
		return out, nil
	})
}
