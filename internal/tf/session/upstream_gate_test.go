// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// TestUpstream_validationWithTheGateOff has the facts of the three cases with the feature
// gate TaintTolerationComparisonOperators off in k8s.io/kubernetes v1.37.2
// pkg/apis/core/validation/validation_test.go: Lt and Gt are refused. The API does not show
// the gate, so that the provider refuses them only where its block has comparison_operators = false.
func TestUpstream_validationWithTheGateOff(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	refused := func(operator corev1.TolerationOperator, comparison eviction.Comparison) bool {
		one := corev1.Toleration{Key: "node.kubernetes.io/sla", Operator: operator, Value: "950", Effect: corev1.TaintEffectNoSchedule}
		var diags diag.Diagnostics
		(&Data{Comparison: comparison}).RefuseOperators(path.Root("tolerations"), []corev1.Toleration{one}, &diags)
		return diags.HasError()
	}
	for _, operator := range []corev1.TolerationOperator{corev1.TolerationOpLt, corev1.TolerationOpGt} {
		rows.Run(t, string(operator), func(t *testing.T) {
			t.Parallel()
			if !refused(operator, eviction.ComparisonOff) {
				t.Error("not refused")
			}
			if refused(operator, eviction.ComparisonOn) || refused(operator, eviction.ComparisonUnknown) {
				t.Error("refused where the gate is not known to be off")
			}
		})
	}
	if refused(corev1.TolerationOpExists, eviction.ComparisonOff) {
		t.Error("Exists is refused")
	}
}
