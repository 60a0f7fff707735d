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

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// How long a wait goes without reading a workload whose pods have not changed: it
// may have been paused, scaled or overwritten meanwhile. Where the pods are as they
// should be, only its controller's word is missing. Each time takes twice as long
// as the one before.
const (
	lookAgain  = time.Second
	lookSoon   = lookAgain / 4
	lookAtMost = 8 * lookAgain
)

// waiting is what a wait is for.
type waiting struct {
	// pods returns those that are behind.
	pods func(*snapshot.Snapshot, *workload.Workload) []*snapshot.Pod
	// behind reports that pods made of a template would be behind as well; nil where
	// that cannot be.
	behind func(corev1.PodSpec) bool
	// shed reports that these pods are behind by what they still require.
	shed bool
}

// lacking waits for pods that lack what is wanted.
func lacking(d Tolerations) waiting {
	return waiting{
		pods: func(s *snapshot.Snapshot, w *workload.Workload) []*snapshot.Pod {
			return planner.Lacking(s, w, d.Claim.Tolerations, d.Pin.Labels)
		},
		behind: func(spec corev1.PodSpec) bool { return !d.held(spec.Tolerations, spec.NodeSelector) },
	}
}

// shedding waits for pods that require labels which are about to go.
func shedding(labels map[string][]string) waiting {
	return waiting{
		pods: func(s *snapshot.Snapshot, w *workload.Workload) []*snapshot.Pod {
			// Those that the controller keeps run on; those that are made anew do not require them.
			return slices.DeleteFunc(planner.Requiring(s, w, w.NodeSelector, labels), func(p *snapshot.Pod) bool { return w.Rolling.Keeps(p.Name) })
		},
		shed: true,
	}
}

// errOverwritten reports that the template does not have what is waited for: pods
// that carry it will not come.
var errOverwritten = errors.New("another writer has removed it from the template")

// errNotInTemplate reports the same of tolerations that marks alone tell of. Nothing adds them again in
// this run, and the marks may be made up.
var errNotInTemplate = errors.New("its template does not have the tolerations that its ownership record names")

// wait is a wait for the pods of one workload. The controller must have seen the
// change, and the pods be as many as desired: between the end of the old
// and the beginning of the new ones all that live would carry it.
type wait struct {
	cluster *kube.Cluster
	desired Tolerations
	waiting
	// rewrite is set where a template that has lost what is wanted ends the wait:
	// errOverwritten.
	rewrite bool
	// known is what the wait begins with, and what it has come to know.
	known
	// waited reports that time has passed.
	waited bool
	// short are the pods of a workload that has fewer than it should have, as it was read last.
	short string
	// older is set where ReplicaSets of an older template can still create pods, counted where
	// missing pods are waited for although the newest template creates them.
	older, counted bool
}

// end returns when there is nothing to wait for any more. Pods are seen by the
// watch; the workload is read where they have come as far as it was known to want,
// and from time to time. Errors: errOverwritten, *HoldError, *StuckError, those of
// kube.
func (a *wait) end(ctx context.Context) error {
	told, tried, reads, fresh := "", "", 0, a.fresh()
	due := time.Now().Add(lookAgain)
	var last *StuckError
	for {
		s, err := a.observe(ctx)
		if err != nil {
			return last.instead(ctx, err)
		}
		if tries := s.ready(a.unwritten(s)) && s.pods() != tried; !fresh && (tries || ctx.Err() != nil || !time.Now().Before(due)) {
			if err := a.read(ctx); err != nil {
				return last.instead(ctx, err)
			}
			if a.workload == nil {
				return nil
			}
			fresh = true
			continue
		}
		if fresh {
			if done, err := a.done(ctx, s); done || err != nil {
				return err
			}
			tried, due, reads = s.pods(), time.Now().Add(s.readInterval(reads)), reads+1
		}
		if now := fmt.Sprintf("%d of %d pods", len(s.all)-len(s.lacking), len(s.all)); now != told {
			logger(ctx).InfoContext(ctx, "waiting for running pods to follow the template", "workload", s.workload.Title(), "followed", now)
			told = now
		}
		last, fresh, a.waited = a.stuck(s), false, true
		a.cluster.NextPods(ctx, time.Until(due))
	}
}

// read reads the workload.
func (a *wait) read(ctx context.Context) (err error) {
	w, err := a.desired.read(ctx, a.cluster)
	if err == nil {
		a.workload, a.readAt = w, time.Now()
	}
	return err
}

// seen is what the pods of a workload show of what is waited for.
type seen struct {
	workload     *workload.Workload
	all, lacking []*snapshot.Pod
	// blocking keep the controller from replacing others.
	blocking []*snapshot.Pod
	// written reports that the template has what is wanted.
	written bool
}

func (a *wait) observe(ctx context.Context) (seen, error) {
	snapshot, err := a.cluster.Snapshot(ctx)
	if err != nil {
		return seen{}, err
	}
	w := a.workload
	return seen{workload: w, all: snapshot.WorkloadPods(w.Pods...), lacking: a.pods(snapshot, w), blocking: planner.Blocking(snapshot, w), written: a.desired.held(w.Tolerations, w.NodeSelector)}, nil
}

// ready reports that the wait is over, one way or another, if the workload still is
// as it is known and its controller has seen it so. A template without what is waited for may end it.
func (s seen) ready(unwritten error) bool {
	return len(s.workload.Pods) == 0 || s.complete() || len(s.kept()) > 0 || unwritten != nil
}

// kept are the lacking pods that do not follow by themselves.
func (s seen) kept() []*snapshot.Pod { return s.workload.Rolling.Kept(s.lacking) }

// complete reports that the running pods are as desired, and as many.
func (s seen) complete() bool {
	return len(s.lacking) == 0 && s.missing() == 0
}

// missing is how many pods are waited for that are not there.
func (s seen) missing() int {
	if s.workload.MissingFollow {
		return 0
	}
	return s.absent()
}

// absent is how many pods are not there that should be.
func (s seen) absent() int { return max(0, int(s.workload.Wants)-len(s.all)) }

// pods tells apart what the pods of the workload can show. In a busy cluster those
// of others change all the time.
func (s seen) pods() string {
	var b strings.Builder
	for _, list := range [][]*snapshot.Pod{s.all, s.lacking} {
		for _, p := range list {
			b.WriteString(string(p.UID) + " ")
		}
		b.WriteByte('/')
	}
	return b.String()
}

// readInterval is how long to go without another reading, after so many.
func (s seen) readInterval(reads int) time.Duration {
	first := lookAgain
	if s.complete() {
		first = lookSoon
	}
	return min(first<<min(reads, 10), lookAtMost)
}

// done says, of a workload that was read just now, that there is nothing to wait
// for any more. Errors: errOverwritten, *HoldError, *StuckError, those of kube.
func (a *wait) done(ctx context.Context, s seen) (bool, error) {
	w := s.workload
	switch {
	case len(w.Pods) == 0:
		return true, nil
	case len(s.kept()) > 0:
		return false, &HoldError{Workload: w, Pods: s.kept(), Written: s.written}
	case s.complete() && w.Observed && !w.Relapses && (s.written || a.behind == nil || w.Rolling.Hold != ""):
		// Pods that the watch has not shown yet may be of a template that has lost it.
		late, err := a.late(ctx, s)
		if err != nil {
			return false, err
		}
		if !late {
			return !a.mayShowMore(s), nil
		}
	}
	return false, a.unwritten(s)
}

// unwritten returns why a template without what is waited for ends the wait; nil where it has it, or
// where another resource of this run may yet write it.
func (a *wait) unwritten(s seen) error {
	switch {
	case s.written:
		return nil
	case a.rewrite:
		return errOverwritten
	case a.desired.MarkedBy != "":
		e := s.stuck()
		e.Lost, e.MarkedBy, e.Err = true, a.desired.MarkedBy, errNotInTemplate
		return e
	}
	return nil
}

// mayShowMore reports whether the watch may not show yet what was made of an older template
// right before its controller saw the newest: a workload with fewer pods than it should have is
// looked at twice.
func (a *wait) mayShowMore(s seen) bool {
	now := s.pods()
	if !s.workload.MissingFollow || s.absent() == 0 || now == a.short {
		return false
	}
	a.short = now
	return true
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

// late reports that pods may yet be made of a template that is behind: a ReplicaSet
// that a Deployment is leaving may not have heard of it. Once none is, none is
// added while the Deployment asks for the same. Where ReplicaSets cannot be listed, or an operator
// has not written a template yet, only as many pods as desired show that none is.
func (a *wait) late(ctx context.Context, s seen) (bool, error) {
	a.older, a.counted = false, false
	w, before := a.workload, a.followed
	same := before != nil && before.UID == w.UID && before.Generation == w.Generation && len(w.Operands) == 0
	if a.behind == nil || same {
		return false, nil
	}
	for _, one := range append([]*workload.Workload{w}, w.Operands...) {
		templates, err := a.cluster.Templates(ctx, one)
		switch {
		case errors.Is(err, kube.ErrForbidden):
			a.counted = a.counted || s.absent() > 0
		case err != nil:
			return false, err
		default:
			a.older = a.older || slices.ContainsFunc(templates, a.behind)
		}
	}
	a.counted = a.counted || s.absent() > 0 && slices.ContainsFunc(w.Operands, a.unwrittenOperand)
	if a.older || a.counted {
		return true, nil
	}
	a.followed = w
	return false, nil
}

// unwrittenOperand reports whether the operator has yet to write the template of a workload that is to
// have pods.
func (a *wait) unwrittenOperand(o *workload.Workload) bool {
	return o.Wants > 0 && a.behind(corev1.PodSpec{Tolerations: o.Tolerations, NodeSelector: o.NodeSelector})
}

// held reports whether lists have what is wanted.
func (d Tolerations) held(tolerations []corev1.Toleration, nodeSelector map[string]string) bool {
	for key, value := range d.Pin.Labels {
		if now, there := nodeSelector[key]; !there || now != value {
			return false
		}
	}
	return planner.Holds(tolerations, d.Claim.Tolerations)
}

// stuck reports what the wait ends with if it ends here.
func (a *wait) stuck(s seen) *StuckError {
	e := s.stuck()
	e.LosesLabels, e.Lost, e.Older = a.shed, a.behind != nil && !s.written, a.older
	if a.older || a.counted {
		e.Missing = s.absent()
	}
	return e
}

// stuck reports what a wait that ends here ends with.
func (s seen) stuck() *StuckError {
	e := &StuckError{Workload: s.workload, Relapses: s.complete() && s.workload.Relapses, Missing: s.missing()}
	for _, p := range s.lacking {
		e.Lacking = append(e.Lacking, p.Name)
	}
	for _, p := range s.blocking {
		e.Blocking = append(e.Blocking, p.Name)
	}
	for _, p := range s.all {
		if p.Node == "" {
			e.Pending = append(e.Pending, p.Name)
		}
	}
	return e
}
