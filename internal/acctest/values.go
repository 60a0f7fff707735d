// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"math/big"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Unknown stands for a value that is known only after apply.
const Unknown = unknown("unknown")

type unknown string

func (w *Walk) resourceType(name string) tftypes.Type {
	w.t.Helper()
	schema, ok := w.schema.ResourceSchemas[name]
	if !ok {
		w.t.Fatalf("the provider has no resource %s", name)
	}
	return schema.ValueType()
}

func (w *Walk) null(typ tftypes.Type) *tfprotov6.DynamicValue {
	w.t.Helper()
	return dynamicValue(w.t, typ, tftypes.NewValue(typ, nil))
}

func (w *Walk) encode(typ tftypes.Type, value any) *tfprotov6.DynamicValue {
	w.t.Helper()
	return dynamicValue(w.t, typ, encode(w.t, typ, value))
}

func dynamicValue(t testing.TB, typ tftypes.Type, value tftypes.Value) *tfprotov6.DynamicValue {
	t.Helper()
	v, err := tfprotov6.NewDynamicValue(typ, value)
	must(t, err)
	return &v
}

func orNull(v, null *tfprotov6.DynamicValue) *tfprotov6.DynamicValue {
	if v == nil {
		return null
	}
	return v
}

// orGone turns a null state into none.
func (w *Walk) orGone(typeName string, v *tfprotov6.DynamicValue) *tfprotov6.DynamicValue {
	w.t.Helper()
	if v == nil {
		return nil
	}
	value, err := v.Unmarshal(w.resourceType(typeName))
	must(w.t, err)
	if value.IsNull() {
		return nil
	}
	return v
}

// proposed merges configuration and prior state as core does: a computed
// attribute that the configuration leaves out keeps its prior value.
func (w *Walk) proposed(typeName string, prior *tfprotov6.DynamicValue, config map[string]any) *tfprotov6.DynamicValue {
	w.t.Helper()
	typ := w.resourceType(typeName)
	merged := With(config, nil)
	if prior != nil {
		was, ok := decode(w.t, typ, prior).(map[string]any)
		if !ok {
			w.t.Fatal("the prior state is no object")
		}
		for _, a := range w.schema.ResourceSchemas[typeName].Block.Attributes {
			if _, set := config[a.Name]; a.Computed && !set {
				merged[a.Name] = was[a.Name]
			}
		}
	}
	return w.encode(typ, merged)
}

func (w *Walk) equal(typ tftypes.Type, a, b *tfprotov6.DynamicValue) bool {
	w.t.Helper()
	left, err := a.Unmarshal(typ)
	must(w.t, err)
	right, err := b.Unmarshal(typ)
	must(w.t, err)
	return left.Equal(right)
}

// consistent fails the test where the new state differs from what was planned,
// which Terraform reports as a bug of the provider.
func (w *Walk) consistent(typ tftypes.Type, planned, actual *tfprotov6.DynamicValue) {
	w.t.Helper()
	want, err := planned.Unmarshal(typ)
	must(w.t, err)
	got, err := actual.Unmarshal(typ)
	must(w.t, err)
	diffs, err := want.Diff(got)
	must(w.t, err)
	for _, d := range diffs {
		if d.Value1 != nil && d.Value1.IsFullyKnown() && d.Path != nil && len(d.Path.Steps()) > 0 {
			w.t.Fatalf("Provider produced inconsistent result after apply at %s: planned %s, got %v", d.Path, d.Value1, d.Value2)
		}
	}
}

// encode makes a value of a type from plain Go values: maps, slices, strings,
// numbers, booleans, nil and Unknown. Attributes that an object leaves out are
// null.
func encode(t testing.TB, typ tftypes.Type, value any) tftypes.Value {
	t.Helper()
	switch v := value.(type) {
	case nil:
		return tftypes.NewValue(typ, nil)
	case unknown:
		return tftypes.NewValue(typ, tftypes.UnknownValue)
	case map[string]any:
		return encodeMap(t, typ, v)
	case []map[string]any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = v[i]
		}
		return encodeList(t, typ, list)
	case []string:
		list := make([]any, len(v))
		for i := range v {
			list[i] = v[i]
		}
		return encodeList(t, typ, list)
	case []any:
		return encodeList(t, typ, v)
	case int:
		return tftypes.NewValue(typ, big.NewFloat(float64(v)))
	case int64:
		return tftypes.NewValue(typ, big.NewFloat(float64(v)))
	default:
		return tftypes.NewValue(typ, v)
	}
}

func encodeMap(t testing.TB, typ tftypes.Type, value map[string]any) tftypes.Value {
	t.Helper()
	out := map[string]tftypes.Value{}
	switch typ := typ.(type) {
	case tftypes.Object:
		for name := range value {
			if _, ok := typ.AttributeTypes[name]; !ok {
				t.Fatalf("there is no attribute %q", name)
			}
		}
		for name, attribute := range typ.AttributeTypes {
			out[name] = encode(t, attribute, value[name])
		}
	case tftypes.Map:
		for name, v := range value {
			out[name] = encode(t, typ.ElementType, v)
		}
	default:
		t.Fatalf("%s cannot hold a map", typ)
	}
	return tftypes.NewValue(typ, out)
}

func encodeList(t testing.TB, typ tftypes.Type, value []any) tftypes.Value {
	t.Helper()
	var element tftypes.Type
	switch typ := typ.(type) {
	case tftypes.Set:
		element = typ.ElementType
	case tftypes.List:
		element = typ.ElementType
	default:
		t.Fatalf("%s cannot hold a list", typ)
	}
	out := make([]tftypes.Value, len(value))
	for i, v := range value {
		out[i] = encode(t, element, v)
	}
	return tftypes.NewValue(typ, out)
}

func decode(t testing.TB, typ tftypes.Type, from *tfprotov6.DynamicValue) any {
	t.Helper()
	if from == nil {
		return nil
	}
	value, err := from.Unmarshal(typ)
	must(t, err)
	out, err := plain(value)
	must(t, err)
	return out
}

// plain turns a value into plain Go values; numbers become int64.
func plain(v tftypes.Value) (any, error) {
	switch {
	case v.IsNull():
		return nil, nil
	case !v.IsKnown():
		return Unknown, nil
	case v.Type().Is(tftypes.String):
		var s string
		err := v.As(&s)
		return s, err
	case v.Type().Is(tftypes.Bool):
		var b bool
		err := v.As(&b)
		return b, err
	case v.Type().Is(tftypes.Number):
		var n *big.Float
		err := v.As(&n)
		i, _ := n.Int64()
		return i, err
	case v.Type().Is(tftypes.Object{}), v.Type().Is(tftypes.Map{}):
		return plainMap(v)
	case v.Type().Is(tftypes.List{}), v.Type().Is(tftypes.Set{}), v.Type().Is(tftypes.Tuple{}):
		return plainList(v)
	}
	return nil, fmt.Errorf("no plain form of %s", v.Type())
}

func plainMap(v tftypes.Value) (any, error) {
	var values map[string]tftypes.Value
	if err := v.As(&values); err != nil {
		return nil, err
	}
	out := make(map[string]any, len(values))
	for name, value := range values {
		one, err := plain(value)
		if err != nil {
			return nil, err
		}
		out[name] = one
	}
	return out, nil
}

func plainList(v tftypes.Value) (any, error) {
	var values []tftypes.Value
	if err := v.As(&values); err != nil {
		return nil, err
	}
	out := make([]any, len(values))
	for i, value := range values {
		one, err := plain(value)
		if err != nil {
			return nil, err
		}
		out[i] = one
	}
	return out, nil
}
