// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"fmt"
	"strings"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// Tolerations is a desired change of one workload, by reference.
type Tolerations struct {
	Ref   workload.Ref
	Path  []string
	Claim toleration.Claim
	// Pin is what the pod template must require of nodes.
	Pin               label.Claim
	RemoveImmediately bool
	NoWait            bool
	// Linked and Retained are as the planner has them.
	Linked, Retained bool
	// MarkedBy is the id of a linked resource, where marks alone tell of the tolerations.
	MarkedBy string
}

// ConflictError reports that a wanted toleration is owned by another resource.
type ConflictError struct {
	Conflicts []planner.WorkloadConflict
}

// Error names the first conflict; callers word them themselves.
func (e *ConflictError) Error() string {
	c := e.Conflicts[0]
	if c.Pin != nil {
		return fmt.Sprintf("%s requires the label %s with the value %q", c.Workload.Title(), c.Pin.Key, c.Pin.Value)
	}
	return fmt.Sprintf("a toleration of %s is owned by %q", c.Workload.Title(), c.Owner)
}

// HoldError reports that the running pods of a workload do not follow a change.
type HoldError struct {
	Workload *workload.Workload
	Pods     []*snapshot.Pod
	// Written reports that the template has the change: the pods stopped following
	// in the middle of it.
	Written bool
}

// Error reports why.
func (e *HoldError) Error() string {
	return fmt.Sprintf("the pods of %s do not follow: %s", e.Workload.Title(), e.Workload.Rolling.Hold)
}

// StuckError reports which pods a wait ended with.
type StuckError struct {
	Workload *workload.Workload
	// Lacking are running pods without the tolerations, Pending pods that have them
	// and run on no node yet. Shed is set where the pods were to lose what they
	// require of nodes.
	Lacking, Pending []string
	LosesLabels      bool
	// Blocking are pods that are not ready or terminating, and so keep the controller from
	// replacing others.
	Blocking []string
	// TaintsApplied is set where the taints have been changed before: the wait is for what
	// comes after them.
	TaintsApplied bool
	// Missing is how many pods are not there that should be.
	Missing int
	// Relapses is set where all pods are as desired, and one that is lost would
	// be recreated from an older template.
	Relapses bool
	// Older is set where ReplicaSets of an older template can still create pods.
	Older bool
	// Lost is set where the template does not have what is waited for.
	Lost bool
	// MarkedBy is the id of the linked resource whose marks name tolerations that the template does
	// not have: no pod will get them, so that nothing is waited for.
	MarkedBy string
	Err      error
}

// Error names the pods.
func (e *StuckError) Error() string {
	var parts []string
	if len(e.Lacking) > 0 {
		what := "still without the tolerations: "
		if e.LosesLabels {
			what = "still pinned to the nodes: "
		}
		parts = append(parts, what+strings.Join(e.Lacking, ", "))
	}
	if len(e.Pending) > 0 {
		parts = append(parts, "recreated and on no node yet: "+strings.Join(e.Pending, ", "))
	}
	if len(e.Blocking) > 0 {
		parts = append(parts, "not ready, so that its controller replaces no other pod: "+strings.Join(e.Blocking, ", "))
	}
	if e.Missing > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d pods are not created yet", e.Missing, e.Workload.Wants))
	}
	if stop := e.Workload.Rolling.Stands; stop.Why != "" {
		parts = append(parts, "its rollout is stuck: "+stop.Why)
	}
	if e.Relapses {
		parts = append(parts, "a lost pod would be recreated from an older template")
	}
	if e.Older {
		parts = append(parts, "an older ReplicaSet can still create pods")
	}
	if e.Lost {
		parts = append(parts, "its template does not have the tolerations")
	}
	if len(parts) == 0 {
		parts = append(parts, "its controller has not reported it yet")
	}
	return fmt.Sprintf("%s has not finished rolling out (%s): %v", e.Workload.Title(), strings.Join(parts, "; "), e.Err)
}

// Unwrap returns what ended the wait.
func (e *StuckError) Unwrap() error { return e.Err }

// edit merges again from the workload as it is read for the write. It returns it
// as it was read, and as it stands afterwards, which is the same where there was
// nothing to write.
func edit(ctx context.Context, cluster *kube.Cluster, d Tolerations, comparison eviction.Comparison) (before, after *workload.Workload, err error) {
	after, err = cluster.EditWorkload(ctx, d.Ref, d.Path, func(w *workload.Workload) (*kube.WorkloadEdit, error) {
		before = w
		if err := d.unreadable(w); err != nil {
			return nil, err
		}
		snapshot, err := cluster.Snapshot(ctx)
		if err != nil {
			return nil, err
		}
		t := d.of(w)
		merged, pins := t.Merge(snapshot, comparison), t.MergePins()
		if conflicts := conflicts(w, merged, pins); len(conflicts) > 0 {
			return nil, &ConflictError{Conflicts: conflicts}
		}
		if !merged.Changed && !pins.Changed {
			return nil, nil
		}
		if (merged.Template && len(merged.Missing) > 0 || pins.Lacking()) && !d.NoWait {
			if err := holds(snapshot, t); err != nil {
				return nil, err
			}
		}
		edit := &kube.WorkloadEdit{Tolerations: merged.Tolerations, Record: merged.Record, Template: merged.Template}
		if w.Config != nil {
			edit.Created, edit.Proved = t.Created()
		}
		if pins.Changed {
			edit.Pins = &kube.LabelEdit{Changes: pins.Changes, Record: pins.Record}
		}
		return edit, nil
	})
	return before, after, err
}

// of is the change of a workload as it was observed.
func (d Tolerations) of(w *workload.Workload) planner.Tolerations {
	return planner.Tolerations{Workload: w, Claim: d.Claim, Pin: d.Pin, RemoveImmediately: d.RemoveImmediately, NoWait: d.NoWait, Linked: d.Linked, Retained: d.Retained}
}

// unreadable reports that a record on which the change depends cannot be read.
func (d Tolerations) unreadable(w *workload.Workload) error {
	if w.RecordErr != nil {
		return w.RecordErr
	}
	if d.Pin.Generation != "" {
		return w.LabelRecordErr
	}
	return nil
}

func conflicts(w *workload.Workload, merged toleration.Merged, pins label.Merged) []planner.WorkloadConflict {
	var out []planner.WorkloadConflict
	for _, c := range merged.Conflicts {
		out = append(out, planner.WorkloadConflict{Workload: w, Conflict: c})
	}
	for _, c := range pins.Conflicts {
		out = append(out, planner.WorkloadConflict{Workload: w, Pin: &c})
	}
	return out
}

// holds reports that pods which need the change would not follow it. It is asked
// before the first write.
func holds(s *snapshot.Snapshot, t planner.Tolerations) error {
	kept := t.Workload.Rolling.Kept(planner.Lacking(s, t.Workload, t.Claim.Tolerations, t.Pin.Labels))
	if t.Workload.Rolling.Hold == "" || len(kept) == 0 && !t.Workload.Rolling.Immutable {
		return nil
	}
	return &HoldError{Workload: t.Workload, Pods: kept}
}
