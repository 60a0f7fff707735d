// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"github.com/google/go-cmp/cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
)

// differing calls ask, which reports whether two ways of asking give the same answer, until they do. Nodes of other
// clusters come and go, and decide whether a pod fits elsewhere: answers of different moments may differ, but
// not each time.
func differing(ask func() (same bool)) bool {
	for range 8 {
		if ask() {
			return false
		}
	}
	return true
}

// planBothWays plans the change of each node alone, once with its pods read first and once with all
// pods: the plans must say the same. Only where no pod comes or goes by itself can they be compared.
func (w *world) planBothWays(change []any) {
	w.t.Helper()
	if !w.quiet || len(w.limited) > 0 {
		return
	}
	for _, name := range w.nodes {
		var first, all string
		if differing(func() bool {
			first, all = w.planned(name, change, kube.ReadNodesFirst), w.planned(name, change, kube.ReadAllPods)
			return first == all
		}) {
			w.t.Errorf("node %s: with its pods read first the plan says\n%s\nwith all pods\n%s", name, first, all)
		}
		if all == "" {
			w.silent++
		}
	}
}

// planned returns what a plan says of a change of one node.
func (w *world) planned(node string, change []any, reading kube.Reading) string {
	w.t.Helper()
	tf := &acctest.Terraform{Provider: w.c.Provider(w.t), Reading: reading}
	config := map[string]any{"node_name": node, "taints": change, "on_conflict": "adopt", "evictions": map[string]any{"stranded": "evict"}}
	planned := tf.Plan(w.t, &acctest.Instance{Type: "kubetaint_node_taints"}, config)
	if e := planned.Diagnostics.Errors(); e != "" {
		w.t.Fatal(e)
	}
	return planned.Diagnostics.Warnings()
}

// predictRecorded asks the data source about a recording of the cluster, which must say of each pod what it
// says of the cluster. Only where no pod comes or goes by itself can they be compared.
func (w *world) predictRecorded(selector string, change []any, predicted map[string]prediction) {
	w.t.Helper()
	if !w.quiet || len(w.limited) > 0 {
		return
	}
	diff := ""
	if differing(func() bool {
		diff = cmp.Diff(predicted, w.predict(w.c.Snapshot(w.t), selector, change), cmp.AllowUnexported(prediction{}))
		predicted = w.predict(&acctest.Terraform{Provider: w.c.Provider(w.t)}, selector, change)
		return diff == ""
	}) {
		w.t.Errorf("a recording of the cluster gives other predictions: %s", diff)
	}
}

// wantTold reports pods that were predicted to be evicted by a plan that says nothing.
func (w *world) wantTold(told acctest.Diagnostics, predicted map[string]prediction) {
	w.t.Helper()
	if told.Warnings() != "" {
		return
	}
	for name, p := range predicted {
		if (p.verdict == "evicted_now" || p.verdict == "evicted_after") && w.before[name] && !w.limited[name] {
			w.t.Errorf("the plan says nothing, and pod %s was predicted %s", name, p.verdict)
		}
	}
}
