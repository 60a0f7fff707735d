// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
)

// TestUpstream_validationWithTheGateOff has the facts of the three cases with the feature
// gate TaintTolerationComparisonOperators off in k8s.io/kubernetes v1.37.2
// pkg/apis/core/validation/validation_test.go: Lt and Gt are refused. The API does not show
// the gate, so that the provider refuses them only where its block says that it is off.
func TestUpstream_validationWithTheGateOff(t *testing.T) {
	t.Parallel()
	for _, operator := range []corev1.TolerationOperator{corev1.TolerationOpLt, corev1.TolerationOpGt, corev1.TolerationOpExists} {
		for _, comparison := range []eviction.Comparison{eviction.ComparisonOff, eviction.ComparisonOn, eviction.ComparisonUnknown} {
			one := corev1.Toleration{Key: "node.kubernetes.io/sla", Operator: operator, Value: "950", Effect: corev1.TaintEffectNoSchedule}
			var diags diag.Diagnostics
			(&Data{Comparison: comparison}).RefuseOperators(path.Root("tolerations"), []corev1.Toleration{one}, &diags)
			want := comparison == eviction.ComparisonOff && operator != corev1.TolerationOpExists
			if diags.HasError() != want {
				t.Errorf("%s, gate %d: refused %t, want %t", operator, comparison, !want, want)
			}
		}
	}
}
