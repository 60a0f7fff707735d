// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

func TestDedicatedNodes_namespaceThatDoesNotAllowTheTolerations(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c, "DaemonSet", "Deployment")
		tf := terraform(t, c)
		w := wish{taints: "team=a:NoExecute zone:NoSchedule", workloads: map[string]string{"Deployment": tolerating}}
		c.Allow(t, p.namespace, `[{"key":"team","operator":"Exists"},{"key":"foreign","operator":"Exists"}]`)
		acctest.WantAll(t, tf.Plan(t, newInstance(), p.config(w)).Diagnostics.Warnings(), `[AttributeName("workloads").ElementKeyInt(0)] Namespace "`+p.namespace+`" does not allow Deployment "`+p.namespace+`/deployment" to tolerate zone:NoSchedule`,
			"PodTolerationRestriction", "Add the toleration to the annotation first")
		c.Allow(t, p.namespace, `[{"key":"team","operator":"Exists"},{"key":"zone","operator":"Exists"}]`)
		if d := tf.Plan(t, newInstance(), p.config(w)).Diagnostics; d.Errors() != "" || strings.Contains(d.Warnings(), "does not allow") {
			t.Fatalf("the namespace allows them, and the plan says: %s%s", d.Errors(), d.Warnings())
		}
	})
}
