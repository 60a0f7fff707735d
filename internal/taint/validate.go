// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Problem is a rule that a taint or toleration breaks.
type Problem struct {
	// Field is the attribute that breaks it, such as "key" or "toleration_seconds".
	Field string
	// Message continues a sentence that begins with the field.
	Message string
}

// Effects lists the effects that Kubernetes knows, in the order of their harm.
func Effects() []string {
	return []string{
		string(corev1.TaintEffectNoSchedule),
		string(corev1.TaintEffectPreferNoSchedule),
		string(corev1.TaintEffectNoExecute),
	}
}

// Validate checks one taint by the rules of the API server
// (k8s.io/kubernetes v1.37.1 pkg/apis/core/validation/validation.go,
// validateNodeTaints): the key is a qualified name, the value a label value,
// the effect one of three.
func Validate(t corev1.Taint) []Problem {
	problems := validateKey(t.Key)
	problems = append(problems, validateValue(t.Value)...)
	if !slices.Contains(Effects(), string(t.Effect)) {
		problems = append(problems, Problem{"effect", fmt.Sprintf("%q is none of %s", t.Effect, strings.Join(Effects(), ", "))})
	}
	return problems
}

// Duplicates returns the identities that are in the list more than once.
func Duplicates(taints []corev1.Taint) []ID {
	seen := make(map[ID]int, len(taints))
	var twice []ID
	for _, t := range taints {
		seen[IDOf(t)]++
		if seen[IDOf(t)] == 2 {
			twice = append(twice, IDOf(t))
		}
	}
	return twice
}

// ValidateToleration checks one toleration by the rules of the API server
// (k8s.io/kubernetes v1.37.1 pkg/apis/core/validation/validation.go,
// ValidateTolerations). Whether the cluster takes Lt and Gt is not checked:
// that is a feature gate which the API does not show.
func ValidateToleration(t corev1.Toleration) []Problem {
	var problems []Problem
	if t.Key != "" {
		problems = validateKey(t.Key)
	} else if t.Operator != corev1.TolerationOpExists {
		problems = append(problems, Problem{"operator", "must be Exists where key is empty, which then means every taint"})
	}
	if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
		problems = append(problems, Problem{"effect", "must be NoExecute where toleration_seconds is set"})
	}
	problems = append(problems, validateOperator(t)...)
	if t.Effect != "" && !slices.Contains(Effects(), string(t.Effect)) {
		problems = append(problems, Problem{"effect", fmt.Sprintf("%q is none of %s; leave it out for all", t.Effect, strings.Join(Effects(), ", "))})
	}
	return problems
}

func validateOperator(t corev1.Toleration) []Problem {
	switch t.Operator {
	case "", corev1.TolerationOpEqual:
		return validateValue(t.Value)
	case corev1.TolerationOpExists:
		if t.Value != "" {
			return []Problem{{"value", "must be empty where operator is Exists"}}
		}
	case corev1.TolerationOpLt, corev1.TolerationOpGt:
		if msgs := content.IsDecimalInteger(t.Value); len(msgs) > 0 {
			return []Problem{{"value", "must be a whole number where operator is Lt or Gt: " + strings.Join(msgs, "; ")}}
		}
		if _, err := strconv.ParseInt(t.Value, 10, 64); err != nil {
			return []Problem{{"value", fmt.Sprintf("must be between %d and %d where operator is Lt or Gt", int64(math.MinInt64), int64(math.MaxInt64))}}
		}
	default:
		return []Problem{{"operator", fmt.Sprintf("%q is none of Equal, Exists, Lt, Gt", t.Operator)}}
	}
	return nil
}

func validateKey(key string) []Problem {
	var problems []Problem
	for _, msg := range validation.IsQualifiedName(key) {
		problems = append(problems, Problem{"key", fmt.Sprintf("%q is not a qualified name: %s", key, msg)})
	}
	return problems
}

func validateValue(value string) []Problem {
	if value == "" {
		// Valid, and worth no regular expression: each merge asks for every owned taint.
		return nil
	}
	var problems []Problem
	for _, msg := range validation.IsValidLabelValue(value) {
		problems = append(problems, Problem{"value", fmt.Sprintf("%q is not a label value: %s", value, msg)})
	}
	return problems
}
