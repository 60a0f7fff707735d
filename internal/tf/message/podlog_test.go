// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-log/tflogtest"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
)

func TestLogPods_logsEachPodThatThereIsSomethingToTellAbout(t *testing.T) {
	t.Parallel()
	c := aCluster().node("worker-2", 4).pods("worker-1", "pay/Deployment/core", 1, 3, urgent).pods("worker-2", "prod/Deployment/calm", 1, 2).
		pods("worker-1", "shop/Deployment/web", 40, 9).pods("worker-1", "shop/Deployment/stays", 1, 1, tolerating(corev1.Toleration{Operator: "Exists"}))
	report := eviction.Evaluate(c.Snapshot, eviction.Scenario{Taints: map[string][]corev1.Taint{"worker-1": taintsOf(t, "a:NoExecute")}}, eviction.ComparisonOff)
	var out bytes.Buffer
	LogPods(tflogtest.RootLogger(t.Context(), &out), applying(t, `node "worker-1"`, "a:NoExecute"), report)
	entries, err := tflogtest.MultilineJSONDecode(&out)
	if err != nil {
		t.Fatal(err)
	}
	verdicts := map[any]int{}
	for _, e := range entries {
		verdicts[e["verdict"]]++
		if e["@level"] != "info" || e["@message"] != `Applying a:NoExecute to node "worker-1"` || e["pod"] == "shop/stays-0" {
			t.Errorf("got %v", e)
		}
		if web := strings.HasPrefix(e["pod"].(string), "shop/web-"); web != strings.Contains(e["reason"].(string), "no node fits") || web != (e["placement"] == "pending") {
			t.Errorf("%v: %v", e["pod"], e["reason"])
		}
	}
	if len(entries) != 42 || verdicts["evicted_now"] != 41 || verdicts["preempted"] != 1 {
		t.Errorf("%d entries: %v", len(entries), verdicts)
	}
}
