// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tfschema

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

func TestEvictionsModel_budget(t *testing.T) {
	t.Parallel()
	namespaces := func(names ...string) types.Set {
		values := make([]attr.Value, len(names))
		for i, n := range names {
			values[i] = types.StringValue(n)
		}
		return types.SetValueMust(types.StringType, values)
	}
	none := EvictionsModel{MaxPods: WholeNull(), ProtectedNamespaces: types.SetNull(types.StringType), ProtectedSelector: types.StringNull()}
	with := func(change func(*EvictionsModel)) *EvictionsModel {
		m := none
		change(&m)
		return &m
	}
	defaults := message.Limits{Limits: eviction.Limits{MaxPods: new(int64(7)), Namespaces: []string{"prod"}, Selector: labels.SelectorFromSet(labels.Set{"tier": "gold"})}}
	tests := []struct {
		name  string
		model *EvictionsModel
		max   int64
		// pending is max_pending, beside a max_lost of 0; 0 for neither.
		pending    int64
		namespaces []string
		selector   string
		inherited  string
		wrong      bool
	}{
		{name: "no block means the defaults", max: 7, namespaces: []string{"prod"}, selector: "tier=gold", inherited: "max_lost max_pending max_pods only protected_namespaces protected_selector"},
		{name: "an empty block means the defaults", model: &none, max: 7, namespaces: []string{"prod"}, selector: "tier=gold", inherited: "max_lost max_pending max_pods only protected_namespaces protected_selector"},
		{name: "zero is a limit and no default", model: with(func(m *EvictionsModel) { m.MaxPods = Whole(0) }), namespaces: []string{"prod"}, selector: "tier=gold", inherited: "max_lost max_pending only protected_namespaces protected_selector"},
		{name: "numbers of Pending and lost pods are limits of their own", model: with(func(m *EvictionsModel) { m.MaxPending, m.MaxLost = Whole(3), Whole(0) }), max: 7, pending: 3, namespaces: []string{"prod"}, selector: "tier=gold", inherited: "max_pods only protected_namespaces protected_selector"},
		{name: "namespaces take the place of the defaults", model: with(func(m *EvictionsModel) { m.ProtectedNamespaces = namespaces("a") }), max: 7, namespaces: []string{"a"}, selector: "tier=gold", inherited: "max_lost max_pending max_pods only protected_selector"},
		{name: "a selector takes the place of the default", model: with(func(m *EvictionsModel) { m.ProtectedSelector = types.StringValue("a=b") }), max: 7, namespaces: []string{"prod"}, selector: "a=b", inherited: "max_lost max_pending max_pods only protected_namespaces"},
		{name: "a selector that cannot be read", model: with(func(m *EvictionsModel) { m.ProtectedSelector = types.StringValue("a in") }), wrong: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b, diags := tt.model.Limits(t.Context(), defaults)
			if diags.HasError() != tt.wrong {
				t.Fatal(diags)
			}
			if tt.wrong {
				return
			}
			if *b.MaxPods != tt.max || b.Selector.String() != tt.selector {
				t.Errorf("max_pods %d, selector %s", *b.MaxPods, b.Selector)
			}
			if set := b.MaxPending != nil && b.MaxLost != nil; set != (tt.pending > 0) || set && (*b.MaxPending != tt.pending || *b.MaxLost != 0) {
				t.Errorf("max_pending %v, max_lost %v", b.MaxPending, b.MaxLost)
			}
			if diff := cmp.Diff(tt.namespaces, b.Namespaces); diff != "" {
				t.Error(diff)
			}
			slices.Sort(b.Inherited)
			if got := strings.Join(b.Inherited, " "); got != tt.inherited {
				t.Errorf("inherited %q, want %q", got, tt.inherited)
			}
		})
	}
}

func TestEvictionsModel_isKnownOnlyWhole(t *testing.T) {
	t.Parallel()
	known := EvictionsModel{MaxPods: Whole(1), ProtectedNamespaces: types.SetNull(types.StringType), ProtectedSelector: types.StringNull()}
	for name, change := range map[string]func(*EvictionsModel){
		"max_pods":             func(m *EvictionsModel) { m.MaxPods = WholeNumber{Int64Value: types.Int64Unknown()} },
		"max_pending":          func(m *EvictionsModel) { m.MaxPending = WholeNumber{Int64Value: types.Int64Unknown()} },
		"max_lost":             func(m *EvictionsModel) { m.MaxLost = WholeNumber{Int64Value: types.Int64Unknown()} },
		"protected_namespaces": func(m *EvictionsModel) { m.ProtectedNamespaces = types.SetUnknown(types.StringType) },
		"protected_selector":   func(m *EvictionsModel) { m.ProtectedSelector = types.StringUnknown() },
		"only":                 func(m *EvictionsModel) { m.Only = types.SetUnknown(types.StringType) },
		"a single entry of only": func(m *EvictionsModel) {
			m.Only = types.SetValueMust(types.StringType, []attr.Value{types.StringValue("ml/*"), types.StringUnknown()})
		},
		"a single namespace": func(m *EvictionsModel) {
			m.ProtectedNamespaces = types.SetValueMust(types.StringType, []attr.Value{types.StringUnknown()})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := known
			change(&m)
			if m.Known() {
				t.Error("an unknown value counts as known")
			}
		})
	}
	if !known.Known() || !(*EvictionsModel)(nil).Known() {
		t.Error("known values count as unknown")
	}
}
