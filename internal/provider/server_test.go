// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/provider"
)

// TestServer_validatesActionsWhoseValuesAreKnownLate: Terraform validates an action once, while the values of
// variables are unknown. The plan and the invocation refuse what is invalid, and write nothing.
func TestServer_validatesActionsWhoseValuesAreKnownLate(t *testing.T) {
	t.Parallel()
	const drain, uncordon, cycle = "kubetaint_drain_nodes", "kubetaint_uncordon_nodes", "kubetaint_cycle_machine_set"
	with := func(base map[string]any, name string, value any) map[string]any {
		return acctest.With(base, map[string]any{name: value})
	}
	node := map[string]any{"node_name": "a"}
	set := map[string]any{"name": "m", "rollout": map[string]any{"strategy": "rolling"}}
	for name, tt := range map[string]struct {
		typeName string
		config   map[string]any
		says     string
	}{
		"a drain of no nodes":                        {drain, map[string]any{}, "Missing Attribute Configuration Exactly one of these attributes must be configured: [node_name,node_selector]"},
		"an uncordon of no nodes":                    {uncordon, map[string]any{}, "Missing Attribute Configuration Exactly one of these attributes must be configured: [node_name,node_selector]"},
		"a drain by a name and labels":               {drain, with(node, "node_selector", "pool=x"), "Invalid Attribute Combination Exactly one of these attributes must be configured: [node_name,node_selector]"},
		"an uncordon by a name and labels":           {uncordon, with(node, "node_selector", "pool=x"), "Invalid Attribute Combination Exactly one of these attributes must be configured: [node_name,node_selector]"},
		"a drain by an empty selector":               {drain, map[string]any{"node_selector": ""}, "An empty selector would match everything"},
		"an uncordon by an empty selector":           {uncordon, map[string]any{"node_selector": " "}, "An empty selector would match everything"},
		"a drain of an empty name":                   {drain, map[string]any{"node_name": ""}, "string length must be between 1 and 253"},
		"an empty pod selector":                      {drain, with(with(node, "pod_selector", ""), "disable_eviction", true), "An empty selector would match everything"},
		"a grace period below zero":                  {drain, with(node, "grace_period_seconds", -1), "value must be at least 0"},
		"a number that is not whole":                 {drain, with(node, "grace_period_seconds", 1.5), "Unable to use 1.5 as a whole number"},
		"a timeout that does not parse":              {drain, with(node, "timeout", "soon"), `Unable to read the duration "soon"`},
		"a timeout of an uncordon that is zero":      {uncordon, with(node, "timeout", "0s"), `Unable to read the duration "0s"`},
		"a limit below zero":                         {drain, with(node, "evictions", map[string]any{"max_pods": -1}), "value must be at least 0"},
		"a rollout of an empty name":                 {cycle, with(set, "name", ""), "string length must be between 1 and 253"},
		"a rollout in an empty namespace":            {cycle, with(set, "namespace", ""), "string length must be between 1 and 63"},
		"a rollout without a strategy":               {cycle, with(set, "rollout", map[string]any{"strategy": "none"}), "value must be one of"},
		"a parameter of another strategy":            {cycle, with(set, "rollout", map[string]any{"strategy": "rolling", "max_surge": 1}), "max_surge"},
		"a timeout of a rollout that does not parse": {cycle, with(set, "timeout", "soon"), `Unable to read the duration "soon"`},
	} {
		for walk, unplanned := range map[string]bool{"plan": false, "invocation": true} {
			t.Run(name+" at the "+walk, func(t *testing.T) {
				t.Parallel()
				acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
					c.Node(t, acctest.Node{Name: "a", Labels: map[string]string{"pool": "x"}})
					wantRefused(t, c, unplanned, tt.typeName, tt.config, tt.says)
				})
			})
		}
	}
}

// wantRefused expects the error of an action whose values Terraform has not validated, and no write.
func wantRefused(t *testing.T, c *acctest.Cluster, unplanned bool, typeName string, config map[string]any, says string) {
	t.Helper()
	proxy := c.Proxy(t)
	proxy.Spoil(func(r acctest.Request) acctest.Fault {
		if r.Method != http.MethodGet {
			t.Errorf("it writes: %s %s", r.Method, r.Path)
		}
		return acctest.None
	})
	w := (&acctest.Terraform{Provider: proxy.Provider(t, c)}).Walk(t)
	w.Unvalidated, w.Unplanned = true, unplanned
	if d := w.Invoke(typeName, config); !strings.Contains(strings.Join(strings.Fields(d.Errors()), " "), says) {
		t.Errorf("it ends with %q, want %q; progress %q", d.Errors(), says, w.Progress)
	}
}

// TestServer_refusesToInvokeAnActionWithUnknownValues: it would do something else than its configuration.
func TestServer_refusesToInvokeAnActionWithUnknownValues(t *testing.T) {
	t.Parallel()
	for typeName, names := range map[string][]string{
		"kubetaint_drain_nodes":       {"node_name", "node_selector", "pod_selector", "ignore_daemon_sets", "delete_local_data", "disable_eviction", "grace_period_seconds", "wait_for_replacements", "evictions", "timeout"},
		"kubetaint_uncordon_nodes":    {"node_name", "node_selector", "timeout"},
		"kubetaint_cycle_machine_set": {"namespace", "name", "rollout", "evictions", "timeout"},
	} {
		for _, name := range names {
			t.Run(typeName+" "+name, func(t *testing.T) {
				t.Parallel()
				acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
					c.Node(t, acctest.Node{Name: "a"})
					config := map[string]any{"node_name": "a"}
					switch {
					case typeName == "kubetaint_cycle_machine_set":
						config = map[string]any{"name": "m", "rollout": map[string]any{"strategy": "rolling"}}
					case name == "node_selector":
						config = map[string]any{}
					}
					config[name] = acctest.Unknown
					wantRefused(t, c, true, typeName, config, "with an unknown value of "+name)
				})
			})
		}
	}
}

// TestServer_servesWhatTheFrameworkServes: only methods for kinds of objects that the provider lacks are missing.
func TestServer_servesWhatTheFrameworkServes(t *testing.T) {
	t.Parallel()
	served := provider.Server(provider.New("test")())
	if _, is := served.(tfprotov6.ProviderServerWithListResource); !is { //nolint:staticcheck // Terraform's requests need it.
		t.Error("no lists are served")
	}
	if _, is := served.(tfprotov6.ProviderServerWithActions); !is { //nolint:staticcheck // Terraform's requests need it.
		t.Error("no actions are served")
	}
	all, ours := reflect.TypeOf(providerserver.NewProtocol6(provider.New("test")())()), reflect.TypeOf(served)
	for i := range all.NumMethod() {
		name := all.Method(i).Name
		if _, is := ours.MethodByName(name); !is && !strings.Contains(name, "State") {
			t.Errorf("%s is not served", name)
		}
	}
}
