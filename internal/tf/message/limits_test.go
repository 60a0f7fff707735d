// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"errors"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
)

func parsed(t *testing.T, selector string) labels.Selector {
	t.Helper()
	out, err := labels.Parse(selector)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func of(n int64) *int64 { return &n }

// TestLimits_says: what is exceeded, in words. The tests of eviction.Limits show what counts.
func TestLimits_says(t *testing.T) {
	t.Parallel()
	report := reportOf(leaving(2, "Deployment/now", eviction.EvictedNow, func(v *eviction.PodVerdict) { v.Pod.Labels = labels.Set{"tier": "gold"} }), leaving(1, "Deployment/unknown", eviction.Unknown, func(v *eviction.PodVerdict) { v.Pod.Namespace = "prod" }))
	for want, limits := range map[string]eviction.Limits{
		"3 pods would be evicted, and max_pods allows 2":                      {MaxPods: of(2)},
		"1 pod of protected namespaces might be evicted":                      {Namespaces: []string{"prod", "quiet"}},
		`2 pods that protected_selector "tier=gold" matches would be evicted`: {Selector: parsed(t, "tier=gold")},
		`1 pod that protected_selector "tier!=gold" matches might be evicted`: {Selector: parsed(t, "tier!=gold")},
	} {
		over := new(eviction.LimitsError)
		if !errors.As(limits.Check(report), &over) {
			t.Errorf("%+v allows it", limits)
		} else if got := exceeds(over, over.Exceeded[0]); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}

// An urgent pod finds room where a bare one was, and two others find none.
func TestLimits_saysWhatBecomesOfReplacements(t *testing.T) {
	t.Parallel()
	c := aCluster().node("worker-2", 4).pods("worker-1", "pay/Deployment/core", 1, 3, urgent).pods("worker-2", "prod/one-off", 1, 2).pods("worker-1", "shop/Deployment/web", 2, 9)
	report := eviction.Evaluate(c.Snapshot, eviction.Scenario{Taints: map[string][]corev1.Taint{"worker-1": taintsOf(t, "a:NoExecute")}}, eviction.ComparisonOff)
	for want, limits := range map[string]eviction.Limits{
		"4 pods would be evicted (1 elsewhere, by preemption), and max_pods allows 3": {MaxPods: of(3)},
		"2 pods would stay Pending, and max_pending allows 1":                         {MaxPending: of(1)},
		"1 pod would be lost, and max_lost allows 0":                                  {MaxLost: of(0)},
	} {
		over := new(eviction.LimitsError)
		if !errors.As(limits.Check(report), &over) {
			t.Errorf("%+v allows it", limits)
		} else if got := exceeds(over, over.Exceeded[0]); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}

// TestLimits_namesTheResourceWhoseLimitIsExceeded where that is another one.
func TestLimits_namesTheResourceWhoseLimitIsExceeded(t *testing.T) {
	t.Parallel()
	over := &eviction.LimitsError{Report: reportOf(), Exceeded: []eviction.Excess{{Limit: eviction.MaxPending, Count: 2, Of: "id", Certain: true}}}
	b := Limits{Limits: eviction.Limits{MaxPending: of(9)}, OwnBlock: true}
	if got, want := exceeds(over, over.Exceeded[0]), "2 pods would stay Pending, and max_pending allows 0 (set by another resource)"; got != want {
		t.Errorf("it says %q", got)
	}
	if got, want := b.change(over), `change max_pending in evictions of "id"`; got != want {
		t.Errorf("it says %q", got)
	}
	if d, is := b.Refused(over, applying(t, "n1", "k:NoExecute"), path.Empty()).(diag.DiagnosticWithPath); is {
		t.Errorf("it is about the attribute %s", d.Path())
	}
}

func TestSome_namesFiveAndCountsTheRest(t *testing.T) {
	t.Parallel()
	for want, all := range map[string][]string{
		"":                         nil,
		"a, b, c, d, e":            {"a", "b", "c", "d", "e"},
		"a, b, c, d, e and 2 more": {"a", "b", "c", "d", "e", "f", "g"},
	} {
		if got := Some(all); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
