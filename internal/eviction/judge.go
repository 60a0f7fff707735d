// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"fmt"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// judgement is the outcome for a list of tolerations, apart from any pod: all
// pods with the same tolerations on nodes with the same taints share it.
type judgement struct {
	verdict    Verdict
	seconds    int64
	taint      *corev1.Taint
	toleration *corev1.Toleration
	reason     string
	doubt      Doubt
	// limited is set where every taint is tolerated, but not forever: zero
	// seconds go through the controller's timers too.
	limited bool
	// untouched is set where a pod is evicted, by taints from before, as it would be without
	// the change.
	untouched bool
}

// judge returns the decision of the taint-eviction controller on a pod with these
// tolerations when its node's taints change from before to after. Both lists
// may hold taints of any effect; only NoExecute evicts.
func judge(tolerations []corev1.Toleration, before, after []corev1.Taint, comparison Comparison) judgement {
	if comparison != ComparisonUnknown {
		return judgeGate(tolerations, before, after, comparison == ComparisonOn)
	}
	off := judgeGate(tolerations, before, after, false)
	on := judgeGate(tolerations, before, after, true)
	if on.verdict == off.verdict && on.seconds == off.seconds {
		return off
	}
	if on.leaves() && off.leaves() {
		return earlier(on, off)
	}
	return judgement{
		verdict: Unknown, doubt: DoubtGate, taint: off.taint, toleration: on.toleration,
		reason: fmt.Sprintf("has a toleration with Lt or Gt: %s if the feature gate TaintTolerationComparisonOperators is on, %s if it is off; %s", on.outcome(), off.outcome(), makeCertain),
	}
}

// makeCertain is what to do where it matters whether the cluster takes Lt and Gt.
const makeCertain = "set comparison_operators in the provider block to make this certain"

// earlier joins the judgements on a pod that is evicted whether the gate is on or off.
func earlier(on, off judgement) judgement {
	first, later, gate := on, off, "off"
	if off.seconds < on.seconds {
		first, later, gate = off, on, "on"
	}
	first.reason += fmt.Sprintf("; %s if the feature gate TaintTolerationComparisonOperators is %s; %s", later.outcome(), gate, makeCertain)
	return first
}

// leaves reports whether the pod is evicted by this change.
func (j judgement) leaves() bool { return j.verdict == EvictedNow || j.verdict == EvictedAfter }

// goes reports whether the pod may be evicted, by this change or without it.
func (j judgement) goes() bool { return j.verdict != Stays || j.untouched }

// outcome words what becomes of the pod.
func (j judgement) outcome() string {
	switch j.verdict {
	case Stays:
		return "stays"
	case EvictedNow:
		return "evicted immediately"
	case EvictedAfter:
		return fmt.Sprintf("evicted after %ds", j.seconds)
	default:
		return "not known"
	}
}

func judgeGate(tolerations []corev1.Toleration, before, after []corev1.Taint, gate bool) judgement {
	old, now := noExecute(before), noExecute(after)
	added := slices.DeleteFunc(slices.Clone(now), func(t corev1.Taint) bool {
		return slices.ContainsFunc(old, func(o corev1.Taint) bool { return apiequality.Semantic.DeepEqual(o, t) })
	})
	was := tolerance(tolerations, old, gate)
	is := tolerance(tolerations, now, gate)
	switch {
	case apiequality.Semantic.DeepEqual(old, now) && was.verdict == EvictedNow:
		was.verdict, was.untouched = Stays, true
		was.reason += ", which is already on the node: this change does not affect it"
		return was
	case is.limited && was.verdict == EvictedAfter && tolerance(tolerations, added, gate).verdict == Stays:
		j := running(is)
		j.verdict, j.untouched = Stays, true
		return j
	case is.limited && was.verdict == EvictedAfter:
		// Zero seconds do not end a running countdown either: the controller
		// returns before it looks at the trigger time. The countdown now runs on
		// where the taint that began it is removed.
		return running(is)
	default:
		return is
	}
}

// running is the verdict on a pod whose countdown has begun before: the
// controller keeps the running timer and its old length (processPodOnNode), and
// neither its start nor its length is in the API.
func running(j judgement) judgement {
	j.verdict, j.doubt, j.seconds = Unknown, DoubtCountdown, 0
	j.reason = fmt.Sprintf("tolerates %s for a limited time, and that countdown has started: this change does not affect it, and the API does not show when it ends", taint.Format(*j.taint))
	return j
}

// tolerance repeats the controller's own steps on a list of NoExecute taints:
// the first matching toleration of each taint, then the smallest of their
// tolerationSeconds; zero and less evict immediately (getMinTolerationTime).
func tolerance(tolerations []corev1.Toleration, taints []corev1.Taint, gate bool) judgement {
	out := judgement{verdict: Stays}
	for i := range taints {
		at := taint.FirstMatch(tolerations, taints[i], gate)
		if at < 0 {
			return judgement{verdict: EvictedNow, taint: &taints[i], reason: "does not tolerate " + taint.Format(taints[i])}
		}
		used := &tolerations[at]
		if used.TolerationSeconds == nil {
			if out.verdict == Stays {
				out.taint, out.toleration = &taints[i], used
				out.reason = "tolerates " + taint.Format(taints[i])
			}
			continue
		}
		if s := max(*used.TolerationSeconds, 0); out.verdict == Stays || s < out.seconds {
			out = judgement{verdict: EvictedAfter, seconds: s, taint: &taints[i], toleration: used, limited: true}
		}
	}
	if out.verdict != EvictedAfter {
		return out
	}
	delay := time.Duration(out.seconds) * time.Second
	if out.seconds == math.MaxInt64 || delay < 0 {
		// The controller counts in nanoseconds: what does not fit (292 years
		// and more) turns negative there and means forever.
		return judgement{verdict: Stays, taint: out.taint, toleration: out.toleration, reason: "tolerates " + taint.Format(*out.taint)}
	}
	out.seconds = int64(delay / time.Second)
	out.reason = fmt.Sprintf("tolerates %s for %ds", taint.Format(*out.taint), out.seconds)
	if out.seconds == 0 {
		out.verdict = EvictedNow
	}
	if s := shadowed(tolerations, *out.taint, gate); s != "" {
		out.reason += s
	}
	return out
}

// shadowed points out a toleration that would have kept the pod for longer,
// were it not that an earlier one in the list decides.
func shadowed(tolerations []corev1.Toleration, t corev1.Taint, gate bool) string {
	later := outlasting(tolerations, taint.FirstMatch(tolerations, t, gate), t, gate)
	if len(later) == 0 {
		return ""
	}
	return fmt.Sprintf("; its later toleration %s would last longer, but the first match in the list decides", taint.FormatToleration(later[0]))
}

func noExecute(taints []corev1.Taint) []corev1.Taint {
	var out []corev1.Taint
	for _, t := range taints {
		if t.Effect == corev1.TaintEffectNoExecute {
			out = append(out, t)
		}
	}
	return out
}
