// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tfschema

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

func setOf(of ...string) types.Set {
	values := make([]attr.Value, len(of))
	for i, entry := range of {
		values[i] = types.StringValue(entry)
	}
	return types.SetValueMust(types.StringType, values)
}

// An empty list is a limit, and the strictest one: it must not be taken for a list that is left out.
func TestEvictionsModel_onlyReplacesTheDefault(t *testing.T) {
	t.Parallel()
	alone := message.Limits{Limits: eviction.Limits{Only: []eviction.Approval{{Namespace: "ml", Kind: "*", Name: "*"}}}, OnlyAlone: true}
	for name, tt := range map[string]struct {
		model    *EvictionsModel
		defaults message.Limits
		want     string
		// inherited is set where the default counts, alone where the block that has it sets nothing else.
		inherited, alone bool
	}{
		"no block means the default":                 {nil, alone, "[ml/*]", true, true},
		"another limit keeps the default":            {&EvictionsModel{MaxPods: Whole(1)}, alone, "[ml/*]", true, true},
		"a list replaces the default":                {&EvictionsModel{Only: setOf("shop/Deployment/web")}, alone, "[shop/Deployment/web]", false, true},
		"an empty list replaces the default":         {&EvictionsModel{Only: setOf()}, alone, "[]", false, true},
		"every workload replaces the default":        {&EvictionsModel{Only: setOf("*/*")}, alone, "[*/*]", false, true},
		"an empty list without a default is a limit": {&EvictionsModel{Only: setOf()}, message.Limits{}, "[]", false, true},
		"no list without a default is no limit":      {&EvictionsModel{MaxPods: Whole(1)}, message.Limits{}, "unset", true, false},
		"a list beside another limit":                {&EvictionsModel{Only: setOf("ml/*"), MaxPods: Whole(1)}, alone, "[ml/*]", false, false},
		"a list beside stranded":                     {&EvictionsModel{Only: setOf("ml/*"), Stranded: types.StringValue("refuse")}, alone, "[ml/*]", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, diags := tt.model.Limits(t.Context(), tt.defaults)
			if diags.HasError() {
				t.Fatal(diags)
			}
			got := "unset"
			if b.Only != nil {
				got = fmt.Sprint(b.Only)
			}
			if inherited := slices.Contains(b.Inherited, "only"); got != tt.want || inherited != tt.inherited || b.OnlyAlone != tt.alone {
				t.Errorf("only is %s, inherited %t, alone %t", got, inherited, b.OnlyAlone)
			}
		})
	}
}

// Values that were unknown when they were validated are read once more.
func TestEvictionsModel_onlyThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	_, diags := (&EvictionsModel{Only: setOf("shop/web")}).Limits(t.Context(), message.Limits{})
	if !diags.HasError() || !strings.Contains(diags[0].Summary(), `"shop/web" in only of evictions`) || !strings.Contains(diags[0].Detail(), "shop/Deployment/web") {
		t.Error(diags)
	}
}
