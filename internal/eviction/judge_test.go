// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"math"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const noEx = corev1.TaintEffectNoExecute

// judgeCase is one question to the taint-eviction controller.
type judgeCase struct {
	name          string
	tolerations   []corev1.Toleration
	before, after []string
	comparison    Comparison
	want          Verdict
	seconds       int64
	// reason is a part of the reason.
	reason string
}

func runJudge(t *testing.T, tests []judgeCase) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := judge(tt.tolerations, taintsOf(tt.before...), taintsOf(tt.after...), tt.comparison)
			if got.verdict != tt.want || got.seconds != tt.seconds {
				t.Errorf("got %s %d, want %s %d (%s)", got.verdict, got.seconds, tt.want, tt.seconds, got.reason)
			}
			if !strings.Contains(got.reason, tt.reason) {
				t.Errorf("the reason %q does not contain %q", got.reason, tt.reason)
			}
		})
	}
}

func TestJudge_theFirstMatchOfEachTaintDecides(t *testing.T) {
	t.Parallel()
	forever, minute := exists("a", noEx), lasting(equal("a", "1", noEx), 60)
	runJudge(t, []judgeCase{
		{name: "no NoExecute taint evicts no pod", after: []string{"a=1:NoSchedule", "b:PreferNoSchedule"}, want: Stays},
		{name: "an untolerated taint evicts at once", after: []string{"a=1:NoExecute"}, want: EvictedNow, reason: "does not tolerate a=1:NoExecute"},
		{name: "a toleration without seconds lasts for ever", tolerations: []corev1.Toleration{forever}, after: []string{"a=1:NoExecute"}, want: Stays},
		{
			// The first match has no seconds: for ever. The second is not looked at.
			name: "Exists for ever before Equal for 60 s lasts for ever", tolerations: []corev1.Toleration{forever, minute},
			after: []string{"a=1:NoExecute"}, want: Stays,
		},
		{
			// The first match has 60s: the pod is evicted after 60s although a later toleration would keep it.
			name: "Equal for 60 s before Exists for ever lasts for 60 s", tolerations: []corev1.Toleration{minute, forever},
			after: []string{"a=1:NoExecute"}, want: EvictedAfter, seconds: 60, reason: "its later toleration a Exists:NoExecute would last longer",
		},
		{
			// min(60 of a, 30 of b) = 30.
			name: "of several taints the shortest toleration decides", tolerations: []corev1.Toleration{minute, lasting(exists("b", noEx), 30)},
			after: []string{"a=1:NoExecute", "b:NoExecute"}, want: EvictedAfter, seconds: 30, reason: "tolerates b:NoExecute for 30s",
		},
		{
			// a for ever has no seconds and takes no part in the minimum: min(90) = 90.
			name: "a taint tolerated for ever takes no part in the minimum", tolerations: []corev1.Toleration{forever, lasting(exists("b", noEx), 90)},
			after: []string{"a=1:NoExecute", "b:NoExecute"}, want: EvictedAfter, seconds: 90,
		},
		{
			// First matches: a -> 60 s. The 5 s toleration matches a too, but second: min(60) = 60, not 5.
			name: "the minimum is not over all matching tolerations", tolerations: []corev1.Toleration{minute, lasting(forever, 5)},
			after: []string{"a=1:NoExecute"}, want: EvictedAfter, seconds: 60,
		},
		{
			name: "one untolerated taint outweighs all that are tolerated", tolerations: []corev1.Toleration{forever},
			after: []string{"a=1:NoExecute", "b:NoExecute"}, want: EvictedNow, reason: "does not tolerate b:NoExecute",
		},
		{
			// One toleration is the first match of both taints: min(20, 20) = 20.
			name: "one toleration may be the first match of several taints", tolerations: []corev1.Toleration{lasting(exists("", ""), 20)},
			after: []string{"a=1:NoExecute", "b:NoExecute"}, want: EvictedAfter, seconds: 20,
		},
	})
}

func TestJudge_matchingFollowsTheAPI(t *testing.T) {
	t.Parallel()
	after := []string{"a=1:NoExecute"}
	runJudge(t, []judgeCase{
		{name: "Exists without a key tolerates everything", tolerations: []corev1.Toleration{exists("", "")}, after: after, want: Stays},
		{name: "an empty effect matches every effect", tolerations: []corev1.Toleration{equal("a", "1", "")}, after: after, want: Stays},
		{name: "an empty operator means Equal", tolerations: []corev1.Toleration{{Key: "a", Value: "1"}}, after: after, want: Stays},
		{name: "Equal with another value does not match", tolerations: []corev1.Toleration{equal("a", "2", noEx)}, after: after, want: EvictedNow},
		{name: "Equal with an empty value matches only an empty value", tolerations: []corev1.Toleration{equal("a", "", noEx)}, after: after, want: EvictedNow},
		{name: "another effect does not match", tolerations: []corev1.Toleration{exists("a", corev1.TaintEffectNoSchedule)}, after: after, want: EvictedNow},
		{name: "another key does not match", tolerations: []corev1.Toleration{exists("b", noEx)}, after: after, want: EvictedNow},
	})
}

func TestJudge_secondsOfZeroAndLessEvictImmediately(t *testing.T) {
	t.Parallel()
	after := []string{"a=1:NoExecute"}
	of := func(seconds int64) []corev1.Toleration {
		return []corev1.Toleration{lasting(exists("a", noEx), seconds)}
	}
	runJudge(t, []judgeCase{
		{name: "0 s means at once", tolerations: of(0), after: after, want: EvictedNow, reason: "tolerates a=1:NoExecute for 0s"},
		{name: "-1 s means at once", tolerations: of(-1), after: after, want: EvictedNow},
		{name: "1 s means after 1 s", tolerations: of(1), after: after, want: EvictedAfter, seconds: 1},
		// 9223372036 s * 1e9 = 9.223372036e18 ns, just below 2^63.
		{name: "the longest time that the controller can count", tolerations: of(9223372036), after: after, want: EvictedAfter, seconds: 9223372036},
		// 9223372037 s * 1e9 is beyond 2^63 ns and turns negative: for ever.
		{name: "one second more overflows and means for ever", tolerations: of(9223372037), after: after, want: Stays},
		{name: "the greatest number means for ever", tolerations: of(math.MaxInt64), after: after, want: Stays},
	})
}

func TestJudge_aRunningCountdownIsNeitherShortenedNorLengthened(t *testing.T) {
	t.Parallel()
	long, short := lasting(exists("a", noEx), 300), lasting(exists("b", noEx), 10)
	both := []string{"a:NoExecute", "b:NoExecute"}
	runJudge(t, []judgeCase{
		{
			// Started at some t0 with 300 s; b asks for min(300, 10) = 10 from now on:
			// t0+10 is before now+10, so the controller returns and the old timer stays.
			name: "a second taint with a shorter toleration leaves the old timer", tolerations: []corev1.Toleration{long, short},
			before: []string{"a:NoExecute"}, after: both, want: Unknown, reason: "this change does not affect it",
		},
		{
			name: "removing one of two limited taints leaves the old timer", tolerations: []corev1.Toleration{long, short},
			before: both, after: []string{"a:NoExecute"}, want: Stays, reason: "that countdown has started",
		},
		{
			// min = 0 gives trigger = now, t0+0 is before now+0: the timer stays as well.
			name: "a second taint with 0 s does not end a running timer", tolerations: []corev1.Toleration{long, lasting(exists("b", noEx), 0)},
			before: []string{"a:NoExecute"}, after: both, want: Unknown, reason: "that countdown has started",
		},
		{
			name: "a second taint tolerated for ever leaves the old timer", tolerations: []corev1.Toleration{long, exists("b", noEx)},
			before: []string{"a:NoExecute"}, after: both, want: Stays, reason: "that countdown has started",
		},
		{
			name: "a second taint that is not tolerated evicts at once", tolerations: []corev1.Toleration{long},
			before: []string{"a:NoExecute"}, after: both, want: EvictedNow, reason: "does not tolerate b:NoExecute",
		},
		{
			name: "a change of value to one tolerated for ever stops the timer", tolerations: []corev1.Toleration{lasting(equal("a", "1", noEx), 60), exists("a", noEx)},
			before: []string{"a=1:NoExecute"}, after: []string{"a=2:NoExecute"}, want: Stays,
		},
		{
			name: "removing the last NoExecute taint stops the timer", tolerations: []corev1.Toleration{long},
			before: []string{"a:NoExecute"}, after: []string{"a:NoSchedule"}, want: Stays,
		},
		{
			name: "a change that leaves NoExecute taints alone leaves the timer alone", tolerations: []corev1.Toleration{long},
			before: []string{"a:NoExecute"}, after: []string{"c:NoSchedule", "a:NoExecute"}, want: Stays, reason: "this change does not affect it",
		},
	})
}

func TestJudge_whatWasThereBefore(t *testing.T) {
	t.Parallel()
	runJudge(t, []judgeCase{
		{
			name: "a change of value on the same key and effect evicts who tolerates only the old value", tolerations: []corev1.Toleration{equal("a", "1", noEx)},
			before: []string{"a=1:NoExecute"}, after: []string{"a=2:NoExecute"}, want: EvictedNow, reason: "does not tolerate a=2:NoExecute",
		},
		{
			name: "a change of value keeps who tolerates any value", tolerations: []corev1.Toleration{exists("a", noEx)},
			before: []string{"a=1:NoExecute"}, after: []string{"a=2:NoExecute"}, want: Stays,
		},
		{
			// Tolerated for ever before, so no timer runs: 60 s from now.
			name: "a limited taint beside one tolerated for ever starts its timer now", tolerations: []corev1.Toleration{exists("a", noEx), lasting(exists("b", noEx), 60)},
			before: []string{"a:NoExecute"}, after: []string{"a:NoExecute", "b:NoExecute"}, want: EvictedAfter, seconds: 60,
		},
		{
			name: "a pod that should have gone already is not this change's doing", tolerations: nil,
			before: []string{"a:NoExecute"}, after: []string{"a:NoExecute", "c:NoSchedule"}, want: Stays, reason: "which is already on the node",
		},
		{
			name: "a pod with 0 s for a taint that is there already is not this change's doing", tolerations: []corev1.Toleration{lasting(exists("a", noEx), 0)},
			before: []string{"a:NoExecute"}, after: []string{"a:NoExecute"}, want: Stays, reason: "which is already on the node",
		},
		{name: "removing taints evicts no pod", before: []string{"a:NoExecute"}, after: nil, want: Stays},
	})
}

func TestJudge_aTimeOfAdditionIsAChangeToTheController(t *testing.T) {
	t.Parallel()
	moment := metav1.Unix(1_700_000_000, 0)
	before, after := taintsOf("a:NoExecute"), taintsOf("a:NoExecute")
	after[0].TimeAdded = &moment
	if got := judge(nil, before, after, ComparisonOff); got.verdict != EvictedNow {
		t.Errorf("got %s, want %s: the lists are not equal, so the controller looks again", got.verdict, EvictedNow)
	}
	again := moment.Rfc3339Copy()
	before[0].TimeAdded = &again
	if got := judge(nil, before, after, ComparisonOff); got.verdict != Stays {
		t.Errorf("got %s, want %s: the lists are equal", got.verdict, Stays)
	}
}

func TestJudge_LtAndGtDependOnTheFeatureGate(t *testing.T) {
	t.Parallel()
	after := []string{"cost=5:NoExecute"}
	lt, gt := []corev1.Toleration{lessThan("cost", "10")}, []corev1.Toleration{greaterThan("cost", "10")}
	runJudge(t, []judgeCase{
		{name: "Lt matches a smaller value while the gate is on", tolerations: lt, after: after, comparison: ComparisonOn, want: Stays},
		{name: "Lt matches nothing while the gate is off", tolerations: lt, after: after, comparison: ComparisonOff, want: EvictedNow},
		{name: "Lt is unknown while the gate is", tolerations: lt, after: after, want: Unknown, reason: "stays if the feature gate TaintTolerationComparisonOperators is on, evicted immediately if it is off"},
		{name: "Gt does not match a smaller value whatever the gate", tolerations: gt, after: after, comparison: ComparisonUnknown, want: EvictedNow},
		{name: "Lt does not match an equal value", tolerations: []corev1.Toleration{lessThan("cost", "5")}, after: after, comparison: ComparisonOn, want: EvictedNow},
		{name: "Gt matches a greater value while the gate is on", tolerations: []corev1.Toleration{greaterThan("cost", "4")}, after: after, comparison: ComparisonOn, want: Stays},
		{name: "a value that is no number matches neither", tolerations: []corev1.Toleration{lessThan("cost", "10"), greaterThan("cost", "0")}, after: []string{"cost=high:NoExecute"}, comparison: ComparisonOn, want: EvictedNow},
		{
			name: "Lt with an equal outcome beside it is known without the gate", tolerations: []corev1.Toleration{exists("cost", noEx), lessThan("cost", "10")},
			after: after, want: Stays,
		},
		{
			name: "Lt for a while evicts later while the gate is on", tolerations: []corev1.Toleration{lasting(lessThan("cost", "10"), 60)},
			after: after, want: EvictedNow, reason: "; evicted after 60s if the feature gate TaintTolerationComparisonOperators is on; set comparison_operators",
		},
		{
			name: "Lt for a shorter while evicts earlier while the gate is on", tolerations: []corev1.Toleration{lasting(lessThan("cost", "10"), 30), lasting(exists("cost", noEx), 60)},
			after: after, want: EvictedAfter, seconds: 30, reason: "; evicted after 60s if the feature gate TaintTolerationComparisonOperators is off; set comparison_operators",
		},
		{
			// Gate on: the first match is Lt with 60s. Gate off: the first match is Exists without seconds.
			name: "Lt for a while before Exists for ever is unknown while the gate is", tolerations: []corev1.Toleration{lasting(lessThan("cost", "10"), 60), exists("cost", noEx)},
			after: after, want: Unknown, reason: "evicted after 60s if the feature gate TaintTolerationComparisonOperators is on, stays if it is off; set comparison_operators",
		},
	})
}
