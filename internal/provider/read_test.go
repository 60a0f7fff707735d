// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"math/big"
	"net/http"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// read validates and reads a data source through the protocol, as Terraform
// does. Requests go to a transport, or to the network where it is nil. Attributes that the
// configuration leaves out are null.
func read(t *testing.T, transport http.RoundTripper, provider values, typeName string, config values) (map[string]any, []*tfprotov6.Diagnostic) {
	t.Helper()
	ctx := context.Background()
	server := providerserver.NewProtocol6(NewWithTransport("1.2.3", transport)())()
	_, raw := block(t, provider)
	configured, err := server.ConfigureProvider(ctx, &tfprotov6.ConfigureProviderRequest{Config: encode(t, raw)})
	if err != nil || len(configured.Diagnostics) > 0 {
		t.Fatalf("configuring the provider: %v, %v", err, configured.Diagnostics)
	}
	schema, err := server.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	typ := schema.DataSourceSchemas[typeName].ValueType()
	request := encode(t, value(t, typ, map[string]any(config)))
	validated, err := server.ValidateDataResourceConfig(ctx, &tfprotov6.ValidateDataResourceConfigRequest{TypeName: typeName, Config: request})
	if err != nil {
		t.Fatal(err)
	}
	if len(validated.Diagnostics) > 0 {
		return nil, validated.Diagnostics
	}
	resp, err := server.ReadDataSource(ctx, &tfprotov6.ReadDataSourceRequest{TypeName: typeName, Config: request})
	if err != nil {
		t.Fatal(err)
	}
	state, err := resp.State.Unmarshal(typ)
	if err != nil {
		t.Fatal(err)
	}
	out, _ := plain(t, state).(map[string]any)
	return out, resp.Diagnostics
}

func encode(t *testing.T, raw tftypes.Value) *tfprotov6.DynamicValue {
	t.Helper()
	out, err := tfprotov6.NewDynamicValue(raw.Type(), raw)
	if err != nil {
		t.Fatal(err)
	}
	return &out
}

// value makes a value of a type from maps, slices and scalars.
func value(t *testing.T, typ tftypes.Type, of any) tftypes.Value {
	t.Helper()
	if ready, ok := of.(tftypes.Value); ok {
		return ready
	}
	if of == nil {
		return tftypes.NewValue(typ, nil)
	}
	switch typ := typ.(type) {
	case tftypes.Object:
		attributes := map[string]tftypes.Value{}
		for name, kind := range typ.AttributeTypes {
			attributes[name] = value(t, kind, of.(map[string]any)[name])
		}
		return tftypes.NewValue(typ, attributes)
	case tftypes.Set:
		var elements []tftypes.Value
		for _, e := range of.([]any) {
			elements = append(elements, value(t, typ.ElementType, e))
		}
		return tftypes.NewValue(typ, elements)
	default:
		return tftypes.NewValue(typ, of)
	}
}

// plain takes a value apart into maps, slices and scalars.
func plain(t *testing.T, v tftypes.Value) any {
	t.Helper()
	if v.IsNull() || !v.IsKnown() {
		return nil
	}
	switch typ := v.Type(); {
	case typ.Is(tftypes.String):
		var s string
		must(t, v.As(&s))
		return s
	case typ.Is(tftypes.Bool):
		var b bool
		must(t, v.As(&b))
		return b
	case typ.Is(tftypes.Number):
		var n big.Float
		must(t, v.As(&n))
		i, _ := n.Int64()
		return i
	case typ.Is(tftypes.List{}), typ.Is(tftypes.Set{}):
		var elements []tftypes.Value
		must(t, v.As(&elements))
		out := []any{}
		for _, e := range elements {
			out = append(out, plain(t, e))
		}
		return out
	default:
		var attributes map[string]tftypes.Value
		must(t, v.As(&attributes))
		out := map[string]any{}
		for name, a := range attributes {
			out[name] = plain(t, a)
		}
		return out
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
