// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tfschema

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Typed is a schema, as far as it is needed to read and write values of it.
type Typed interface {
	// Type is the type of a value of the schema.
	Type() attr.Type
}

// layout is how the values of a schema are fields of a struct.
type layout struct {
	object tftypes.Object
	fields []field
}

type field struct {
	name string
	of   attr.Type
}

// layouts has the layout of each type of a struct. Structs and schemas belong together.
var layouts sync.Map

func layoutOf(ctx context.Context, model reflect.Type, schema Typed) (layout, error) {
	known, _ := layouts.Load(model)
	if out, is := known.(layout); is {
		return out, nil
	}
	all, is := schema.Type().(attr.TypeWithAttributeTypes)
	object, too := schema.Type().TerraformType(ctx).(tftypes.Object)
	if !is || !too {
		return layout{}, fmt.Errorf("%s is a value of %s, which has no attributes", model, schema.Type())
	}
	out := layout{object: object}
	for f := range model.Fields() {
		name := f.Tag.Get("tfsdk")
		out.fields = append(out.fields, field{name: name, of: all.AttributeTypes()[name]})
	}
	layouts.Store(model, out)
	return out, nil
}

// Decode reads a value of a schema into a struct, all fields of which are attr.Values with a tfsdk tag. It does what
// the framework's Get does, which looks through the struct and the schema each time: with a resource for
// each of many nodes, that and Set are a tenth of the CPU of a provider.
func Decode[M any](ctx context.Context, raw tftypes.Value, schema Typed, into *M) (diags diag.Diagnostics) {
	target, values := reflect.ValueOf(into).Elem(), map[string]tftypes.Value{}
	l, err := layoutOf(ctx, target.Type(), schema)
	if err == nil {
		err = raw.As(&values)
	}
	if err != nil {
		diags.AddError("Unable to read a value", bug(err))
		return diags
	}
	for i, f := range l.fields {
		value, err := f.of.ValueFromTerraform(ctx, values[f.name])
		if err != nil {
			diags.AddError("Unable to read "+f.name, bug(err))
			return diags
		}
		target.Field(i).Set(reflect.ValueOf(value))
	}
	return diags
}

// Encode makes a value of a schema of a struct that Decode reads, as the framework's Set does.
func Encode(ctx context.Context, model any, schema Typed, into *tftypes.Value) (diags diag.Diagnostics) {
	from := reflect.ValueOf(model)
	l, err := layoutOf(ctx, from.Type(), schema)
	if err != nil {
		diags.AddError("Unable to write a value", bug(err))
		return diags
	}
	values := make(map[string]tftypes.Value, from.NumField())
	for i, f := range l.fields {
		value, err := terraformValue(ctx, from.Field(i).Interface(), f.of)
		if err != nil {
			diags.AddError("Unable to write "+f.name, bug(err))
			return diags
		}
		values[f.name] = value
	}
	*into = tftypes.NewValue(l.object, values)
	return nil
}

// terraformValue refuses a value of another type, such as a set that was never set: making a value of it would panic.
func terraformValue(ctx context.Context, of any, as attr.Type) (tftypes.Value, error) {
	value, is := of.(attr.Value)
	if !is || !value.Type(ctx).Equal(as) {
		return tftypes.Value{}, fmt.Errorf("%T is not of type %s", of, as)
	}
	return value.ToTerraformValue(ctx)
}

func bug(err error) string {
	return "This is a bug in the provider: please report it.\n\nOriginal error: " + err.Error()
}
