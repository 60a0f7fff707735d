// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

// values are attributes of a provider block: strings, bools, numbers, or ready
// values.
type values map[string]any

// block makes the raw value of a provider block; attributes that are not named
// are null.
func block(t *testing.T, of values) (schema.Schema, tftypes.Value) {
	t.Helper()
	ctx := context.Background()
	var resp provider.SchemaResponse
	New("test")().Schema(ctx, provider.SchemaRequest{}, &resp)
	object := resp.Schema.Type().TerraformType(ctx).(tftypes.Object)
	raw := map[string]tftypes.Value{}
	for name, typ := range object.AttributeTypes {
		raw[name] = tftypes.NewValue(typ, nil)
		switch v := of[name].(type) {
		case nil:
		case tftypes.Value:
			raw[name] = v
		default:
			raw[name] = tftypes.NewValue(typ, v)
		}
	}
	for name := range of {
		if _, ok := object.AttributeTypes[name]; !ok {
			t.Fatalf("the provider block has no attribute %q", name)
		}
	}
	return resp.Schema, tftypes.NewValue(object, raw)
}

// configure configures a provider with this block and environment.
func configure(t *testing.T, of values, environment map[string]string) (*session.Data, diag.Diagnostics) {
	t.Helper()
	s, raw := block(t, of)
	p := &kubetaint{version: "1.2.3", lookup: func(name string) (string, bool) { value, is := environment[name]; return value, is }}
	var resp provider.ConfigureResponse
	p.Configure(context.Background(), provider.ConfigureRequest{Config: tfsdk.Config{Raw: raw, Schema: s}}, &resp)
	data, _ := resp.ResourceData.(*session.Data)
	return data, resp.Diagnostics
}

var (
	unknownString = tftypes.NewValue(tftypes.String, tftypes.UnknownValue)
	stringList    = tftypes.List{ElementType: tftypes.String}
	stringMap     = tftypes.Map{ElementType: tftypes.String}
	execType      = tftypes.Object{AttributeTypes: map[string]tftypes.Type{"api_version": tftypes.String, "command": tftypes.String, "args": stringList, "env": stringMap}}
)

func execBlock(args, env tftypes.Value) tftypes.Value {
	return tftypes.NewValue(execType, map[string]tftypes.Value{
		"api_version": tftypes.NewValue(tftypes.String, "client.authentication.k8s.io/v1"),
		"command":     tftypes.NewValue(tftypes.String, "login"),
		"args":        args, "env": env,
	})
}

func TestConfigure(t *testing.T) {
	t.Parallel()
	host := values{"host": "https://127.0.0.1:1"}
	with := func(more values) values {
		out := maps.Clone(host)
		maps.Copy(out, more)
		return out
	}
	cases := []struct {
		name  string
		block values
		want  *session.Data
		// connected is whether there is a cluster.
		connected bool
	}{
		{"defaults fill an empty block", host, &session.Data{Owner: "terraform", MaxConcurrentRollouts: 1}, true},
		{"every value of the block is taken", with(values{"owner": "team-a", "comparison_operators": true, "unreachable": "fail", "max_concurrent_rollouts": 3}),
			&session.Data{Owner: "team-a", Label: "owner team-a", Comparison: eviction.ComparisonOn, FailUnreachable: true, MaxConcurrentRollouts: 3}, true},
		{"comparison operators that are off are not unknown", with(values{"comparison_operators": false}),
			&session.Data{Owner: "terraform", Comparison: eviction.ComparisonOff, MaxConcurrentRollouts: 1}, true},
		{"unknown options count as left out", with(values{
			"unreachable":          unknownString,
			"comparison_operators": tftypes.NewValue(tftypes.Bool, tftypes.UnknownValue), "max_concurrent_rollouts": tftypes.NewValue(tftypes.Number, tftypes.UnknownValue),
		}), &session.Data{Owner: "terraform", MaxConcurrentRollouts: 1}, true},
		{"an unknown host leaves the cluster out", values{"host": unknownString}, &session.Data{Owner: "terraform", MaxConcurrentRollouts: 1}, false},
		{"an unknown token leaves the cluster out", with(values{"token": unknownString}), &session.Data{Owner: "terraform", MaxConcurrentRollouts: 1}, false},
		{"an unknown kubeconfig leaves the cluster out", values{"config_path": unknownString}, &session.Data{Owner: "terraform", MaxConcurrentRollouts: 1}, false},
		{"an unknown path in a list leaves the cluster out", values{"config_paths": tftypes.NewValue(stringList, []tftypes.Value{unknownString})}, &session.Data{Owner: "terraform", MaxConcurrentRollouts: 1}, false},
		{"an unknown exec leaves the cluster out", with(values{"exec": tftypes.NewValue(execType, tftypes.UnknownValue)}), &session.Data{Owner: "terraform", MaxConcurrentRollouts: 1}, false},
		{"an unknown argument of exec leaves the cluster out", with(values{"exec": execBlock(tftypes.NewValue(stringList, []tftypes.Value{unknownString}), tftypes.NewValue(stringMap, nil))}), &session.Data{Owner: "terraform", MaxConcurrentRollouts: 1}, false},
		{"an unknown variable of exec leaves the cluster out", with(values{"exec": execBlock(tftypes.NewValue(stringList, nil), tftypes.NewValue(stringMap, map[string]tftypes.Value{"A": unknownString}))}), &session.Data{Owner: "terraform", MaxConcurrentRollouts: 1}, false},
		{"a known exec connects", with(values{"exec": execBlock(tftypes.NewValue(stringList, nil), tftypes.NewValue(stringMap, nil))}), &session.Data{Owner: "terraform", MaxConcurrentRollouts: 1}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, diags := configure(t, c.block, nil)
			if diags.HasError() {
				t.Fatalf("unexpected errors: %v", diags)
			}
			if connected := got.Cluster != nil; connected != c.connected {
				t.Errorf("connected is %t, want %t", connected, c.connected)
			}
			if got.Claims == nil {
				t.Error("the data has no claims")
			}
			same := got.Owner == c.want.Owner && got.Comparison == c.want.Comparison && got.FailUnreachable == c.want.FailUnreachable && got.MaxConcurrentRollouts == c.want.MaxConcurrentRollouts
			if !same {
				t.Errorf("got owner %q, comparison %d, fail %t, rollouts %d; want %q, %d, %t, %d",
					got.Owner, got.Comparison, got.FailUnreachable, got.MaxConcurrentRollouts,
					c.want.Owner, c.want.Comparison, c.want.FailUnreachable, c.want.MaxConcurrentRollouts)
			}
		})
	}
}

func TestConfigureEvictions(t *testing.T) {
	t.Parallel()
	namespaces := tftypes.Set{ElementType: tftypes.String}
	typ := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"max_pods": tftypes.Number, "max_pending": tftypes.Number, "max_lost": tftypes.Number, "protected_namespaces": namespaces, "protected_selector": tftypes.String, "only": namespaces, "stranded": tftypes.String}}
	evictions := func(maxPods any) tftypes.Value {
		return tftypes.NewValue(typ, map[string]tftypes.Value{
			"max_pods":             tftypes.NewValue(tftypes.Number, maxPods),
			"max_pending":          tftypes.NewValue(tftypes.Number, 7),
			"max_lost":             tftypes.NewValue(tftypes.Number, 0),
			"protected_namespaces": tftypes.NewValue(namespaces, []tftypes.Value{tftypes.NewValue(tftypes.String, "prod")}),
			"protected_selector":   tftypes.NewValue(tftypes.String, "tier=db"),
			"only":                 tftypes.NewValue(namespaces, []tftypes.Value{tftypes.NewValue(tftypes.String, "ml/*")}),
			"stranded":             tftypes.NewValue(tftypes.String, "evict"),
		})
	}
	data, diags := configure(t, values{"host": "https://127.0.0.1:1", "evictions": evictions(5)}, nil)
	if diags.HasError() {
		t.Fatalf("unexpected errors: %v", diags)
	}
	if b := data.Evictions; b.MaxPods == nil || *b.MaxPods != 5 || b.MaxPending == nil || *b.MaxPending != 7 || b.MaxLost == nil || *b.MaxLost != 0 || !slices.Equal(b.Namespaces, []string{"prod"}) || b.Selector.String() != "tier=db" || fmt.Sprint(b.Only) != "[ml/*]" || !b.EvictStranded {
		t.Errorf("got budget %+v", b)
	}
	data, diags = configure(t, values{"host": "https://127.0.0.1:1", "evictions": evictions(tftypes.UnknownValue)}, nil)
	if diags.HasError() || data.Evictions.Set() {
		t.Errorf("an unknown budget must be left out until apply, got %+v and %v", data.Evictions, diags)
	}
}

func TestConfigureErrors(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "Unable to configure the connection to the cluster", "Unable to plan with an unknown owner")
	const (
		missing      = "/nonexistent/kubeconfig"
		unconfigured = "Unable to configure the connection to the cluster"
	)
	cases := []struct {
		name        string
		block       values
		environment map[string]string
		at          string
		detail      string
		summary     string
	}{
		{"a kubeconfig that is missing is an error at config_path", values{"config_path": missing}, nil, "config_path", missing, unconfigured},
		{"one that the environment names tells the variable", nil, map[string]string{"KUBE_CONFIG_PATH": missing}, "config_path", "environment variable KUBE_CONFIG_PATH", unconfigured},
		{"one in a list of one is an error at config_paths", values{"config_paths": tftypes.NewValue(stringList, []tftypes.Value{tftypes.NewValue(tftypes.String, missing)})}, nil, "config_paths", missing, unconfigured},
		{"one in the environment's list tells that variable", nil, map[string]string{"KUBE_CONFIG_PATHS": missing + ":/nonexistent/other"}, "config_paths", "environment variable KUBE_CONFIG_PATHS", unconfigured},
		{"a host that is no address is an error at host", values{"host": "https://a b"}, nil, "host", "a b", unconfigured},
		{"a flag that is no bool tells the variable", values{"host": "https://127.0.0.1:1"}, map[string]string{"KUBE_INSECURE": "perhaps"}, "insecure", "environment variable KUBE_INSECURE", unconfigured},
		{"an unknown owner cannot be planned with", values{"owner": unknownString}, nil, "owner", "known only after apply", "Unable to plan with an unknown owner"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, diags := configure(t, c.block, c.environment)
			if len(diags) != 1 {
				t.Fatalf("got %d diagnostics, want 1: %v", len(diags), diags)
			}
			messages.GotAll(t, diags)
			at, ok := diags[0].(diag.DiagnosticWithPath)
			if !ok || !at.Path().Equal(path.Root(c.at)) {
				t.Errorf("the error is not at %s: %v", c.at, diags[0])
			}
			if !strings.Contains(diags[0].Detail(), c.detail) || diags[0].Summary() != c.summary {
				t.Errorf("the summary is %q, or the detail does not say %q: %s", diags[0].Summary(), c.detail, diags[0].Detail())
			}
		})
	}
}

// TestSchemaDescriptions holds every description to a full sentence.
func TestSchemaDescriptions(t *testing.T) {
	t.Parallel()
	s, _ := block(t, nil)
	var visit func(string, map[string]schema.Attribute)
	visit = func(prefix string, attributes map[string]schema.Attribute) {
		for name, a := range attributes {
			if d := a.GetMarkdownDescription(); !strings.HasSuffix(d, ".") || strings.Contains(d, "``") {
				t.Errorf("the description of %s%s is not a full sentence: %q", prefix, name, d)
			}
			if nested, ok := a.(schema.SingleNestedAttribute); ok {
				visit(prefix+name+".", nested.Attributes)
			}
		}
	}
	visit("", s.Attributes)
}

// TestDescriptions holds the descriptions of everything that is registered to
// full sentences.
func TestDescriptions(t *testing.T) {
	t.Parallel()
	resp, err := providerserver.NewProtocol6(New("test")())().GetProviderSchema(context.Background(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil || len(resp.Diagnostics) > 0 {
		t.Fatal(err, resp.Diagnostics)
	}
	var visit func(string, []*tfprotov6.SchemaAttribute)
	visit = func(prefix string, attributes []*tfprotov6.SchemaAttribute) {
		for _, a := range attributes {
			if !strings.HasSuffix(a.Description, ".") {
				t.Errorf("the description of %s.%s is not a full sentence: %q", prefix, a.Name, a.Description)
			}
			if a.NestedType != nil {
				visit(prefix+"."+a.Name, a.NestedType.Attributes)
			}
		}
	}
	for _, all := range []map[string]*tfprotov6.Schema{resp.ResourceSchemas, resp.DataSourceSchemas} {
		for name, s := range all {
			if !strings.HasSuffix(s.Block.Description, ".") {
				t.Errorf("the description of %s is not a full sentence: %q", name, s.Block.Description)
			}
			visit(name, s.Block.Attributes)
		}
	}
}

// TestSensitive names the attributes that must never be shown.
func TestSensitive(t *testing.T) {
	t.Parallel()
	s, _ := block(t, nil)
	var got []string
	for name, a := range s.Attributes {
		if a.IsSensitive() {
			got = append(got, name)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"client_key", "password", "token"}, got); diff != "" {
		t.Error(diff)
	}
	if exec, ok := s.Attributes["exec"].(schema.SingleNestedAttribute); !ok || !exec.Attributes["env"].IsSensitive() {
		t.Error("the environment of exec is shown")
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	paths := tftypes.NewValue(stringList, []tftypes.Value{tftypes.NewValue(tftypes.String, "/b")})
	cases := []struct {
		name  string
		block values
		want  string
	}{
		{"an empty block is valid", nil, ""},
		{"one kubeconfig and several conflict", values{"config_path": "/a", "config_paths": paths}, "config_path"},
		{"an owner with a slash is refused", values{"owner": "a/b"}, "owner"},
		{"an owner that is empty is refused", values{"owner": ""}, "owner"},
		{"no rollout at all is refused", values{"max_concurrent_rollouts": 0}, "max_concurrent_rollouts"},
		{"unreachable is one of two", values{"unreachable": "ignore"}, "unreachable"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, raw := block(t, c.block)
			config, err := tfprotov6.NewDynamicValue(raw.Type(), raw)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := providerserver.NewProtocol6(New("test")())().ValidateProviderConfig(context.Background(), &tfprotov6.ValidateProviderConfigRequest{Config: &config})
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" && len(resp.Diagnostics) > 0 {
				t.Errorf("unexpected diagnostics: %v", resp.Diagnostics)
			}
			named := slices.ContainsFunc(resp.Diagnostics, func(d *tfprotov6.Diagnostic) bool {
				return strings.Contains(d.Attribute.String(), c.want)
			})
			if c.want != "" && !named {
				t.Errorf("no diagnostic names %s: %v", c.want, resp.Diagnostics)
			}
		})
	}
}
