// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// numbers are the numbers that a configuration may set, each as the path to it.
func numbers(attributes []*tfprotov6.SchemaAttribute) [][]string {
	var out [][]string
	for _, a := range attributes {
		switch {
		case a.NestedType != nil:
			for _, rest := range numbers(a.NestedType.Attributes) {
				out = append(out, append([]string{a.Name}, rest...))
			}
		case (a.Optional || a.Required) && a.ValueType().Is(tftypes.Number):
			out = append(out, []string{a.Name})
		}
	}
	return out
}

// only is a value in which one number alone is set.
func only(t *testing.T, typ tftypes.Type, at []string, n any) tftypes.Value {
	t.Helper()
	switch typ := typ.(type) {
	case tftypes.Object:
		attributes := map[string]tftypes.Value{}
		for name, kind := range typ.AttributeTypes {
			attributes[name] = tftypes.NewValue(kind, nil)
		}
		attributes[at[0]] = only(t, typ.AttributeTypes[at[0]], at[1:], n)
		return tftypes.NewValue(typ, attributes)
	case tftypes.Set:
		return tftypes.NewValue(typ, []tftypes.Value{only(t, typ.ElementType, at, n)})
	case tftypes.List:
		return tftypes.NewValue(typ, []tftypes.Value{only(t, typ.ElementType, at, n)})
	}
	if len(at) > 0 {
		t.Fatalf("%s has no attribute %v", typ, at)
	}
	return tftypes.NewValue(typ, n)
}

// validate asks the provider about a configuration.
type validate func(config *tfprotov6.DynamicValue) ([]*tfprotov6.Diagnostic, error)

// everySchema calls try for the provider block, and for every resource, data source and action.
func everySchema(t *testing.T, try func(name string, s *tfprotov6.Schema, ask validate)) {
	t.Helper()
	server := providerserver.NewProtocol6(New("test")())()
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	must(t, err)
	try("provider", schemas.Provider, func(config *tfprotov6.DynamicValue) ([]*tfprotov6.Diagnostic, error) {
		resp, err := server.ValidateProviderConfig(t.Context(), &tfprotov6.ValidateProviderConfigRequest{Config: config})
		return resp.Diagnostics, err
	})
	for name, s := range schemas.ResourceSchemas {
		try(name, s, func(config *tfprotov6.DynamicValue) ([]*tfprotov6.Diagnostic, error) {
			resp, err := server.ValidateResourceConfig(t.Context(), &tfprotov6.ValidateResourceConfigRequest{TypeName: name, Config: config})
			return resp.Diagnostics, err
		})
	}
	for name, s := range schemas.DataSourceSchemas {
		try(name, s, func(config *tfprotov6.DynamicValue) ([]*tfprotov6.Diagnostic, error) {
			resp, err := server.ValidateDataResourceConfig(t.Context(), &tfprotov6.ValidateDataResourceConfigRequest{TypeName: name, Config: config})
			return resp.Diagnostics, err
		})
	}
	actions, _ := server.(tfprotov6.ActionServer)
	for name, s := range schemas.ActionSchemas {
		try(name, s.Schema, func(config *tfprotov6.DynamicValue) ([]*tfprotov6.Diagnostic, error) {
			resp, err := actions.ValidateActionConfig(t.Context(), &tfprotov6.ValidateActionConfigRequest{ActionType: name, Config: config})
			return resp.Diagnostics, err
		})
	}
}

// TestNumbers_thatAreNotWholeAreRefusedWhereTheyStand: each number that a configuration
// may set, in the provider block, a resource, a data source or an action.
func TestNumbers_thatAreNotWholeAreRefusedWhereTheyStand(t *testing.T) {
	t.Parallel()
	tried := 0
	everySchema(t, func(name string, s *tfprotov6.Schema, ask validate) {
		for _, at := range numbers(s.Block.Attributes) {
			tried++
			for text, n := range map[string]any{"1.5": 1.5, "-0.25": -0.25, "1e+30": 1e30} {
				diagnostics, err := ask(encode(t, only(t, s.ValueType(), at, n)))
				must(t, err)
				refused := false
				for _, d := range diagnostics {
					if d.Summary == "Unable to use "+text+" as a whole number" && strings.Contains(d.Attribute.String(), at[len(at)-1]) {
						refused = true
					}
					if strings.Contains(d.Detail, "error in the provider") {
						t.Errorf("%s: %s = %s is called an error of the provider: %s", name, strings.Join(at, "."), text, d.Detail)
					}
				}
				if !refused {
					t.Errorf("%s: %s = %s is not refused there: %v", name, strings.Join(at, "."), text, summaries(diagnostics))
				}
			}
		}
	})
	if tried < 15 {
		t.Errorf("%d numbers were tried", tried)
	}
}
