// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package functions_test

import (
	"context"
	"math/big"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/functions"
)

type (
	object map[string]any
	tuple  []any
)

// value makes what Terraform passes for a value that is written in HCL.
func value(t *testing.T, v any) attr.Value {
	t.Helper()
	ctx := context.Background()
	switch v := v.(type) {
	case attr.Value:
		return v
	case string:
		return types.StringValue(v)
	case bool:
		return types.BoolValue(v)
	case int:
		return types.NumberValue(big.NewFloat(float64(v)))
	case float64:
		return types.NumberValue(big.NewFloat(v))
	case nil:
		return types.DynamicNull()
	case object:
		kinds, values := map[string]attr.Type{}, map[string]attr.Value{}
		for name, e := range v {
			values[name] = value(t, e)
			kinds[name] = values[name].Type(ctx)
		}
		return types.ObjectValueMust(kinds, values)
	case tuple:
		kinds, values := make([]attr.Type, len(v)), make([]attr.Value, len(v))
		for i, e := range v {
			values[i] = value(t, e)
			kinds[i] = values[i].Type(ctx)
		}
		return types.TupleValueMust(kinds, values)
	default:
		t.Fatalf("no value for %T", v)
		return nil
	}
}

func dynamic(t *testing.T, v any) attr.Value {
	t.Helper()
	if v == nil {
		return types.DynamicNull()
	}
	return types.DynamicValue(value(t, v))
}

// run calls a function and returns what it returns in Terraform's notation.
func run(t *testing.T, f function.Function, arguments ...attr.Value) (string, *function.FuncError) {
	t.Helper()
	ctx := context.Background()
	var definition function.DefinitionResponse
	f.Definition(ctx, function.DefinitionRequest{}, &definition)
	result, err := definition.Definition.Return.NewResultData(ctx)
	if err != nil {
		t.Fatal(err)
	}
	resp := function.RunResponse{Result: result}
	f.Run(ctx, function.RunRequest{Arguments: function.NewArgumentsData(arguments)}, &resp)
	if resp.Error != nil {
		return "", resp.Error
	}
	return resp.Result.Value().String(), nil
}

// expect compares a result, or the error's text and argument.
func expect(t *testing.T, got string, err *function.FuncError, want, wantError string, wantArgument int64) {
	t.Helper()
	switch {
	case wantError == "" && err != nil:
		t.Errorf("unexpected error: %s", err)
	case wantError == "" && got != want:
		t.Errorf("got  %s\nwant %s", got, want)
	case wantError == "":
	case err == nil:
		t.Errorf("got %s, want the error %q", got, wantError)
	case !strings.Contains(err.Text, wantError):
		t.Errorf("got the error %q, want %q in it", err.Text, wantError)
	case err.FunctionArgument == nil || *err.FunctionArgument != wantArgument:
		t.Errorf("the error is not at argument %d: %v", wantArgument, err.FunctionArgument)
	}
}

func TestParseTaint(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name      string
		text      attr.Value
		want      string
		wantError string
	}{
		{"key, value and effect are read", types.StringValue("dedicated=gpu:NoExecute"), `{"effect":"NoExecute","key":"dedicated","value":"gpu"}`, ""},
		{"no value is null", types.StringValue("dedicated:NoSchedule"), `{"effect":"NoSchedule","key":"dedicated","value":<null>}`, ""},
		{"an empty value is null", types.StringValue("dedicated=:NoSchedule"), `{"effect":"NoSchedule","key":"dedicated","value":<null>}`, ""},
		{"a prefix belongs to the key", types.StringValue("example.com/a=b:PreferNoSchedule"), `{"effect":"PreferNoSchedule","key":"example.com/a","value":"b"}`, ""},
		{"an unknown text is an unknown taint", types.StringUnknown(), "<unknown>", ""},
		{"a misspelt effect is refused with the right ones", types.StringValue("a=b:NoExec"), "", `"NoExec" is none of NoSchedule, PreferNoSchedule, NoExecute`},
		{"no effect is refused with the notation", types.StringValue("a=b"), "", "write key=value:Effect or key:Effect"},
		{"kubectl's removal is no taint", types.StringValue("a=b:NoExecute-"), "", "the minus at its end is kubectl's notation for removing one"},
		{"a key that Kubernetes refuses is refused", types.StringValue("-a:NoExecute"), "", "is not a qualified name"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := run(t, functions.NewParseTaint(), c.text)
			expect(t, got, err, c.want, c.wantError, 0)
		})
	}
}

func TestFormatTaint(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name      string
		taint     any
		want      string
		wantError string
	}{
		{"key, value and effect are written", object{"key": "a", "value": "b", "effect": "NoSchedule"}, `"a=b:NoSchedule"`, ""},
		{"an absent value is left out", object{"key": "a", "effect": "NoSchedule"}, `"a:NoSchedule"`, ""},
		{"a null value is left out", object{"key": "a", "value": nil, "effect": "NoSchedule"}, `"a:NoSchedule"`, ""},
		{"a bool is a string, as in any attribute", object{"key": "a", "value": true, "effect": "NoSchedule"}, `"a=true:NoSchedule"`, ""},
		{"a number is a string, as in any attribute", object{"key": "a", "value": 42, "effect": "NoSchedule"}, `"a=42:NoSchedule"`, ""},
		{"a map will do", types.MapValueMust(types.StringType, map[string]attr.Value{"key": types.StringValue("a"), "effect": types.StringValue("NoExecute")}), `"a:NoExecute"`, ""},
		{"what data.kubetaint_nodes adds is read over", object{"key": "a", "value": "b", "effect": "NoExecute", "owner": "x", "time_added": nil}, `"a=b:NoExecute"`, ""},
		{"an unknown value is an unknown text", object{"key": "a", "value": types.StringUnknown(), "effect": "NoSchedule"}, "<unknown>", ""},
		{"an unknown taint is an unknown text", types.StringUnknown(), "<unknown>", ""},
		{"a misspelt attribute is refused by name", object{"key": "a", "efect": "NoSchedule"}, "", `taint: unknown attribute "efect"; known are key, value, effect`},
		{"an absent effect is refused with the right ones", object{"key": "a"}, "", "taint.effect"},
		{"a text is no taint", "a:NoSchedule", "", "taint: must be an object { key, value, effect }; value may be left out"},
		{"a list in a value is refused", object{"key": "a", "value": tuple{}, "effect": "NoSchedule"}, "", "taint.value: must be a string"},
		{"a value that Kubernetes refuses is refused", object{"key": "a", "value": "a b", "effect": "NoSchedule"}, "", "is not a label value"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := run(t, functions.NewFormatTaint(), dynamic(t, c.taint))
			expect(t, got, err, c.want, c.wantError, 0)
		})
	}
}

func TestTolerates(t *testing.T) {
	t.Parallel()
	gpu := object{"key": "dedicated", "value": "gpu", "effect": "NoExecute"}
	size := object{"key": "size", "value": "5", "effect": "NoSchedule"}
	cases := []struct {
		name         string
		tolerations  any
		taint        any
		want         string
		wantError    string
		wantArgument int64
	}{
		{"no toleration matches nothing", tuple{}, gpu, "false", "", 0},
		{"null is no toleration", nil, gpu, "false", "", 0},
		{"Equal is the default operator", tuple{object{"key": "dedicated", "value": "gpu"}}, gpu, "true", "", 0},
		{"another value does not match", tuple{object{"key": "dedicated", "value": "cpu"}}, gpu, "false", "", 0},
		{"Exists needs no value", tuple{object{"key": "dedicated", "operator": "Exists"}}, gpu, "true", "", 0},
		{"Exists without a key matches everything", tuple{object{"operator": "Exists"}}, gpu, "true", "", 0},
		{"another effect does not match", tuple{object{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}}, gpu, "false", "", 0},
		{"a toleration for some time matches", tuple{object{"key": "dedicated", "operator": "Exists", "effect": "NoExecute", "toleration_seconds": 60}}, gpu, "true", "", 0},
		{"one of several is enough", tuple{object{"key": "x", "operator": "Exists"}, object{"operator": "Exists"}}, gpu, "true", "", 0},
		{"a decoded manifest will do", tuple{object{"key": "dedicated", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}}, gpu, "true", "", 0},
		{"a list will do", types.ListValueMust(types.MapType{ElemType: types.StringType}, []attr.Value{
			types.MapValueMust(types.StringType, map[string]attr.Value{"operator": types.StringValue("Exists")}),
		}), gpu, "true", "", 0},
		{"a set will do", types.SetValueMust(types.MapType{ElemType: types.StringType}, []attr.Value{
			types.MapValueMust(types.StringType, map[string]attr.Value{"operator": types.StringValue("Exists")}),
		}), gpu, "true", "", 0},
		{"Gt does not match, because its gate is off by default", tuple{object{"key": "size", "operator": "Gt", "value": "3"}}, size, "false", "", 0},
		{"Lt does not match, because its gate is off by default", tuple{object{"key": "size", "operator": "Lt", "value": "9"}}, size, "false", "", 0},
		{"an unknown part makes the answer unknown", tuple{object{"key": types.StringUnknown()}}, gpu, "<unknown>", "", 0},
		{"a single object is no list", object{"operator": "Exists"}, gpu, "", "must be a list, set or tuple of objects", 0},
		{"a misspelt operator is refused with the right ones", tuple{object{"operator": "Exists"}, object{"key": "a", "operator": "Exist"}}, gpu, "", `tolerations[1].operator: "Exist" is none of Equal, Exists, Lt, Gt`, 0},
		{"a null element is refused", tuple{nil}, gpu, "", "tolerations[0]: must be an object { key, operator, value, effect, toleration_seconds }; each may be left out", 0},
		{"part of a second is refused", tuple{object{"operator": "Exists", "effect": "NoExecute", "toleration_seconds": 1.5}}, gpu, "", `"1.5" is not a whole number of seconds`, 0},
		{"seconds without NoExecute are refused", tuple{object{"operator": "Exists", "toleration_seconds": 5}}, gpu, "", "must be NoExecute where toleration_seconds is set", 0},
		{"a wrong taint is an error of the second argument", tuple{}, object{"key": "a", "effect": "no"}, "", "taint.effect", 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := run(t, functions.NewTolerates(), dynamic(t, c.tolerations), dynamic(t, c.taint))
			expect(t, got, err, c.want, c.wantError, c.wantArgument)
		})
	}
}

func TestUntolerated(t *testing.T) {
	t.Parallel()
	taints := tuple{
		object{"key": "b", "effect": "NoExecute"},
		object{"key": "a", "value": "1", "effect": "NoSchedule"},
		object{"key": "c", "effect": "PreferNoSchedule"},
	}
	const b, a, c = `{"effect":"NoExecute","key":"b","value":<null>}`, `{"effect":"NoSchedule","key":"a","value":"1"}`, `{"effect":"PreferNoSchedule","key":"c","value":<null>}`
	cases := []struct {
		name                string
		taints, tolerations any
		want                string
		wantError           string
		wantArgument        int64
	}{
		{"without tolerations all remain, in their order", taints, tuple{}, "[" + b + "," + a + "," + c + "]", "", 0},
		{"what is tolerated is left out", taints, tuple{object{"key": "a", "value": "1"}}, "[" + b + "," + c + "]", "", 0},
		{"nothing remains of no taints", nil, nil, "[]", "", 0},
		{"nothing remains where everything is tolerated", taints, tuple{object{"operator": "Exists"}}, "[]", "", 0},
		{"an unknown part makes the answer unknown", tuple{types.DynamicUnknown()}, tuple{}, "<unknown>", "", 0},
		{"a wrong taint is named by its place", tuple{object{"key": "a", "effect": "NoSchedule"}, object{"effect": "NoSchedule"}}, tuple{}, "", "taints[1].key", 0},
		{"a wrong toleration is an error of the second argument", taints, tuple{object{"key": "", "operator": "Equal"}}, "", "must be Exists where key is empty", 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := run(t, functions.NewUntolerated(), dynamic(t, c.taints), dynamic(t, c.tolerations))
			expect(t, got, err, c.want, c.wantError, c.wantArgument)
		})
	}
}

func TestTolerationsFor(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name      string
		taints    any
		want      string
		wantError string
	}{
		{"a taint with a value is matched by it", tuple{object{"key": "a", "value": "1", "effect": "NoExecute"}}, `[{"effect":"NoExecute","key":"a","operator":"Equal","toleration_seconds":<null>,"value":"1"}]`, ""},
		{"one without has a null value", tuple{object{"key": "a", "effect": "NoExecute"}}, `[{"effect":"NoExecute","key":"a","operator":"Equal","toleration_seconds":<null>,"value":<null>}]`, ""},
		{"no taints need no tolerations", tuple{}, "[]", ""},
		{"an unknown part makes the answer unknown", tuple{object{"key": types.StringUnknown(), "effect": "NoExecute"}}, "<unknown>", ""},
		{"a wrong taint is refused", tuple{object{"key": "a", "effect": "NoExecute", "value": "a b"}}, "", "taints[0].value"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := run(t, functions.NewTolerationsFor(), dynamic(t, c.taints))
			expect(t, got, err, c.want, c.wantError, 0)
		})
	}
}

// TestTolerationsForIsTolerated feeds the result of one function to another.
func TestTolerationsForIsTolerated(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	taints := dynamic(t, tuple{object{"key": "a", "value": "1", "effect": "NoExecute"}, object{"key": "b", "effect": "NoSchedule"}})
	f := functions.NewTolerationsFor()
	var definition function.DefinitionResponse
	f.Definition(ctx, function.DefinitionRequest{}, &definition)
	result, err := definition.Definition.Return.NewResultData(ctx)
	if err != nil {
		t.Fatal(err)
	}
	resp := function.RunResponse{Result: result}
	f.Run(ctx, function.RunRequest{Arguments: function.NewArgumentsData([]attr.Value{taints})}, &resp)
	if resp.Error != nil {
		t.Fatal(resp.Error)
	}
	got, funcErr := run(t, functions.NewUntolerated(), taints, types.DynamicValue(resp.Result.Value()))
	expect(t, got, funcErr, "[]", "", 0)
}

// TestDefinitions holds every description to a full sentence.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	all := []function.Function{functions.NewParseTaint(), functions.NewFormatTaint(), functions.NewTolerates(), functions.NewUntolerated(), functions.NewTolerationsFor()}
	for _, f := range all {
		ctx := context.Background()
		var metadata function.MetadataResponse
		f.Metadata(ctx, function.MetadataRequest{}, &metadata)
		var definition function.DefinitionResponse
		f.Definition(ctx, function.DefinitionRequest{}, &definition)
		descriptions := []string{definition.Definition.MarkdownDescription}
		for _, p := range definition.Definition.Parameters {
			descriptions = append(descriptions, p.GetMarkdownDescription())
		}
		for _, d := range descriptions {
			if !strings.HasSuffix(d, ".") {
				t.Errorf("a description of %s is not a full sentence: %q", metadata.Name, d)
			}
		}
	}
}
