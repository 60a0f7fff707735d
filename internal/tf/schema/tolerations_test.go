// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tfschema_test

import (
	"context"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

// A misspelt operator or value is dropped by Terraform: what is left looks like this.
func TestValidToleration_warnsOfWhatLooksLikeATypingError(t *testing.T) {
	t.Parallel()
	some, none := types.StringValue, types.StringNull()
	for name, tt := range map[string]struct {
		model tfschema.TolerationModel
		want  string
	}{
		"a key alone":               {tfschema.TolerationModel{Key: some("team")}, `Toleration "team" tolerates only taints with an empty value`},
		"a key and an effect":       {tfschema.TolerationModel{Key: some("team"), Effect: some("NoExecute")}, `Toleration "team:NoExecute" tolerates only taints with an empty value`},
		"an operator":               {tfschema.TolerationModel{Key: some("team"), Operator: some("Exists")}, ""},
		"an operator of its own":    {tfschema.TolerationModel{Key: some("team"), Operator: some("Equal")}, ""},
		"a value":                   {tfschema.TolerationModel{Key: some("team"), Value: some("a")}, ""},
		"an empty value":            {tfschema.TolerationModel{Key: some("team"), Value: some("")}, ""},
		"every key":                 {tfschema.TolerationModel{Operator: some("Exists")}, ""},
		"no key and no operator":    {tfschema.TolerationModel{Value: none}, `Unable to use toleration ""`},
		"a value that is unknown":   {tfschema.TolerationModel{Key: some("team"), Value: types.StringUnknown()}, ""},
		"an effect that is no such": {tfschema.TolerationModel{Key: some("team"), Effect: some("x")}, `Unable to use toleration "team:x"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object, found := types.ObjectValueFrom(context.Background(), tfschema.TolerationType.AttrTypes, tt.model)
			if found.HasError() {
				t.Fatal(found)
			}
			var resp validator.ObjectResponse
			tfschema.ValidToleration().ValidateObject(context.Background(), validator.ObjectRequest{Path: path.Root("tolerations"), ConfigValue: object}, &resp)
			expect(t, resp.Diagnostics, tt.want)
			for _, warning := range resp.Diagnostics.Warnings() {
				for attribute := range tfschema.TolerationType.AttrTypes {
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
	for name, invalid := range map[string]tfschema.TolerationModel{
		"no operator and a value":   {Value: some("a")},
		"a value beside Exists":     {Operator: some("Exists"), Value: some("a")},
		"an effect that is no such": {Operator: some("Exists"), Effect: some("NoSchedul")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			set, found := types.SetValueFrom(context.Background(), tfschema.TolerationType, []tfschema.TolerationModel{invalid})
			if found.HasError() {
				t.Fatal(found)
			}
			tfschema.WarnKeyless(context.Background(), "a workload", set, path.Root("tolerations"), &diags)
			expect(t, diags, "")
		})
	}
}
