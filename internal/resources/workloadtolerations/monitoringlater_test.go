// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// write puts another text into the ConfigMap.
func (s *shop) write(text string) {
	s.t.Helper()
	found := s.c.Config(s.t)
	found.Data[workload.ConfigKey] = text
	if _, err := s.c.Admin.CoreV1().ConfigMaps(found.Namespace).Update(s.t.Context(), found, metav1.UpdateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// TestMonitoring_aTextThatIsDamagedLaterIsNamed in every operation on what exists, and nothing is written until
// it is repaired.
func TestMonitoring_aTextThatIsDamagedLaterIsNamed(t *testing.T) {
	t.Parallel()
	inMonitoring(t, byHand, func(t *testing.T, s *shop, begin func()) {
		begin()
		config, i := s.monitoring("team=a:NoExecute", nil), s.fresh()
		s.apply(i, config)
		good := s.text()
		s.write(good + "  oops: [\n")
		damaged := s.c.Config(t).ResourceVersion
		planned := s.tf.Plan(t, i, s.monitoring("team=b:NoExecute", nil)).Diagnostics
		says(t, "error", planned.Errors(), `[AttributeName("workload")] Unable to read tolerations of`, "config.yaml cannot be edited", "did not find expected", "kubectl edit configmap cluster-monitoring-config -n openshift-monitoring")
		if d := s.tf.Apply(t, i, nil); d.Errors() == "" {
			t.Fatal("it is destroyed")
		}
		if now := s.c.Config(t).ResourceVersion; now != damaged {
			t.Fatal("the ConfigMap is written")
		}
		s.write(good)
		s.quiet(i, config)
		s.destroy(i)
		if diff := cmp.Diff(byHand, s.text()); diff != "" {
			t.Fatal(diff)
		}
	})
}
