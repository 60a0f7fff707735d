// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-log/tflog"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// AwaitTolerations waits until all live pods of workloads carry what is wanted.
// It never waits for pods that do not follow. The cluster must be followed with
// pods meanwhile. Errors: *HoldError, *StuckError, those of kube.
func AwaitTolerations(ctx context.Context, cluster *kube.Cluster, desired []Tolerations) error {
	for _, d := range desired {
		if err := await(ctx, cluster, d, lacking(d), false); err != nil {
			return err
		}
	}
	return nil
}

// waiting is what a wait is for.
type waiting struct {
	// pods returns those that are behind.
	pods func(*eviction.Snapshot, *workload.Workload) []*eviction.Pod
	// behind says that pods made of a template would be behind as well.
	behind func(corev1.PodSpec) bool
}

// lacking waits for pods that lack what is wanted.
func lacking(d Tolerations) waiting {
	return waiting{
		pods: func(s *eviction.Snapshot, w *workload.Workload) []*eviction.Pod {
			return planner.Lacking(s, w, d.Claim.Tolerations, d.Pin.Labels)
		},
		behind: func(spec corev1.PodSpec) bool { return !d.held(spec.Tolerations, spec.NodeSelector) },
	}
}

// shedding waits for pods that require labels which are about to go.
func shedding(labels map[string][]string) waiting {
	return waiting{
		pods: func(s *eviction.Snapshot, w *workload.Workload) []*eviction.Pod {
			if w.Rolling.Hold != "" {
				// They run on; those that are made anew do not require them.
				return nil
			}
			return planner.Requiring(s, w, w.NodeSelector, labels)
		},
		behind: func(corev1.PodSpec) bool { return false },
	}
}

// errOverwritten says that the template does not have what is waited for: pods
// that carry it will not come.
var errOverwritten = errors.New("somebody else has taken it out of the template")

// await waits for the pods of one workload. The controller must have seen the
// change, and the pods be as many as they shall be: between the end of the old
// and the beginning of the new ones all that live would carry it. Where rewrite is
// set, a template that has lost what is wanted ends the wait: errOverwritten.
func await(ctx context.Context, cluster *kube.Cluster, d Tolerations, what waiting, rewrite bool) error {
	told := ""
	var last *StuckError
	for {
		seen, err := lookAt(ctx, cluster, d, what)
		if gone(err) && d.Claim.Release {
			return nil
		}
		if err != nil {
			return last.instead(ctx, err)
		}
		done, err := seen.done(ctx, cluster, what)
		if done || err != nil {
			return err
		}
		if rewrite && !seen.written {
			return errOverwritten
		}
		if now := fmt.Sprintf("%d of %d pods", len(seen.all)-len(seen.lacking), len(seen.all)); now != told {
			tflog.Info(ctx, "waiting for live pods to follow the template", map[string]any{"workload": seen.workload.Title(), "followed": now})
			told = now
		}
		last = seen.stuck()
		cluster.NextPods(ctx, lookAgain)
	}
}

// seen is what a look at a workload shows of what is waited for.
type seen struct {
	workload     *workload.Workload
	all, lacking []*eviction.Pod
	// written says that the template has what is wanted.
	written bool
}

func lookAt(ctx context.Context, cluster *kube.Cluster, d Tolerations, what waiting) (seen, error) {
	w, err := cluster.FreshWorkload(ctx, d.Ref, d.Path)
	if err != nil {
		return seen{}, err
	}
	snapshot, err := cluster.Snapshot(ctx)
	if err != nil {
		return seen{}, err
	}
	return seen{workload: w, all: snapshot.WorkloadPods(w.Pods...), lacking: what.pods(snapshot, w), written: d.held(w.Tolerations, w.NodeSelector)}, nil
}

// done says that there is nothing to wait for any more. Errors: *HoldError, those
// of kube.
func (s seen) done(ctx context.Context, cluster *kube.Cluster, what waiting) (bool, error) {
	w := s.workload
	switch {
	case len(w.Pods) == 0:
		return true, nil
	case len(s.lacking) > 0 && w.Rolling.Hold != "":
		return false, &HoldError{Workload: w, Pods: s.lacking, Written: s.written}
	case len(s.lacking) > 0 || !w.Observed || int64(len(s.all)) < w.Wants:
		return false, nil
	}
	late, err := late(ctx, cluster, w, what)
	return !late, err
}

// instead returns what was seen last where the time is over: it says more than
// the request that failed for it.
func (e *StuckError) instead(ctx context.Context, err error) error {
	if e == nil || ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	e.Err = err
	return e
}

// late says that pods may yet be made of a template that is behind: a ReplicaSet
// that a Deployment is leaving may not have heard of it.
func late(ctx context.Context, cluster *kube.Cluster, w *workload.Workload, what waiting) (bool, error) {
	templates, err := cluster.Templates(ctx, w)
	if errors.Is(err, kube.ErrForbidden) {
		return false, nil
	}
	return slices.ContainsFunc(templates, what.behind), err
}

// held says whether lists have what is wanted.
func (d Tolerations) held(tolerations []corev1.Toleration, nodeSelector map[string]string) bool {
	for key, value := range d.Pin.Labels {
		if now, there := nodeSelector[key]; !there || now != value {
			return false
		}
	}
	return planner.Holds(tolerations, d.Claim.Tolerations)
}

// gone says that there is no such object, or not even its kind.
func gone(err error) bool {
	return errors.Is(err, kube.ErrNotFound) || errors.Is(err, kube.ErrNoKind)
}

// stuck says what a wait that ends here ends with.
func (s seen) stuck() *StuckError {
	e := &StuckError{Workload: s.workload}
	for _, p := range s.lacking {
		e.Lacking = append(e.Lacking, p.Name)
	}
	for _, p := range s.all {
		if p.Node == "" {
			e.Pending = append(e.Pending, p.Name)
		}
	}
	return e
}
