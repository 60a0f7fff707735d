// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/golden"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

func taintsOf(t *testing.T, notations ...string) []corev1.Taint {
	t.Helper()
	var out []corev1.Taint
	for _, n := range notations {
		x, err := taint.Parse(n)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, x)
	}
	return out
}

func applying(t *testing.T, where string, many bool, taints ...string) Subject {
	t.Helper()
	return Subject{Verb: "Applying", Taints: taintsOf(t, taints...), Preposition: "to", Where: where, Many: many}
}

// leaving makes n verdicts on pods of one workload; the owner "" makes bare
// ones.
func leaving(n int, owner string, verdict eviction.Verdict, change ...func(*eviction.PodVerdict)) []eviction.PodVerdict {
	var out []eviction.PodVerdict
	kind, name, _ := strings.Cut(owner, "/")
	for i := range n {
		v := eviction.PodVerdict{
			Pod:     &snapshot.Pod{Namespace: "app", Name: fmt.Sprintf("%s-%d", name, i), Node: fmt.Sprintf("worker-%d", i%3)},
			Owner:   snapshot.Owner{Group: "apps", Kind: kind, Name: name},
			Verdict: verdict, Reason: "does not tolerate dedicated=gpu:NoExecute", Reschedulable: true,
		}
		if owner == "" {
			v.Pod.Name, v.Owner, v.Lost = fmt.Sprintf("bare-%d", i), snapshot.Owner{}, v.Leaves()
		}
		for _, c := range change {
			c(&v)
		}
		out = append(out, v)
	}
	return out
}

func lost(v *eviction.PodVerdict)         { v.Lost = true }
func stuck(v *eviction.PodVerdict)        { v.Reschedulable = false }
func rejected(v *eviction.PodVerdict)     { v.Rejected = true }
func misscheduled(v *eviction.PodVerdict) { v.Misscheduled = true }
func hedged(v *eviction.PodVerdict)       { v.Hedged = true }
func stranded(v *eviction.PodVerdict)     { v.Stranded = true }
func spared(v *eviction.PodVerdict)       { v.Stranded, v.Hedged, v.Spared = true, true, true }

func reportOf(groups ...[]eviction.PodVerdict) *eviction.Report {
	r := &eviction.Report{}
	for _, g := range groups {
		r.Pods = append(r.Pods, g...)
	}
	return r
}

func TestPreview_summaries(t *testing.T) {
	t.Parallel()
	one := applying(t, `node "worker-3"`, false, "dedicated=gpu:NoExecute")
	many := applying(t, `40 nodes matching "pool=gpu"`, true, "dedicated=gpu:NoExecute")
	noSchedule := applying(t, `node "worker-3"`, false, "dedicated=gpu:NoSchedule")
	refuses, refusesNoSchedule := one, noSchedule
	refuses.RefusesStranded, refusesNoSchedule.RefusesStranded = true, true
	// 212 pods of 9 workloads: eight of 26 and one of 4, of which 3 are lost.
	var nine [][]eviction.PodVerdict
	for i := range 8 {
		nine = append(nine, leaving(26, fmt.Sprintf("Deployment/d%d", i), eviction.EvictedNow))
	}
	nine = append(nine, leaving(3, "StatefulSet/s", eviction.EvictedNow, stuck), leaving(1, "StatefulSet/s", eviction.EvictedAfter), leaving(5, "Deployment/quiet", eviction.Stays))
	tests := []struct {
		name    string
		subject Subject
		report  *eviction.Report
		want    string
	}{
		{
			name: "one node", subject: one,
			report: reportOf(leaving(5, "Deployment/web", eviction.EvictedNow), leaving(2, "", eviction.EvictedNow)),
			want:   `Applying dedicated=gpu:NoExecute to node "worker-3" evicts 7 pods (2 will not come back)`,
		},
		{name: "many nodes", subject: many, report: reportOf(nine...), want: `Applying dedicated=gpu:NoExecute to 40 nodes matching "pool=gpu" evicts 212 pods of 9 workloads (3 will not come back)`},
		{name: "a single pod that comes back", subject: one, report: reportOf(leaving(1, "Deployment/web", eviction.EvictedNow)), want: `Applying dedicated=gpu:NoExecute to node "worker-3" evicts 1 pod`},
		{name: "a pod that is both lost and stuck is lost", subject: one, report: reportOf(leaving(1, "Job/j", eviction.Drained, lost, stuck)), want: `Applying dedicated=gpu:NoExecute to node "worker-3" evicts 1 pod (1 will not come back)`},
		{
			name: "every way not to come back, each pod once", subject: one,
			report: reportOf(leaving(1, "", eviction.EvictedNow), leaving(3, "StatefulSet/s", eviction.EvictedNow, stuck), leaving(4, "DaemonSet/agent", eviction.EvictedNow, stuck), leaving(2, "Deployment/web", eviction.EvictedNow, stuck, rejected)),
			want:   `Applying dedicated=gpu:NoExecute to node "worker-3" evicts 10 pods (10 will not come back)`,
		},
		{
			name: "NoSchedule strands pods that another node would take", subject: refusesNoSchedule, report: reportOf(leaving(2, "Deployment/web", eviction.Stays, stranded)),
			want: `Applying dedicated=gpu:NoSchedule to node "worker-3" evicts no pods, but 2 pods could not be scheduled there again; apply will refuse this: 2 pods tolerate the replaced taint but not the new one`,
		},
		{name: "pods of which it is not known", subject: one, report: reportOf(leaving(3, "Deployment/web", eviction.Unknown)), want: `Applying dedicated=gpu:NoExecute to node "worker-3" may evict 3 pods`},
		{
			name: "both kinds on many nodes", subject: many, report: reportOf(leaving(4, "Deployment/web", eviction.EvictedNow), leaving(3, "Deployment/db", eviction.Unknown)),
			want: `Applying dedicated=gpu:NoExecute to 40 nodes matching "pool=gpu" evicts 4 pods and may evict 3 more of 2 workloads`,
		},
		{name: "nobody is there", subject: one, report: reportOf()},
		{name: "everybody stays", subject: one, report: reportOf(leaving(9, "Deployment/web", eviction.Stays))},
		{name: "a terminating pod is nothing to warn of", subject: one, report: reportOf(leaving(1, "Deployment/web", eviction.Stays, func(v *eviction.PodVerdict) { v.Pod.Terminating = true }))},
		{
			name: "NoSchedule evicts nobody, but pods could not come back", subject: noSchedule, report: reportOf(leaving(2, "Deployment/web", eviction.Stays, stuck), leaving(1, "DaemonSet/log", eviction.Stays, misscheduled)),
			want: `Applying dedicated=gpu:NoSchedule to node "worker-3" evicts no pods, but 2 pods could not be scheduled again and 1 DaemonSet pod will be mis-scheduled`,
		},
		{
			name: "stranded pods are refused", subject: refuses, report: reportOf(leaving(2, "Deployment/web", eviction.EvictedNow, stranded)),
			want: `Applying dedicated=gpu:NoExecute to node "worker-3" evicts 2 pods; apply will refuse this: 2 pods tolerate the replaced taint but not the new one`,
		},
		{
			name: "pods that tolerations of the same plan may keep", subject: refuses, report: reportOf(leaving(2, "Deployment/web", eviction.Unknown, hedged)),
			want: `Applying dedicated=gpu:NoExecute to node "worker-3" may evict 2 pods, unless the tolerations of this plan come first`,
		},
		{
			name: "beside pods that leave in any case", subject: refuses, report: reportOf(leaving(2, "Deployment/web", eviction.Unknown, hedged), leaving(1, "Deployment/db", eviction.EvictedNow)),
			want: `Applying dedicated=gpu:NoExecute to node "worker-3" evicts 1 pod and may evict 2 more`,
		},
		{
			name: "pods that tolerations of the same plan may keep from being stranded", subject: refuses, report: reportOf(leaving(2, "Deployment/web", eviction.Unknown, spared)),
			want: `Applying dedicated=gpu:NoExecute to node "worker-3" may evict 2 pods; apply will refuse this unless the tolerations of this plan come first`,
		},
		{
			name: "and that are evicted where that is asked for", subject: one, report: reportOf(leaving(2, "Deployment/web", eviction.Unknown, spared)),
			want: `Applying dedicated=gpu:NoExecute to node "worker-3" may evict 2 pods, unless the tolerations of this plan come first`,
		},
		{
			name: "beside pods that are stranded in any case", subject: refuses, report: reportOf(leaving(2, "Deployment/web", eviction.Unknown, spared), leaving(1, "Deployment/db", eviction.EvictedNow, stranded)),
			want: `Applying dedicated=gpu:NoExecute to node "worker-3" evicts 1 pod and may evict 2 more; apply will refuse this: 1 pod tolerates the replaced taint but not the new one`,
		},
		{
			name: "NoSchedule evicts nobody whoever comes first", subject: refusesNoSchedule, report: reportOf(leaving(2, "Deployment/web", eviction.Stays, spared)),
			want: `Applying dedicated=gpu:NoSchedule to node "worker-3" evicts no pods, but 2 pods might not be scheduled there again; apply will refuse this unless the tolerations of this plan come first`,
		},
		{
			name: "NoSchedule strands nobody where it is new", subject: refusesNoSchedule, report: reportOf(leaving(1, "DaemonSet/log", eviction.Stays, hedged)),
			want: `Applying dedicated=gpu:NoSchedule to node "worker-3" evicts no pods, but 1 pod might not be scheduled there again, unless the tolerations of this plan come first`,
		},
		{
			name: "three taints are one and two more", subject: applying(t, `node "worker-3"`, false, "a:NoExecute", "b:NoExecute", "c:NoExecute"), report: reportOf(leaving(1, "Deployment/web", eviction.EvictedNow)),
			want: `Applying a:NoExecute and 2 more taints to node "worker-3" evicts 1 pod`,
		},
		{
			name: "two taints are both named", subject: applying(t, `node "worker-3"`, false, "a:NoExecute", "b:NoSchedule"), report: reportOf(leaving(1, "Deployment/web", eviction.EvictedNow)),
			want: `Applying a:NoExecute, b:NoSchedule to node "worker-3" evicts 1 pod`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			summary, detail := Preview(tt.subject, tt.report)
			if diff := cmp.Diff(tt.want, summary); diff != "" {
				t.Error(diff)
			}
			if (summary == "") != (detail == "") {
				t.Errorf("summary %q with detail %q", summary, detail)
			}
		})
	}
}

// listLines returns the lines of the list: they begin with a space, so that no
// command line wraps them.
func listLines(detail string) []string {
	var out []string
	for line := range strings.Lines(detail) {
		if strings.HasPrefix(line, " ") {
			out = append(out, strings.TrimSuffix(line, "\n"))
		}
	}
	return out
}

func TestPreview_listsAtMostTwentyLinesAndCountsTheRest(t *testing.T) {
	t.Parallel()
	one := applying(t, `node "worker-3"`, false, "dedicated=gpu:NoExecute")
	var single [][]eviction.PodVerdict
	for i := range 30 {
		single = append(single, leaving(1, fmt.Sprintf("Deployment/d%02d", i), eviction.EvictedNow))
	}
	tests := []struct {
		name   string
		report *eviction.Report
		lines  int
		last   string
	}{
		// 1 line for the workload + 19 lines of 3 names.
		{name: "what just fits is listed whole", report: reportOf(leaving(57, "Deployment/web", eviction.EvictedNow)), lines: 20},
		// 57 of 63 are named, then the count of 6.
		{name: "a large workload", report: reportOf(leaving(63, "Deployment/web", eviction.EvictedNow)), lines: 21, last: "  … and 6 more pods"},
		// 20 workloads of one pod, a line each, then the count of 10.
		{name: "many workloads", report: reportOf(single...), lines: 21, last: "  … and 10 more pods"},
		// 2 workloads + 17 lines for the first + 1 for the second: 51 + 3 of 63 + 3.
		{name: "a small workload is not crowded out by a large one", report: reportOf(leaving(63, "Deployment/web", eviction.EvictedNow), leaving(3, "Deployment/z", eviction.EvictedNow)), lines: 21, last: "  … and 12 more pods"},
		// Bare pods take one line each.
		{name: "bare pods", report: reportOf(leaving(22, "", eviction.EvictedNow)), lines: 21, last: "  … and 2 more pods"},
		// The pods that stay do not count: 1 workload + 1 line of 2 names.
		{name: "pods that stay are not listed", report: reportOf(leaving(2, "Deployment/web", eviction.EvictedNow), leaving(30, "Deployment/web", eviction.Stays)), lines: 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, detail := Preview(one, tt.report)
			lines := listLines(detail)
			if len(lines) != tt.lines || tt.last != "" && lines[len(lines)-1] != tt.last {
				t.Errorf("%d lines, want %d and at the end %q:\n%s", len(lines), tt.lines, tt.last, detail)
			}
		})
	}
}

func TestPreview_boundsTheBudgetsAndTellsEachOnce(t *testing.T) {
	t.Parallel()
	covered := func(text string) func(*eviction.PodVerdict) {
		return func(v *eviction.PodVerdict) { v.Budget = text }
	}
	var groups [][]eviction.PodVerdict
	for i := range 8 {
		groups = append(groups, leaving(2, fmt.Sprintf("Deployment/d%d", i), eviction.EvictedNow, covered(fmt.Sprintf("pdb-%d is ignored", i))))
	}
	_, detail := Preview(applying(t, `node "n"`, false, "a:NoExecute"), reportOf(groups...))
	if n := strings.Count(detail, "is ignored"); n != 5 || !strings.HasSuffix(detail, "  … and 3 more") {
		t.Errorf("%d budgets in\n%s", n, detail)
	}
}

// The goldens are whole warnings, evaluated from a snapshot, to be read aloud.
func TestPreview_goldens(t *testing.T) {
	t.Parallel()
	minute := int64(300)
	limited := []corev1.Toleration{{Key: "dedicated", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: &minute}, {Operator: "Exists"}}
	pod := func(namespace, name, node, owner string, s *snapshot.Scheduling) *snapshot.Pod {
		p := &snapshot.Pod{Namespace: namespace, Name: name, Node: node, Scheduling: s, Labels: labels.Set{"app": strings.TrimRight(name, "-0123456789")}}
		if kind, of, ok := strings.Cut(owner, "/"); ok {
			p.Controller = &snapshot.Controller{Owner: snapshot.Owner{Group: "apps", Kind: kind, Name: of}}
		}
		return p
	}
	plain := &snapshot.Scheduling{}
	shop := func() *snapshot.Snapshot {
		web, err := labels.Parse("app=web")
		if err != nil {
			t.Fatal(err)
		}
		cache := pod("shop", "cache-0", "worker-3", "StatefulSet/cache", &snapshot.Scheduling{NodeSelector: map[string]string{"disk": "nvme"}})
		cache.LocalData, cache.Demand = true, &snapshot.Demand{Asks: snapshot.Resources{Memory: 8 << 30}}
		done := pod("shop", "report-1", "worker-3", "Job/report", plain)
		done.Completed = true
		return &snapshot.Snapshot{
			Nodes: map[string]*snapshot.Node{
				"worker-3": {Name: "worker-3", Labels: map[string]string{"disk": "nvme"}}, "worker-4": {Name: "worker-4"},
				"worker-5": {Name: "worker-5", Labels: map[string]string{"disk": "nvme"}, Allocatable: &snapshot.Resources{MilliCPU: 4000, Memory: 7 << 29, Pods: 110}},
			},
			Pods: map[string][]*snapshot.Pod{"worker-3": {
				pod("shop", "web-1", "worker-3", "Deployment/web", plain), pod("shop", "web-2", "worker-3", "Deployment/web", plain),
				cache, done, pod("shop", "debug", "worker-3", "", plain),
				pod("shop", "slow-1", "worker-3", "Deployment/slow", &snapshot.Scheduling{Tolerations: limited}),
				pod("shop", "cheap-1", "worker-3", "Deployment/cheap", &snapshot.Scheduling{Tolerations: []corev1.Toleration{{Key: "dedicated", Operator: "Gt", Value: "5"}, {Key: "dedicated", Operator: "Exists", TolerationSeconds: &minute, Effect: "NoExecute"}}}),
				pod("kube-system", "agent-x", "worker-3", "DaemonSet/agent", &snapshot.Scheduling{Tolerations: []corev1.Toleration{{Operator: "Exists", Effect: "NoExecute"}}}),
			}},
			Budgets: snapshot.Budgets{"shop": {{Name: "web", Selector: web, Allowed: 1}}},
			Gaps:    []string{"Jobs could not be read (no permission to list them): pods are counted by Job instead of by CronJob"},
		}
	}
	drained := eviction.Change{Drains: map[string]bool{"worker-3": true}}
	changed := func(notation string) eviction.Change {
		return eviction.Change{Taints: map[string][]corev1.Taint{"worker-3": taintsOf(t, notation)}}
	}
	tests := []struct {
		name    string
		subject Subject
		change  eviction.Change
	}{
		{name: "no-execute", subject: applying(t, `node "worker-3"`, false, "dedicated=9:NoExecute"), change: changed("dedicated=9:NoExecute")},
		{name: "no-schedule", subject: applying(t, `node "worker-3"`, false, "dedicated=gpu:NoSchedule"), change: changed("dedicated=gpu:NoSchedule")},
		{name: "drain", subject: applying(t, `1 machine of "pool-a"`, true, "dedicated=gpu:NoExecute"), change: drained},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			summary, detail := Preview(tt.subject, eviction.Evaluate(shop(), tt.change, eviction.ComparisonUnknown))
			got := summary + "\n\n" + detail + "\n"
			golden.Check(t, "preview-"+tt.name+".golden", got)
		})
	}
}
