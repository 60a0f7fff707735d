// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"net/http"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

// TestWorkloadTolerations_refusesAJobThatHasStarted at plan.
func TestWorkloadTolerations_refusesAJobThatHasStarted(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "its template is fixed")
	inShop(t, func(t *testing.T, s *shop) {
		thing := s.make("Job", "import", 1, "foreign*", nil)
		s.c.ChangeStatus(t, thing, `{"status":{"startTime":"2026-01-01T00:00:00Z"}}`)
		says(t, "error", s.tf.Plan(t, s.fresh(), s.manage(thing, "team=a:NoExecute", nil)).Diagnostics.Errors(),
			`[AttributeName("workload")] Unable to change the tolerations of Job "`+s.namespace+`/import": its template is fixed`, "recreate the Job")
	})
}

// TestWorkloadTolerations_refusesWhatADryRunRefuses at plan.
func TestWorkloadTolerations_refusesWhatADryRunRefuses(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "the API server would refuse it")
	inShop(t, func(t *testing.T, s *shop) {
		thing, proxy := s.make("Deployment", "web", 1, "", nil), s.c.Proxy(t)
		proxy.Spoil(func(r acctest.Request) acctest.Fault {
			if r.Method == http.MethodPatch {
				return http.StatusUnprocessableEntity
			}
			return acctest.None
		})
		tf := &acctest.Terraform{Provider: proxy.Provider(t, s.c)}
		says(t, "error", tf.Plan(t, s.fresh(), s.manage(thing, "team=a:NoExecute", nil)).Diagnostics.Errors(),
			`[AttributeName("tolerations")] Unable to change the tolerations of Deployment "`+s.namespace+`/web": the API server would refuse it`, "injected by the test")
		s.want(thing, "", 0)
	})
}
