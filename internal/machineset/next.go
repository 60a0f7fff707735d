// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// Kind is what an intent writes.
type Kind string

// Kinds of writes of intents.
const (
	// WriteSet writes the MachineSet, all of it in one patch.
	WriteSet Kind = "write_set"
	// WriteMachine writes a Machine's taints, or its labels.
	WriteMachine Kind = "write_machine"
	// WriteNode writes a Node's taints, or its labels.
	WriteNode Kind = "write_node"
	// Choose marks a Machine as one that goes first when the set is scaled down.
	Choose Kind = "choose"
	// Delete deletes a Machine.
	Delete Kind = "delete"
)

// Intent is one write, and why it is made.
type Intent struct {
	Kind Kind
	// Machine is the one that is written or deleted, Node its node.
	Machine *Machine
	Node    *snapshot.Node
	// Taints are the list to write to a Machine or a Node.
	Taints []corev1.Taint
	// Labels are written in place of taints where there are any.
	Labels map[string]*string
	// Set is what is written to the MachineSet.
	Set *SetWrite
	// Reason says with which numbers it was decided.
	Reason string
}

// About tells apart what intents write to.
func (i Intent) About() string {
	switch {
	case i.Node != nil:
		return "node/" + i.Node.Name
	case i.Machine != nil:
		return "machine/" + i.Machine.Key()
	}
	return "machineset"
}

// SetWrite is one patch of a MachineSet.
type SetWrite struct {
	// Template is set where its taints and the record change.
	Template *Template
	// Labels is set where the labels change that it gives to nodes.
	Labels *SetLabels
	// Remnants is set where the record of what machines kept changes.
	Remnants *RemnantRecord
	// Replicas is set where the count changes.
	Replicas *int
	// Marker is written, nil takes it away; it is looked at where MarkerChanges.
	Marker        *Marker
	MarkerChanges bool
}

// Decision is what to do next. Without intents it is done, stopped, or waits.
type Decision struct {
	Intents []Intent
	// Done reports that template, machines and nodes are in sync, as far as the
	// strategy goes.
	Done bool
	// Last reports that it is done once the intents are written.
	Last bool
	// Stop reports why it cannot go on, and that a user must look at it.
	Stop string
	// Waiting says, for each machine, what is waited for.
	Waiting []Waiting
}

// Waiting is a machine that is not as desired yet, or not gone yet.
type Waiting struct {
	Machine *Machine
	Why     string
}

// Next decides from what the cluster shows now. Errors of the records and
// conflicts are looked at by the caller, before.
func Next(o Observed, d Desired, now time.Time) Decision {
	v := viewOf(o, d)
	if stop := v.obstacle(); stop != "" {
		return Decision{Stop: stop}
	}
	switch {
	case v.template.Changed:
		return v.write(v.begin(now))
	case v.strategy() == TemplateOnly:
		return v.finish()
	case len(v.old) > 0 && v.marker == nil:
		return v.write(v.begin(now))
	}
	if repairs := v.repairNodes(); len(repairs) > 0 {
		return Decision{Intents: repairs}
	}
	if o.Set.Marker == nil {
		return v.withoutRollout()
	}
	return v.goOn()
}

// withoutRollout ends where there is nothing to roll out. New machines are not waited for, but
// a controller that has not seen the template makes those that are missing from the one before.
func (v *view) withoutRollout() Decision {
	if !v.Set.Observed && v.replicaDeficit() > 0 && !v.neverAttended() {
		return Decision{Waiting: v.unfinished()}
	}
	return v.finish()
}

// obstacle reports why nothing may be written.
func (v *view) obstacle() string {
	m := v.Set.Marker
	if m != nil && m.ID != v.desired.Claim.Owner {
		return anotherRollout(v.Set)
	}
	if v.desired.Begun != nil && m == nil {
		return v.markerGone()
	}
	if stop := cmp.Or(v.scaledByOthers(), v.obstacleOfNeglect()); stop != "" {
		return stop
	}
	// Machines of a rollout that another strategy follows are waited for as well.
	replaces := v.strategy().Replaces() || m != nil && m.Strategy.Replaces() && len(v.old) == 0
	if !replaces || m == nil && len(v.old) == 0 {
		return ""
	}
	for _, fresh := range v.fresh {
		if fresh.Failed() {
			return machineFailed(fresh)
		}
	}
	return ""
}

// goOn takes the next step of a rollout that has begun.
func (v *view) goOn() Decision {
	if v.marker == nil {
		// Another strategy has taken its place, and there is nothing left to do.
		return v.settle()
	}
	// A controller that has not seen the template makes machines of the one before. Where
	// machines are replaced, and none is owed, it makes none; nor does one that does not act.
	if replaces := v.strategy().Replaces() && len(v.old) > 0; !v.Set.Observed && (replaces || v.strategy() == InPlace && len(v.old) == 0 && !v.neverAttended()) {
		return Decision{Waiting: v.unfinished()}
	}
	switch v.strategy() {
	case InPlace:
		return v.inPlace()
	case Rolling:
		return v.rolling()
	case Surge:
		return v.surge()
	case ScaleToZero:
		return v.scaleToZero()
	case TemplateOnly:
	}
	return v.finish()
}

// view is an observation, sorted.
type view struct {
	Observed
	desired  Desired
	template Template
	// marker is that of the rollout which goes on, nil where none has begun or where
	// another strategy has taken its place.
	marker *Marker
	// old are stale, fresh are not; going are being deleted, old or not.
	old, fresh, going []*Machine
}

func viewOf(o Observed, d Desired) *view {
	v := &view{Observed: o, desired: d, template: d.Merge(o.Set)}
	if m := o.Set.Marker; m != nil && m.Strategy == v.strategy() {
		v.marker = m
	}
	for _, m := range slices.SortedFunc(slices.Values(o.Machines), byName) {
		switch {
		case m.Deleting:
			v.going = append(v.going, m)
		case v.stale(m):
			v.old = append(v.old, m)
		default:
			v.fresh = append(v.fresh, m)
		}
	}
	return v
}

// stale reports that a machine differs from the template in an owned entry. Where
// nothing is replaced its node counts as well.
func (v *view) stale(m *Machine) bool {
	if v.desired.Cycle {
		return v.Set.Marker == nil || slices.Contains(v.Set.Marker.Machines, m.UID)
	}
	if !v.templateOn(m).Agrees(m.Taints) {
		return true
	}
	return v.strategy() == InPlace && v.outOfSyncNode(m) != nil
}

// outOfSyncNode returns the node of a machine where it differs from the template in an
// owned entry.
func (v *view) outOfSyncNode(m *Machine) *snapshot.Node {
	if n := v.Nodes[m.Node]; n != nil && !v.templateOn(m).of(n).Agrees(n.Taints) {
		return n
	}
	return nil
}

// templateOn is the template as a machine is measured by it.
func (v *view) templateOn(m *Machine) Template { return v.template.on(m, v.Nodes[m.Node]) }

// repairNodes corrects the nodes of machines that are in sync: nodelink adds what is
// missing, and neither changes a value nor takes anything away
// (nodelink_controller.go, addTaintsToNode).
func (v *view) repairNodes() []Intent {
	var out []Intent
	for _, m := range v.fresh {
		n := v.outOfSyncNode(m)
		if n == nil {
			continue
		}
		if t := v.templateOn(m).of(n).present(n.Taints); !t.Agrees(n.Taints) {
			out = append(out, Intent{Kind: WriteNode, Machine: m, Node: n, Taints: t.Apply(n.Taints), Reason: fmt.Sprintf("it differs from its Machine in %d entries", len(t.Ours))})
		}
	}
	return out
}

// strategy is the one that goes on. Where the count was changed, the rollout that
// changed it must be ended first; the others can be left at any moment, as one can
// that was at zero and whose count is back.
func (v *view) strategy() Strategy {
	m := v.Set.Marker
	if m != nil && m.Scales() && (m.Strategy == Surge || v.Set.Replicas != m.OriginalReplicas) {
		return m.Strategy
	}
	return v.desired.Rollout.Strategy
}

// ready reports whether a machine serves: its node is Ready.
func (v *view) ready(m *Machine) bool {
	n := v.Nodes[m.Node]
	return m.Phase == phaseRunning && n != nil && n.Ready
}

// lacking reports what a new machine lacks, "" where it is all that it should be. It
// is not asked of status counts, which count old and new machines alike. What the template
// has got from others since the machine was made never comes to it; nodelink brings what the
// Machine has, and changes no value. So a taint of joining nodes that the Machine has stays.
func (v *view) lacking(m *Machine) string {
	n := v.Nodes[m.Node]
	switch {
	case m.Phase != phaseRunning:
		return "is " + phase(m)
	case n == nil:
		return "has no node"
	case !n.Ready:
		return "has a node that is not ready"
	}
	for _, t := range m.Taints {
		at := taint.Find(n.Taints, taint.IDOf(t))
		if at < 0 && taint.Joining(t) {
			// Its controller has removed it, and nodelink adds it again.
			continue
		}
		if ours := slices.Contains(v.template.Ours, taint.IDOf(t)); at < 0 || ours && n.Taints[at].Value != t.Value {
			return "has a node without " + taint.Format(t)
		}
	}
	for _, t := range n.Taints {
		if taint.Joining(t) && taint.Find(m.Taints, taint.IDOf(t)) < 0 {
			return "has a node with " + taint.Format(t)
		}
	}
	return ""
}

func phase(m *Machine) string {
	if m.Phase == "" {
		return "not provisioned yet"
	}
	return m.Phase
}

// unfinished are the new machines that lack something and those that are going.
func (v *view) unfinished() []Waiting {
	var out []Waiting
	for _, m := range v.fresh {
		if lacks := v.lacking(m); lacks != "" {
			out = append(out, Waiting{m, lacks})
		}
	}
	for _, m := range v.going {
		out = append(out, Waiting{m, "is being deleted"})
	}
	return out
}

// replicaDeficit counts the machines that the controller has yet to make, or to delete.
func (v *view) replicaDeficit() int {
	return v.Set.Replicas - len(v.old) - len(v.fresh)
}

// begin is the first write: the template, and with it the marker and the first
// change of the count where a rollout follows.
func (v *view) begin(now time.Time) (*SetWrite, string) {
	w := &SetWrite{}
	if v.template.Changed {
		w.Template = &v.template
	}
	if v.strategy() == TemplateOnly || len(v.old) == 0 && v.Set.Marker == nil {
		return w, fmt.Sprintf("%d of %d machines differ", len(v.old), len(v.old)+len(v.fresh))
	}
	surge := 0
	if v.marker == nil {
		switch v.strategy() {
		case Surge:
			surge = min(v.desired.Rollout.MaxSurge, len(v.old), v.Set.Replicas)
			w.Replicas = new(v.Set.Replicas + surge)
		case ScaleToZero:
			w.Replicas = new(0)
		case InPlace, Rolling, TemplateOnly:
		}
	}
	w.Marker, w.MarkerChanges = v.mark(surge, now), true
	return w, fmt.Sprintf("%d of %d machines differ, and there are to be %d", len(v.old), len(v.old)+len(v.fresh), w.Marker.OriginalReplicas)
}

// finish takes the marker away, and brings the record of what machines kept up to date.
func (v *view) finish() Decision {
	marked := v.Set.Marker != nil
	if _, changes := v.remnants(); !marked && !changes {
		return Decision{Done: true}
	}
	last := v.write(&SetWrite{MarkerChanges: marked}, fmt.Sprintf("%d of %d machines are in sync", len(v.fresh), v.Set.Replicas))
	// Without its marker a cycle would begin again, and the next look would take it
	// for removed by another writer.
	last.Last = marked
	return last
}

func (v *view) write(w *SetWrite, reason string) Decision {
	if next, changes := v.remnants(); changes {
		w.Remnants = &next
	}
	return Decision{Intents: []Intent{{Kind: WriteSet, Set: w, Reason: reason}}}
}
