// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tfschema

import (
	"context"
	"math/big"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/attr/xattr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// WholeNumberType is the type of numbers that a configuration may set and that must be
// whole and within 64 bits. Of 1.5 the framework's own type reports that it is an error of the
// provider, and points at the object around it.
type WholeNumberType struct{ basetypes.Int64Type }

// WholeNumber is a number of a configuration. One that is not whole is refused when it is
// validated.
type WholeNumber struct {
	basetypes.Int64Value
	// written is the number where it is not whole, or too large.
	written *big.Float
}

var (
	_ basetypes.Int64Typable      = WholeNumberType{}
	_ basetypes.Int64Valuable     = WholeNumber{}
	_ xattr.ValidateableAttribute = WholeNumber{}
)

// Whole returns a number.
func Whole(n int64) WholeNumber { return WholeNumber{Int64Value: basetypes.NewInt64Value(n)} }

// WholeNull returns the null number.
func WholeNull() WholeNumber { return WholeNumber{Int64Value: basetypes.NewInt64Null()} }

// WholeOrNull returns a number, null for nil.
func WholeOrNull(n *int64) WholeNumber {
	return WholeNumber{Int64Value: basetypes.NewInt64PointerValue(n)}
}

// String names the type.
func (WholeNumberType) String() string { return "tfschema.WholeNumberType" }

// Equal reports whether another type is this one.
func (WholeNumberType) Equal(o attr.Type) bool {
	_, same := o.(WholeNumberType)
	return same
}

// ValueType returns an empty value.
func (WholeNumberType) ValueType(context.Context) attr.Value { return WholeNumber{} }

// Validate finds nothing: the value reports what is wrong with it.
func (WholeNumberType) Validate(context.Context, tftypes.Value, path.Path) diag.Diagnostics {
	return nil
}

// ValueFromInt64 wraps a value of the framework.
func (WholeNumberType) ValueFromInt64(_ context.Context, v basetypes.Int64Value) (basetypes.Int64Valuable, diag.Diagnostics) {
	return WholeNumber{Int64Value: v}, nil
}

// ValueFromTerraform reads a number, whole or not.
func (t WholeNumberType) ValueFromTerraform(ctx context.Context, in tftypes.Value) (attr.Value, error) {
	if in.IsKnown() && !in.IsNull() {
		var n big.Float
		if err := in.As(&n); err != nil {
			return nil, err
		}
		if whole, accuracy := n.Int64(); accuracy != big.Exact {
			return WholeNumber{Int64Value: basetypes.NewInt64Value(whole), written: &n}, nil
		}
	}
	v, err := t.Int64Type.ValueFromTerraform(ctx, in)
	if err != nil {
		return nil, err
	}
	n, _ := v.(basetypes.Int64Value)
	return WholeNumber{Int64Value: n}, nil
}

// Type returns the type.
func (WholeNumber) Type(context.Context) attr.Type { return WholeNumberType{} }

// Equal reports whether another value is this one.
func (v WholeNumber) Equal(o attr.Value) bool {
	other, same := o.(WholeNumber)
	if !same || (v.written == nil) != (other.written == nil) {
		return false
	}
	return v.Int64Value.Equal(other.Int64Value) && (v.written == nil || v.written.Cmp(other.written) == 0)
}

// ToTerraformValue returns the number as it is written: values around it are converted once
// more before they are validated.
func (v WholeNumber) ToTerraformValue(ctx context.Context) (tftypes.Value, error) {
	if v.written != nil {
		return tftypes.NewValue(tftypes.Number, v.written), nil
	}
	return v.Int64Value.ToTerraformValue(ctx)
}

// ValidateAttribute refuses what is not whole.
func (v WholeNumber) ValidateAttribute(_ context.Context, req xattr.ValidateAttributeRequest, resp *xattr.ValidateAttributeResponse) {
	if v.written == nil {
		return
	}
	text := v.written.Text('g', -1)
	if v.written.IsInt() {
		resp.Diagnostics.AddAttributeError(req.Path, "Unable to use "+text+" as a whole number", "It does not fit into 64 bits. Write a number between -9223372036854775808 and 9223372036854775807.")
		return
	}
	resp.Diagnostics.AddAttributeError(req.Path, "Unable to use "+text+" as a whole number", "Write a number without a fraction, such as "+nearest(v.written)+".")
}

// nearest is the whole number toward zero.
func nearest(n *big.Float) string {
	whole, _ := n.Int(nil)
	return whole.String()
}
