// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// Tolerations of the same run of which it is not sure that they come first must
// make the verdict claim nothing that they would change.
func TestEvaluate_claimsNothingThatUnsureTolerationsWouldChange(t *testing.T) {
	t.Parallel()
	old, fresh := equal("x", "1", ""), equal("x", "2", "")
	for name, tt := range map[string]struct {
		before, after string
		pod           []corev1.Toleration
		option        podOption
		planned       []corev1.Toleration
		want          Verdict
		// flags are those of stranded, spared, hedged, misscheduled and stuck (not
		// reschedulable) that are set.
		flags string
	}{
		"a new NoExecute taint":                             {after: "x=2:NoExecute", planned: []corev1.Toleration{fresh}, want: Unknown, flags: "hedged"},
		"another value under NoExecute":                     {before: "x=1:NoExecute", after: "x=2:NoExecute", pod: []corev1.Toleration{old}, planned: []corev1.Toleration{old, fresh}, want: Unknown, flags: "stranded spared hedged"},
		"another value under NoSchedule evicts no pod":      {before: "x=1:NoSchedule", after: "x=2:NoSchedule", pod: []corev1.Toleration{old}, planned: []corev1.Toleration{old, fresh}, want: Stays, flags: "stranded spared hedged"},
		"a new NoSchedule taint evicts no pod":              {after: "x=2:NoSchedule", planned: []corev1.Toleration{fresh}, want: Stays, flags: "hedged"},
		"a new NoSchedule taint and a DaemonSet":            {after: "x=2:NoSchedule", option: ownedBy("DaemonSet", "log"), planned: []corev1.Toleration{fresh}, want: Stays, flags: "hedged"},
		"tolerations for something else change nothing":     {after: "x=2:NoExecute", planned: []corev1.Toleration{old}, want: EvictedNow, flags: "stuck"},
		"and leave stranded who is":                         {before: "x=1:NoExecute", after: "x=2:NoExecute", pod: []corev1.Toleration{old}, planned: []corev1.Toleration{old, equal("y", "", "")}, want: EvictedNow, flags: "stranded stuck"},
		"a limited one decides when it leaves":              {after: "x=2:NoExecute", planned: []corev1.Toleration{lasting(equal("x", "2", noEx), 30)}, want: EvictedNow, flags: "hedged"},
		"a shorter one decides when it leaves":              {after: "x=2:NoExecute", pod: []corev1.Toleration{lasting(equal("x", "2", noEx), 300)}, planned: []corev1.Toleration{lasting(equal("x", "2", noEx), 30)}, want: EvictedAfter, flags: "hedged"},
		"a limited one leaves stranded who is":              {before: "x=1:NoExecute", after: "x=2:NoExecute", pod: []corev1.Toleration{old}, planned: []corev1.Toleration{old, lasting(equal("x", "2", noEx), 30)}, want: EvictedNow, flags: "stranded hedged"},
		"one that goes may take away what the pod lives by": {before: "x=1:NoSchedule", after: "x=1:NoExecute", pod: []corev1.Toleration{old}, planned: nil, want: Unknown, flags: "hedged"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on := node("a")
			if tt.before != "" {
				on = node("a", tt.before)
			}
			p := pod("web-1", "a", tolerating(tt.pod...), ownedBy("StatefulSet", "web"))
			if tt.option != nil {
				tt.option(p)
			}
			key := snapshot.WorkloadKey{Namespace: "app", Owner: p.Controller.Owner}
			report := Evaluate(newWorld(on).run(p).Snapshot, Scenario{
				Taints: map[string][]corev1.Taint{"a": taintsOf(tt.after)}, Tolerations: map[snapshot.WorkloadKey]Planned{key: {Before: tt.pod, After: tt.planned}},
			}, ComparisonOff)
			v := report.Pods[0]
			var flags []string
			for _, f := range []struct {
				name string
				set  bool
			}{{"stranded", v.Stranded}, {"spared", v.SavedByTolerations}, {"hedged", v.OrderDependent}, {"misscheduled", v.Misscheduled}, {"stuck", !fitsAgain(report, v)}} {
				if f.set {
					flags = append(flags, f.name)
				}
			}
			if got := strings.Join(flags, " "); v.Verdict != tt.want || got != tt.flags {
				t.Errorf("%s with %q, want %s with %q: %s", v.Verdict, got, tt.want, tt.flags, v.Reason)
			}
			if v.OrderDependent && v.Plain() {
				t.Error("there is nothing to tell about it")
			}
		})
	}
}

// The pod is evicted immediately or after 300s, and never kept.
func TestLimits_aPodThatIsEvictedInAnyCaseIsCertain(t *testing.T) {
	t.Parallel()
	none, seconds := int64(0), lasting(exists("a", noEx), 300)
	compares := lessThan("a", "10")
	compares.TolerationSeconds = new(int64(300))
	log := pod("log-1", "n1", ownedBy("DaemonSet", "log"), tolerating(seconds), pinned("n1"))
	key := snapshot.WorkloadKey{Namespace: "app", Owner: snapshot.Owner{Group: "apps", Kind: "ReplicaSet", Name: "web-5d"}}
	for name, tt := range map[string]struct {
		pod        *snapshot.Pod
		after      string
		planned    map[snapshot.WorkloadKey]Planned
		comparison Comparison
		want       string
		why        string
	}{
		"tolerations of the run may come first": {pod: pod("p", "n1"), after: "a:NoExecute", planned: map[snapshot.WorkloadKey]Planned{key: {After: []corev1.Toleration{seconds}}}, comparison: ComparisonOff, want: "evicted_now", why: "; evicted after 300s if the tolerations that this plan gives its workload come first"},
		"tolerations of the run may shorten it": {pod: pod("p", "n1", tolerating(seconds)), after: "a:NoExecute", planned: map[snapshot.WorkloadKey]Planned{key: {Before: []corev1.Toleration{seconds}, After: []corev1.Toleration{lasting(exists("a", noEx), 30)}}}, comparison: ComparisonOff, want: "evicted_after 30", why: "; it is not known whether the tolerations that this plan gives its workload come first"},
		"the gate decides when":                 {pod: pod("p", "n1", tolerating(compares)), after: "a=5:NoExecute", want: "evicted_now"},
		"a DaemonSet may delete it before":      {pod: log, after: "a=5:NoExecute", want: "evicted_now"},
	} {
		w := newWorld(node("n1"), node("n2")).run(tt.pod)
		w = w.template("log", corev1.PodSpec{Tolerations: []corev1.Toleration{lessThan("a", "10")}})
		r := Evaluate(w.Snapshot, Scenario{Taints: map[string][]corev1.Taint{"n1": taintsOf(tt.after)}, Tolerations: tt.planned}, tt.comparison)
		v := only(t, r)
		if got := exceeded(Limits{MaxPods: &none}, r); verdictOf(v) != tt.want || r.Summary().Evicted() != 1 || !got[0].Certain || !strings.HasSuffix(v.Reason, tt.why) {
			t.Errorf("%s: %s, evicted %d, excess %+v: %s", name, verdictOf(v), r.Summary().Evicted(), got, v.Reason)
		}
	}
}

// Admission gives pods 300 s under the taints of lost nodes, unless they say themselves.
func TestPlanned_ofPodCountsWhatAdmissionDoesNotAddAnyMore(t *testing.T) {
	t.Parallel()
	const key = corev1.TaintNodeUnreachable
	injected, other := lasting(exists(key, noEx), 300), lasting(exists(corev1.TaintNodeNotReady, noEx), 300)
	live := []corev1.Toleration{equal("x", "1", noEx), injected, other}
	for name, tt := range map[string]struct {
		before, after []corev1.Toleration
		// live is that of the running pod, where it has other tolerations.
		live []corev1.Toleration
		want int64
	}{
		"nothing of the kind leaves it":                        {after: []corev1.Toleration{equal("y", "", noEx)}, want: 300},
		"a shorter one is the only one":                        {after: []corev1.Toleration{lasting(exists(key, noEx), 30)}, want: 30},
		"one without an end is the only one":                   {after: []corev1.Toleration{exists(key, noEx)}, want: toleration.Forever},
		"so is one for every effect":                           {after: []corev1.Toleration{exists(key, "")}, want: toleration.Forever},
		"and one for every taint":                              {after: []corev1.Toleration{exists("", "")}, want: toleration.Forever},
		"one for another effect leaves it":                     {after: []corev1.Toleration{exists(key, corev1.TaintEffectNoSchedule)}, want: 300},
		"one for the other taint leaves it":                    {after: []corev1.Toleration{exists(corev1.TaintNodeNotReady, noEx)}, want: 300},
		"a template that loses one for every taint gets 300 s": {before: []corev1.Toleration{exists("", "")}, after: []corev1.Toleration{equal("x", "1", noEx)}, live: []corev1.Toleration{exists("", "")}, want: 300},
		"but keeps one of the kind":                            {before: []corev1.Toleration{exists("", "")}, after: []corev1.Toleration{lasting(exists(key, noEx), 30)}, live: []corev1.Toleration{exists("", "")}, want: 30},
		"the template's own stays where it is":                 {before: []corev1.Toleration{injected}, after: []corev1.Toleration{injected, exists(key, noEx)}, want: 300},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on := live
			if tt.live != nil {
				on = tt.live
			}
			got := Planned{Before: tt.before, After: tt.after}.OfPod(on)
			if lasts := toleration.Lasts(got, taintsOf(key + ":NoExecute")[0], false); lasts != tt.want {
				t.Errorf("it lasts %d s by %v, want %d", lasts, got, tt.want)
			}
		})
	}
	if len(live) != 3 || live[1].Key != key {
		t.Errorf("the live pod's list was changed: %v", live)
	}
}
