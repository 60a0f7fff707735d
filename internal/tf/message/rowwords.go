// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
)

// pdb words what the PodDisruptionBudget allows that is exceeded. Its namespace is the workload's.
func (c *census) pdb() string {
	if c.tell.budgets {
		return fmt.Sprintf("PDB %s allows %d", c.beyond.Name, c.beyond.Allowed)
	}
	return fmt.Sprintf("PDB allows %d", c.beyond.Allowed)
}

// lost words why nothing recreates lost pods.
func (c *census) lost() string {
	for _, v := range c.evicted {
		switch {
		case v.Fails == "":
		case v.OtherPods > 0:
			return fmt.Sprintf("%s, deletes %d more", v.Fails, v.OtherPods)
		default:
			return v.Fails
		}
	}
	return "no controller"
}

// perhapsLost words why it is not certain that pods are recreated.
func (c *census) perhapsLost() string {
	at := slices.IndexFunc(c.evicted, func(v eviction.PodVerdict) bool { return v.MayBeLost })
	switch {
	case at < 0 && c.Owner.Kind == barePod:
		return "no controller; " + c.doubt()
	case at < 0:
		return cmp.Or(c.unknown[0].Perhaps, "may not be recreated") + "; " + c.doubt()
	}
	return c.evicted[at].Perhaps + c.deletes()
}

// deletes words how many other pods a failed Job deletes, "" for none.
func (c *census) deletes() string {
	if c.Summary.Ended.Max == 0 {
		return ""
	}
	return fmt.Sprintf(", deletes %d more", c.Summary.Ended.Max)
}

// uncreated words which quota keeps replacements from being created, and how many others find no node.
func (c *census) uncreated() string {
	out := c.Outcome.Refusal.Brief()
	if n := c.Summary.Unplaced; n.Max > 0 {
		out += "; " + Number(n) + " Pending"
	}
	return out
}

// pending words why replacements are Pending.
func (c *census) pending() string {
	if len(c.evicted) == 0 && !c.Outcome.Rolled {
		return "preempted; " + c.noNode()
	}
	return c.noNode()
}

// perhaps words what decides how many replacements are Pending.
func (c *census) perhaps() string {
	if c.Outcome.PolicyUnknown {
		return "depends on order or policy"
	}
	return "depends on order"
}

// again words why replacements are evicted again, or are on nodes that should have none.
func (c *census) again() string {
	node := map[bool]string{true: "drained", false: "tainted"}[c.Outcome.OnDrained]
	if c.Summary.Again.Min == 0 {
		return "maybe on a " + node + " node"
	}
	return "recreated on a " + node + " node"
}

// endReturns words how to keep new pods from nodes that are to have none of them.
func endReturns(report *eviction.Report) (out []string) {
	why := report.Outcome().Returns
	if why.Named {
		out = append(out, "A pod template that names its node (spec.nodeName) bypasses the scheduler: use a nodeSelector in its place.")
	}
	switch {
	case why.Tolerating && why.OnDrained:
		out = append(out, "Pods that tolerate "+corev1.TaintNodeUnschedulable+" return to drained nodes. Remove this toleration, or add a NoSchedule taint that they do not tolerate.")
	case why.Tolerating:
		out = append(out, "To stop repeated evictions, leave out tolerationSeconds or add an untolerated NoSchedule taint.")
	}
	return out
}

func (c *census) noNode() string {
	o := &c.Outcome
	switch {
	case len(o.Awaits) > 0 && o.Unplaced.Min > o.Arriving.Min:
		return "new machines hold " + Number(o.Arriving)
	case len(o.Awaits) > 0:
		return "needs new machines"
	case o.Pending.Max == 0:
		return "waits for an earlier pod"
	case o.Placed.Max > 0:
		return "no room: " + o.Brief
	default:
		return "no node: " + o.Brief
	}
}

// doubt words why it is not known whether pods are evicted.
func (c *census) doubt() string {
	switch v := c.unknown[0]; {
	case v.OrderDependent:
		return "if tolerations come late"
	case v.Doubt == eviction.DoubtCountdown:
		return "its countdown has started"
	case gated(v):
		return "comparison_operators unset"
	default:
		return "not known"
	}
}

// gated reports whether the feature gate of comparisons decides whether a pod is evicted.
func gated(v eviction.PodVerdict) bool {
	return v.Verdict == eviction.Unknown && !v.OrderDependent && v.Doubt == eviction.DoubtGate
}

// noDaemon words why a DaemonSet does not recreate its pods.
func (c *census) noDaemon() string {
	if v := c.evicted[0]; v.Taint != nil {
		return "not recreated while tainted"
	}
	return "not recreated on these nodes"
}

// staying words what there is to tell about pods that stay.
func (c *census) staying() string {
	switch v := c.stays[0]; {
	case c.misscheduled > 0:
		return "mis-scheduled"
	case v.NoPlace:
		return "fits nowhere if recreated"
	case v.Remains:
		return "moves once recreated"
	case v.OrderDependent:
		return "if tolerations come late"
	default:
		return "not scheduled here again"
	}
}

// fits words what becomes of replacements that all find a node.
func (c *census) fits() string {
	switch {
	case c.Outcome.Moved.Max > 0:
		return "fits"
	case c.Outcome.Delayed.Max > 0:
		return "fits later"
	default:
		return "fits elsewhere"
	}
}
