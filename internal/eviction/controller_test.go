// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"reflect"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// controller is a second, naive writing of the taint-eviction controller
// (k8s.io/kubernetes v1.37.1 pkg/controller/tainteviction/taint_eviction.go) for
// one pod on one node, on a clock that is a number of seconds. It shares no code
// with what it is compared to: neither matching nor equality nor arithmetic.
type controller struct {
	gate        bool
	tolerations []corev1.Toleration
	now         int64
	timer       *timer
	deletedAt   *int64
}

type timer struct {
	createdAt, fireAt int64
}

// advance lets time pass; a timer that fires on the way deletes the pod.
func (c *controller) advance(to int64) {
	if c.timer != nil && c.timer.fireAt <= to {
		c.delete(c.timer.fireAt)
	}
	c.now = to
}

func (c *controller) delete(at int64) {
	if c.deletedAt == nil {
		c.deletedAt = &at
	}
	c.timer = nil
}

// nodeUpdated is NodeUpdated and handleNodeUpdate; first is set where there is
// no old node.
func (c *controller) nodeUpdated(first bool, before, after []corev1.Taint) {
	onlyNoExecute := func(taints []corev1.Taint) []corev1.Taint {
		out := []corev1.Taint{}
		for _, t := range taints {
			if t.Effect == "NoExecute" {
				out = append(out, t)
			}
		}
		return out
	}
	old, now := onlyNoExecute(before), onlyNoExecute(after)
	if !first && reflect.DeepEqual(old, now) {
		return
	}
	if len(now) == 0 {
		c.timer = nil
		return
	}
	c.processPod(now)
}

// processPod is processPodOnNode.
func (c *controller) processPod(taints []corev1.Taint) {
	var used []corev1.Toleration
	for _, t := range taints {
		matched := false
		for _, toleration := range c.tolerations {
			if matches(toleration, t, c.gate) {
				used, matched = append(used, toleration), true
				break
			}
		}
		if !matched {
			c.delete(c.now)
			return
		}
	}
	least, limited := int64(0), false
	for _, u := range used {
		if u.TolerationSeconds == nil {
			continue
		}
		s := *u.TolerationSeconds
		if s < 0 {
			s = 0
		}
		if !limited || s < least {
			least, limited = s, true
		}
	}
	if !limited {
		c.timer = nil
		return
	}
	if c.timer != nil && c.timer.createdAt+least < c.now+least {
		return
	}
	c.timer = &timer{createdAt: c.now, fireAt: c.now + least}
	if least == 0 {
		c.delete(c.now)
	}
}

func matches(toleration corev1.Toleration, t corev1.Taint, gate bool) bool {
	if toleration.Effect != "" && toleration.Effect != t.Effect || toleration.Key != "" && toleration.Key != t.Key {
		return false
	}
	switch toleration.Operator {
	case "", "Equal":
		return toleration.Value == t.Value
	case "Exists":
		return true
	case "Lt", "Gt":
		want, errWant := strconv.ParseInt(toleration.Value, 10, 64)
		have, errHave := strconv.ParseInt(t.Value, 10, 64)
		if !gate || errWant != nil || errHave != nil {
			return false
		}
		return toleration.Operator == "Lt" && have < want || toleration.Operator == "Gt" && have > want
	}
	return false
}

// aValue makes a generator, as all of them are made where they are used: rapid
// caches a generator's name without a lock, so that tests cannot share one.
func aValue() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"", "1", "2", "x"})
}

func someTaints(t *rapid.T, label string) []corev1.Taint {
	return rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) corev1.Taint {
		return corev1.Taint{
			Key:    rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key"),
			Value:  aValue().Draw(t, "value"),
			Effect: rapid.SampledFrom([]corev1.TaintEffect{"NoExecute", "NoExecute", "NoExecute", "NoSchedule", "PreferNoSchedule"}).Draw(t, "effect"),
		}
	}), 0, 4, func(t corev1.Taint) string { return t.Key + string(t.Effect) }).Draw(t, label)
}

func someTolerations(t *rapid.T) []corev1.Toleration {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) corev1.Toleration {
		out := corev1.Toleration{
			Key:      rapid.SampledFrom([]string{"a", "b", "c", "a", "b", ""}).Draw(t, "key"),
			Operator: rapid.SampledFrom([]corev1.TolerationOperator{"Exists", "Exists", "Equal", "", "Lt", "Gt"}).Draw(t, "operator"),
			Effect:   rapid.SampledFrom([]corev1.TaintEffect{"NoExecute", "NoExecute", "", "NoSchedule"}).Draw(t, "effect"),
		}
		if out.Operator != "Exists" {
			out.Value = aValue().Draw(t, "value")
		}
		if rapid.Bool().Draw(t, "limited") {
			s := rapid.SampledFrom([]int64{-1, 0, 1, 5, 60, 300}).Draw(t, "seconds")
			out.TolerationSeconds = &s
		}
		return out
	}), 0, 5).Draw(t, "tolerations")
}

// play lets the simulated controller see the node as it was, wait, and see the change. It reports
// gone where the pod was evicted before the change.
func play(tolerations []corev1.Toleration, before, after []corev1.Taint, gate bool, wait int64) (c *controller, gone bool) {
	c = &controller{gate: gate, tolerations: tolerations}
	c.nodeUpdated(true, nil, before)
	c.advance(wait)
	if c.deletedAt != nil {
		return c, true
	}
	c.nodeUpdated(false, before, after)
	return c, false
}

func TestJudge_agreesWithASimulatedController(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tolerations := someTolerations(t)
		before, after := someTaints(t, "before"), someTaints(t, "after")
		if rapid.Float64Range(0, 1).Draw(t, "alike") < 0.2 {
			after = append(append([]corev1.Taint{}, before...), after...)
		}
		gate := rapid.Bool().Draw(t, "gate")
		wait := rapid.Int64Range(1, 400).Draw(t, "wait")
		comparison := ComparisonOff
		if gate {
			comparison = ComparisonOn
		}

		got := judge(tolerations, before, after, comparison)
		c, gone := play(tolerations, before, after, gate, wait)
		if gone {
			return
		}
		running := c.timer != nil && c.timer.createdAt < wait
		c.advance(1 << 40)
		switch got.verdict {
		case Stays:
			if got.untouched {
				// It is deleted when it would be without the change.
				without, _ := play(tolerations, before, before, gate, wait)
				without.advance(1 << 40)
				if c.deletedAt == nil || without.deletedAt == nil || *c.deletedAt != *without.deletedAt {
					t.Fatalf("untouched, but the controller deletes it at %v, and without the change at %v", c.deletedAt, without.deletedAt)
				}
			} else if c.deletedAt != nil {
				t.Fatalf("stays, but the controller deletes it at %d (change at %d)", *c.deletedAt, wait)
			}
		case EvictedNow, EvictedAfter:
			if c.deletedAt == nil || *c.deletedAt != wait+got.seconds {
				t.Fatalf("%s %d, but the controller deletes it at %v (change at %d)", got.verdict, got.seconds, c.deletedAt, wait)
			}
		case Unknown:
			// Unknown is no excuse: it is allowed only where a countdown from
			// before decides, whose start the API does not show.
			if !running {
				t.Fatalf("unknown, but no countdown from before the change runs: %s", got.reason)
			}
		default:
			t.Fatalf("a taint change gives %s", got.verdict)
		}
	})
}

func TestJudge_isUnknownOnlyWhereTheGateMakesADifference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tolerations := someTolerations(t)
		before, after := someTaints(t, "before"), someTaints(t, "after")
		on, off := judge(tolerations, before, after, ComparisonOn), judge(tolerations, before, after, ComparisonOff)
		got := judge(tolerations, before, after, ComparisonUnknown)
		same := on.verdict == off.verdict && on.seconds == off.seconds
		if same && (got.verdict != on.verdict || got.seconds != on.seconds) {
			t.Fatalf("on and off give %s %d, not knowing gives %s %d", on.verdict, on.seconds, got.verdict, got.seconds)
		}
		if first, last := min(on.seconds, off.seconds), max(on.seconds, off.seconds); on.leaves() && off.leaves() {
			if !got.leaves() || got.seconds != first || first == 0 && last > 0 && got.verdict != EvictedNow {
				t.Fatalf("evicted after %d or %d s, not knowing gives %s %d", first, last, got.verdict, got.seconds)
			}
			return
		}
		if !same && got.verdict != Unknown {
			t.Fatalf("on gives %s %d, off %s %d, not knowing %s", on.verdict, on.seconds, off.verdict, off.seconds, got.verdict)
		}
	})
}
