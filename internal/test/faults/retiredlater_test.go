// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// TestPlan_restartsOfWhatNoTaintNeedsAnyMore: the resource of a toleration has left it for the sake of a taint, and the nodes
// with that taint are deleted. The next apply of the taints takes it away, and its plan says whose pods restart by that.
func TestPlan_restartsOfWhatNoTaintNeedsAnyMore(t *testing.T) {
	t.Parallel()
	bubble(t, moment{api: fakeapi.New()}, func(t *testing.T, api *fakeapi.Server) {
		shop("Deployment")(api)
		time.Sleep(calm)
		tf := through(api.Client())
		tolerations, taints := acctest.Instance{Type: "kubetaint_workload_tolerations"}, acctest.Instance{Type: "kubetaint_node_taints"}
		apply := func(i *acctest.Instance, config map[string]any) {
			t.Helper()
			if e := tf.Apply(t, i, config).Errors(); e != "" {
				t.Fatal(e)
			}
			time.Sleep(calm)
		}
		apply(&tolerations, object{"workload": object{"kind": "Deployment", "namespace": "shop", "name": "web"}, "tolerations": []any{toleration("team", "a")}})
		config := object{"node_selector": "pool=x", "taints": []any{taint("team", "a", "NoExecute")}}
		apply(&taints, acctest.With(config, object{"tolerated_by": []any{tf.Attributes(t, &tolerations)["id"]}}))
		// One run destroys the resource of the toleration, and takes its id out of tolerated_by.
		walk := tf.Walk(t)
		if e := append(walk.Refresh(&tolerations), walk.Refresh(&taints)...).Errors(); e != "" {
			t.Fatal(e)
		}
		unlinked, destroyed := walk.Plan(&taints, config), walk.Plan(&tolerations, nil)
		walk = tf.Walk(t)
		if e := append(walk.ApplyChange(&taints, unlinked, config), walk.ApplyChange(&tolerations, destroyed, nil)...).Errors(); e != "" {
			t.Fatal(e)
		}
		time.Sleep(calm)
		web := func() *appsv1.Deployment {
			d, _ := fakeapi.Get[*appsv1.Deployment](api, "shop", "web")
			return d
		}
		left := len(web().Spec.Template.Spec.Tolerations)
		more := acctest.With(config, object{"taints": []any{taint("team", "a", "NoExecute"), taint("extra", "", "NoSchedule")}})
		const restarts = "restarts 2 pods of Deployment \"shop/web\" in 1 rollout"
		if says := tf.Walk(t).Plan(&taints, more).Diagnostics.Warnings(); strings.Contains(says, restarts) {
			t.Errorf("the taint needs the toleration, and the plan says %s", says)
		}
		for _, name := range []string{"n1", "n2"} {
			n, _ := fakeapi.Get[*corev1.Node](api, "", name)
			api.Remove(n)
		}
		time.Sleep(calm)
		planned := tf.Plan(t, &taints, more)
		if says := planned.Diagnostics.Warnings(); !strings.Contains(says, "Changing the taints of ") || !strings.Contains(says, restarts) {
			t.Errorf("the plan says %s", says)
		}
		if e := tf.Carry(t, &taints, planned, more).Errors(); e != "" {
			t.Fatal(e)
		}
		if now := len(web().Spec.Template.Spec.Tolerations); now != left-1 {
			t.Errorf("the template has %d tolerations, of %d before", now, left)
		}
	})
}
