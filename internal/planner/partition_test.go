// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// TestOrder_restartsPodsFromThePartitionOn: those below it keep the old template.
func TestOrder_restartsPodsFromThePartitionOn(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rolling workload.Rolling
		want    []string
	}{
		"a partition":  {workload.Rolling{Hold: "partition", Below: 1}, []string{"expand web: x=1:NoExecute, restarts web-1"}},
		"OnDelete":     {workload.Rolling{Hold: "OnDelete"}, []string{"expand web: x=1:NoExecute"}},
		"no partition": {workload.Rolling{}, []string{"expand web: x=1:NoExecute, restarts web-0 web-1"}},
	} {
		w := aWorkload(t, "StatefulSet", "web")
		w.Rolling = tt.rolling
		desired := tolerate(t, w, "x=1:NoExecute")
		desired.NoWait = true
		s := aSnapshot([]*snapshot.Node{aNode(t, "a", "gpu")}, aPod(t, w, "web-0", "a"), aPod(t, w, "web-1", "a"))
		if diff := cmp.Diff(tt.want, writeSteps(Order(s, Change{Workloads: []Tolerations{desired}}, eviction.ComparisonOff))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestDisplaces_podsBelowThePartitionStayForNow(t *testing.T) {
	t.Parallel()
	w := aWorkload(t, "StatefulSet", "web", "*x=1:NoExecute")
	w.Rolling = workload.Rolling{Hold: "partition", Below: 1}
	desired := tolerate(t, w)
	desired.RemoveImmediately = true
	s := aSnapshot([]*snapshot.Node{aNode(t, "a", "gpu", "x=1:NoExecute"), aNode(t, "b", "cpu")}, aPod(t, w, "web-0", "a"), aPod(t, w, "web-1", "a"))
	var got []string
	for _, d := range PodsLosingTolerations(s, Order(s, Change{Workloads: []Tolerations{desired}}, eviction.ComparisonOff).Steps, eviction.ComparisonOff).Pods {
		got = append(got, writeDisplaced(d))
	}
	if diff := cmp.Diff([]string{"web-0 x=1:NoExecute -1 held elsewhere", "web-1 x=1:NoExecute -1 elsewhere"}, got); diff != "" {
		t.Error(diff)
	}
}
