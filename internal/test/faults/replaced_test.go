// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// TestApply_aReplacementRestartsNoPodMoreOftenThanItsChange replaces every resource under create_before_destroy, as it is
// and with another configuration. Terraform applies the create, then plans and applies the destroy of the old object in
// the same process (internal/terraform/node_resource_abstract_instance.go and node_resource_destroy_deposed.go). Where the
// new object cannot adopt what the old one owns, the create is refused, and writes nothing.
func TestApply_aReplacementRestartsNoPodMoreOftenThanItsChange(t *testing.T) {
	t.Parallel()
	acctest.TooLong(t)
	for _, s := range subjects() {
		if s.action {
			continue
		}
		for name, to := range map[string]object{"as it is": s.first, "changed": s.second, "after a change": s.second} {
			if name == "as it is" && !due(s) {
				continue
			}
			t.Run(s.name()+" "+name, func(t *testing.T) {
				t.Parallel()
				st := prepare(t, s, operation{"update", s.first, s.second})
				most := 0
				if name == "changed" {
					bubble(t, st.start, func(t *testing.T, api *fakeapi.Server) {
						before, i := api.Created(corev1.SchemeGroupVersion.WithResource("pods")), st.instance
						if e := through(api.Client()).Carry(t, &i, st.planned, to).Errors(); e != "" {
							t.Fatal(e)
						}
						time.Sleep(calm)
						// The create brings the changed entries, and the destroy takes away the others.
						most = 2 * (api.Created(corev1.SchemeGroupVersion.WithResource("pods")) - before)
					})
				}
				bubble(t, st.start, func(t *testing.T, api *fakeapi.Server) {
					older, newer := st.instance, acctest.Instance{Type: st.instance.Type}
					if name == "after a change" {
						if e := through(api.Client()).Carry(t, &older, st.planned, to).Errors(); e != "" {
							t.Fatal(e)
						}
						time.Sleep(calm)
					}
					start, before := look(api), api.Created(corev1.SchemeGroupVersion.WithResource("pods"))
					refusal := replace(t, api, &older, &newer, to)
					time.Sleep(calm)
					if difference := start.difference(look(api)); refusal != "" && difference != "" {
						t.Errorf("it is refused, and has written: %s\n%s", refusal, difference)
					}
					if made := api.Created(corev1.SchemeGroupVersion.WithResource("pods")) - before; made > most {
						t.Errorf("%d pods are made in the place of others, which is to be at most %d", made, most)
					}
					if refusal != "" {
						return
					}
					if left := through(api.Client()).Plan(t, &newer, to); !left.Empty || left.Diagnostics.Errors() != "" {
						t.Errorf("the plan is not empty: %s", said(left.Diagnostics))
					}
				})
			})
		}
	}
}

// replace returns why a create is refused, "" where the old object is destroyed after it.
func replace(t *testing.T, api *fakeapi.Server, older, newer *acctest.Instance, to object) (refusal string) {
	t.Helper()
	planned := through(api.Client()).Walk(t).Plan(newer, to)
	if e := planned.Diagnostics.Errors(); e != "" {
		return e
	}
	apply := through(api.Client()).Walk(t)
	if e := apply.ApplyChange(newer, planned, to).Errors(); e != "" {
		return e
	}
	destroy := apply.Plan(older, nil)
	if e := append(destroy.Diagnostics, apply.ApplyChange(older, destroy, nil)...).Errors(); e != "" {
		t.Fatal(e)
	}
	return ""
}
