// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

// pasted is the list of an error that refuses unapproved evictions.
func pasted(t *testing.T, refused string) []any {
	t.Helper()
	_, list, found := strings.Cut(refused, "only = [\n")
	list, _, closed := strings.Cut(list, "]")
	if !found || !closed {
		t.Fatalf("the error has no list: %s", refused)
	}
	var out []any
	for _, entry := range regexp.MustCompile(`(?m)^ +"(.+)",$`).FindAllStringSubmatch(list, -1) {
		out = append(out, entry[1])
	}
	return out
}

// The list of the error is what a pull request adds: with it, and with nothing less, the change goes on.
func TestNodeTaints_onlyListsWhatToApprove(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "evictions.only = [] allows none")
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name, apps, ml := terraform(t, c), acctest.Name(t, "node"), c.Namespace(t), c.Namespace(t)
		c.Node(t, acctest.Node{Name: name})
		c.Pod(t, apps, "one", name, nil)
		c.Pod(t, apps, "two", name, nil)
		c.Pod(t, ml, "three", name, nil)
		config := func(only ...any) map[string]any {
			return map[string]any{"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute"), "evictions": map[string]any{"only": only}}
		}
		for list, tt := range map[string]struct {
			only []any
			says string
		}{
			"none":                         {[]any{}, " and 2 more workloads would be evicted, and evictions.only = [] allows none"},
			"a namespace":                  {[]any{ml + "/*", "other/*"}, "2 pods of " + apps + "/Pod/one and 1 more workload would be evicted, and evictions.only does not list them"},
			"single pods":                  {[]any{ml + "/Pod/three", apps + "/Pod/one"}, "1 pod of " + apps + "/Pod/two would be evicted, and evictions.only does not list it"},
			"other kinds of the same name": {[]any{apps + "/Deployment/*", ml + "/Deployment/three"}, " and 2 more workloads would be evicted, and evictions.only does not list them"},
		} {
			only, says := tt.only, tt.says
			refused := tf.Plan(t, newInstance(), config(only...)).Diagnostics.Errors()
			acctest.WantAll(t, refused, `AttributeName("evictions").AttributeName("only")`, says, "Nothing has been written", "To approve these evictions, set:\n\n  evictions = {\n    only = [\n")
			if d := tf.Plan(t, newInstance(), config(pasted(t, refused)...)).Diagnostics; d.Errors() != "" {
				t.Errorf("%s, with the list of the error: %s", list, d.Errors())
			}
			inherited := &acctest.Terraform{Provider: acctest.With(tf.Provider, map[string]any{"evictions": map[string]any{"only": only}})}
			acctest.WantAll(t, inherited.Plan(t, newInstance(), acctest.With(config(), map[string]any{"evictions": nil})).Diagnostics.Errors(),
				says, "To approve these evictions, set in the provider block:\n\n  evictions = {\n    only = [\n")
			acctest.WantAll(t, inherited.Plan(t, newInstance(), acctest.With(config(), map[string]any{"evictions": map[string]any{"max_pods": 9}})).Diagnostics.Errors(), says, "set in the provider block")
			if d := inherited.Plan(t, newInstance(), config("*/*")).Diagnostics; d.Errors() != "" {
				t.Errorf("%s, and a resource that approves every eviction: %s", list, d.Errors())
			}
		}
		wantTaints(t, c, name, "")
	})
}

// Approved evictions are made, and pods that come between plan and apply need an approval as well.
func TestNodeTaints_onlyIsCheckedAgainBeforeTheFirstWrite(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		pool, apps, other := acctest.Name(t, "pool"), c.Namespace(t), c.Namespace(t)
		for _, name := range []string{pool + "-0", pool + "-1"} {
			c.Node(t, acctest.Node{Name: name, Labels: map[string]string{"pool": pool}})
		}
		c.Pod(t, apps, "web", pool+"-0", nil)
		tf, i := terraform(t, c), newInstance()
		config := map[string]any{"node_selector": "pool=" + pool, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute"), "evictions": map[string]any{"only": []any{apps + "/*"}}}
		planned := tf.Plan(t, i, config)
		if planned.Diagnostics.Errors() != "" {
			t.Fatal(planned.Diagnostics.Errors())
		}
		walk := tf.Walk(t)
		walk.Between = func() {
			c.Pod(t, apps, "another", pool+"-1", nil)
			c.Pod(t, other, "stranger", pool+"-1", nil)
		}
		refused := walk.ApplyChange(i, planned, config).Errors()
		acctest.WantAll(t, refused, `AttributeName("only")`, "1 pod of "+other+"/Pod/stranger would be evicted, and evictions.only does not list it", "This apply has written no taint")
		wantTaints(t, c, pool+"-0", "")
		wantTaints(t, c, pool+"-1", "")
		config["evictions"] = map[string]any{"only": pasted(t, refused)}
		if d := tf.Apply(t, newInstance(), config); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		wantTaints(t, c, pool+"-1", "dedicated=gpu:NoExecute")
	})
}

func TestNodeTaints_onlyWithUnknownEntriesIsCheckedAtApply(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name, apps, i := terraform(t, c), acctest.Name(t, "node"), c.Namespace(t), newInstance()
		c.Node(t, acctest.Node{Name: name})
		c.Pod(t, apps, "one", name, nil)
		config := func(only any) map[string]any {
			return map[string]any{"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute"), "evictions": map[string]any{"only": only}}
		}
		for _, unknown := range []any{acctest.Unknown, []any{"ml/*", acctest.Unknown}} {
			if d := tf.Plan(t, i, config(unknown)).Diagnostics; d.Errors() != "" {
				t.Errorf("%v: %s", unknown, d.Errors())
			}
		}
		acctest.WantAll(t, tf.Apply(t, i, config([]any{"ml/*"})).Errors(), apps+"/Pod/one would be evicted")
		wantTaints(t, c, name, "")
	})
}

func TestNodeTaints_onlyRefusesEntriesThatItCannotRead(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "in only of evictions")
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		tf := terraform(t, c)
		for entry, says := range map[string]string{
			"shop/web":               "it names no kind: write shop/Deployment/web, shop/Deployment/* or shop/*.",
			"web":                    "it must be namespace/Kind/name, such as shop/Deployment/web",
			"shop/Deployment/web-*":  `its name must be * or the whole name of a workload, and not "web-*"`,
			"shop/deployment/web":    `its kind must be * or a kind as messages print it, such as Deployment, and not "deployment"`,
			"Shop/Deployment/web":    `its namespace must be * or the whole name of one, and not "Shop"`,
			"shop/apps/Deployment/a": "it must be namespace/Kind/name",
		} {
			config := map[string]any{"node_name": "n", "taints": acctest.Objects(t, "dedicated=gpu:NoExecute"), "evictions": map[string]any{"only": []any{"ml/*", entry}}}
			acctest.WantAll(t, tf.Walk(t).Validate(newInstance(), config).Errors(), `AttributeName("evictions").AttributeName("only").ElementKeyValue`, `Unable to use "`+entry+`" in only of evictions`, says)
			inherited := &acctest.Terraform{Provider: acctest.With(tf.Provider, map[string]any{"evictions": map[string]any{"only": []any{entry}}})}
			_, d := inherited.Start(t)
			acctest.WantAll(t, d.Errors(), `Unable to use "`+entry+`" in only of evictions`)
		}
	})
}

// The pods of a Deployment are approved by its name, and those of its ReplicaSets with it.
func TestNodeTaints_onlyNamesTheTopController(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "evictions.only does not list")
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		tf, name, apps := terraform(t, c), acctest.Name(t, "node"), c.Namespace(t)
		c.Node(t, acctest.Node{Name: name, Labels: map[string]string{"pool": name}})
		c.Deployment(t, apps, "web", 2, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"pool": name} })
		c.Running(t, apps, "web", 2)
		config := func(only ...any) map[string]any {
			return map[string]any{"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute"), "evictions": map[string]any{"only": only}}
		}
		refused := tf.Plan(t, newInstance(), config(apps+"/ReplicaSet/*", apps+"/Pod/*")).Diagnostics.Errors()
		acctest.WantAll(t, refused, "2 pods of "+apps+"/Deployment/web would be evicted")
		if d := tf.Apply(t, newInstance(), config(pasted(t, refused)...)); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		wantTaints(t, c, name, "dedicated=gpu:NoExecute")
	})
}
