// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tolerationpolicy_test

import (
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccTolerationPolicy_kill9AfterEachRequest kills the real provider process under
// Terraform after each request of create, update and destroy in turn. The same apply again
// ends in the right state, and no policy is left without an owner.
func TestAccTolerationPolicy_kill9AfterEachRequest(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		values [2]string
		least  int
	}{"create": {[2]string{"", "a"}, 4}, "update": {[2]string{"a", "b"}, 3}, "destroy": {[2]string{"a", ""}, 4}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "update" {
				acctest.Exhaustive(t)
			}
			s, cli := newStage(t), acctest.NewCLI(t)
			policy := acctest.Name(t, "policy")
			t.Cleanup(func() { s.remove(policy) })
			// Its name is the key: a taint of another test's node would have a toleration retire.
			hcl := func(value string) string {
				if value == "" {
					return ""
				}
				return `resource "kubetaint_toleration_policy" "this" {
  name        = "` + policy + `"
  match       = { namespaces = ["` + s.namespace + `"] }
  tolerations = [{ key = "` + policy + `", operator = "Equal", value = "` + value + `", effect = "NoSchedule" }]
}
`
			}
			want := func(value string) {
				t.Helper()
				if value == "" {
					s.gone(policy)
					return
				}
				s.becomes("tolerations", s.given, policy+"="+value+":NoSchedule")
			}
			counts := func(r acctest.Request) bool { return strings.HasPrefix(r.Path, "/apis/admissionregistration.k8s.io/") }
			kills := 0
			for requests := range acctest.Kills(2) {
				cli.Write(s.c.Provider(t), hcl(tt.values[0]))
				cli.MustRun("apply", "-auto-approve", "-input=false")
				proxy := s.c.Proxy(t)
				cli.Write(proxy.Provider(t, s.c), hcl(tt.values[1]))
				cli.MustRun("plan", "-input=false", "-out=plan")
				if !cli.ApplyAndKill(proxy, counts, requests) {
					break
				}
				kills++
				cli.MustRun("apply", "-auto-approve", "-input=false")
				want(tt.values[1])
				cli.WantEmptyPlan()
			}
			if want(tt.values[1]); kills < acctest.MinKills(tt.least) {
				t.Fatalf("the apply was killed only %d times", kills)
			}
		})
	}
}
