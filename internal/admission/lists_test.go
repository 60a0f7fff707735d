// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package admission

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestForbidden_comparesAsThePlugInDoes: the cases are those in which its comparison differs
// from what tolerations mean to a scheduler, and their neighbours.
func TestForbidden_comparesAsThePlugInDoes(t *testing.T) {
	t.Parallel()
	toleration := func(key string, operator corev1.TolerationOperator, value string, effect corev1.TaintEffect) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: operator, Value: value, Effect: effect}
	}
	during := func(t corev1.Toleration, seconds int64) corev1.Toleration {
		t.TolerationSeconds = &seconds
		return t
	}
	const equal, exists = corev1.TolerationOpEqual, corev1.TolerationOpExists
	x, plain := toleration("x", equal, "1", "NoExecute"), toleration("x", "", "1", "NoExecute")
	for name, tt := range map[string]struct {
		allowed, has corev1.Toleration
		forbidden    bool
	}{
		"the very same":                                    {x, x, false},
		"the very same without an operator":                {plain, plain, false},
		"without an operator under Equal":                  {x, plain, true},
		"Equal under one without an operator":              {plain, x, false},
		"another value":                                    {x, toleration("x", equal, "2", "NoExecute"), true},
		"Equal under Exists":                               {toleration("x", exists, "", "NoExecute"), x, false},
		"without an operator under Exists":                 {toleration("x", exists, "", "NoExecute"), plain, false},
		"Exists under Equal":                               {x, toleration("x", exists, "", "NoExecute"), true},
		"anything under Exists without a key":              {toleration("", exists, "", ""), plain, false},
		"another key":                                      {toleration("y", exists, "", ""), x, true},
		"any effect under one of them":                     {x, toleration("x", equal, "1", ""), true},
		"one effect under all of them":                     {toleration("x", equal, "1", ""), x, false},
		"a limit under none":                               {x, during(x, 5), false},
		"no limit under one":                               {during(x, 5), x, true},
		"a longer limit":                                   {during(x, 5), during(x, 6), true},
		"a shorter limit":                                  {during(x, 5), during(x, 4), false},
		"limits below zero are compared as the numbers do": {during(x, -2), during(x, -1), true},
		"a comparison under its like":                      {toleration("x", "Gt", "1", ""), toleration("x", "Gt", "1", ""), false},
		"a comparison under one of all effects":            {toleration("x", "Gt", "1", ""), toleration("x", "Gt", "1", "NoExecute"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Forbidden([]corev1.Toleration{tt.allowed}, []corev1.Toleration{tt.has})
			if (len(got) > 0) != tt.forbidden {
				t.Errorf("%v is forbidden: %v", tt.has, got)
			}
		})
	}
	if got := Forbidden(nil, []corev1.Toleration{x}); len(got) > 0 {
		t.Errorf("an empty list forbids %v", got)
	}
}
