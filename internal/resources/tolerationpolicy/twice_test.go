// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tolerationpolicy_test

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestTolerationPolicy_twoOfOneConfigurationClaimNoNameTwice: the second one would adopt the policy
// of the first one at apply, and overwrite it.
func TestTolerationPolicy_twoOfOneConfigurationClaimNoNameTwice(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, s *stage) {
		name, other, exists := acctest.Name(t, "policy"), acctest.Name(t, "other"), fresh()
		s.apply(exists, s.config(other, "team=a:NoSchedule", nil))
		for what, tt := range map[string]struct {
			first, second *acctest.Instance
			firstName     string
			secondName    string
			twice         string
		}{
			"both are created":                             {fresh(), fresh(), name, name, name},
			"one exists":                                   {exists, fresh(), other, other, other},
			"one is renamed to another":                    {fresh(), exists, name, name, name},
			"they have different names":                    {fresh(), fresh(), name, name + "-b", ""},
			"one is renamed, and the other takes its name": {exists, fresh(), name, other, ""},
		} {
			w := s.tf.Walk(t)
			w.Refresh(exists)
			d := append(w.Plan(tt.first, s.config(tt.firstName, "team=a:NoSchedule", nil)).Diagnostics, w.Plan(tt.second, s.config(tt.secondName, "team=b:NoSchedule", nil)).Diagnostics...)
			if tt.twice == "" {
				if d.Errors() != "" {
					t.Errorf("%s: %s", what, d.Errors())
				}
				continue
			}
			acctest.WantAll(t, d.Errors(), `[AttributeName("name")] Unable to claim toleration policy "`+tt.twice+`" twice`)
		}
	})
}

// TestTolerationPolicy_aReplacementClaimsItsNameOnce: a command line plans it twice, and its create
// once more where create_before_destroy makes it before the destroy.
func TestTolerationPolicy_aReplacementClaimsItsNameOnce(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, s *stage) {
		old, name, i, replacement := acctest.Name(t, "old"), acctest.Name(t, "new"), fresh(), fresh()
		s.apply(i, s.config(old, "team=a:NoSchedule", nil))
		config := s.config(name, "team=a:NoSchedule", nil)
		t.Cleanup(func() { s.remove(name) })
		planned := s.tf.Plan(t, i, config)
		if !planned.Replace || planned.Diagnostics.Errors() != "" {
			t.Fatalf("replace %t: %s", planned.Replace, planned.Diagnostics.Errors())
		}
		w := s.tf.Walk(t)
		if d := w.ApplyChange(replacement, planned, config); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		if d := w.ApplyChange(i, w.Plan(i, nil), nil); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		s.gone(old)
		s.tf.Destroy(t, replacement)
	})
}
