// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func TestDrain_saysWhatBecomesOfEachPod(t *testing.T) {
	t.Parallel()
	undrained := draining("n1")
	undrained.Undrained = map[string]bool{"n1": true}
	two := func(options ...podOption) world {
		return newWorld(node("n1"), node("n2")).run(pod("p", "n1", options...))
	}
	runOne(t, []oneCase{
		{name: "a pod of a Deployment", world: two(), change: draining("n1"), want: "drained", reason: "its node is drained"},
		{name: "a mirror pod stays", world: two(mirror), change: draining("n1"), want: "stays", reason: "is the mirror pod of a static pod, which a drain does not evict"},
		{name: "a pod of a DaemonSet stays", world: two(ownedBy("DaemonSet", "agent")), change: draining("n1"), want: "stays", reason: "is a DaemonSet pod, which a drain does not evict"},
		{name: "one that has completed leaves", world: two(ownedBy("DaemonSet", "agent"), completed), change: draining("n1"), want: "drained", reason: "it has completed, and only its Pod object is deleted"},
		{name: "one that terminates already stays", world: two(terminating), change: draining("n1"), want: "stays", reason: "is already being deleted, with or without this change"},
		{name: "a machine that goes without a drain", world: two(), change: undrained, want: "drained", reason: "its machine is deleted without a drain"},
		{name: "a mirror pod on it", world: two(mirror), change: undrained, want: "stays", reason: "is the mirror pod of a static pod"},
	})
}

func TestGiven_wordsWhatAdmissionGives(t *testing.T) {
	t.Parallel()
	live := &snapshot.Scheduling{Tolerations: []corev1.Toleration{exists("a", "")}}
	with := func(s *snapshot.Scheduling, more ...corev1.Toleration) *snapshot.Scheduling {
		return &snapshot.Scheduling{Tolerations: append(slices.Clone(s.Tolerations), more...)}
	}
	refused := with(live, exists("b", ""))
	refused.Forbidden = refused.Tolerations
	for want, next := range map[string]*snapshot.Scheduling{
		"": live, "; admission gives it b Exists when it is recreated": with(live, exists("b", "")),
		"; admission gives it b Exists and 2 more when it is recreated": with(live, exists("b", ""), exists("c", ""), exists("d", "")),
	} {
		if got := given(live, next); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
	for name, next := range map[string]*snapshot.Scheduling{"what its namespace forbids": refused, "what it has already": with(live), "less than it has": {}} {
		if got := given(live, next); got != "" {
			t.Errorf("%s is told: %q", name, got)
		}
	}
}

func TestStrands_needsATolerationForWhatGoesAndNoneForWhatComes(t *testing.T) {
	t.Parallel()
	both := []corev1.Toleration{exists("a", ""), lasting(exists("b", noEx), 60)}
	for name, tt := range map[string]struct {
		tolerations   []corev1.Toleration
		before, after []string
		old, brought  string
	}{
		"one goes that is tolerated, and one comes that is not": {both, []string{"a:NoExecute"}, []string{"c:NoExecute"}, "a", "c"},
		"one comes that is tolerated for a time":                {both, []string{"a:NoExecute"}, []string{"b:NoExecute"}, "a", "b"},
		"one comes that is tolerated":                           {both, []string{"a:NoExecute"}, []string{"a=1:NoExecute"}, "", ""},
		"one comes that keeps no pod away":                      {both, []string{"a:NoExecute"}, []string{"c:PreferNoSchedule"}, "", ""},
		"one goes that is not tolerated":                        {both, []string{"c:NoExecute"}, []string{"d:NoExecute"}, "", ""},
		"one goes that is tolerated for a time":                 {both, []string{"b:NoExecute"}, []string{"d:NoExecute"}, "", ""},
		"nothing goes":                                          {both, []string{"a:NoExecute"}, []string{"a:NoExecute", "c:NoExecute"}, "", ""},
		"nothing comes":                                         {both, []string{"a:NoExecute", "c:NoExecute"}, []string{"c:NoExecute"}, "", ""},
		"what comes first is tolerated":                         {both, []string{"a:NoExecute"}, []string{"a=1:NoExecute", "c:NoSchedule"}, "a", "c"},
		"what goes first is not":                                {both, []string{"c:NoExecute", "a:NoExecute"}, []string{"d:NoExecute"}, "a", "d"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old, brought := strands(tt.tolerations, taintsOf(tt.before...), taintsOf(tt.after...), false)
			key := func(taint *corev1.Taint) string {
				if taint == nil {
					return ""
				}
				return taint.Key
			}
			if key(old) != tt.old || key(brought) != tt.brought {
				t.Errorf("got %q and %q, want %q and %q", key(old), key(brought), tt.old, tt.brought)
			}
		})
	}
}

func TestStranded_areTheVerdictsOfAReport(t *testing.T) {
	t.Parallel()
	w := newWorld(node("n1", "a:NoSchedule"), node("n2")).run(
		pod("meant", "n1", tolerating(exists("a", ""))), pod("plain", "n1"), pod("both", "n1", tolerating(exists("a", ""), exists("b", ""))),
		pod("done", "n1", tolerating(exists("a", "")), completed), pod("going", "n1", tolerating(exists("a", "")), terminating), pod("static", "n1", tolerating(exists("a", "")), mirror),
	)
	for taint, reason := range map[string]string{
		"b:NoSchedule": "; it tolerates a:NoSchedule, which is removed", "b:NoExecute": "; it tolerates a:NoSchedule, which is removed",
	} {
		found := Evaluate(w.Snapshot, tainting("n1", taint), ComparisonOff).Stranded()
		if len(found) != 1 || found[0].Pod.Name != "meant" || !strings.HasSuffix(found[0].Reason, reason) {
			t.Errorf("%s strands %v", taint, found)
		}
	}
	// Another taint evicts it than the one that strands it.
	found := Evaluate(w.Snapshot, tainting("n1", "c:NoExecute", "b:NoSchedule"), ComparisonOff).Stranded()
	if len(found) != 2 || !strings.Contains(found[1].Reason, "which is removed") {
		t.Errorf("two taints strand %v", found)
	}
}

func TestEitherGate_isUnknownWhereTheGateDecides(t *testing.T) {
	t.Parallel()
	at := taintsOf("a=1:NoExecute")
	goes, stays := judgement{verdict: EvictedNow, taint: &at[0], reason: "goes"}, judgement{verdict: Stays}
	for name, tt := range map[string]struct {
		off, on judgement
		want    Verdict
	}{"both go": {goes, goes, EvictedNow}, "both stay": {stays, stays, Stays}, "off goes": {goes, stays, Unknown}, "on goes": {stays, goes, Unknown}} {
		got := eitherGate(tt.off, tt.on)
		if got.verdict != tt.want || tt.want == Unknown && (got.taint != &at[0] || !strings.Contains(got.reason, "TaintTolerationComparisonOperators")) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestReport_joinsTheGraverVerdictWithStranding(t *testing.T) {
	t.Parallel()
	p := pod("p", "n1")
	verdicts := map[string]PodVerdict{
		"plain": {Pod: p, Verdict: Stays}, "told": {Pod: p, Verdict: Stays, NoPlace: true}, "unknown": {Pod: p, Verdict: Unknown}, "leaves": {Pod: p, Verdict: EvictedAfter, AfterSeconds: 5},
	}
	order := []string{"plain", "told", "unknown", "leaves"}
	for i, a := range order {
		for j, b := range order {
			got, want := graver(verdicts[a], verdicts[b]), verdicts[order[max(i, j)]]
			if got.Verdict != want.Verdict || got.AfterSeconds != want.AfterSeconds || got.NoPlace != want.NoPlace {
				t.Errorf("%s and %s: %v", a, b, got)
			}
		}
	}
	stranded := PodVerdict{Pod: p, Verdict: Stays, Stranded: true, SavedByTolerations: true}
	if got := graver(verdicts["leaves"], stranded); got.Verdict != EvictedAfter || !got.Stranded || !got.SavedByTolerations {
		t.Errorf("one that leaves and is stranded: %v", got)
	}
	if got := graver(verdicts["unknown"], verdicts["leaves"]); got.Stranded || got.SavedByTolerations {
		t.Errorf("none of two is stranded: %v", got)
	}
	// The first of two that weigh the same stays.
	first, second := verdicts["leaves"], verdicts["leaves"]
	second.AfterSeconds = 9
	if got := graver(first, second); got.AfterSeconds != 5 {
		t.Errorf("of two that leave it takes the second: %v", got)
	}
}

func TestPodVerdict_isGoneWhereNothingIsRecreated(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		v    PodVerdict
		want bool
	}{
		"it stays":                              {PodVerdict{Pod: pod("p", "n1"), Verdict: Stays}, false},
		"it leaves and has a place":             {PodVerdict{Pod: pod("p", "n1"), Verdict: Drained}, false},
		"it leaves and has none":                {PodVerdict{Pod: pod("p", "n1"), Verdict: EvictedNow, NoPlace: true}, true},
		"it leaves and nothing makes it again":  {PodVerdict{Pod: pod("p", "n1"), Verdict: EvictedAfter, Lost: true}, true},
		"it has completed":                      {PodVerdict{Pod: pod("p", "n1", completed), Verdict: EvictedNow, Lost: true}, false},
		"it may leave, and nothing makes it so": {PodVerdict{Pod: pod("p", "n1"), Verdict: Unknown, Lost: true}, false},
	} {
		if got := (&Report{}).Gone(tt.v); got != tt.want {
			t.Errorf("%s: gone %t", name, got)
		}
	}
}

func TestSnapshot_workloadPodsAreThoseThatLive(t *testing.T) {
	t.Parallel()
	w := newWorld(node("n1"), node("n2")).run(pod("b", "n1"), pod("a", "n2"), pod("gone", "n1", terminating), pod("done", "n1", completed), pod("other", "n1", ownedBy("StatefulSet", "db")))
	w.Waiting = []*snapshot.Pod{pod("c", "")}
	web, db := w.Owner(w.Pods["n1"][0]), snapshot.Owner{Group: "apps", Kind: "StatefulSet", Name: "db"}
	for want, keys := range map[string][]snapshot.WorkloadKey{"a b c": {{Namespace: "app", Owner: web}}, "a b c other": {{Namespace: "app", Owner: db}, {Namespace: "app", Owner: web}}, "": {{Namespace: "else", Owner: web}}} {
		for range 2 {
			var got []string
			for _, p := range w.WorkloadPods(keys...) {
				got = append(got, p.Name)
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%v are %v, want %s", keys, got, want)
			}
		}
	}
}

func TestSnapshot_withOthersLeavesTheFirstAsItWas(t *testing.T) {
	t.Parallel()
	w := newWorld(node("n2"), node("n1"))
	w.Daemons = map[types.UID]*snapshot.Daemon{"a": {}}
	tainted := node("n1", "a:NoExecute")
	next := w.With(map[string]*snapshot.Node{"n1": tainted, "n3": node("n3")}, map[types.UID]*snapshot.Daemon{"b": {HostNetwork: true}})
	names := func(s *snapshot.Snapshot) string {
		var out []string
		for _, n := range s.SortedNodes() {
			out = append(out, n.Name)
		}
		return strings.Join(out, " ")
	}
	if names(next) != "n1 n2 n3" || names(w.Snapshot) != "n1 n2" || next.Nodes["n1"] != tainted || len(w.Nodes["n1"].Taints) > 0 {
		t.Errorf("there are %s, and %s before", names(next), names(w.Snapshot))
	}
	if got := slices.Sorted(maps.Keys(next.Daemons)); !slices.Equal(got, []types.UID{"a", "b"}) || len(w.Daemons) != 1 {
		t.Errorf("there are templates of %v", got)
	}
	rules := &admission.Rules{Policies: []admission.Policy{{Name: "gpu"}}}
	if got := w.Admitting(rules); got.Admission != rules || w.Admission != nil || len(got.Nodes) != 2 {
		t.Errorf("admission is %v", got.Admission)
	}
}

func TestOwner_isNamedByItsKindAndItsName(t *testing.T) {
	t.Parallel()
	if got := snapshot.OwnerOf("apps/v1", "DaemonSet", "agent"); !got.DaemonSet() || got.String() != "DaemonSet/agent" {
		t.Errorf("got %v", got)
	}
	if got := snapshot.OwnerOf("example.com/v1", "DaemonSet", "agent"); got.DaemonSet() || got.Group != "example.com" {
		t.Errorf("got %v", got)
	}
	if got := (snapshot.Owner{}).String(); got != "" {
		t.Errorf("no pod is %q", got)
	}
}
