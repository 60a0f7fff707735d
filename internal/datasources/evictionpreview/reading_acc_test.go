// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
)

// Otherwise the comparisons of readings would compare different clusters.
func TestAccMoment_showsNoLaterPod(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	node, namespace := acctest.Name(t, "node"), c.Namespace(t)
	c.Node(t, acctest.Node{Name: node, Labels: map[string]string{"world": node}, Quiet: true})
	c.Pod(t, namespace, "before", node, nil)
	moment := c.Moment(t)
	c.Pod(t, namespace, "later", node, nil)
	w := &world{t: t, c: c}
	for name, tt := range map[string]struct {
		tf   *acctest.Terraform
		want []string
	}{
		"the cluster":           {&acctest.Terraform{Provider: c.Provider(t)}, []string{"before", "later"}},
		"its moment":            {&acctest.Terraform{Provider: moment.Provider(t)}, []string{"before"}},
		"nodes first":           {&acctest.Terraform{Provider: moment.Provider(t), Reading: kube.ReadNodesFirst}, []string{"before"}},
		"a recording":           {c.Snapshot(t), []string{"before", "later"}},
		"a recording of moment": {moment.Snapshot(t), []string{"before"}},
	} {
		pods := slices.Sorted(maps.Keys(w.predict(tt.tf, "world="+node, acctest.Objects(t, "moment:NoExecute"))))
		if !slices.Equal(pods, tt.want) {
			t.Errorf("%s shows pods %v, want %v", name, pods, tt.want)
		}
	}
}

// planBothWays plans the change of each node alone over one moment of the cluster, once with its pods read
// first and once with all pods: the plans must say the same.
func (w *world) planBothWays(c *acctest.Cluster, change []any) {
	w.t.Helper()
	for _, name := range w.nodes {
		first, all := w.planned(c, name, change, kube.ReadNodesFirst), w.planned(c, name, change, kube.ReadAllPods)
		if first != all {
			w.t.Errorf("node %s: with its pods read first the plan says\n%s\nwith all pods\n%s", name, first, all)
		}
		if all == "" {
			w.silent++
		}
	}
}

// planned returns what a plan says of a change of one node.
func (w *world) planned(c *acctest.Cluster, node string, change []any, reading kube.Reading) string {
	w.t.Helper()
	tf := &acctest.Terraform{Provider: c.Provider(w.t), Reading: reading}
	config := map[string]any{"node_name": node, "taints": change, "on_conflict": "adopt", "evictions": map[string]any{"stranded": "evict"}}
	planned := tf.Plan(w.t, &acctest.Instance{Type: "kubetaint_node_taints"}, config)
	if e := planned.Diagnostics.Errors(); e != "" {
		w.t.Fatal(e)
	}
	return planned.Diagnostics.Warnings()
}

// predictRecorded asks the data source about one moment of the cluster and about a recording of it: both must
// say the same of each pod.
func (w *world) predictRecorded(c *acctest.Cluster, selector string, change []any) {
	w.t.Helper()
	predicted := w.predict(&acctest.Terraform{Provider: c.Provider(w.t)}, selector, change)
	if diff := cmp.Diff(predicted, w.predict(c.Snapshot(w.t), selector, change), cmp.AllowUnexported(prediction{})); diff != "" {
		w.t.Errorf("a recording of the cluster gives other predictions: %s", diff)
	}
}

// compareReadings compares ways of reading the cluster over one moment of it, where no countdown runs: its
// seconds pass all the same.
func (w *world) compareReadings(selector string, change []any) {
	w.t.Helper()
	if !w.quiet || len(w.limited) > 0 {
		return
	}
	c := w.c.Moment(w.t)
	w.predictRecorded(c, selector, change)
	w.planBothWays(c, change)
	w.planBothWays(c, acctest.Objects(w.t, "unknown:NoSchedule"))
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
