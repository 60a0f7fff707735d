// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// valid reports what is wrong with an object that takes the place of another one; of none
// where old is nil.
func (k *Kind) valid(old, object runtime.Object) error {
	at, is := field.NewPath("metadata"), mustAccess(object)
	var wrong field.ErrorList
	if old == nil {
		wrong = apivalidation.ValidateObjectMetaAccessor(is, !k.Cluster, apivalidation.NameIsDNSSubdomain, at)
	} else {
		wrong = apivalidation.ValidateObjectMetaAccessorUpdate(is, mustAccess(old), at)
		if k.Custom {
			// The strategy of custom resources asks twice.
			wrong = append(wrong, wrong...)
		}
	}
	if k.Validate != nil {
		wrong = append(wrong, k.Validate(old, object)...)
	}
	if len(wrong) == 0 {
		return nil
	}
	return apierrors.NewInvalid(k.GroupKind(), is.GetName(), wrong)
}

// validNode reports what ValidateNode would about taints (k8s.io/kubernetes v1.37.2
// pkg/apis/core/validation/validation.go, validateNodeTaints).
func validNode(_, object runtime.Object) field.ErrorList {
	node, is := object.(*corev1.Node)
	if !is {
		return nil
	}
	var wrong field.ErrorList
	type identity struct {
		key    string
		effect corev1.TaintEffect
	}
	seen := map[identity]bool{}
	for i, t := range node.Spec.Taints {
		at := field.NewPath("metadata", "taints").Index(i)
		wrong = append(wrong, metav1validation.ValidateLabelName(t.Key, at.Child("key"))...)
		for _, message := range validation.IsValidLabelValue(t.Value) {
			wrong = append(wrong, field.Invalid(at.Child("value"), t.Value, message))
		}
		if t.Effect == "" {
			wrong = append(wrong, field.Required(at.Child("effect"), ""))
		}
		wrong = append(wrong, validEffect(t.Effect, at.Child("effect"))...)
		id := identity{t.Key, t.Effect}
		if seen[id] {
			// The message shows the internal type, which has no names for JSON.
			duplicate := field.Duplicate(at, struct {
				Key, Value string
				Effect     corev1.TaintEffect
				TimeAdded  *metav1.Time
			}{t.Key, t.Value, t.Effect, t.TimeAdded})
			duplicate.Detail = "taints must be unique by key and effect pair"
			wrong = append(wrong, duplicate)
		}
		seen[id] = true
	}
	return wrong
}

// validEffect reports an effect that is none. Whether there must be one is for the caller.
func validEffect(effect corev1.TaintEffect, at *field.Path) field.ErrorList {
	switch effect {
	case "", corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
		return nil
	}
	return field.ErrorList{field.NotSupported(at, effect, []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute})}
}

// validPod reports what ValidatePod and ValidatePodUpdate would about tolerations: those of a pod may be
// added to, and of those that it has only the time changes (k8s.io/kubernetes v1.37.2
// pkg/apis/core/validation/validation.go, validateOnlyAddedTolerations).
func validPod(old, object runtime.Object) field.ErrorList {
	pod, is := object.(*corev1.Pod)
	if !is {
		return nil
	}
	at := field.NewPath("spec", "tolerations")
	if was, is := old.(*corev1.Pod); is {
		for _, t := range was.Spec.Tolerations {
			kept := slices.ContainsFunc(pod.Spec.Tolerations, func(now corev1.Toleration) bool {
				now.TolerationSeconds = t.TolerationSeconds
				return now == t
			})
			if !kept {
				return field.ErrorList{field.Forbidden(at, "existing toleration can not be modified except its tolerationSeconds")}
			}
		}
	}
	var wrong field.ErrorList
	for i, t := range pod.Spec.Tolerations {
		wrong = append(wrong, validToleration(t, at.Index(i))...)
	}
	return wrong
}

// validToleration reports what ValidateTolerations would where no toleration compares numbers.
func validToleration(t corev1.Toleration, at *field.Path) field.ErrorList {
	var wrong field.ErrorList
	if t.Key != "" {
		wrong = append(wrong, metav1validation.ValidateLabelName(t.Key, at.Child("key"))...)
	} else if t.Operator != corev1.TolerationOpExists {
		wrong = append(wrong, field.Invalid(at.Child("operator"), t.Operator, "operator must be Exists when `key` is empty, which means \"match all values and all keys\""))
	}
	if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
		wrong = append(wrong, field.Invalid(at.Child("effect"), t.Effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"))
	}
	switch t.Operator {
	case corev1.TolerationOpEqual, "":
		if messages := validation.IsValidLabelValue(t.Value); len(messages) > 0 {
			wrong = append(wrong, field.Invalid(at.Child("operator"), t.Value, strings.Join(messages, ";")))
		}
	case corev1.TolerationOpExists:
		if t.Value != "" {
			wrong = append(wrong, field.Invalid(at.Child("operator"), t.Value, "value must be empty when `operator` is 'Exists'"))
		}
	}
	return append(wrong, validEffect(t.Effect, at.Child("effect"))...)
}
