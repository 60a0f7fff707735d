// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// RefuseOperators refuses operators that the provider block rules out: an API server whose
// feature gate is off refuses every pod that has them, whatever gave it the toleration.
func (d *Data) RefuseOperators(at path.Path, tolerations []corev1.Toleration, diags *diag.Diagnostics) {
	for _, t := range tolerations {
		if taint.Compares(t) && d.Comparison == eviction.ComparisonOff {
			diags.AddAttributeError(at, fmt.Sprintf("Unable to use the operator %s in toleration %q", t.Operator, taint.FormatToleration(t)),
				"The cluster accepts Lt and Gt only with the feature gate TaintTolerationComparisonOperators, and the provider block has comparison_operators = false. Use Equal or Exists.")
		}
	}
}
