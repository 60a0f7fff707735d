// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// APIVersion is that of OpenShift's MachineSets and Machines: other kinds have these names.
const APIVersion = "machine.openshift.io/v1beta1"

// Set is a MachineSet as far as taints and rollouts go.
type Set struct {
	Namespace       string
	Name            string
	UID             types.UID
	ResourceVersion string
	Labels          map[string]string
	// Selector selects the Machines that its controller counts, nil for all that it owns.
	Selector labels.Selector
	// Replicas is spec.replicas.
	Replicas int
	// Observed reports that the controller has seen the newest generation: what is
	// deleted before could be replaced from the template as it was.
	Observed bool
	// Reconciled reports that the controller has seen any generation, and Written when the
	// MachineSet was last written beside its status.
	Reconciled bool
	Written    time.Time
	// Taints are those of the template, Record reports who owns which.
	Taints []corev1.Taint
	Record taint.Record
	// Remnants are taints that left the template and that machines kept.
	Remnants RemnantRecord
	// RecordErr is set where one of the two cannot be read.
	RecordErr error
	// Marker is the rollout that is going on, nil for none.
	Marker    *Marker
	MarkerErr error
	// NodeLabels are those of the template that nodelink puts on nodes, LabelRecord
	// reports who owns which.
	NodeLabels     map[string]string
	LabelRecord    label.Record
	LabelRecordErr error
	// OtherAnnotations is how many bytes the annotations beside the records and the marker have.
	OtherAnnotations int
	// Role is the template's machine role, such as worker, infra or master.
	Role string
	// Hive reports that Hive manages the MachineSet, Authority which API does where
	// it is not the Machine API.
	Hive      bool
	Authority string
	// Autoscaler is set where a MachineAutoscaler scales it.
	Autoscaler *Bounds
	// CapacityTaints is the annotation from which an autoscaler simulates a node
	// of a set without machines.
	CapacityTaints string
	// Scalers are the other writers of spec.replicas.
	Scalers []string
}

// Key returns namespace/name.
func (s *Set) Key() string {
	return s.Namespace + "/" + s.Name
}

// Counts reports whether a Machine is one of the MachineSet's: it owns and selects it.
// One that was taken out by other labels keeps its owner, and the controller makes another one in its place
// (openshift/machine-api-operator pkg/controller/machineset/controller.go, shouldExcludeMachine).
func (s *Set) Counts(m *Machine) bool {
	return m.Set == s.UID && (s.Selector == nil || s.Selector.Matches(labels.Set(m.ObjectLabels)))
}

// Title names the MachineSet in messages.
func (s *Set) Title() string {
	return `MachineSet "` + s.Namespace + "/" + s.Name + `"`
}

// Object names it in the proofs of its marks.
func (s *Set) Object() string { return "MachineSet/" + s.Key() }

// Bounds are the replicas between which an autoscaler scales.
type Bounds struct {
	// Owner is namespace/name of the MachineAutoscaler.
	Owner    string
	Min, Max int
}

// Phases of a Machine that decide something.
const (
	phaseRunning = "Running"
	phaseFailed  = "Failed"
)

// Machine is one Machine.
type Machine struct {
	Namespace       string
	Name            string
	UID             types.UID
	ResourceVersion string
	// Set is the UID of the MachineSet that controls it, empty for none.
	Set     types.UID
	Created time.Time
	// Deleting is set once a deletion timestamp is: no status count has it.
	Deleting bool
	Phase    string
	// Error is why it failed, empty where it has not.
	Error string
	// Node is the name in its nodeRef, empty until there is one.
	Node   string
	Taints []corev1.Taint
	// Labels are those that nodelink puts on its node, ObjectLabels those of the Machine itself.
	Labels, ObjectLabels map[string]string
	// MarkedForDeletion reports that it goes first when the set is scaled down.
	MarkedForDeletion bool
	// Hooks hold its drain or its end until their owners remove them.
	Hooks []string
	// NoDrain reports that its node is not drained: its pods are killed with it.
	NoDrain bool
}

// Key returns namespace/name.
func (m *Machine) Key() string {
	return m.Namespace + "/" + m.Name
}

// Failed reports that the machine never becomes a node.
func (m *Machine) Failed() bool {
	return m.Phase == phaseFailed || m.Error != ""
}

// Observed is what the cluster shows of one MachineSet.
type Observed struct {
	Set *Set
	// Unattended reports that no controller acts on it: see Set.Unattended.
	Unattended bool
	// Machines are those that count for it, deleting ones included.
	Machines []*Machine
	// Nodes by name.
	Nodes map[string]*snapshot.Node
}

// Strategy is how the template's taints reach the machines that exist.
type Strategy string

// The strategies, from the least to the most that they disturb.
const (
	// TemplateOnly leaves the machines as they are.
	TemplateOnly Strategy = "template_only"
	// InPlace writes to each Machine and its Node, and replaces none.
	InPlace Strategy = "in_place"
	// Surge adds machines before it replaces the others.
	Surge Strategy = "surge"
	// Rolling deletes machines, a few at a time.
	Rolling Strategy = "rolling"
	// ScaleToZero scales the set to nothing and back.
	ScaleToZero Strategy = "scale_to_zero"
)

// Replaces reports whether machines are replaced by new ones.
func (s Strategy) Replaces() bool {
	return s == Surge || s == Rolling || s == ScaleToZero
}

// Scales reports whether it changes spec.replicas. The others leave it to those that scale the MachineSet meanwhile.
func (s Strategy) Scales() bool { return s == Surge || s == ScaleToZero }

// Rollout is a strategy with its parameters.
type Rollout struct {
	Strategy Strategy
	// MaxUnavailable and MaxSurge are counts of machines, at least 1.
	MaxUnavailable int
	MaxSurge       int
	// Removed waits at zero until the old machines are gone, not only marked as
	// deleted.
	Removed bool
}

// Desired is what one resource wants of a MachineSet.
type Desired struct {
	Claim taint.Claim
	// Retired are entries that a preview imagines gone, whatever their owner. What a resource gives up is told
	// by the template's record and by the marker alone: machines may have such a taint of another writer.
	Retired []taint.ID
	// Unselected is set where all is given up because the MachineSet is not selected any
	// more: its resource is there to remember what machines kept.
	Unselected bool
	Rollout    Rollout
	// Cycle replaces every machine that is there when it begins, whatever its taints:
	// the marker lists them.
	Cycle bool
	// Begun is the marker of this rollout as it was seen last, nil for none: one that is
	// gone by now has taken the count with it.
	Begun *Marker
}

// Template is a claim merged into the template.
type Template struct {
	taint.Merged
	// Ours are the owned entries that decide whether a machine is stale: those that are
	// wanted, and those that are retired. Whatever else differs between a machine
	// and the template is another writer's business.
	Ours []taint.ID
	// remnants are what single machines kept.
	remnants Remnants
}

// Merge merges the claim into the template of a MachineSet.
func (d Desired) Merge(s *Set) Template {
	claim := d.Claim.On(s.Object())
	t := Template{Merged: taint.Merge(s.Taints, s.Record, claim), remnants: d.remnants(s)}
	ours := slices.Clone(d.Retired)
	if !d.Claim.Release {
		ours = append(ours, d.Claim.IDs()...)
	}
	for _, mark := range s.Record {
		if _, kept := t.Record.Of(mark.ID()); !kept {
			ours = append(ours, mark.ID())
		}
	}
	for id := range d.Claim.Imported {
		if d.Claim.Release && claim.Unmarked(id) {
			ours = append(ours, id)
		}
	}
	if s.Marker.of(claim) {
		ours = append(ours, s.Marker.retired()...)
	}
	t.Ours = slices.Compact(taint.SortIDs(ours))
	return t
}

// Of is what is wanted of one MachineSet: all is given up in one that is not meant.
func (d Desired) Of(s *Set, t Target) Desired {
	if !t.Matches(s) {
		d.Unselected = !d.Claim.Release
		d.Claim = d.Claim.Leaving()
	}
	return d
}

// Owns reports whether a MachineSet carries something owned: an entry, a rollout that
// has begun, or a record of what machines kept. What is desired must be that of this
// MachineSet.
func (d Desired) Owns(s *Set) bool {
	claim := d.Claim.On(s.Object())
	return s.Marker.of(claim) || claim.Owns(s.Record) || len(d.remnants(s)) > 0
}

// Agrees reports whether a list has the entries that are owned as the template has
// them, and lacks those that the template lacks.
func (t Template) Agrees(list []corev1.Taint) bool {
	return !slices.ContainsFunc(t.Ours, func(id taint.ID) bool {
		want, has := taint.Find(t.Taints, id), taint.Find(list, id)
		return (want < 0) != (has < 0) || want >= 0 && t.Taints[want].Value != list[has].Value
	})
}

// Apply makes a list agree, and changes nothing else in it.
func (t Template) Apply(list []corev1.Taint) []corev1.Taint {
	out := slices.Clone(list)
	for _, id := range t.Ours {
		want, has := taint.Find(t.Taints, id), taint.Find(out, id)
		switch {
		case want < 0 && has >= 0:
			out = slices.Delete(out, has, has+1)
		case want >= 0 && has < 0:
			out = append(out, bare(t.Taints[want]))
		case want >= 0 && out[has].Value != t.Taints[want].Value:
			out[has] = bare(t.Taints[want])
		}
	}
	return out
}

// of leaves out what another writer has marked on a node as their own.
func (t Template) of(n *snapshot.Node) Template {
	t.Ours = slices.DeleteFunc(slices.Clone(t.Ours), func(id taint.ID) bool {
		_, marked := n.Record.Of(id)
		return marked
	})
	return t
}

// present leaves out what a list lacks.
func (t Template) present(list []corev1.Taint) Template {
	t.Ours = slices.DeleteFunc(slices.Clone(t.Ours), func(id taint.ID) bool { return taint.Find(list, id) < 0 })
	return t
}

// bare is a taint without the time at which it was added, which the API server
// sets.
func bare(t corev1.Taint) corev1.Taint {
	return corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect}
}

// byName orders machines.
func byName(a, b *Machine) int {
	return strings.Compare(a.Name, b.Name)
}
