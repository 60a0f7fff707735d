// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

func TestDedicatedNodes_admissionIsRefused(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p, tf := newPool(t, c), terraform(t, c)
		w, name := wish{taints: "team=a:NoExecute"}, acctest.Name(t, "policy")
		theirs := &acctest.Instance{Type: "kubetaint_toleration_policy"}
		p.admitting(name, nil)
		if d := tf.Apply(t, theirs, map[string]any{"name": name, "match": map[string]any{"namespaces": []any{p.namespace}}, "tolerations": acctest.TolerationObjects(t, "x*")}); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		for _, tt := range []struct {
			what   string
			policy map[string]any
			says   []string
		}{
			{"a policy of another resource", p.admitting(name, nil), []string{"Unable to change toleration policy \"" + name + "\": it is owned by another resource", "terraform/toleration_policy/" + name}},
			{"pods to be pinned without labels", p.admitting("x", map[string]any{"pin": true}), []string{"Unable to pin pods without labels"}},
			{"a match of every pod", p.admitting("x", map[string]any{"match": map[string]any{}}), []string{"Unable to match every pod with an empty match", "match_all = true"}},
			{"namespaces of the system", p.admitting("x", map[string]any{"match": map[string]any{"namespace_selector": "kubernetes.io/metadata.name in (kube-system)"}}), []string{"Unable to match system namespaces by a selector", "kube-system"}},
		} {
			d := tf.Plan(t, newInstance(), acctest.With(p.config(w), map[string]any{"admission": tt.policy})).Diagnostics
			acctest.WantAll(t, d.Errors(), tt.says...)
		}
		p.want(wish{})
		if d := tf.Apply(t, theirs, nil); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
	})
}

// TestDedicatedNodes_aPolicyIsClaimedByOneOfAConfiguration: another resource that is created with the
// same name would be refused at apply, after nodes or workloads have changed.
func TestDedicatedNodes_aPolicyIsClaimedByOneOfAConfiguration(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p, tf := newPool(t, c), terraform(t, c)
		name, w := acctest.Name(t, "policy"), tf.Walk(t)
		config := acctest.With(p.config(wish{taints: "team=a:NoExecute"}), map[string]any{"admission": p.admitting(name, nil)})
		if d := w.Plan(newInstance(), config).Diagnostics; d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		other := map[string]any{"name": name, "match": map[string]any{"namespaces": []any{p.namespace}}, "tolerations": acctest.TolerationObjects(t, "x*")}
		acctest.WantAll(t, w.Plan(&acctest.Instance{Type: "kubetaint_toleration_policy"}, other).Diagnostics.Errors(), `[AttributeName("name")] Unable to claim toleration policy "`+name+`" twice`)
		w = tf.Walk(t)
		if d := w.Plan(&acctest.Instance{Type: "kubetaint_toleration_policy"}, other).Diagnostics; d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		acctest.WantAll(t, w.Plan(newInstance(), config).Diagnostics.Errors(), `[AttributeName("admission").AttributeName("name")] Unable to claim toleration policy "`+name+`" twice`)
	})
}
