// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// The facts of k8s.io/kubernetes v1.37.2
// pkg/controller/tainteviction/taint_eviction_test.go, for a pod whose node's taints
// change. A pod that comes to a tainted node is the same as a taint that comes to
// the pod's node.
var tainteviction = []struct {
	name          string
	tolerations   []corev1.Toleration
	options       []podOption
	before, after []string
	want          string
}{
	// TestFilterNoExecuteTaints.
	{name: "filter: of two effects NoExecute alone evicts", tolerations: first(forever), after: []string{"t1=v1:NoExecute", "t2=v2:NoSchedule"}, want: "stays"},

	// TestCreatePod.
	{name: "create pod: node without taints", want: "stays"},
	{name: "create pod: tainted node", after: []string{"t1=v1:NoExecute"}, want: "evicted_now"},
	{name: "create pod: tolerated for a time", tolerations: first(100), after: []string{"t1=v1:NoExecute"}, want: "evicted_after 100"},
	{name: "create pod: tolerated for ever", tolerations: first(forever), after: []string{"t1=v1:NoExecute"}, want: "stays"},
	{name: "create pod: another taint is tolerated", tolerations: second(forever), after: []string{"t1=v1:NoExecute"}, want: "evicted_now"},

	// TestDeletePod.
	{name: "delete pod: tainted node", options: []podOption{terminating}, after: []string{"t1=v1:NoExecute"}, want: "stays"},

	// TestUpdatePod.
	{name: "update pod: scheduled to a tainted node", after: []string{"t1=v1:NoExecute"}, want: "evicted_now"},
	{name: "update pod: scheduled to a tainted node that it tolerates", tolerations: first(forever), after: []string{"t1=v1:NoExecute"}, want: "stays"},
	// Earlier tolerations of a pod do not count. The API server lets no update remove a toleration.
	{name: "update pod: without the toleration that it had", after: []string{"t1=v1:NoExecute"}, want: "evicted_now"},

	// TestCreateNode.
	{name: "create node: no taint", want: "stays"},
	{name: "create node: taint", after: []string{"t1=v1:NoExecute"}, want: "evicted_now"},
	{name: "create node: tolerated taint", tolerations: first(forever), after: []string{"t1=v1:NoExecute"}, want: "stays"},

	// TestUpdateNode.
	{name: "update node: added taint", after: []string{"t1=v1:NoExecute"}, want: "evicted_now"},
	{name: "update node: added taint that is tolerated", tolerations: first(100), after: []string{"t1=v1:NoExecute"}, want: "evicted_after 100"},
	{name: "update node: one of two is tolerated", tolerations: first(100), after: []string{"t1=v1:NoExecute", "t2=v2:NoExecute"}, want: "evicted_now"},
	{name: "update node: removed taint ends the countdown", tolerations: first(1), before: []string{"t1=v1:NoExecute"}, want: "stays"},
	{name: "update node: the shorter of two tolerations decides", tolerations: both(1, 100), after: []string{"t1=v1:NoExecute", "t2=v2:NoExecute"}, want: "evicted_after 1"},

	// TestUpdateNodeWithMultipleTaints, step by step.
	{name: "several taints: none", tolerations: both(forever, 60), want: "stays"},
	{name: "several taints: the one tolerated for ever", tolerations: both(forever, 60), after: []string{"t1=v1:NoExecute"}, want: "stays"},
	{name: "several taints: the one tolerated for a time is added", tolerations: both(forever, 60), before: []string{"t1=v1:NoExecute"}, after: []string{"t1=v1:NoExecute", "t2=v2:NoExecute"}, want: "evicted_after 60"},
	{name: "several taints: it is removed", tolerations: both(forever, 60), before: []string{"t1=v1:NoExecute", "t2=v2:NoExecute"}, after: []string{"t1=v1:NoExecute"}, want: "stays"},

	// TestUpdateNodeWithMultiplePods, pod by pod.
	{name: "several pods: one taint, first pod", after: []string{"t1=v1:NoExecute"}, want: "evicted_now"},
	{name: "several pods: one taint, second pod", tolerations: first(1), after: []string{"t1=v1:NoExecute"}, want: "evicted_after 1"},
	{name: "several pods: one taint, third pod", tolerations: first(forever), after: []string{"t1=v1:NoExecute"}, want: "stays"},
	{name: "several pods: two taints, first pod", after: []string{"t1=v1:NoExecute", "t2=v2:NoExecute"}, want: "evicted_now"},
	{name: "several pods: two taints, second pod", tolerations: first(1), after: []string{"t1=v1:NoExecute", "t2=v2:NoExecute"}, want: "evicted_now"},
	{name: "several pods: two taints, third pod", tolerations: first(forever), after: []string{"t1=v1:NoExecute", "t2=v2:NoExecute"}, want: "evicted_now"},

	// TestGetMinTolerationTime.
	{name: "shortest time: no tolerations", after: []string{"t1=v1:NoExecute"}, want: "evicted_now"},
	{name: "shortest time: one without an end", tolerations: first(forever), after: []string{"t1=v1:NoExecute"}, want: "stays"},
	{name: "shortest time: 1 s and 2 s", tolerations: both(1, 2), after: []string{"t1=v1:NoExecute", "t2=v2:NoExecute"}, want: "evicted_after 1"},
	{name: "shortest time: 1 s and for ever", tolerations: both(1, forever), after: []string{"t1=v1:NoExecute", "t2=v2:NoExecute"}, want: "evicted_after 1"},
	{name: "shortest time: for ever and 1 s", tolerations: both(forever, 1), after: []string{"t1=v1:NoExecute", "t2=v2:NoExecute"}, want: "evicted_after 1"},

	// TestEventualConsistency, for the pod that is seen late.
	{name: "late: a pod is scheduled", after: []string{"t1=v1:NoExecute"}, want: "evicted_now"},
	{name: "late: a tolerating pod is scheduled", tolerations: first(100), after: []string{"t1=v1:NoExecute"}, want: "evicted_after 100"},
	{name: "late: a pod is created", after: []string{"t1=v1:NoExecute"}, want: "evicted_now"},
	{name: "late: a tolerating pod is created", tolerations: first(100), after: []string{"t1=v1:NoExecute"}, want: "evicted_after 100"},
}

// The facts of pkg/controller/tainteviction/timed_workers_test.go for five pods, each on a node of its own:
// work that is added is a taint that comes, work that is cancelled is one that goes before its time.
var workQueue = []struct {
	name    string
	seconds int64
	nodes   []taintedBy
	want    []string
}{
	{"work: five at once", 0, []taintedBy{comes, comes, comes, comes, comes}, []string{"1 evicted_now", "2 evicted_now", "3 evicted_now", "4 evicted_now", "5 evicted_now"}},
	{"work: five after some time", 10, []taintedBy{comes, comes, comes, comes, comes}, []string{"1 evicted_after 10", "2 evicted_after 10", "3 evicted_after 10", "4 evicted_after 10", "5 evicted_after 10"}},
	{"work: two are cancelled", 10, []taintedBy{comes, goes, comes, goes, comes}, []string{"1 evicted_after 10", "3 evicted_after 10", "5 evicted_after 10"}},
	{"work: one of two cancelled ones is added again", 10, []taintedBy{comes, comes, comes, goes, comes}, []string{"1 evicted_after 10", "2 evicted_after 10", "3 evicted_after 10", "5 evicted_after 10"}},
}

// taintedBy are the taints of a node before a change and after it.
type taintedBy struct{ before, after string }

var comes, goes = taintedBy{"", "t1=v1:NoExecute"}, taintedBy{"t1=v1:NoExecute", ""}

const forever = -1

// tolerate returns a toleration of t1=v1:NoExecute or t2=v2:NoExecute.
func tolerate(key, value string, seconds int64) corev1.Toleration {
	t := equal(key, value, noEx)
	if seconds == forever {
		return t
	}
	return lasting(t, seconds)
}

func first(seconds int64) []corev1.Toleration  { return both(seconds, forever)[:1] }
func second(seconds int64) []corev1.Toleration { return both(forever, seconds)[1:] }

func both(one, two int64) []corev1.Toleration {
	return []corev1.Toleration{tolerate("t1", "v1", one), tolerate("t2", "v2", two)}
}

func TestUpstream_tainteviction(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	for _, tt := range tainteviction {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			one := pod("web", "n", append([]podOption{tolerating(tt.tolerations...)}, tt.options...)...)
			v := only(t, Evaluate(newWorld(node("n", tt.before...)).run(one).Snapshot, tainting("n", tt.after...), ComparisonOff))
			if got := verdictOf(v); got != tt.want {
				t.Errorf("got %s (%s), want %s", got, v.Reason, tt.want)
			}
		})
	}
	for _, tt := range workQueue {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			w, change := newWorld(), Scenario{Taints: map[string][]corev1.Taint{}}
			for i, n := range tt.nodes {
				name := strconv.Itoa(i + 1)
				w.Nodes[name] = node(name, strings.Fields(n.before)...)
				w.run(pod(name, name, tolerating(first(tt.seconds)...)))
				change.Taints[name] = taintsOf(strings.Fields(n.after)...)
			}
			var got []string
			for _, v := range Evaluate(w.Snapshot, change, ComparisonOff).Pods {
				if verdict := verdictOf(v); verdict != "stays" {
					got = append(got, v.Pod.Name+" "+verdict)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	// A pod that is on no node, and a node that is gone, have no verdict.
	for name, change := range map[string]Scenario{"create pod: not scheduled": tainting("n", "t1=v1:NoExecute"), "delete node: a node that is gone": tainting("gone", "t1=v1:NoExecute")} {
		rows.Run(t, name, func(t *testing.T) {
			t.Parallel()
			empty := newWorld(node("n")).run(pod("unscheduled", ""))
			if r := Evaluate(empty.Snapshot, change, ComparisonOff); len(r.Pods) > 0 {
				t.Errorf("%d pods, want none", len(r.Pods))
			}
		})
	}
}
