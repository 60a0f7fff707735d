// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package condition reads and sets the conditions of Machines as the real
// controllers do (machine-api-operator, pkg/util/conditions).
package condition

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Get returns the condition of a type, or nil.
func Get(m *machinev1beta1.Machine, kind machinev1beta1.ConditionType) *machinev1beta1.Condition {
	for i := range m.Status.Conditions {
		if m.Status.Conditions[i].Type == kind {
			return &m.Status.Conditions[i]
		}
	}
	return nil
}

// IsTrue reports whether the condition of a type is there and true.
func IsTrue(m *machinev1beta1.Machine, kind machinev1beta1.ConditionType) bool {
	found := Get(m, kind)
	return found != nil && found.Status == corev1.ConditionTrue
}

// True returns a condition that holds.
func True(kind machinev1beta1.ConditionType, message string) machinev1beta1.Condition {
	return machinev1beta1.Condition{Type: kind, Status: corev1.ConditionTrue, Message: message}
}

// False returns a condition that does not hold, as a warning.
func False(kind machinev1beta1.ConditionType, reason, format string, args ...any) machinev1beta1.Condition {
	return machinev1beta1.Condition{
		Type: kind, Status: corev1.ConditionFalse, Severity: machinev1beta1.ConditionSeverityWarning,
		Reason: reason, Message: fmt.Sprintf(format, args...),
	}
}

// Unknown returns a condition of which nothing is known.
func Unknown(kind machinev1beta1.ConditionType, reason, format string, args ...any) machinev1beta1.Condition {
	return machinev1beta1.Condition{
		Type: kind, Status: corev1.ConditionUnknown, Reason: reason, Message: fmt.Sprintf(format, args...),
	}
}

// Set puts a condition into its place, sorted by type. The time of transition
// changes with anything else in it.
func Set(m *machinev1beta1.Machine, c machinev1beta1.Condition) {
	existing := Get(m, c.Type)
	if existing != nil && same(*existing, c) {
		return
	}
	c.LastTransitionTime = metav1.NewTime(time.Now().UTC().Truncate(time.Second))
	if existing != nil {
		*existing = c
		return
	}
	m.Status.Conditions = append(m.Status.Conditions, c)
	slices.SortFunc(m.Status.Conditions, func(a, b machinev1beta1.Condition) int {
		return cmp.Compare(a.Type, b.Type)
	})
}

// Copy returns conditions that later changes do not reach. It is never nil, so
// that a patch from them reports what was added.
func Copy(from []machinev1beta1.Condition) []machinev1beta1.Condition {
	return append([]machinev1beta1.Condition{}, from...)
}

func same(a, b machinev1beta1.Condition) bool {
	return a.Status == b.Status && a.Reason == b.Reason && a.Severity == b.Severity && a.Message == b.Message
}
