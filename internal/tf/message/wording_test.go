// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

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

func applying(t *testing.T, where string, taints ...string) Subject {
	t.Helper()
	return Subject{Verb: "Applying", Taints: taintsOf(t, taints...), Preposition: "to", Where: where}
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
			Verdict: verdict, Reason: "does not tolerate dedicated=gpu:NoExecute",
		}
		v.Pod.Controller = &snapshot.Controller{Owner: v.Owner}
		if owner == "" {
			v.Pod.Controller = nil
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
func stuck(v *eviction.PodVerdict)        { v.NoPlace = true }
func misscheduled(v *eviction.PodVerdict) { v.Misscheduled = true }
func done(v *eviction.PodVerdict)         { v.Pod.Completed = true }
func hedged(v *eviction.PodVerdict)       { v.OrderDependent = true }
func stranded(v *eviction.PodVerdict)     { v.Stranded = true }
func spared(v *eviction.PodVerdict) {
	v.Stranded, v.OrderDependent, v.SavedByTolerations = true, true, true
}

func reportOf(groups ...[]eviction.PodVerdict) *eviction.Report {
	r := &eviction.Report{}
	for _, g := range groups {
		r.Pods = append(r.Pods, g...)
	}
	return r
}

func TestPreview_summaries(t *testing.T) {
	t.Parallel()
	one := applying(t, `node "worker-3"`, "dedicated=gpu:NoExecute")
	many := applying(t, `40 nodes matching "pool=gpu"`, "dedicated=gpu:NoExecute")
	noSchedule := applying(t, `node "worker-3"`, "dedicated=gpu:NoSchedule")
	refuses, refusesNoSchedule := one, noSchedule
	refuses.RefusesStranded, refusesNoSchedule.RefusesStranded = true, true
	// 212 pods of 9 workloads: eight of 26 and one of 4, of which 3 are not recreated.
	var nine [][]eviction.PodVerdict
	for i := range 8 {
		nine = append(nine, leaving(26, fmt.Sprintf("Deployment/d%d", i), eviction.EvictedNow))
	}
	nine = append(nine, leaving(3, "DaemonSet/s", eviction.EvictedNow, stuck), leaving(1, "DaemonSet/s", eviction.EvictedAfter), leaving(5, "Deployment/quiet", eviction.Stays))
	tests := []struct {
		name    string
		subject Subject
		report  *eviction.Report
		want    string
	}{
		{
			name: "one node", subject: one,
			report: reportOf(leaving(5, "Deployment/web", eviction.EvictedNow), leaving(2, "", eviction.EvictedNow)),
			want:   `Applying dedicated=gpu:NoExecute to node "worker-3" evicts 7 pods: 2 lost`,
		},
		{name: "many nodes", subject: many, report: reportOf(nine...), want: `Applying dedicated=gpu:NoExecute to 40 nodes matching "pool=gpu" evicts 212 pods: 3 of DaemonSets`},
		{name: "a single pod that comes back", subject: one, report: reportOf(leaving(1, "Deployment/web", eviction.EvictedNow)), want: `Applying dedicated=gpu:NoExecute to node "worker-3" evicts 1 pod`},
		{name: "a pod that is both lost and stuck is lost", subject: one, report: reportOf(leaving(1, "Job/j", eviction.Drained, lost, stuck)), want: `Applying dedicated=gpu:NoExecute to node "worker-3" evicts 1 pod: 1 lost`},
		{
			name: "every way not to come back, each pod once", subject: one,
			report: reportOf(leaving(1, "", eviction.EvictedNow), leaving(3, "StatefulSet/s", eviction.EvictedNow), leaving(4, "DaemonSet/agent", eviction.EvictedNow, stuck), leaving(2, "Deployment/web", eviction.EvictedNow)),
			want:   `Applying dedicated=gpu:NoExecute to node "worker-3" evicts 10 pods: 1 lost, 4 of DaemonSets`,
		},
		{
			name: "NoSchedule strands pods that another node would take", subject: refusesNoSchedule, report: reportOf(leaving(2, "Deployment/web", eviction.Stays, stranded)),
			want: `Applying dedicated=gpu:NoSchedule to node "worker-3" evicts no pods, but 2 pods could not be scheduled there again; apply will refuse this: 2 pods tolerate the replaced taint but not the new one`,
		},
		{name: "pods of which it is not known", subject: one, report: reportOf(leaving(3, "Deployment/web", eviction.Unknown)), want: `Applying dedicated=gpu:NoExecute to node "worker-3" may evict 3 pods`},
		{
			name: "both kinds on many nodes", subject: many, report: reportOf(leaving(4, "Deployment/web", eviction.EvictedNow), leaving(3, "Deployment/db", eviction.Unknown)),
			want: `Applying dedicated=gpu:NoExecute to 40 nodes matching "pool=gpu" evicts 4 pods and may evict 3 more`,
		},
		{
			name: "completed pods that may leave count as neither", subject: one, report: reportOf(leaving(2, "Job/done", eviction.Unknown, done), leaving(10, "Deployment/web", eviction.Unknown)),
			want: `Applying dedicated=gpu:NoExecute to node "worker-3" may evict 10 pods`,
		},
		{
			name: "completed pods make no eviction doubtful", subject: one, report: reportOf(leaving(1, "Deployment/failed", eviction.Unknown, done, hedged), leaving(1, "Deployment/web", eviction.EvictedNow)),
			want: `Applying dedicated=gpu:NoExecute to node "worker-3" evicts 1 pod`,
		},
		{name: "completed pods alone, and tolerations of the same plan", subject: one, report: reportOf(leaving(2, "Job/done", eviction.Unknown, done, hedged)), want: `Applying dedicated=gpu:NoExecute to node "worker-3" may delete 2 completed pods`},
		{name: "no pod is there", subject: one, report: reportOf()},
		{name: "all pods stay", subject: one, report: reportOf(leaving(9, "Deployment/web", eviction.Stays))},
		{name: "a terminating pod is nothing to warn of", subject: one, report: reportOf(leaving(1, "Deployment/web", eviction.Stays, func(v *eviction.PodVerdict) { v.Pod.Terminating = true }))},
		{
			name: "NoSchedule evicts no pod, but pods could not come back", subject: noSchedule, report: reportOf(leaving(2, "Deployment/web", eviction.Stays, stuck), leaving(1, "DaemonSet/log", eviction.Stays, misscheduled)),
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
			name: "NoSchedule evicts no pod whichever comes first", subject: refusesNoSchedule, report: reportOf(leaving(2, "Deployment/web", eviction.Stays, spared)),
			want: `Applying dedicated=gpu:NoSchedule to node "worker-3" evicts no pods, but 2 pods might not be scheduled there again; apply will refuse this unless the tolerations of this plan come first`,
		},
		{
			name: "NoSchedule strands no pod where it is new", subject: refusesNoSchedule, report: reportOf(leaving(1, "DaemonSet/log", eviction.Stays, hedged)),
			want: `Applying dedicated=gpu:NoSchedule to node "worker-3" evicts no pods, but 1 pod might not be scheduled there again, unless the tolerations of this plan come first`,
		},
		{
			name: "three taints are one and two more", subject: applying(t, `node "worker-3"`, "a:NoExecute", "b:NoExecute", "c:NoExecute"), report: reportOf(leaving(1, "Deployment/web", eviction.EvictedNow)),
			want: `Applying a:NoExecute and 2 more taints to node "worker-3" evicts 1 pod`,
		},
		{
			name: "two taints are both named", subject: applying(t, `node "worker-3"`, "a:NoExecute", "b:NoSchedule"), report: reportOf(leaving(1, "Deployment/web", eviction.EvictedNow)),
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

func TestPreview_listsAtMostTwentyWorkloadsAndCountsTheRest(t *testing.T) {
	t.Parallel()
	one := applying(t, `node "worker-3"`, "dedicated=gpu:NoExecute")
	var single [][]eviction.PodVerdict
	for i := range 30 {
		single = append(single, leaving(2, fmt.Sprintf("Deployment/d%02d", i), eviction.EvictedNow))
	}
	for name, tt := range map[string]struct {
		report *eviction.Report
		lines  int
		last   string
	}{
		"a large workload has one row":  {reportOf(leaving(63, "Deployment/web", eviction.EvictedNow)), 1, "  ok 63  Deployment app/web  0s  fits elsewhere"},
		"what just fits is listed":      {reportOf(single[:20]...), 20, "  ok 2  Deployment app/d19  0s  fits elsewhere"},
		"many workloads":                {reportOf(single...), 21, "  … 10 more workloads (20 pods), all ok"},
		"bare pods":                     {reportOf(leaving(22, "", eviction.EvictedNow)), 21, "  … 2 more workloads (2 pods)"},
		"pods that stay are not listed": {reportOf(leaving(2, "Deployment/web", eviction.EvictedNow), leaving(30, "Deployment/z", eviction.Stays)), 1, "  ok 2  Deployment app/web  0s  fits elsewhere"},
	} {
		_, detail := Preview(one, tt.report)
		if lines := listLines(detail); len(lines) != tt.lines || lines[len(lines)-1] != tt.last {
			t.Errorf("%s: %d lines, want %d and at the end %q:\n%s", name, len(lines), tt.lines, tt.last, detail)
		}
	}
}

func TestPreview_sortsByDanger(t *testing.T) {
	t.Parallel()
	over := func(v *eviction.PodVerdict) { v.Beyond = &eviction.Beyond{Name: "pdb", Allowed: 1} }
	subject := applying(t, `node "n"`, "a:NoExecute")
	subject.RefusesStranded = true
	summary, detail := Preview(subject, reportOf(
		leaving(5, "Deployment/calm", eviction.EvictedNow), leaving(9, "Deployment/calmer", eviction.EvictedNow), leaving(1, "StatefulSet/stays", eviction.Stays, stuck),
		leaving(2, "DaemonSet/agent", eviction.EvictedNow, stuck), leaving(2, "Deployment/guarded", eviction.EvictedAfter, over), leaving(1, "Deployment/perhaps", eviction.Unknown),
		leaving(1, "", eviction.EvictedNow), leaving(1, "Deployment/stranded", eviction.EvictedNow, stranded),
	))
	var got []string
	for _, line := range listLines(detail) {
		got = append(got, strings.Join(strings.Fields(line)[:4], " "))
	}
	want := []string{
		"STRANDED 1 Deployment app/stranded", "LOST 1 Pod app/bare-0", "MAYBE 1 Deployment app/perhaps", "PDB 2 Deployment app/guarded",
		"DAEMON 2 DaemonSet app/agent", "STAYS 1 StatefulSet app/stays", "ok 9 Deployment app/calmer", "ok 5 Deployment app/calm",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if want := "evicts 20 pods and may evict 1 more: 1 lost, 1 beyond a PodDisruptionBudget, 2 of DaemonSets;"; !strings.Contains(summary, want) {
		t.Errorf("%q does not say %q", summary, want)
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
			Budgets: snapshot.Budgets{"shop": {{Name: "web", Selector: web, Allowed: 1}}}, Quotas: snapshot.Quotas{}, LimitRanges: snapshot.LimitRanges{},
			Gaps: []string{"Jobs could not be read (no permission to list them): pods are counted by Job instead of by CronJob"},
		}
	}
	drained := eviction.Scenario{Drains: map[string]bool{"worker-3": true}}
	changed := func(notation string) eviction.Scenario {
		return eviction.Scenario{Taints: map[string][]corev1.Taint{"worker-3": taintsOf(t, notation)}}
	}
	tests := []struct {
		name    string
		subject Subject
		change  eviction.Scenario
	}{
		{name: "no-execute", subject: applying(t, `node "worker-3"`, "dedicated=9:NoExecute"), change: changed("dedicated=9:NoExecute")},
		{name: "no-schedule", subject: applying(t, `node "worker-3"`, "dedicated=gpu:NoSchedule"), change: changed("dedicated=gpu:NoSchedule")},
		{name: "drain", subject: applying(t, `1 machine of "pool-a"`, "dedicated=gpu:NoExecute"), change: drained},
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
