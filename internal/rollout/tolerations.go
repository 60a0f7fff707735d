// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// lookAgain is how long a wait for pods goes without looking at the workload
// itself, which may have been paused or scaled meanwhile.
const lookAgain = time.Second

// Tolerations is a desired change of one workload, by reference.
type Tolerations struct {
	Ref    workload.Ref
	Path   []string
	Claim  toleration.Claim
	Now    bool
	NoWait bool
}

// ConflictError says that a wanted toleration belongs to another resource.
type ConflictError struct {
	Conflicts []planner.WorkloadConflict
}

// Error names the first conflict; callers word them themselves.
func (e *ConflictError) Error() string {
	c := e.Conflicts[0]
	return fmt.Sprintf("a toleration of %s belongs to %q", c.Workload.Title(), c.Owner)
}

// HoldError says that the live pods of a workload do not follow a change.
type HoldError struct {
	Workload *workload.Workload
	Pods     []*eviction.Pod
}

// Error says why.
func (e *HoldError) Error() string {
	return fmt.Sprintf("the pods of %s do not follow: %s", e.Workload.Title(), e.Workload.Rolling.Hold)
}

// StuckError says which pods a wait ended with.
type StuckError struct {
	Workload *workload.Workload
	// Lacking are live pods without the tolerations, Pending pods that have them
	// and run on no node yet.
	Lacking, Pending []string
	Err              error
}

// Error names the pods.
func (e *StuckError) Error() string {
	var parts []string
	if len(e.Lacking) > 0 {
		parts = append(parts, "still without the tolerations: "+strings.Join(e.Lacking, ", "))
	}
	if len(e.Pending) > 0 {
		parts = append(parts, "made anew and on no node yet: "+strings.Join(e.Pending, ", "))
	}
	if len(parts) == 0 {
		parts = append(parts, "fewer pods than it wants")
	}
	return fmt.Sprintf("%s has not finished rolling out (%s): %v", e.Workload.Title(), strings.Join(parts, "; "), e.Err)
}

// Unwrap returns what ended the wait.
func (e *StuckError) Unwrap() error { return e.Err }

// ChangeTolerations carries out a change of workloads' tolerations: adds what is
// missing, waits until the live pods carry it, and gives up what pods no longer
// live by. Every step is found from what the cluster shows then. The cluster must
// be followed with pods meanwhile.
//
// Errors: *ConflictError, *HoldError, *StuckError, those of kube.
func ChangeTolerations(ctx context.Context, cluster *kube.Cluster, desired []Tolerations, comparison eviction.Comparison) error {
	for round := 0; ; round++ {
		plan, err := look(ctx, cluster, desired, comparison)
		if err != nil {
			return err
		}
		if len(plan.Conflicts) > 0 {
			return &ConflictError{Conflicts: plan.Conflicts}
		}
		if len(plan.Steps) == 0 {
			return nil
		}
		if round > maxRounds*len(desired) {
			return ErrFight
		}
		step := plan.Steps[0]
		of := desiredOf(desired, step.Workload)
		tflog.Debug(ctx, "next step", map[string]any{"step": string(step.Kind), "workload": step.Workload.Title()})
		if step.Kind == planner.Wait {
			err = await(ctx, cluster, of, lookAgain)
		} else {
			err = edit(ctx, cluster, of, comparison)
		}
		if err != nil {
			return err
		}
	}
}

// look observes the workloads and asks the planner what is left to do.
func look(ctx context.Context, cluster *kube.Cluster, desired []Tolerations, comparison eviction.Comparison) (planner.Plan, error) {
	snapshot, err := cluster.Snapshot(ctx)
	if err != nil {
		return planner.Plan{}, err
	}
	change := planner.Change{Workloads: make([]planner.Tolerations, len(desired))}
	for i, d := range desired {
		w, err := cluster.FreshWorkload(ctx, d.Ref, d.Path)
		if err == nil {
			err = w.RecordErr
		}
		if err != nil {
			return planner.Plan{}, err
		}
		change.Workloads[i] = planner.Tolerations{Workload: w, Claim: d.Claim, Now: d.Now, NoWait: d.NoWait}
	}
	return planner.Order(snapshot, change, comparison), nil
}

func desiredOf(desired []Tolerations, w *workload.Workload) Tolerations {
	for _, d := range desired {
		if d.Ref == w.Ref && workload.JoinPath(d.Path) == workload.JoinPath(w.Path) {
			return d
		}
	}
	return desired[0]
}

// edit merges again from the workload as it is read for the write.
func edit(ctx context.Context, cluster *kube.Cluster, d Tolerations, comparison eviction.Comparison) error {
	_, err := cluster.EditWorkload(ctx, d.Ref, d.Path, func(w *workload.Workload) (*kube.WorkloadEdit, error) {
		if w.RecordErr != nil {
			return nil, w.RecordErr
		}
		snapshot, err := cluster.Snapshot(ctx)
		if err != nil {
			return nil, err
		}
		merged := planner.Tolerations{Workload: w, Claim: d.Claim, Now: d.Now}.Merge(snapshot, comparison)
		if len(merged.Conflicts) > 0 {
			conflicts := make([]planner.WorkloadConflict, len(merged.Conflicts))
			for i, c := range merged.Conflicts {
				conflicts[i] = planner.WorkloadConflict{Workload: w, Conflict: c}
			}
			return nil, &ConflictError{Conflicts: conflicts}
		}
		if !merged.Changed {
			return nil, nil
		}
		if merged.Template && len(merged.Missing) > 0 && !d.NoWait {
			if err := holds(snapshot, w, d.Claim.Tolerations); err != nil {
				return nil, err
			}
		}
		return &kube.WorkloadEdit{Tolerations: merged.Tolerations, Record: merged.Record, Template: merged.Template}, nil
	})
	return err
}

// holds says that pods which need the change would not follow it. It is asked
// before the first write.
func holds(s *eviction.Snapshot, w *workload.Workload, wanted []corev1.Toleration) error {
	lacking := planner.Lacking(s, w, wanted)
	if w.Rolling.Hold == "" || len(lacking) == 0 && !w.Rolling.Immutable {
		return nil
	}
	return &HoldError{Workload: w, Pods: lacking}
}

// AwaitTolerations waits until all live pods of workloads carry what is wanted.
// It never waits for pods that do not follow. The cluster must be followed with
// pods meanwhile. Errors: *HoldError, *StuckError, those of kube.
func AwaitTolerations(ctx context.Context, cluster *kube.Cluster, desired []Tolerations) error {
	for _, d := range desired {
		if err := await(ctx, cluster, d, lookAgain); err != nil {
			return err
		}
	}
	return nil
}

// await waits for the pods of one workload. The controller must have seen the
// change, and the pods be as many as they shall be: between the end of the old
// and the beginning of the new ones all that live would carry it.
func await(ctx context.Context, cluster *kube.Cluster, d Tolerations, again time.Duration) error {
	told := ""
	for {
		w, err := cluster.FreshWorkload(ctx, d.Ref, d.Path)
		if err != nil {
			return err
		}
		snapshot, err := cluster.Snapshot(ctx)
		if err != nil {
			return err
		}
		lacking := planner.Lacking(snapshot, w, d.Claim.Tolerations)
		all := snapshot.WorkloadPods(w.Pods...)
		switch {
		case len(w.Pods) == 0:
			return nil
		case len(lacking) > 0 && w.Rolling.Hold != "":
			return &HoldError{Workload: w, Pods: lacking}
		case len(lacking) == 0 && w.Observed && int64(len(all)) >= w.Wants:
			return nil
		}
		if now := fmt.Sprintf("%d of %d pods", len(all)-len(lacking), len(all)); now != told {
			tflog.Info(ctx, "waiting for live pods to carry the tolerations", map[string]any{"workload": w.Title(), "carry": now})
			told = now
		}
		if ctx.Err() != nil {
			return stuck(w, all, lacking, context.Cause(ctx))
		}
		cluster.NextPods(ctx, again)
	}
}

func stuck(w *workload.Workload, all, lacking []*eviction.Pod, cause error) error {
	e := &StuckError{Workload: w, Err: cause}
	for _, p := range lacking {
		e.Lacking = append(e.Lacking, p.Name)
	}
	for _, p := range all {
		if p.Node == "" {
			e.Pending = append(e.Pending, p.Name)
		}
	}
	return e
}

// ContractTolerations takes away the retiring tolerations that no live taint
// needs any more, whoever has left them, after taints have been switched. It
// does not wait for the pods that restart by it. Pods are looked at only where
// something retires.
func ContractTolerations(ctx context.Context, cluster *kube.Cluster, comparison eviction.Comparison) error {
	marked, err := cluster.Marked(ctx)
	if errors.Is(err, kube.ErrForbidden) {
		// Who may not see workloads has not linked any.
		return nil
	}
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(marked, func(m kube.Marked) bool { return m.Record.Retiring() }) {
		return nil
	}
	release, err := cluster.Follow(ctx, true)
	if err != nil {
		return err
	}
	defer release()
	for _, m := range marked {
		for _, path := range retiringPaths(m) {
			d := Tolerations{Ref: m.Ref, Path: path.fields, Claim: toleration.Claim{Path: path.claim}, NoWait: true}
			if err := edit(ctx, cluster, d, comparison); err != nil && !errors.Is(err, kube.ErrNotFound) {
				return err
			}
		}
	}
	return nil
}

// MarkedBy finds the workloads that carry tolerations of the resource of this id,
// and which these are. It serves for a resource that has nothing to do in this
// run, and so has told nothing.
func MarkedBy(ctx context.Context, cluster *kube.Cluster, id string) ([]Tolerations, error) {
	marked, err := cluster.Marked(ctx)
	if errors.Is(err, kube.ErrForbidden) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Tolerations
	for _, m := range marked {
		paths := map[string]*Tolerations{}
		for _, mark := range m.Record {
			fields, known := pathOf(m, mark.Path)
			if mark.Owner != id || mark.Retiring || !known {
				continue
			}
			if paths[mark.Path] == nil {
				paths[mark.Path] = &Tolerations{Ref: m.Ref, Path: fields}
			}
			paths[mark.Path].Claim.Tolerations = append(paths[mark.Path].Claim.Tolerations, mark.Toleration())
		}
		for _, d := range paths {
			out = append(out, *d)
		}
	}
	return out, nil
}

// pathOf resolves the path of a mark.
func pathOf(m kube.Marked, path string) ([]string, bool) {
	if kind, known := workload.Lookup(m.APIVersion, m.Kind); path == "" {
		return kind.Path, known
	}
	fields, err := workload.SplitPath(path)
	return fields, err == nil
}

type retiringPath struct {
	claim  string
	fields []string
}

// retiringPaths returns the lists of an object in which something retires.
func retiringPaths(m kube.Marked) []retiringPath {
	var out []retiringPath
	seen := map[string]bool{}
	for _, mark := range m.Record {
		if !mark.Retiring || seen[mark.Path] {
			continue
		}
		seen[mark.Path] = true
		if fields, known := pathOf(m, mark.Path); known {
			out = append(out, retiringPath{mark.Path, fields})
		}
	}
	return out
}
