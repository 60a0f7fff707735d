// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package admission

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// expressions are the operators of kubectl's syntax that an object has as well. It has none for = and ==, but labels.
var expressions = map[selection.Operator]metav1.LabelSelectorOperator{
	selection.In: metav1.LabelSelectorOpIn, selection.NotIn: metav1.LabelSelectorOpNotIn, selection.NotEquals: metav1.LabelSelectorOpNotIn,
	selection.Exists: metav1.LabelSelectorOpExists, selection.DoesNotExist: metav1.LabelSelectorOpDoesNotExist,
}

// ObjectSelector returns a selector, in kubectl's syntax, in the form that it has in an object. metav1.ParseToLabelSelector
// takes no != and keeps the last of two values of a label alone. Errors: of a selector that does not parse, and of > and <,
// which no object has.
func ObjectSelector(s string) (*metav1.LabelSelector, error) {
	requirements, err := labels.ParseToRequirements(s)
	if err != nil {
		return nil, fmt.Errorf("%q is no label selector: %w", s, err)
	}
	out := &metav1.LabelSelector{MatchLabels: map[string]string{}, MatchExpressions: []metav1.LabelSelectorRequirement{}}
	for _, r := range requirements {
		values, operator := r.ValuesUnsorted(), r.Operator()
		if operator == selection.Equals || operator == selection.DoubleEquals {
			if _, another := out.MatchLabels[r.Key()]; !another {
				out.MatchLabels[r.Key()] = values[0]
				continue
			}
			operator = selection.In
		}
		expression, exists := expressions[operator]
		if !exists {
			return nil, fmt.Errorf("selectors of objects cannot compare numbers, as in %q", r.String())
		}
		slices.Sort(values)
		out.MatchExpressions = append(out.MatchExpressions, metav1.LabelSelectorRequirement{Key: r.Key(), Operator: expression, Values: values})
	}
	return out, nil
}
