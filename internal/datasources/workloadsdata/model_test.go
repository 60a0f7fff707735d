// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadsdata

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func TestConcerns(t *testing.T) {
	t.Parallel()
	names := func(all ...string) types.Set {
		var elements []attr.Value
		for _, name := range all {
			elements = append(elements, types.StringValue(name))
		}
		return types.SetValueMust(types.StringType, elements)
	}
	all := types.SetNull(types.StringType)
	pods := []*snapshot.Pod{
		{Namespace: "shop", Name: "web", Labels: labels.Set{"app": "web"}},
		{Namespace: "shop", Name: "db", Labels: labels.Set{"app": "db"}},
		{Namespace: "ops", Name: "tool"},
	}
	cases := []struct {
		name string
		m    model
		want []string
	}{
		{"nothing asked for is every pod", model{Namespaces: all}, []string{"web", "db", "tool"}},
		{"namespaces leave out the others", model{Namespaces: names("ops", "none")}, []string{"tool"}},
		{"a selector is matched against the labels of pods", model{Namespaces: all, Selector: types.StringValue("app in (web,x)")}, []string{"web"}},
		{"both must match", model{Namespaces: names("ops"), Selector: types.StringValue("app=web")}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			concerns := c.m.concerns(t.Context(), &diags)
			if diags.HasError() {
				t.Fatal(diags)
			}
			var got []string
			for _, p := range pods {
				if concerns(p) {
					got = append(got, p.Name)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
