// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// typed are the kinds of files of folders whose types are compiled in.
var typed = map[string]func() any{
	"Node": func() any { return &corev1.Node{} }, "Pod": func() any { return &corev1.Pod{} }, "Namespace": func() any { return &corev1.Namespace{} },
	"PersistentVolume": func() any { return &corev1.PersistentVolume{} }, "PersistentVolumeClaim": func() any { return &corev1.PersistentVolumeClaim{} },
	"ReplicationController": func() any { return &corev1.ReplicationController{} },
	"Deployment":            func() any { return &appsv1.Deployment{} }, "StatefulSet": func() any { return &appsv1.StatefulSet{} },
	"DaemonSet": func() any { return &appsv1.DaemonSet{} }, "ReplicaSet": func() any { return &appsv1.ReplicaSet{} },
	"Job": func() any { return &batchv1.Job{} }, "CronJob": func() any { return &batchv1.CronJob{} },
	"PodDisruptionBudget": func() any { return &policyv1.PodDisruptionBudget{} }, "ResourceQuota": func() any { return &corev1.ResourceQuota{} },
	"LimitRange": func() any { return &corev1.LimitRange{} }, "StorageClass": func() any { return &storagev1.StorageClass{} },
	"PriorityClass": func() any { return &schedulingv1.PriorityClass{} },
	"CSIDriver":     func() any { return &storagev1.CSIDriver{} }, "CSINode": func() any { return &storagev1.CSINode{} },
	"CSIStorageCapacity": func() any { return &storagev1.CSIStorageCapacity{} },
}

// checkTypes checks that what is kept of an object of Kubernetes has the types of its kind, and that nothing was
// left out because of its type. The API server checks the same of what it stores, so that only a file can have it.
func checkTypes(k kindRecord, content map[string]any, kept *unstructured.Unstructured) error {
	if !slices.ContainsFunc(builtin, func(b kindRecord) bool { return b.gvr() == k.gvr() }) {
		return nil
	}
	fields, known := reductions[k.gvr().GroupResource()]
	if !known {
		fields = workloadFields
	}
	if at := fields.with(tree{"metadata": metadataFields}).wrong(content); at != "" {
		return fmt.Errorf("%s has another type than that of its kind", at[1:])
	}
	object := typed[k.Kind]()
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(kept.Object, object)
	if err == nil {
		return nil
	}
	// The error of a converter does not name the field.
	raw, _ := json.Marshal(kept.Object)
	if named := (*json.UnmarshalTypeError)(nil); errors.As(json.Unmarshal(raw, object), &named) {
		return fmt.Errorf("%s has another type than that of its kind: %s", named.Field, named.Value)
	}
	return err
}

// wrong returns the way to a field of another type than the tree has, "" for none.
func (t tree) wrong(value any) string {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			inner, is := t.named(name)
			if !is || v[name] == nil {
				continue
			}
			if !inner.fits(v[name]) {
				return "." + name
			}
			if at := inner.wrong(v[name]); at != "" {
				return "." + name + at
			}
		}
	case []any:
		for i, one := range v {
			if t != nil && !compound(one) {
				return fmt.Sprintf("[%d]", i)
			}
			if at := t.wrong(one); at != "" {
				return fmt.Sprintf("[%d]%s", i, at)
			}
		}
	}
	return ""
}

// fits reports whether a value is an object or a list where the tree has fields, and none where it has not.
func (t tree) fits(value any) bool {
	switch {
	case t == nil, t.is(anAmount):
		return plain(value)
	case t.is(onlyNumber), t.is(anyContent):
		return true
	}
	return compound(value)
}

// compound reports whether a value is an object or a list.
func compound(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}
