// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// Groups may have kinds of the same name; the versions of a group have the same objects.
func TestRefuseTwice_comparesTheGroupOfAKind(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		first, second string
		refused       bool
	}{
		"the same object":            {"apps/v1", "apps/v1", true},
		"an object of another group": {"apps/v1", "apps.kruise.io/v1beta1", false},
		"another version of a group": {"apps.kruise.io/v1alpha1", "apps.kruise.io/v1beta1", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var members []member
			for _, apiVersion := range []string{tt.first, tt.second} {
				members = append(members, member{WorkloadTarget: session.WorkloadTarget{Ref: workload.Ref{APIVersion: apiVersion, Kind: "DaemonSet", Namespace: "shop", Name: "web"}}})
			}
			var diags diag.Diagnostics
			refuseTwice(members, &diags)
			if diags.HasError() != tt.refused {
				t.Errorf("refused is %t: %v", diags.HasError(), diags)
			}
		})
	}
}

// An error about one of them names its place in the list, not that of its namesake.
func TestMemberOf_comparesTheGroupOfAKind(t *testing.T) {
	t.Parallel()
	var w wanted
	for _, apiVersion := range []string{"apps/v1", "apps.kruise.io/v1beta1", "apps.example.com/v1"} {
		w.members = append(w.members, member{WorkloadTarget: session.WorkloadTarget{Ref: workload.Ref{APIVersion: apiVersion, Kind: "DaemonSet", Namespace: "shop", Name: "web"}}})
	}
	for _, m := range w.members {
		if got, found := w.memberOf(&rollout.HoldError{Workload: &workload.Workload{Ref: m.Ref}}); !found || got.Ref != m.Ref {
			t.Errorf("an error about %s is taken for one about %s", m.APIVersion, got.APIVersion)
		}
	}
}
