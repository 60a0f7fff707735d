// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"fmt"
	"slices"
)

// Began says when a rollout began, as messages tell it.
func (m *Marker) Began() string {
	return m.StartedAt.UTC().Format("2006-01-02 15:04:05 MST")
}

// scale is the command that sets spec.replicas.
func (s *Set) scale(replicas string) string {
	return "kubectl scale machineset.machine.openshift.io " + s.Name + " -n " + s.Namespace + " --replicas=" + replicas
}

// forget is the command that ends a rollout by hand.
func (s *Set) forget() string {
	return "kubectl annotate machineset.machine.openshift.io " + s.Name + " -n " + s.Namespace + " " + MarkerAnnotation + "-"
}

// anotherRollout words that a rollout which another resource or action has begun is in
// the way.
func anotherRollout(s *Set) string {
	m, count := s.Marker, ""
	if m.Scales() {
		count = fmt.Sprintf("make sure that spec.replicas is %d (%s), ", m.OriginalReplicas, s.scale(fmt.Sprint(m.OriginalReplicas)))
	}
	return fmt.Sprintf("%q began a rollout of %s at %s (strategy %s), and it has not ended. Wait until it ends; if it was interrupted, run the resource or action that began it again. "+
		"If that one no longer exists, %sremove the annotation (%s), and run again.",
		m.ID, s.Title(), m.Began(), m.Strategy, count, s.forget())
}

// markerGone words that another writer has removed what a rollout goes by.
func (v *view) markerGone() string {
	held, next := "the number of replicas from before the rollout", "goes on with the machines that are not in sync"
	if v.desired.Cycle {
		held, next = "the machines still to be replaced, and "+held, "replaces all machines, also those that are new already"
	}
	was, count := v.desired.Begun.OriginalReplicas, ""
	switch {
	case v.Set.Replicas == was:
		count = fmt.Sprintf("spec.replicas is %d, as it was before the rollout. Run again", was)
	case !v.desired.Begun.Scales():
		count = fmt.Sprintf("spec.replicas is %d and was %d before the rollout, which does not change it. Run again", v.Set.Replicas, was)
	default:
		count = fmt.Sprintf("spec.replicas is %d now and was %d before the rollout, and without the annotation no later run brings it back. Scale the MachineSet yourself (%s), and run again",
			v.Set.Replicas, was, v.Set.scale(fmt.Sprint(was)))
	}
	return fmt.Sprintf("Another writer removed the annotation %s from %s during the rollout. It held %s. Nothing more is changed. %s: the next run %s.",
		MarkerAnnotation, v.Set.Title(), held, count, next)
}

// machineFailed words that a machine in sync never serves.
func machineFailed(m *Machine) string {
	why := "."
	if m.Error != "" {
		why = ": " + m.Error + "."
	}
	return fmt.Sprintf("Machine %q has failed%s The rollout deletes no more machines while it is there. Fix the cause, delete the failed machine (kubectl delete machine.machine.openshift.io %s -n %s), and run again.",
		m.Key(), why, m.Name, m.Namespace)
}

// scaledByOthers words that another writer has changed the count of a rollout: whatever it wrote
// next would undo that, or lose machines. It returns "" where the count is one of the two that
// the strategy sets.
func (v *view) scaledByOthers() string {
	m := v.marker
	if m == nil {
		return ""
	}
	low, high, from := 0, m.OriginalReplicas, m.OriginalReplicas
	switch m.Strategy {
	case Surge:
		low, high = m.OriginalReplicas, m.OriginalReplicas+m.Surge
		if len(v.old) > 0 {
			from = high
		}
	case ScaleToZero:
	case InPlace, Rolling, TemplateOnly:
		return ""
	}
	if v.Set.Replicas == low || v.Set.Replicas == high {
		return ""
	}
	begins := "and replaces the machines that are still old"
	if v.desired.Cycle {
		begins = "and replaces all machines, also those that are new already"
	}
	return fmt.Sprintf("Another writer scaled %s to %d during a rollout. It began at %s, when spec.replicas was %d, and now expects %d or %d. Nothing more is changed. Choose one, and run again:\n\n"+
		"  - To continue this rollout, which ends with %d replicas: %s\n"+
		"  - To keep another number: set spec.replicas to it, and end this rollout: %s\n    The next run begins a new rollout, %s.",
		v.Set.Title(), v.Set.Replicas, m.Began(), m.OriginalReplicas, low, high,
		m.OriginalReplicas, v.Set.scale(fmt.Sprint(from)), v.Set.forget(), begins)
}

// Stops returns why an apply would stop before it writes anything, "" where it would not.
func Stops(o Observed, d Desired) string {
	return viewOf(o, d).obstacle()
}

// Left returns how many machines a rollout still must reach. Where it replaces them, the old
// ones that are being deleted are among them.
func Left(o Observed, d Desired) int {
	v := viewOf(o, d)
	switch {
	case v.strategy() == TemplateOnly:
		return 0
	case v.strategy().Replaces():
		return len(v.old) + len(slices.DeleteFunc(slices.Clone(v.going), func(m *Machine) bool { return !v.stale(m) }))
	}
	return len(v.old)
}

// Coming returns how many new machines a rollout that replaces machines still waits for: those
// that are not created yet, and those that lack something.
func Coming(o Observed, d Desired) int {
	v := viewOf(o, d)
	if !v.strategy().Replaces() {
		return 0
	}
	out := v.Set.Replicas
	if m := v.marker; m != nil && m.Strategy != Rolling {
		out = m.OriginalReplicas
	}
	for _, m := range v.fresh {
		if v.lacking(m) == "" {
			out--
		}
	}
	return max(0, out)
}
