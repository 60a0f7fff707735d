// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// ParseTolerations reads tolerations in a notation of the tests: KEY, KEY=VALUE, KEY<VALUE,
// KEY>VALUE or KEY* for Exists, then :EFFECT and @SECONDS where they are set.
func ParseTolerations(t testing.TB, all string) []corev1.Toleration {
	t.Helper()
	var out []corev1.Toleration
	for one := range strings.FieldsSeq(all) {
		var parsed corev1.Toleration
		if head, seconds, limited := strings.Cut(one, "@"); limited {
			n, err := strconv.ParseInt(seconds, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			one, parsed.TolerationSeconds = head, &n
		}
		one, effect, _ := strings.Cut(one, ":")
		parsed.Key, parsed.Effect, parsed.Operator = one, corev1.TaintEffect(effect), corev1.TolerationOpEqual
		for sign, operator := range map[string]corev1.TolerationOperator{"=": corev1.TolerationOpEqual, "<": corev1.TolerationOpLt, ">": corev1.TolerationOpGt, "*": corev1.TolerationOpExists} {
			if key, value, found := strings.Cut(one, sign); found {
				parsed.Key, parsed.Value, parsed.Operator = key, value, operator
			}
		}
		out = append(out, parsed)
	}
	return out
}

// TolerationObjects writes tolerations as a configuration does.
func TolerationObjects(t testing.TB, all string) []any {
	t.Helper()
	var out []any
	for _, one := range ParseTolerations(t, all) {
		object := map[string]any{}
		for name, value := range map[string]string{"key": one.Key, "value": one.Value, "effect": string(one.Effect)} {
			if value != "" {
				object[name] = value
			}
		}
		if one.Operator != corev1.TolerationOpEqual {
			object["operator"] = string(one.Operator)
		}
		if one.TolerationSeconds != nil {
			object["toleration_seconds"] = *one.TolerationSeconds
		}
		out = append(out, object)
	}
	return out
}
