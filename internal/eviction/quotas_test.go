// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// A pod that a quota refuses is not created, counts for max_pending, and does not run again.
func TestReport_podsThatAQuotaRefusesAreNotCreated(t *testing.T) {
	t.Parallel()
	w := newWorld(node("n1"), node("n2")).run(pod("p", "n1"))
	w.Quotas = snapshot.Quotas{w.Pods["n1"][0].Namespace: {{Name: "few", Limits: []snapshot.QuotaLimit{{Resource: "pods", Hard: 0, Used: 1}}}}}
	r := Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff)
	v := r.Pods[0]
	if why := r.Why(v); !strings.HasSuffix(why, `; not created: quota "few" leaves no room for it (pods)`) {
		t.Errorf("the reason is %q", why)
	}
	if placement := r.Placement(v); placement != "not_created" || !r.Gone(v) {
		t.Errorf("the placement is %q, gone %t", placement, r.Gone(v))
	}
	want := Summary{EvictedNow: 1, Pending: number(1), Staying: number(1), Refused: number(1)}
	if diff := cmp.Diff(want, r.Summary()); diff != "" {
		t.Error(diff)
	}
	none := int64(0)
	if diff := cmp.Diff([]Excess{{Limit: MaxPending, Count: 1, Refused: 1, Certain: true}}, exceeded(Limits{MaxPending: &none}, r)); diff != "" {
		t.Error(diff)
	}
}
