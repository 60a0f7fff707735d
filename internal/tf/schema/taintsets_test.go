// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tfschema_test

import (
	"context"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

// object makes a taint from key, value and effect; "?" stands for unknown.
func object(parts ...string) attr.Value {
	values := map[string]attr.Value{}
	for i, name := range []string{"key", "value", "effect"} {
		values[name] = types.StringValue(parts[i])
		if parts[i] == "?" {
			values[name] = types.StringUnknown()
		}
	}
	return types.ObjectValueMust(tfschema.TaintType.AttrTypes, values)
}

func set(elements ...attr.Value) types.Set {
	return types.SetValueMust(tfschema.TaintType, elements)
}

func TestUniqueTaints(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		set  types.Set
		want string
	}{
		{"different keys are no duplicates", set(object("a", "", "NoSchedule"), object("b", "", "NoSchedule")), ""},
		{"one key with two effects is two taints", set(object("a", "", "NoSchedule"), object("a", "", "NoExecute")), ""},
		{"one key and effect with two values is a duplicate", set(object("a", "1", "NoSchedule"), object("a", "2", "NoSchedule")), `Unable to use taint "a:NoSchedule" twice in taints`},
		{"an unknown key is left out", set(object("?", "1", "NoSchedule"), object("?", "2", "NoSchedule")), ""},
		{"an unknown effect is left out", set(object("a", "1", "?"), object("a", "2", "?")), ""},
		{"an unknown value does not hide a duplicate", set(object("a", "?", "NoSchedule"), object("a", "2", "NoSchedule")), `Unable to use taint "a:NoSchedule" twice in taints`},
		{"an unknown element is left out", set(types.ObjectUnknown(tfschema.TaintType.AttrTypes), object("a", "2", "NoSchedule")), ""},
		{"an unknown set is not judged", types.SetUnknown(tfschema.TaintType), ""},
		{"a null set is empty", types.SetNull(tfschema.TaintType), ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, v := range []validator.Set{tfschema.UniqueTaints(), tfschema.UniqueAbsent()} {
				var resp validator.SetResponse
				v.ValidateSet(context.Background(), validator.SetRequest{Path: path.Root("taints"), ConfigValue: c.set}, &resp)
				expect(t, resp.Diagnostics, c.want)
			}
		})
	}
}

func TestRefuseOverlap(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name           string
		taints, absent types.Set
		want           string
	}{
		{"a taint that is wanted and unwanted is refused", set(object("a", "1", "NoSchedule")), set(object("a", "", "NoSchedule")), `Unable to keep taint "a:NoSchedule" both present and absent`},
		{"another effect is another taint", set(object("a", "1", "NoSchedule")), set(object("a", "", "NoExecute")), ""},
		{"an unknown set is not judged", types.SetUnknown(tfschema.TaintType), set(object("a", "", "NoSchedule")), ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			tfschema.RefuseOverlap(c.taints, c.absent, path.Root("absent_taints"), &diags)
			expect(t, diags, c.want)
		})
	}
}

// expect compares the diagnostics with the one summary that is wanted, "" for
// none.
func expect(t *testing.T, diags diag.Diagnostics, want string) {
	t.Helper()
	var got []string
	for _, d := range diags {
		got = append(got, d.Summary())
	}
	if strings.Join(got, "; ") != want {
		t.Errorf("got diagnostics %q, want %q", strings.Join(got, "; "), want)
	}
}

func TestWarnKeyless_saysWhoseItIsAndWhatItTolerates(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "has no key and tolerates every")
	for effect, want := range map[string]string{
		"":          `A toleration of Deployment "shop/web" has no key and tolerates every taint`,
		"NoExecute": `A toleration of Deployment "shop/web" has no key and tolerates every NoExecute taint`,
	} {
		var diags diag.Diagnostics
		set := tfschema.TolerationSet(context.Background(), []corev1.Toleration{{Operator: "Exists", Effect: corev1.TaintEffect(effect)}, {Key: "a", Operator: "Exists"}}, &diags)
		tfschema.WarnKeyless(context.Background(), `Deployment "shop/web"`, set, path.Root("tolerations"), &diags)
		messages.GotAll(t, diags)
		expect(t, diags, want)
		if detail := diags[0].Detail(); !strings.Contains(detail, `check the spelling of "key"`) {
			t.Errorf("it names no spelling: %s", detail)
		}
	}
	for want, name := range map[string]types.String{`namespace "a"`: types.StringValue("a"), "a namespace": types.StringUnknown()} {
		if got := tfschema.Named("namespace", name); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestWarnSystemKeys_saysWhereTheTaintIs(t *testing.T) {
	t.Parallel()
	var diags diag.Diagnostics
	message.WarnSystemKeys("taints", `node "a"`, set(object("node.kubernetes.io/mine", "", "NoSchedule"), object("mine", "", "NoSchedule")), &diags)
	expect(t, diags, `Taint "node.kubernetes.io/mine:NoSchedule" of node "a" uses a key reserved for Kubernetes`)
}

// A validator names once what is wrong, and what is valid.
func TestValidators_sayItOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		checks          []validator.String
		value           string
		summary, detail string
	}{
		"an effect":  {tfschema.EffectValidators(), "NoExec", `Unable to use effect "NoExec"`, "Use one of NoSchedule, PreferNoSchedule, NoExecute."},
		"a path":     {[]validator.String{tfschema.TolerationPath()}, "spec", `Unable to use effect "spec"`, `"spec" is not a path to tolerations: it must lead through the spec, such as spec.nodePlacement.tolerations.`},
		"a selector": {[]validator.String{tfschema.Selector()}, "", `Unable to use effect ""`, "An empty selector would match everything: name at least one label. It must be a label selector in kubectl's syntax, such as pool=gpu,zone in (a,b)."},
		"a good one": {tfschema.EffectValidators(), "NoExecute", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var resp validator.StringResponse
			for _, one := range tt.checks {
				one.ValidateString(context.Background(), validator.StringRequest{Path: path.Root("effect"), ConfigValue: types.StringValue(tt.value)}, &resp)
			}
			expect(t, resp.Diagnostics, tt.summary)
			if tt.summary != "" && resp.Diagnostics[0].Detail() != tt.detail {
				t.Errorf("it says %q", resp.Diagnostics[0].Detail())
			}
		})
	}
}
