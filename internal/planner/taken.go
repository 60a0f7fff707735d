// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// elsewhere returns the taints of nodes as the steps so far and the changes of the other
// resources of the run leave them together.
func (o *order) elsewhere() map[string][]corev1.Taint {
	changes, after := o.change.Elsewhere, maps.Clone(o.taints)
	for _, machines := range changes.Machines {
		for name, list := range machines {
			after[name] = o.together(name, after, list)
		}
	}
	if len(changes.Nodes)+len(changes.Brings) == 0 {
		return after
	}
	nodes := o.snapshot.SortedNodes()
	for i, n := range nodes {
		if changed, is := o.ahead.nodes[n.Name]; is {
			n = changed
		}
		if taints, changes := after[n.Name]; changes {
			next := *n
			next.Taints, n = taints, &next
		}
		nodes[i] = n
	}
	for _, desired := range slices.Concat(changes.Nodes, changes.Brings) {
		for _, one := range PlanNodes(nodes, desired).Switches {
			next := *one.Node
			next.Taints, next.Record = one.Merged.Taints, one.Merged.Record
			nodes[slices.Index(nodes, one.Node)], after[next.Name] = &next, next.Taints
		}
	}
	return after
}

// together returns the taints of a node after the changes so far and one more, of which the list is what
// it makes of the node as it is now: another change of the same MachineSet is not in it.
func (o *order) together(name string, after map[string][]corev1.Taint, list []corev1.Taint) []corev1.Taint {
	var now []corev1.Taint
	if n, known := o.snapshot.Nodes[name]; known {
		now = n.Taints
	}
	so, changed := after[name]
	if !changed {
		so = now
	}
	removed, added := beyond(now, list), beyond(list, now)
	out := slices.DeleteFunc(slices.Clone(so), func(t corev1.Taint) bool {
		at := taint.Find(removed, taint.IDOf(t))
		return taint.Find(added, taint.IDOf(t)) >= 0 || at >= 0 && removed[at].Value == t.Value
	})
	return append(out, added...)
}

// Retained is the claim on what others have left behind in a workload for the sake of
// taints.
func Retained(w *workload.Workload, claim toleration.Claim) Tolerations {
	claim.Path = w.ClaimPath()
	return Tolerations{Workload: w, Claim: claim, NoWait: true, Retained: true}
}

// Awaited reports whether a change waits for the running pods: for those of linked workloads
// where taints are added, and for those of its own workloads unless only new pods follow.
func (t Tolerations) Awaited(brings bool) bool {
	if t.NoWait || t.Claim.Release {
		return false
	}
	return t.Linked && brings || !t.Linked && !t.Workload.Rolling.Later
}

// Needs reports whether pods must be read before nodes are written: the limits may forbid that
// pods are evicted, or stranded.
func (p NodePlan) Needs(limits eviction.Limits) bool {
	return limits.Set() && !p.EvictsNothing() || !limits.EvictStranded && p.MayStrand()
}

// Names returns the names of the nodes that change.
func (p NodePlan) Names() []string {
	names := make([]string, len(p.Switches))
	for i, s := range p.Switches {
		names[i] = s.Node.Name
	}
	return names
}

// Taken returns the taints that the plan takes off some node or gives another value,
// sorted.
func (p NodePlan) Taken() []corev1.Taint {
	var out []corev1.Taint
	for _, s := range p.Switches {
		out = append(out, beyond(s.Node.Taints, s.Merged.Taints)...)
	}
	return distinct(out)
}

// Taken returns the taints that nodes lose, or that get another value, sorted; after
// is what each will have, by name.
func Taken(nodes []*snapshot.Node, after map[string][]corev1.Taint) []corev1.Taint {
	var out []corev1.Taint
	for _, n := range nodes {
		if taints, changes := after[n.Name]; changes {
			out = append(out, beyond(n.Taints, taints)...)
		}
	}
	return distinct(out)
}

func distinct(taints []corev1.Taint) []corev1.Taint {
	slices.SortFunc(taints, func(a, b corev1.Taint) int {
		return cmp.Or(taint.IDOf(a).Compare(taint.IDOf(b)), strings.Compare(a.Value, b.Value))
	})
	return slices.CompactFunc(taints, func(a, b corev1.Taint) bool { return a.MatchTaint(&b) && a.Value == b.Value })
}

// TaintChanges are changes of taints: of nodes, and of nodes by way of the templates
// of MachineSets, for which Machines holds what each will have, by name, and Named which
// taints configurations or states name there. Known proves what may be taken away. Brings are changes that
// take nothing away.
type TaintChanges struct {
	Nodes    []NodeTaints
	Brings   []NodeTaints
	Machines []map[string][]corev1.Taint
	Named    []taint.ID
	Known    []record.Seal
}

// Switching is the changes of taints that the resources of one run plan: what one
// of them leaves in place another one may take away.
type Switching struct {
	mu      sync.Mutex
	planned TaintChanges
}

// RetainedClaim is the claim on what others have left behind for the sake of the taints.
func (c TaintChanges) RetainedClaim() toleration.Claim {
	out := toleration.Claim{Named: slices.Clone(c.Named), Known: slices.Clone(c.Known)}
	for _, desired := range c.Nodes {
		out.Named, out.Known = append(out.Named, desired.Named()...), append(out.Known, desired.Known...)
	}
	return out
}

// Bringing returns changes that take no taint away: they free nothing, and what they bring is needed.
func (c TaintChanges) Bringing() TaintChanges {
	return TaintChanges{Brings: slices.Concat(c.Brings, c.Nodes), Machines: c.Machines}
}

// Note adds changes, and returns all so far.
func (s *Switching) Note(more TaintChanges) TaintChanges {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.planned = TaintChanges{
		slices.Concat(s.planned.Nodes, more.Nodes), slices.Concat(s.planned.Brings, more.Brings), slices.Concat(s.planned.Machines, more.Machines),
		slices.Concat(s.planned.Named, more.Named), slices.Concat(s.planned.Known, more.Known),
	}
	return s.planned
}
