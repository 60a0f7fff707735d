// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package functions

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

// shape is what the objects may hold.
type shape struct {
	// names are those that are read, others those of other sources of the objects, such
	// as data.kubetaint_nodes and decoded manifests, which are read over. Any other name
	// is refused, because a misspelt one would silently mean null.
	names, others []string
	// optional reports what may be left out.
	optional string
}

var (
	taintShape      = shape{names: []string{"key", "value", "effect"}, others: []string{"time_added", "timeAdded", "owner"}, optional: "value may be left out"}
	tolerationShape = shape{names: []string{"key", "operator", "value", "effect", "toleration_seconds"}, others: []string{"tolerationSeconds"}, optional: "each may be left out"}
)

// argument is one argument of a call, for its errors.
type argument struct {
	position int64
	name     string
}

// errorf makes an error at a part of the argument, such as "taint.effect". The
// command line puts the parameter's name before it and a full stop after it.
func (a argument) errorf(part, format string, args ...any) *function.FuncError {
	return function.NewArgumentFuncError(a.position, part+": "+fmt.Sprintf(format, args...))
}

// taint reads one taint.
func (a argument) taint(v attr.Value) (corev1.Taint, *function.FuncError) {
	return a.taintAt(a.name, v)
}

// taints reads a collection of taints; null is an empty one.
func (a argument) taints(v attr.Value) ([]corev1.Taint, *function.FuncError) {
	return collect(a, v, a.taintAt)
}

// tolerations reads a collection of tolerations; null is an empty one.
func (a argument) tolerations(v attr.Value) ([]corev1.Toleration, *function.FuncError) {
	return collect(a, v, a.tolerationAt)
}

func (a argument) taintAt(part string, v attr.Value) (corev1.Taint, *function.FuncError) {
	f, err := a.fields(part, v, taintShape)
	if err != nil {
		return corev1.Taint{}, err
	}
	t := corev1.Taint{Key: f.text("key"), Value: f.text("value"), Effect: corev1.TaintEffect(f.text("effect"))}
	if f.err != nil {
		return t, f.err
	}
	return t, a.problem(part, taint.Validate(t))
}

func (a argument) tolerationAt(part string, v attr.Value) (corev1.Toleration, *function.FuncError) {
	f, err := a.fields(part, v, tolerationShape)
	if err != nil {
		return corev1.Toleration{}, err
	}
	t := corev1.Toleration{
		Key: f.text("key"), Operator: corev1.TolerationOperator(f.text("operator")), Value: f.text("value"),
		Effect: corev1.TaintEffect(f.text("effect")), TolerationSeconds: f.seconds("toleration_seconds", "tolerationSeconds"),
	}
	if f.err != nil {
		return t, f.err
	}
	return t, a.problem(part, taint.ValidateToleration(t))
}

// problem turns the first broken rule into an error.
func (a argument) problem(part string, problems []taint.Problem) *function.FuncError {
	if len(problems) == 0 {
		return nil
	}
	return a.errorf(part+"."+problems[0].Field, "%s", problems[0].Message)
}

// collect reads each element of a list, set or tuple.
func collect[T any](a argument, v attr.Value, read func(string, attr.Value) (T, *function.FuncError)) ([]T, *function.FuncError) {
	v = plain(v)
	if v == nil || v.IsNull() {
		return nil, nil
	}
	collection, ok := v.(interface{ Elements() []attr.Value })
	if !ok {
		return nil, a.errorf(a.name, "must be a list, set or tuple of objects: write [ ... ] around a single one")
	}
	var out []T
	for i, e := range collection.Elements() {
		item, err := read(fmt.Sprintf("%s[%d]", a.name, i), e)
		if err != nil {
			return nil, err
		}
		out = append(out, item)
	}
	return out, nil
}

// plain takes a value out of the dynamic one around it; nil stands for null.
func plain(v attr.Value) attr.Value {
	if d, ok := v.(types.Dynamic); ok {
		return d.UnderlyingValue()
	}
	return v
}

// known reports whether a value and every part of it is known.
func known(ctx context.Context, values ...attr.Value) bool {
	for _, v := range values {
		raw, err := v.ToTerraformValue(ctx)
		if err != nil || !raw.IsFullyKnown() {
			return false
		}
	}
	return true
}

// fields is the attributes of an object, with the first error of reading them.
type fields struct {
	argument argument
	part     string
	values   map[string]attr.Value
	err      *function.FuncError
}

// fields reads an object or a map; nothing in it may have another name than
// those of the shape.
func (a argument) fields(part string, v attr.Value, allowed shape) (*fields, *function.FuncError) {
	f := &fields{argument: a, part: part}
	switch v := plain(v).(type) {
	case types.Object:
		f.values = v.Attributes()
	case types.Map:
		f.values = v.Elements()
	}
	if f.values == nil {
		return nil, a.errorf(part, "must be an object { %s }; %s", strings.Join(allowed.names, ", "), allowed.optional)
	}
	for _, name := range slices.Sorted(maps.Keys(f.values)) {
		if !slices.Contains(allowed.names, name) && !slices.Contains(allowed.others, name) {
			return nil, a.errorf(part, "unknown attribute %q; known are %s", name, strings.Join(allowed.names, ", "))
		}
	}
	return f, nil
}

func (f *fields) fail(name, format string, args ...any) {
	if f.err == nil {
		f.err = f.argument.errorf(f.part+"."+name, format, args...)
	}
}

// text returns an attribute as Terraform would convert it to a string, "" where
// it is null or absent.
func (f *fields) text(name string) string {
	v := plain(f.values[name])
	if v == nil || v.IsNull() {
		return ""
	}
	switch v := v.(type) {
	case types.String:
		return v.ValueString()
	case types.Bool:
		return strconv.FormatBool(v.ValueBool())
	case types.Number:
		return v.ValueBigFloat().Text('f', -1)
	default:
		f.fail(name, "must be a string")
		return ""
	}
}

// seconds returns the first of the attributes that is set as a whole number of
// seconds, nil where none is.
func (f *fields) seconds(names ...string) *int64 {
	for _, name := range names {
		s := f.text(name)
		if s == "" {
			continue
		}
		number, ok := new(big.Float).SetString(s)
		if !ok || !number.IsInt() {
			f.fail(name, "%q is not a whole number of seconds", s)
			return nil
		}
		n, accuracy := number.Int64()
		if accuracy != big.Exact {
			f.fail(name, "%q is out of range", s)
			return nil
		}
		return &n
	}
	return nil
}

// tolerationType is the object that tolerations_for returns.
var tolerationType = types.ObjectType{AttrTypes: map[string]attr.Type{
	"key": types.StringType, "operator": types.StringType, "value": types.StringType,
	"effect": types.StringType, "toleration_seconds": types.NumberType,
}}

func taintObject(t corev1.Taint) types.Object {
	return types.ObjectValueMust(tfschema.TaintType.AttrTypes, map[string]attr.Value{
		"key": types.StringValue(t.Key), "value": tfschema.OrNull(t.Value), "effect": types.StringValue(string(t.Effect)),
	})
}

func tolerationObject(t corev1.Toleration) types.Object {
	seconds := types.NumberNull()
	if t.TolerationSeconds != nil {
		seconds = types.NumberValue(new(big.Float).SetInt64(*t.TolerationSeconds))
	}
	return types.ObjectValueMust(tolerationType.AttrTypes, map[string]attr.Value{
		"key": tfschema.OrNull(t.Key), "operator": tfschema.OrNull(string(t.Operator)), "value": tfschema.OrNull(t.Value),
		"effect": tfschema.OrNull(string(t.Effect)), "toleration_seconds": seconds,
	})
}
