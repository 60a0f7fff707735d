// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"slices"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// TestWithdrawnPolicies has the cluster serve MutatingAdmissionPolicies no longer, as where a feature gate is switched off:
// they are gone for a refresh and for a destroy, with a refresh before it and without, and what still wants
// one is told that there is no such kind. Served in another version alone, they are not gone.
func TestWithdrawnPolicies(t *testing.T) {
	t.Parallel()
	alpha := fakeapi.CustomKind("admissionregistration.k8s.io/v1alpha1", "MutatingAdmissionPolicy", "mutatingadmissionpolicies")
	for _, s := range subjects() {
		if s.typeName != "toleration_policy" && s.strategy != "admission" {
			continue
		}
		const none, groupless = "the cluster does not serve MutatingAdmissionPolicies", "a refresh without the group"
		for name, tt := range map[string]struct {
			kinds []fakeapi.Kind
			after func(t *testing.T, tf *acctest.Terraform, i *acctest.Instance)
		}{
			"a refresh and a destroy": {nil, func(t *testing.T, tf *acctest.Terraform, i *acctest.Instance) {
				t.Helper()
				if d := tf.Walk(t).Refresh(i); d.Errors() != "" {
					t.Fatal("the refresh:", d.Errors())
				}
				if gone := s.typeName == "toleration_policy"; i.Exists() == gone {
					t.Errorf("the state is kept: %t", i.Exists())
				}
				acctest.WantAll(t, tf.Plan(t, i, s.first).Diagnostics.Errors(), none)
				if s.typeName == "toleration_policy" {
					_, d := tf.Import(t, "kubetaint_toleration_policy", "team")
					acctest.WantAll(t, d.Errors(), none)
				}
				if d := tf.Apply(t, i, nil); d.Errors() != "" || i.Exists() {
					t.Fatal("the destroy:", d.Errors())
				}
			}},
			"a destroy without a refresh": {nil, func(t *testing.T, tf *acctest.Terraform, i *acctest.Instance) {
				t.Helper()
				planned := tf.Walk(t).Plan(i, nil)
				if d := planned.Diagnostics; d.Errors() != "" {
					t.Fatal("the plan of the destroy:", d.Errors())
				}
				if d := tf.Carry(t, i, planned, nil); d.Errors() != "" || i.Exists() {
					t.Fatal("the destroy:", d.Errors())
				}
			}},
			"a refresh of another version": {[]fakeapi.Kind{alpha}, kept(none)},
			groupless:                      {nil, kept(none)},
		} {
			t.Run(s.name()+" "+name, func(t *testing.T) {
				t.Parallel()
				bubble(t, moment{api: fakeapi.New(slices.Concat(s.kinds, tt.kinds)...)}, func(t *testing.T, api *fakeapi.Server) {
					s.world(api)
					time.Sleep(calm)
					i := &acctest.Instance{Type: "kubetaint_" + s.typeName}
					if d := through(api.Client()).Apply(t, i, s.first); d.Errors() != "" {
						t.Fatal(d.Errors())
					}
					time.Sleep(calm)
					group := admissionregistrationv1.SchemeGroupVersion
					api.Withdraw(group.WithResource("mutatingadmissionpolicies"), group.WithResource("mutatingadmissionpolicybindings"))
					if name == groupless {
						// Every cluster serves the group, for its webhooks.
						api.Withdraw(group.WithResource("mutatingwebhookconfigurations"), group.WithResource("validatingwebhookconfigurations"))
					}
					tt.after(t, through(api.Client()), i)
					if i.Exists() {
						return
					}
					for _, n := range fakeapi.Objects[*corev1.Node](api) {
						if n.Labels["dedicated"] != "" {
							t.Errorf("node %s keeps its label", n.Name)
						}
					}
				})
			})
		}
	}
}

// kept expects that a refresh keeps the state of what may still be there, with the reason.
func kept(none string) func(*testing.T, *acctest.Terraform, *acctest.Instance) {
	return func(t *testing.T, tf *acctest.Terraform, i *acctest.Instance) {
		t.Helper()
		d := tf.Walk(t).Refresh(i)
		acctest.WantAll(t, d.Errors()+d.Warnings(), none)
		if !i.Exists() {
			t.Error("the state is dropped")
		}
	}
}
