// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw_test

import (
	"context"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
)

// A misspelt operator or value is dropped by Terraform: what is left looks like this.
func TestValidToleration_warnsOfWhatLooksLikeATypingError(t *testing.T) {
	t.Parallel()
	some, none := types.StringValue, types.StringNull()
	for name, tt := range map[string]struct {
		model fw.TolerationModel
		want  string
	}{
		"a key alone":               {fw.TolerationModel{Key: some("team")}, `Toleration "team" tolerates only taints with an empty value`},
		"a key and an effect":       {fw.TolerationModel{Key: some("team"), Effect: some("NoExecute")}, `Toleration "team:NoExecute" tolerates only taints with an empty value`},
		"an operator":               {fw.TolerationModel{Key: some("team"), Operator: some("Exists")}, ""},
		"an operator of its own":    {fw.TolerationModel{Key: some("team"), Operator: some("Equal")}, ""},
		"a value":                   {fw.TolerationModel{Key: some("team"), Value: some("a")}, ""},
		"an empty value":            {fw.TolerationModel{Key: some("team"), Value: some("")}, ""},
		"every key":                 {fw.TolerationModel{Operator: some("Exists")}, ""},
		"no key and no operator":    {fw.TolerationModel{Value: none}, `Unable to use toleration ""`},
		"a value that is unknown":   {fw.TolerationModel{Key: some("team"), Value: types.StringUnknown()}, ""},
		"an effect that is no such": {fw.TolerationModel{Key: some("team"), Effect: some("x")}, `Unable to use toleration "team:x"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object, found := types.ObjectValueFrom(context.Background(), fw.TolerationType.AttrTypes, tt.model)
			if found.HasError() {
				t.Fatal(found)
			}
			var resp validator.ObjectResponse
			fw.ValidToleration().ValidateObject(context.Background(), validator.ObjectRequest{Path: path.Root("tolerations"), ConfigValue: object}, &resp)
			expect(t, resp.Diagnostics, tt.want)
			for _, warning := range resp.Diagnostics.Warnings() {
				for attribute := range fw.TolerationType.AttrTypes {
					if _, spellings, _ := strings.Cut(warning.Detail(), "check the spelling"); !strings.Contains(spellings, attribute) {
						t.Errorf("it does not name %s as a spelling: %s", attribute, warning.Detail())
					}
				}
			}
		})
	}
}

// An invalid toleration is an error already: nothing more is said of it.
func TestWarnKeyless_saysNothingOfAnInvalidToleration(t *testing.T) {
	t.Parallel()
	some := types.StringValue
	for name, invalid := range map[string]fw.TolerationModel{
		"no operator and a value":   {Value: some("a")},
		"a value beside Exists":     {Operator: some("Exists"), Value: some("a")},
		"an effect that is no such": {Operator: some("Exists"), Effect: some("NoSchedul")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			set, found := types.SetValueFrom(context.Background(), fw.TolerationType, []fw.TolerationModel{invalid})
			if found.HasError() {
				t.Fatal(found)
			}
			fw.WarnKeyless(context.Background(), "a workload", set, path.Root("tolerations"), &diags)
			expect(t, diags, "")
		})
	}
}
