// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// TestPlan_aTolerationThatIsRemovedFirstIsCounted removes a toleration that no taint needs yet, and brings its taint in the
// same run. Pods of a linked workload are evicted. Without a link, the taint may come first: then they keep the toleration.
func TestPlan_aTolerationThatIsRemovedFirstIsCounted(t *testing.T) {
	t.Parallel()
	workload := object{"kind": "Deployment", "namespace": "shop", "name": "web"}
	for _, linked := range []bool{true, false} {
		bubble(t, moment{api: fakeapi.New()}, func(t *testing.T, api *fakeapi.Server) {
			shop("Deployment")(api)
			fakeapi.Edit(api, "shop", "web", func(d *appsv1.Deployment) { d.Spec.Template.Spec.NodeSelector = map[string]string{"pool": "x"} })
			time.Sleep(calm)
			tolerations, taints := acctest.Instance{Type: "kubetaint_workload_tolerations"}, acctest.Instance{Type: "kubetaint_node_taints"}
			tf := through(api.Client())
			if e := tf.Apply(t, &tolerations, object{"workload": workload, "tolerations": []any{toleration("team", "a"), toleration("spot", "b")}}).Errors(); e != "" {
				t.Fatal(e)
			}
			time.Sleep(calm)
			fewer, brought := object{"workload": workload, "tolerations": []any{toleration("team", "a")}}, object{"node_selector": "pool=x", "taints": []any{taint("spot", "b", "NoExecute")}}
			want := "may evict 2 pods"
			if linked {
				brought["tolerated_by"], want = []any{tf.Attributes(t, &tolerations)["id"]}, "evicts 2 pods"
			}
			walk := tf.Walk(t)
			first, second := walk.Plan(&tolerations, fewer), walk.Plan(&taints, brought)
			if e := first.Diagnostics.Errors() + second.Diagnostics.Errors(); e != "" {
				t.Fatal(e)
			}
			if says := second.Diagnostics.Warnings(); !strings.Contains(says, want) {
				t.Errorf("linked %t: the plan says %s", linked, says)
			}
			apply := tf.Walk(t)
			if e := append(apply.ApplyChange(&tolerations, first, fewer), apply.ApplyChange(&taints, second, brought)...).Errors(); e != "" {
				t.Fatal(e)
			}
			time.Sleep(calm)
			if evicted := len(api.Evictions()); evicted != 2 {
				t.Errorf("linked %t: %d pods are evicted", linked, evicted)
			}
		})
	}
}
