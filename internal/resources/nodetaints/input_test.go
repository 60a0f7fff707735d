// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

func TestNodeTaints_badInputNamesTheAttributeAndWhatIsAllowed(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "Unable to manage the reserved taint", "Unable to keep taint … both present and absent")
	one := func(key, value, effect string) []any {
		return []any{map[string]any{"key": key, "value": value, "effect": effect}}
	}
	absent := func(key, effect string) []any {
		return []any{map[string]any{"key": key, "effect": effect}}
	}
	for name, tt := range map[string]struct {
		config map[string]any
		want   []string
	}{
		"a bad key":                                {map[string]any{"node_name": "n", "taints": one("no spaces", "", "NoExecute")}, []string{`AttributeName("key")`, "qualified name"}},
		"a bad value":                              {map[string]any{"node_name": "n", "taints": one("k", "a/b", "NoExecute")}, []string{`AttributeName("value")`, "label value"}},
		"a bad effect":                             {map[string]any{"node_name": "n", "taints": one("k", "", "NoExec")}, []string{`AttributeName("effect")`, "NoSchedule, PreferNoSchedule, NoExecute"}},
		"a duplicate key and effect":               {map[string]any{"node_name": "n", "taints": append(one("k", "a", "NoExecute"), one("k", "b", "NoExecute")...)}, []string{`AttributeName("taints")`, `Unable to use taint "k:NoExecute" twice in taints`}},
		"a duplicate by empty and null":            {map[string]any{"node_name": "n", "taints": append(one("k", "", "NoExecute"), map[string]any{"key": "k", "effect": "NoExecute"})}, []string{`AttributeName("taints")`, "Unable to use taint", "twice in taints"}},
		"a reserved key":                           {map[string]any{"node_name": "n", "taints": one("node.kubernetes.io/unreachable", "", "NoExecute")}, []string{`AttributeName("key")`, `Unable to manage the reserved taint "node.kubernetes.io/unreachable`, "node lifecycle controller", "kubetaint_eviction_preview"}},
		"the Windows taint":                        {map[string]any{"node_name": "n", "taints": one("os", "Windows", "NoSchedule")}, []string{"reserved taint"}},
		"a reserved absent taint":                  {map[string]any{"node_name": "n", "absent_taints": absent("node.kubernetes.io/not-ready", "NoExecute")}, []string{`AttributeName("absent_taints")`, "reserved taint"}},
		"a taint wanted and absent":                {map[string]any{"node_name": "n", "taints": one("k", "", "NoExecute"), "absent_taints": absent("k", "NoExecute")}, []string{"absent_taints", "both present and absent"}},
		"neither name nor selector":                {map[string]any{"taints": one("k", "", "NoExecute")}, []string{"node_name", "node_selector"}},
		"both name and selector":                   {map[string]any{"node_name": "n", "node_selector": "a=b", "taints": one("k", "", "NoExecute")}, []string{"node_name", "node_selector"}},
		"no taints at all":                         {map[string]any{"node_name": "n"}, []string{"taints", "absent_taints"}},
		"a taint that is null":                     {map[string]any{"node_name": "n", "taints": []any{nil}}, []string{`AttributeName("taints")`, "Null"}},
		"a link that is null":                      {map[string]any{"node_name": "n", "taints": one("k", "", "NoExecute"), "tolerated_by": []any{nil}}, []string{`AttributeName("tolerated_by")`, "Null"}},
		"a protected namespace that is null":       {map[string]any{"node_name": "n", "taints": one("k", "", "NoExecute"), "evictions": map[string]any{"protected_namespaces": []any{nil}}}, []string{`AttributeName("protected_namespaces")`, "Null"}},
		"an empty set of taints":                   {map[string]any{"node_name": "n", "taints": []any{}}, []string{"taints", "at least 1"}},
		"a selector that does not parse":           {map[string]any{"node_selector": "a in (", "taints": one("k", "", "NoExecute")}, []string{`AttributeName("node_selector")`, "does not parse"}},
		"an empty selector":                        {map[string]any{"node_selector": "", "taints": one("k", "", "NoExecute")}, []string{`AttributeName("node_selector")`, "match everything"}},
		"an unknown way with conflicts":            {map[string]any{"node_name": "n", "on_conflict": "force", "taints": one("k", "", "NoExecute")}, []string{`AttributeName("on_conflict")`, "adopt"}},
		"a negative budget":                        {map[string]any{"node_name": "n", "taints": one("k", "", "NoExecute"), "evictions": map[string]any{"max_pods": -1}}, []string{`AttributeName("max_pods")`, "at least 0"}},
		"a protected selector that does not parse": {map[string]any{"node_name": "n", "taints": one("k", "", "NoExecute"), "evictions": map[string]any{"protected_selector": "=="}}, []string{`AttributeName("protected_selector")`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				d := terraform(t, c).Plan(t, newInstance(), tt.config).Diagnostics
				acctest.WantAll(t, d.Errors(), tt.want...)
				if strings.Contains(d.Errors(), "error in the provider") {
					t.Errorf("it calls that a bug: %s", d.Errors())
				}
			})
		})
	}
}

func TestNodeTaints_keyOfKubernetesOwnNamespaceWarns(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "uses a key reserved for Kubernetes")
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		name := acctest.Name(t, "node")
		c.Node(t, acctest.Node{Name: name})
		config := map[string]any{"node_name": name, "taints": acctest.Objects(t, "node.kubernetes.io/mine:NoSchedule")}
		d := terraform(t, c).Walk(t).Validate(newInstance(), config)
		acctest.WantAll(t, d.Warnings(), "of node \""+name+"\" uses a key reserved for Kubernetes")
		if d.Errors() != "" {
			t.Fatalf("it is an error as well: %s", d.Errors())
		}
	})
}
