// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// StepKind is what a step does.
type StepKind string

// The kinds of steps, in the only order in which no pod is evicted by accident and no
// pod requires a label that no node has: labels first, then the tolerations of new pods
// and of templates, then the wait for pods that must carry them, then the taints. The
// last steps remove the tolerations that no taint needs any more, and the labels that no
// pod requires.
const (
	Label       StepKind = "label"
	Admit       StepKind = "admit"
	Expand      StepKind = "expand"
	Wait        StepKind = "wait"
	ApplyTaints StepKind = "switch"
	Withdraw    StepKind = "withdraw"
	Contract    StepKind = "contract"
	Unlabel     StepKind = "unlabel"
	Drained     StepKind = "drain"
)

// Step is one step of a change.
type Step struct {
	Kind StepKind
	// Workload is the workload that is written, Merged and Pins what is written to it.
	Workload *workload.Workload
	Merged   toleration.Merged
	Pins     label.Merged
	// Pods are those that restart by an Expand or a Contract, or that a Wait
	// waits for. RemovedLabels are those, by key, that these must not require any
	// more, empty where the Wait is for what they lack.
	Pods          []*snapshot.Pod
	RemovedLabels map[string][]string
	// Missing is how many pods a Wait waits for that are not there.
	Missing int
	// Retained is set where a Contract takes away what others have left behind.
	Retained bool
	// Labels is what a Label or an Unlabel writes to nodes, Nodes what a Switch writes.
	Labels LabelPlan
	Nodes  NodePlan
	// Sets is of how many MachineSets a Label or an Unlabel writes the templates and
	// machines, Switch what a Switch rolls out to machines.
	Sets   int
	Switch *SetSwitch
	// Drain is what is drained.
	Drain *NodeDrain
	// Policy is what an Admit or a Withdraw makes of the policy of admission.
	Policy admission.Plan
	// Rollouts is what the rollouts do that this step and others begin together: nil but for the first of these.
	Rollouts *Rollouts
	// Report is what a step does to pods; nil where it can evict none. An Expand has one
	// where a DaemonSet deletes pods by a new node selector.
	Report *eviction.Report
}

// Template reports whether the step writes the pod template, so that pods restart.
func (s Step) Template() bool {
	return s.Merged.Template || len(s.Pins.Changes) > 0
}

// Brings reports whether the step adds a taint that pods must tolerate.
func (s Step) Brings() bool {
	if s.Switch != nil {
		return slices.ContainsFunc(s.Switch.Affected, func(a machineset.Affected) bool { return a.Effect.Brings() })
	}
	return s.Kind == ApplyTaints && !s.Nodes.EvictsNothing()
}

// begins is what a step does to pods: a rollout of machines that an earlier apply has begun
// goes on whatever it does.
func (s Step) begins() *eviction.Report {
	if s.Switch != nil {
		return s.Switch.Begins.Report
	}
	return s.Report
}

// Moves reports whether a step may evict pods.
func (s Step) Moves() bool {
	report := s.begins()
	return report != nil && slices.ContainsFunc(report.Pods, func(v eviction.PodVerdict) bool { return v.Verdict != eviction.Stays })
}

// Strands reports whether a step strands pods: those stay, where its taints evict no pod.
func (s Step) Strands() bool {
	report := s.begins()
	return report != nil && len(report.Stranded()) > 0
}

// Beginning leaves out the rollouts of machines that an earlier apply has begun.
func (p Plan) Beginning() Plan {
	p.Steps = slices.DeleteFunc(slices.Clone(p.Steps), func(s Step) bool { return s.Switch != nil && s.Switch.goesOn() })
	return p
}

// Impact returns the steps that may evict or strand pods, and all that they begin to do.
func (p Plan) Impact() (steps []Step, whole *eviction.Report) {
	var reports []*eviction.Report
	for _, s := range p.Steps {
		report := s.begins()
		if report != nil {
			reports = append(reports, report)
		}
		if s.Rollouts != nil {
			reports = append(reports, s.Rollouts.Report)
		}
		if report != nil || s.Rollouts != nil {
			steps = append(steps, s)
		}
	}
	return steps, eviction.Join(reports...)
}

// Refused is the first MachineSet that must not be rolled out because of what runs on its
// machines, and why.
func (p Plan) Refused() (*machineset.Set, []machineset.Refusal) {
	for _, s := range p.Steps {
		if s.Switch != nil && s.Switch.Begins.Refused != nil {
			return s.Switch.Begins.Refused, s.Switch.Begins.Refusals
		}
	}
	return nil, nil
}

// After returns the tolerations that a workload of the plan has once its steps are made. Without a plan it has those of now.
func (p *Plan) After(w *workload.Workload) []corev1.Toleration {
	after := w.Tolerations
	if p == nil {
		return after
	}
	for _, s := range p.Steps {
		if s.Workload == w && (s.Kind == Expand || s.Kind == Contract) {
			after = s.Merged.Tolerations
		}
	}
	return after
}

// Labels returns what the steps change of the labels that a workload's template requires of nodes, nil for one that it no
// longer requires.
func (p *Plan) Labels(w *workload.Workload) (out map[string]*string) {
	if p == nil {
		return nil
	}
	for _, s := range p.Steps {
		if s.Workload == w && (s.Kind == Expand || s.Kind == Contract) {
			out = joinedLabels(out, s.Pins.Changes)
		}
	}
	return out
}

// Own are the steps but those that take away what others have left behind, which are the
// other ones.
func (p Plan) Own() (own, others Plan) {
	own, others = p, Plan{}
	own.Steps = nil
	for _, s := range p.Steps {
		if s.Retained {
			others.Steps = append(others.Steps, s)
		} else {
			own.Steps = append(own.Steps, s)
		}
	}
	return own, others
}

// Plan is the ordered steps of a change and what blocks them.
type Plan struct {
	Steps []Step
	// Refusals are about nodes; Conflicts about workloads.
	Refusals  []Refusal
	Conflicts []WorkloadConflict
	// DrainRefusals are pods that stop a drain before it begins.
	DrainRefusals []DrainRefusal
	// PolicyErr is set where another resource owns the admission policy.
	PolicyErr error
}

// WorkloadConflict is a wanted toleration that is owned by another resource, or a
// label that the template requires with another value.
type WorkloadConflict struct {
	Workload *workload.Workload
	toleration.Conflict
	// Pin is set in place of the toleration.
	Pin *label.Conflict
}

// String tells the step in a few words, such as "add tolerations to Deployment shop/web".
func (s Step) String() string {
	count := func(n int, noun string) string {
		if n == 1 {
			return "1 " + noun
		}
		return fmt.Sprintf("%d %ss", n, noun)
	}
	where := count(len(s.Labels.Switches), "node")
	if s.Sets > 0 {
		where = count(s.Sets, "MachineSet") + " and " + where
	}
	switch s.Kind {
	case Label:
		return "label " + where
	case Unlabel:
		return "remove labels from " + where
	case Admit:
		return "write policy " + s.Policy.Name
	case Withdraw:
		if s.Policy.Delete {
			return "delete policy " + s.Policy.Name
		}
		return "remove unneeded tolerations from policy " + s.Policy.Name
	case ApplyTaints:
		if s.Switch != nil {
			return "roll taints out to the machines of " + count(len(s.Switch.Affected), "MachineSet")
		}
		return "change taints of " + count(len(s.Nodes.Switches), "node")
	case Drained:
		return "drain " + count(len(s.Drain.Nodes), "node")
	case Wait:
		what := "the rollout"
		switch {
		case len(s.Pods) > 0:
			what = count(len(s.Pods), "pod")
		case s.Missing > 0:
			what = count(s.Missing, "missing pod")
		}
		return "wait for " + what + " of " + s.Workload.Words()
	}
	return s.edit() + " " + s.Workload.Words()
}

// edit describes what the step writes to its workload. Where it writes only ownership
// records, neither the template nor any pod changes.
func (s Step) edit() string {
	expand := s.Kind == Expand
	var what []string
	if expand && len(s.Merged.Missing) > 0 || !expand && len(s.Merged.Removed) > 0 {
		what = append(what, "tolerations")
	}
	if expand && s.Pins.Lacking() || !expand && len(s.Pins.Changes) > 0 {
		what = append(what, "a node selector")
	}
	switch {
	case len(what) == 0:
		return "update the ownership records of"
	case expand:
		return "add " + strings.Join(what, " and ") + " to"
	}
	return "remove " + strings.Join(what, " and ") + " from"
}
