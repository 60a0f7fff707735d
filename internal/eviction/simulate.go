// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// seed makes every simulation of one change the same: a plan that is made twice says the same.
const seed = 29

// Outcome is where the replacements of all evicted pods go, together. It is simulated when it is first
// asked for, with the verdicts that the report has by then, and not at all where nothing comes for an
// evicted pod and no Pending pod may preempt others. Pods whose outcome is unknown are evicted in some orders and keep
// their room in others.
func (r *Report) Outcome() *placement.Outcome {
	if r.outcome == nil {
		return &placement.Outcome{}
	}
	return r.outcome()
}

// simulating lets a report tell the outcome of its verdicts.
func (e *evaluation) simulating(r *Report) {
	r.outcome = sync.OnceValue(func() *placement.Outcome {
		own, elsewhere := slices.Concat(e.evictions(r.Pods), r.endings()), e.elsewhere(r.Pods)
		replaced := func(one placement.Eviction) bool { return one.Scheduling != nil }
		alone := !slices.ContainsFunc(own, replaced)
		if alone && !slices.ContainsFunc(elsewhere, replaced) && !r.crowding {
			return &placement.Outcome{}
		}
		out := e.nodes().Simulate(slices.Concat(own, elsewhere, e.arrivals(r.Nodes), e.successors()), placement.Orders, seed)
		if out.Others.Alone = alone; out.Others.Missing.Max > 0 {
			out.Others.Before = sync.OnceValue(func() Range { return e.without(elsewhere, out.Orders) })
		}
		return out
	})
}

// crowds reports whether a Pending pod may preempt others: once pods are evicted that kept it away by their rules, it may find a node
// where it does.
func (e *evaluation) crowds(r *Report) bool {
	evicts := len(r.Ended) > 0 || slices.ContainsFunc(r.Evicted(), func(p *snapshot.Pod) bool { return !p.Completed })
	return evicts && slices.ContainsFunc(e.snapshot.Waiting, func(p *snapshot.Pod) bool {
		d := p.Requests()
		return !p.Gated && !p.Terminating && !d.Patient && d.Scheduler == ""
	})
}

// Gone reports whether a pod is evicted and does not run again in any order: nothing makes it again, or
// no node takes it, not even one that the change brings.
func (r *Report) Gone(v PodVerdict) bool {
	if !v.Leaves() || v.Pod.Completed {
		return false
	}
	if v.Lost || v.NoPlace {
		return true
	}
	g := r.Outcome().Of(v.Pod)
	return g != nil && g.Fate == placement.Pending && g.Arriving.Max == 0
}

// Awaits names what brings the only nodes that take a pod that is evicted; it is empty where another
// node does in some order, or none.
func (r *Report) Awaits(v PodVerdict) []string {
	if g := r.Outcome().Of(v.Pod); v.Leaves() && g != nil && g.Fate == placement.Pending {
		return g.Awaits
	}
	return nil
}

// Arrives reports whether a pod that is evicted may run on a node that the change brings, and on no other.
func (r *Report) Arrives(v PodVerdict) bool {
	return len(r.Awaits(v)) > 0 && r.Outcome().Of(v.Pod).Arriving.Max > 0
}

// Placement is "fits", "pending" or "not_created" for an evicted pod whose replacement is placed, is
// not, or is refused by admission, in every order; "" where that depends on the order, or
// nothing replaces it.
func (r *Report) Placement(v PodVerdict) string {
	g := r.Outcome().Of(v.Pod)
	switch {
	case g == nil || !v.Leaves() || v.NoPlace && !v.Rejected() || g.Fate == placement.DependsOnOrder || g.Lost().Max > 0:
		return ""
	case g.Fate == placement.Pending && g.Refusal != nil:
		return notCreated
	default:
		return string(g.Fate)
	}
}

// again words where all replacements are placed in vain, "" where some are not.
func again(g *placement.Group) string {
	switch {
	case !g.AllAgain():
		return ""
	case g.OnDrained:
		return "; its replacement is placed on a drained node"
	default:
		return "; its replacement is placed on a node that evicts it again"
	}
}

// depends words what decides about replacements of which some find a node in some order.
func depends(g *placement.Group) string {
	switch {
	case g.PolicyUnknown:
		return behind(g)
	case g.Staying.Max == 0 && len(g.Awaits) > 0:
		return "; may need new machines of " + bring(g)
	default:
		return "; whether any node fits depends on the order"
	}
}

// bring names what brings the nodes that replacements await.
func bring(g *placement.Group) string {
	return strings.Join(g.Awaits[:min(len(g.Awaits), placement.MaxObstacles)], ", ")
}

// Why is the reason of a verdict, and what becomes of the pod that comes in the place of an evicted one.
func (r *Report) Why(v PodVerdict) string {
	g := r.Outcome().Of(v.Pod)
	switch {
	case g == nil || !v.Leaves() || v.NoPlace:
		return v.Reason
	case g.Lost().Min > 0:
		return v.Reason + "; its Job fails, since more of its pods are evicted"
	case g.Lost().Max > 0:
		return v.Reason + "; its Job may fail, since more of its pods may be evicted"
	case g.Fate == placement.Fits:
		return v.Reason + again(g)
	case g.Fate == placement.DependsOnOrder:
		return v.Reason + depends(g)
	case g.Refusal != nil:
		return v.Reason + "; not created: " + g.Refusal.Reason()
	case g.Reason == "":
		return v.Reason + behind(g)
	case len(g.Awaits) > 0:
		return v.Reason + "; fits only new machines of " + bring(g) + few(g) + again(g)
	default:
		return v.Reason + "; no node fits: " + g.Reason
	}
}

// notCreated is the placement of a replacement that admission refuses.
const notCreated = "not_created"

// evictions lists the pods that verdicts evict, with what their controllers create instead:
//   - Nothing replaces a bare pod, and a pod of a DaemonSet only where its node takes it again.
//   - A Job that fails replaces none. Of its other pods the endings tell.
//   - A completed pod holds no room, and the kubelet puts back the mirror of a static pod.
//   - A StatefulSet whose podManagementPolicy is not known creates its pods one after the other in some
//     orders, and in parallel in others.
func (e *evaluation) evictions(verdicts []PodVerdict) []placement.Eviction {
	var out []placement.Eviction
	for i := range verdicts {
		v := &verdicts[i]
		if !v.Leaves() && v.Verdict != Unknown || v.Pod.Completed || v.Pod.Mirror || e.ended[v.Pod] {
			continue
		}
		one := placement.Eviction{Pod: v.Pod, After: v.AfterSeconds + placement.TurnBegins(e.change.Turns[v.Pod.Node]), Unsure: v.Verdict == Unknown, Wait: e.waits(v.Pod)}
		one.Ordered, one.PolicyUnknown = e.policy(v.Pod, v.Owner)
		if v.Pod.Controller != nil && v.Fails == "" {
			one.Scheduling, one.Doubtful = e.replacement(v.Pod, v.Owner), v.MayBeLost
		}
		out = append(out, one)
	}
	return out
}

// victim is the eviction of a pod that preemption evicts, with what its controller creates instead. A DaemonSet
// creates a pod where its template selects and tolerates the node: the room there is not free, as it is for an
// evicted pod's replacement (k8s.io/kubernetes v1.37.2 pkg/controller/daemon/daemon_controller.go,
// NodeShouldRunDaemonPod).
func (e *evaluation) victim(pod *snapshot.Pod) placement.Eviction {
	owner := e.snapshot.Owner(pod)
	one := placement.Eviction{Pod: pod, Doubtful: mayBeLost(pod), Wait: e.waits(pod)}
	one.Ordered, one.PolicyUnknown = e.policy(pod, owner)
	if next := e.recreated(pod, owner); !fails(pod) && (!owner.DaemonSet() || e.nodes().Takes(pod, next)) {
		one.Scheduling = next
	}
	return one
}

// replacement is how the pod will be scheduled that a controller creates for an evicted one, nil
// where it creates none.
func (e *evaluation) replacement(pod *snapshot.Pod, owner snapshot.Owner) *snapshot.Scheduling {
	next := e.recreated(pod, owner)
	if owner.DaemonSet() && !e.nodes().Fits(pod, next) {
		return nil
	}
	return next
}

// recreated is how a pod will be scheduled that a controller creates instead of another one, if it does.
func (e *evaluation) recreated(pod *snapshot.Pod, owner snapshot.Owner) *snapshot.Scheduling {
	scheduling, change, planned := e.planned(pod, owner)
	if !planned {
		scheduling = pod.Scheduling
	}
	if !owner.DaemonSet() {
		return e.made(pod, scheduling)
	}
	if template := e.daemon(pod, change); template != nil {
		return e.successor(template, pod.Node)
	}
	return scheduling
}

// few words that the new machines do not hold all pods that need them.
func few(g *placement.Group) string {
	switch holds := g.Arriving; {
	case g.Pending().Min <= holds.Min:
		return ""
	case holds.Min == holds.Max:
		return fmt.Sprintf(", which hold %d of these %d pods", holds.Max, g.Pending().Min)
	default:
		return fmt.Sprintf(", which hold %d to %d of these %d pods", holds.Min, holds.Max, g.Pending().Min)
	}
}
