// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
)

// Parse reads a taint in kubectl's notation: key=value:Effect, key=:Effect or
// key:Effect. The error reports which part is wrong and what is allowed.
func Parse(s string) (corev1.Taint, error) {
	if without, removes := strings.CutSuffix(s, "-"); removes {
		return corev1.Taint{}, fmt.Errorf("%q is not a taint: the minus at its end is kubectl's notation for removing one, write %q", s, without)
	}
	head, effect, found := strings.Cut(s, ":")
	if !found || strings.Contains(effect, ":") {
		return corev1.Taint{}, fmt.Errorf("%q is not a taint: write key=value:Effect or key:Effect", s)
	}
	key, value, _ := strings.Cut(head, "=")
	t := corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}
	if problems := Validate(t); len(problems) > 0 {
		return corev1.Taint{}, fmt.Errorf("%q is not a taint: %s %s", s, problems[0].Field, problems[0].Message)
	}
	return t, nil
}

// ParseID reads a taint's identity, key:Effect.
func ParseID(s string) (ID, error) {
	t, err := Parse(s)
	if err != nil {
		return ID{}, err
	}
	if strings.Contains(s, "=") {
		return ID{}, fmt.Errorf("%q names a value: a taint is identified by key and effect, write %s", s, IDOf(t))
	}
	return IDOf(t), nil
}

// Format writes a taint in kubectl's notation, without the equals sign where
// the value is empty, as it can be printed. Format and Parse are inverse to each other.
func Format(t corev1.Taint) string {
	if t.Value == "" {
		return IDOf(t).String()
	}
	return printable.Line(t.Key + "=" + t.Value + ":" + string(t.Effect))
}

// FormatAll writes taints in kubectl's notation, separated by commas.
func FormatAll(taints []corev1.Taint) string {
	parts := make([]string, len(taints))
	for i, t := range taints {
		parts[i] = Format(t)
	}
	return strings.Join(parts, ", ")
}
