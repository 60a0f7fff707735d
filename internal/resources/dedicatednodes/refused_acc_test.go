// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccDedicatedNodes_templateThatTheApiServerWouldRefuse has an admission policy
// of the cluster stand against a toleration, or against a pin.
func TestAccDedicatedNodes_templateThatTheApiServerWouldRefuse(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	const message = "this is not done here"
	for name, tt := range map[string]struct{ unless, patch string }{
		"a toleration": {
			`object.spec.template.spec.tolerations.all(t, t.key != "team")`,
			`{"spec":{"template":{"spec":{"tolerations":[{"key":"team","operator":"Exists"}]}}}}`,
		},
		"a pin": {
			`!("dedicated" in object.spec.template.spec.nodeSelector)`,
			`{"spec":{"template":{"spec":{"nodeSelector":{"dedicated":"x"}}}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t, c, "StatefulSet", "Deployment")
			tf, i := terraform(t, c), newInstance()
			thing := acctest.Thing{APIVersion: "apps/v1", Kind: "Deployment", Namespace: p.namespace, Name: "deployment"}
			w := wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"Deployment": pinned, "StatefulSet": tolerating}}
			planned := tf.Plan(t, i, p.config(w))
			if planned.Diagnostics.Errors() != "" {
				t.Fatal(planned.Diagnostics.Errors())
			}
			allow := c.Forbid(t, thing, tt.unless, message, tt.patch)

			// The one of two workloads is named, and nothing is written.
			acctest.WantAll(t, tf.Apply(t, i, p.config(w)).Errors(), `[AttributeName("workloads").ElementKeyInt(0)] Unable to change the tolerations of Deployment "`+p.namespace+`/deployment": the API server would refuse it`,
				"A dry run", message)
			p.want(wish{}, "Deployment", "StatefulSet")

			// A plan that was made before it ends in the middle, without a taint that
			// pods do not tolerate, and goes on when the policy is gone.
			walk := tf.Walk(t)
			acctest.WantAll(t, walk.ApplyChange(i, planned, p.config(w)).Errors(), `ElementKeyInt(0)`, message)
			allow()
			planned = tf.Plan(t, i, p.config(w))
			walk = tf.Walk(t)
			walk.Between = func() { allow = c.Forbid(t, thing, tt.unless, message, tt.patch) }
			acctest.WantAll(t, walk.ApplyChange(i, planned, p.config(w)).Errors(), "Unable to create the dedication", "If an admission policy or a webhook rejected it", "Apply again to continue where it stopped", message)
			for _, node := range p.nodes {
				if taints := c.Taints(t, node); taints != foreignTaint {
					t.Fatalf("node %s has the taints %s", node, taints)
				}
			}
			p.wantOwned("Deployment", "StatefulSet")
			allow()
			tf.Settle(t, i, p.config(w))
			p.want(w, "Deployment", "StatefulSet")
			tf.Destroy(t, i)
			p.want(wish{}, "Deployment", "StatefulSet")
		})
	}
}
