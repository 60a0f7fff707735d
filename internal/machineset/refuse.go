// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/annotations"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// Refusal reports why a MachineSet must not be changed, or not with this strategy.
type Refusal struct {
	Why string
	// Attribute is that of the rollout block which would need to be another one, ""
	// where none would do; Instead reports what to do.
	Attribute, Instead string
}

// migrating is the authority of a MachineSet that moves from one API to another.
const migrating = "Migrating"

// capacityAnnotation is where an autoscaler reads the taints of a node of a set that has
// none.
const capacityAnnotation = "capacity.cluster-autoscaler.kubernetes.io/taints"

// Attributes of the rollout block.
const (
	attributeStrategy = "strategy"
	attributeWaitFor  = "wait_for"
)

// Refuse reports why a change must not be made, nothing where it may.
func Refuse(o Observed, d Desired) []Refusal {
	s := o.Set
	var out []Refusal
	add := func(why, instead string) { out = append(out, Refusal{Why: why, Instead: instead}) }
	if s.Role == "master" {
		add("this MachineSet makes control-plane machines. Their taints are owned by OpenShift's machine-config operator, and the ControlPlaneMachineSet replaces them", "Choose another MachineSet")
	}
	switch s.Authority {
	case "":
	case migrating:
		add("status.authoritativeAPI of this MachineSet is Migrating: it is being handed over from one API to another", "Run again when the migration has ended")
	default:
		add(fmt.Sprintf("status.authoritativeAPI of this MachineSet is %s, so the controllers of the Machine API ignore changes to it", s.Authority), "Change it through "+s.Authority+", or remove it from this configuration")
	}
	if s.Hive && !d.Claim.Release && !d.Cycle {
		add("Hive manages this MachineSet, and reverts taints and replicas to those of its MachinePool", "Change the MachinePool instead")
	}
	out = append(out, tooLarge(o, d)...)
	scaled := func(format string, args ...any) {
		out = append(out, Refusal{Why: fmt.Sprintf(format, args...), Attribute: attributeStrategy, Instead: "Use in_place or rolling, which leave the number of machines to the autoscaler"})
	}
	n := o.goal()
	v := viewOf(o, d)
	added := min(d.Rollout.MaxSurge, len(v.old), n)
	switch {
	case s.Autoscaler == nil || v.marker != nil:
	case v.strategy() == ScaleToZero && n > 0:
		scaled("MachineAutoscaler %q scales it between %d and %d, and would scale it up while it waits at zero", s.Autoscaler.Owner, s.Autoscaler.Min, s.Autoscaler.Max)
	case v.strategy() == Surge && n+added > s.Autoscaler.Max:
		scaled("MachineAutoscaler %q has a maximum of %d, and max_surge would make it %d", s.Autoscaler.Owner, s.Autoscaler.Max, n+added)
	}
	return out
}

// tooLarge refuses records that do not fit beside the other annotations of the MachineSet.
func tooLarge(o Observed, d Desired) (out []Refusal) {
	v := viewOf(o, d)
	next, remnants := v.remnants()
	written := map[string]string{
		taint.OwnedAnnotation: v.template.Record.String(), label.OwnedAnnotation: o.Set.LabelRecord.String(), RemnantsAnnotation: next.String(), MarkerAnnotation: o.Set.Marker.String(),
	}
	if v.strategy() != TemplateOnly && o.Set.Marker == nil {
		// As it is written first, with all its machines.
		written[MarkerAnnotation] = v.mark(0, time.Time{}).String()
	}
	why := annotations.TooLarge(o.Set.OtherAnnotations, written)
	switch {
	case why == "":
	case remnants && len(written[RemnantsAnnotation]) >= len(written[taint.OwnedAnnotation]):
		out = append(out, Refusal{Why: why, Attribute: attributeStrategy, Instead: "Use another strategy, which leaves no taint on machines that the template loses"})
	case v.template.Changed && !d.Claim.Release, d.Cycle:
		out = append(out, Refusal{Why: why, Instead: "Give the MachineSet fewer taints and labels, or remove annotations"})
	}
	return out
}

// goal is how many machines there are to be once nothing rolls out.
func (o Observed) goal() int {
	if o.Set.Marker != nil && o.Set.Marker.Scales() {
		return o.Set.Marker.OriginalReplicas
	}
	return o.Set.Replicas
}

// Effect is what a change does to machines that exist.
type Effect struct {
	Template Template
	// Stale are the machines that differ, in order; Replaced reports whether they are
	// replaced, and otherwise written to in place.
	Stale    []*Machine
	Replaced bool
	// NodeRepairs are the writes to nodes of machines that are in sync.
	NodeRepairs []Intent
	// Leaving are the machines that go, in order: those that are replaced, and with
	// scale_to_zero all others too.
	Leaving []*Machine
	// Strategy is the one that is followed: that of an interrupted rollout comes to
	// its end first where it has changed the count.
	Strategy Strategy
	// Gap is how much is missing at most meanwhile.
	Gap Gap
	// Interrupted is set where an earlier rollout goes on.
	Interrupted *Marker
	// Records is set where the record of what machines kept changes.
	Records bool
}

// Changes reports whether anything is written at all.
func (e Effect) Changes() bool {
	return e.Template.Changed || len(e.Stale)+len(e.NodeRepairs) > 0 || e.Interrupted != nil || e.Records
}

// Brings reports whether the template has an owned entry that some machine, or the
// template itself, may not have yet.
func (e Effect) Brings() bool {
	return slices.ContainsFunc(e.Template.Ours, func(id taint.ID) bool { return taint.Find(e.Template.Taints, id) >= 0 })
}

// Plan reports what a change does to the machines that exist.
func Plan(o Observed, d Desired) Effect {
	v := viewOf(o, d)
	e := Effect{Template: v.template, Strategy: v.strategy(), Replaced: v.strategy().Replaces()}
	if e.Strategy != TemplateOnly {
		e.Stale, e.NodeRepairs = v.old, v.repairNodes()
	}
	e.Leaving, e.Gap = v.leaving(), v.gap()
	_, e.Records = v.remnants()
	if m := o.Set.Marker; m != nil && m.ID == d.Claim.Owner {
		e.Interrupted = m
	}
	return e
}

// leaving are the machines that go.
func (v *view) leaving() []*Machine {
	zero := v.marker != nil && v.Set.Replicas == 0
	switch s := v.strategy(); {
	case !s.Replaces():
		return nil
	case s == ScaleToZero && (len(v.old) > 0 || zero):
		return slices.SortedFunc(slices.Values(slices.Concat(v.old, v.fresh)), byName)
	case s == Rolling:
		return v.inOrder()
	default:
		return v.old
	}
}

// Deviations says of each machine that is not being deleted how it, or its node,
// differs from the template in an owned entry.
func Deviations(o Observed, d Desired) map[string]taint.Status {
	t := d.Merge(o.Set)
	out := map[string]taint.Status{}
	for _, m := range o.Machines {
		if m.Deleting {
			continue
		}
		n := o.Nodes[m.Node]
		t := t.on(m, n)
		status := t.deviation(m)
		if n != nil && status == "" {
			// Nodelink is about to add the entries that a node lacks.
			if own := t.of(n).present(n.Taints); !own.Agrees(n.Taints) {
				status = taint.Different
			}
		}
		if status != "" {
			out[m.Name] = status
		}
	}
	return out
}

// deviation reports how a machine's list differs: one entry that is missing is told
// rather than one that differs, since it is what lets pods in.
func (t Template) deviation(m *Machine) taint.Status {
	switch {
	case t.Agrees(m.Taints):
		return ""
	case slices.ContainsFunc(t.Ours, func(id taint.ID) bool { return taint.Find(t.Taints, id) >= 0 && taint.Find(m.Taints, id) < 0 }):
		return taint.Missing
	}
	return taint.Different
}

// listed reads taints as the autoscaler's annotation has them; what does not parse
// is left out.
func listed(s string) []corev1.Taint {
	var out []corev1.Taint
	for part := range strings.SplitSeq(s, ",") {
		if t, err := taint.Parse(part); err == nil {
			out = append(out, t)
		}
	}
	return out
}

// Warnings reports what may go wrong with a rollout, one sentence each.
func Warnings(o Observed, d Desired) []string {
	var out []string
	e := Plan(o, d)
	if t := e.Template; t.Changed && o.Set.CapacityTaints != "" && !t.Agrees(listed(o.Set.CapacityTaints)) {
		out = append(out, fmt.Sprintf("the annotation %s of the MachineSet is %q and is not changed here: the autoscaler goes by it to scale up from zero, so update it yourself", capacityAnnotation, printable.Line(o.Set.CapacityTaints)))
	}
	if !e.Replaced {
		return out
	}
	for _, tool := range o.Set.Scalers {
		out = append(out, tool+" sets spec.replicas as well, and may revert it in the middle of the rollout")
	}
	for _, m := range e.Leaving {
		for _, hook := range m.Hooks {
			out = append(out, fmt.Sprintf("machine %s waits for the lifecycle hook %s before it is deleted", m.Name, hook))
		}
		if m.NoDrain {
			out = append(out, fmt.Sprintf("machine %s is not drained (machine.openshift.io/exclude-node-draining): its pods are killed with it", m.Name))
		}
	}
	return out
}
