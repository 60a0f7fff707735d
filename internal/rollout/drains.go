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

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// evictAgain is the pause before an eviction that was refused is asked for again, as
// in kubectl drain (k8s.io/kubectl v0.37.2 pkg/cmd/drain, EvictErrorRetryDelay).
const evictAgain = 5 * time.Second

// Drain is a drain of nodes.
type Drain struct {
	planner.NodeDrain
	// GracePeriod is in seconds, nil for the pods' own.
	GracePeriod *int64
	// AwaitReplacements is set where the drain ends once the evicted pods run elsewhere. Selects
	// reports whether a node is meant: one that joins during the drain is no such place. Nil means
	// the nodes of the drain alone.
	AwaitReplacements bool
	Selects           func(*snapshot.Node) bool
	// Progress is told what is done, and Waiting what holds a node, whenever that
	// changes; nil ones are not.
	Progress func(string)
	Waiting  func(node string, pods []string)
	// Damaged is told of each node whose record of an earlier drain cannot be read as a whole: this
	// drain does not wait for what is lost of it. A nil one is not.
	Damaged func(node string, err error)
}

// DrainRefusedError reports that pods stop a drain before it begins.
type DrainRefusedError struct {
	Refusals []planner.DrainRefusal
}

// Error names the first pod.
func (e *DrainRefusedError) Error() string {
	return "pod " + e.Refusals[0].Pod.Key() + " " + e.Refusals[0].Why
}

// DrainError reports how far a drain came.
type DrainError struct {
	// Node is the one that it stopped at, empty for none, and Waiting are the pods on
	// it that are left, each with what holds it.
	Node    string
	Waiting []string
	// Cordoned are the nodes that are cordoned, those that were before included, and
	// Drained those of them that are drained.
	Cordoned, Drained []string
	// Missing are the workloads whose evicted pods do not run elsewhere, once all nodes are drained.
	Missing []Replacement
	Err     error
}

// Error reports what is missing.
func (e *DrainError) Error() string {
	switch {
	case len(e.Missing) > 0:
		return "waiting for replacements: " + words(e.Missing) + ": " + e.Err.Error()
	case len(e.Waiting) == 0:
		return e.Err.Error()
	}
	return "draining node " + e.Node + ": " + strings.Join(e.Waiting, "; ") + ": " + e.Err.Error()
}

// Unwrap returns what ended it.
func (e *DrainError) Unwrap() error { return e.Err }

// emptyNodes cordons nodes and evicts their pods, node after node, through the eviction
// API: what a PodDisruptionBudget forbids is asked for again until it is allowed. With
// DisableEviction it deletes them, which no PodDisruptionBudget forbids. It
// returns when the pods are gone, and with AwaitReplacements when they run elsewhere. The nodes
// stay cordoned. Errors: *DrainError.
func (r *run) emptyNodes(ctx context.Context) error {
	d := &draining{cluster: r.cluster, drain: *r.change.Drain, again: r.again, recorded: map[string][]awaited{}}
	if err := d.carryOut(ctx); err != nil {
		return &DrainError{Node: d.node, Waiting: d.waiting, Cordoned: d.cordoned, Drained: d.drained, Missing: d.missing, Err: err}
	}
	r.drained = true
	return nil
}

// again asks the planner once more, whether what is in its plan may be done, and returns what
// the drain does.
func (r *run) again(ctx context.Context) (observedPlan, error) {
	now, err := r.plan(ctx)
	if err == nil {
		err = now.obstacle()
	}
	if err == nil && r.hooks.begin != nil {
		err = r.hooks.begin(ctx, now.Plan)
	}
	return now, err
}

type draining struct {
	cluster *kube.Cluster
	drain   Drain
	// again looks for pods that stop the drain, and asks whether the others may go.
	again func(context.Context) (observedPlan, error)

	cordoned, drained []string
	// recorded is what an earlier drain of each node waited for, expected is what is waited for in
	// the end, before the snapshot that this follows from, and missing what of it there is not.
	recorded map[string][]awaited
	expected []*replaced
	before   *snapshot.Snapshot
	missing  []Replacement
	// behind are the missing ones, as they were found in the snapshot seen: nil until one look has ended.
	behind  []*replaced
	seen    *snapshot.Snapshot
	node    string
	waiting []string
	told    string
	// outage is why the API server was out of reach when it was asked last, nil where it was not.
	outage error
}

func (d *draining) carryOut(ctx context.Context) error {
	for _, name := range d.drain.Nodes {
		if err := d.cordon(ctx, name); err != nil {
			return err
		}
	}
	// The watch may not have shown pods yet that were bound before the cordons.
	if err := d.cluster.RelistPods(ctx); err != nil {
		return err
	}
	now, err := d.again(ctx)
	if err != nil {
		return err
	}
	if report := now.DrainReport(); d.drain.AwaitReplacements && report != nil {
		d.expected, d.before = joined(expected(now.snapshot, report, d.drain.NodeDrain), d.recorded), now.snapshot
		if err := d.remember(ctx); err != nil {
			return err
		}
	}
	for _, name := range d.drain.Nodes {
		d.node = name
		if err := d.empty(ctx, name); err != nil {
			return err
		}
		d.node, d.drained = "", append(d.drained, name)
		d.say("node %s is drained", name)
	}
	if err := d.await(ctx); err != nil {
		return err
	}
	return d.outlast(ctx, d.forget)
}

func (d *draining) cordon(ctx context.Context, name string) error {
	n, there := d.cluster.Node(name)
	if !there {
		// It is as empty as it can be.
		return nil
	}
	if !n.Unschedulable {
		if err := d.cluster.Cordon(ctx, n); err != nil {
			return ignore(err, kube.ErrNotFound)
		}
		d.say("node %s is cordoned", name)
	} else {
		all, err := parseAwaited(n.Awaited)
		if d.recorded[name] = all; err != nil && d.drain.AwaitReplacements && d.drain.Damaged != nil {
			d.drain.Damaged(name, err)
		}
	}
	d.cordoned = append(d.cordoned, name)
	return nil
}

// empty evicts the pods that are on a node now. What is put there in spite of the
// cordon, because it tolerates that, is left: it would be recreated forever.
func (d *draining) empty(ctx context.Context, name string) error {
	s, err := d.snapshot(ctx)
	if err != nil {
		return err
	}
	left, _ := planner.Drain(s.Pods[name], d.drain.Rules)
	noun := "pods"
	if len(left) == 1 {
		noun = "pod"
	}
	deletes, what := d.drain.Rules.DisableEviction, "evicting %d %s"
	if deletes {
		what = "deleting %d %s, bypassing PodDisruptionBudgets"
	}
	d.say("draining node %s: "+what, name, len(left), noun)
	evictions := map[types.UID]*asked{}
	for _, p := range left {
		evictions[p.UID] = &asked{deletes: deletes}
	}
	defer func() {
		// The time can be over in the middle of a round.
		if ctx.Err() != nil {
			d.waiting = states(left, evictions)
		}
	}()
	for {
		if s, err = d.snapshot(ctx); err != nil {
			return err
		}
		left = nil
		for _, p := range s.Pods[name] {
			if evictions[p.UID] != nil {
				left = append(left, p)
			}
		}
		for _, p := range left {
			if err := d.evict(ctx, p, evictions[p.UID]); err != nil {
				return err
			}
		}
		if d.waiting = states(left, evictions); len(left) == 0 {
			return nil
		}
		d.tell(ctx, name)
		d.cluster.NextPods(ctx, evictAgain)
		if err := context.Cause(ctx); err != nil {
			return err
		}
	}
}

// asked is what is known of the eviction of one pod.
type asked struct {
	at time.Time
	// deletes is set where the pod is deleted in place of an eviction.
	deletes bool
	// held is why it was refused, empty where it was not.
	held string
}

// states words what is waited for, pod by pod.
func states(left []*snapshot.Pod, evictions map[types.UID]*asked) []string {
	var out []string
	for _, p := range left {
		out = append(out, "pod "+p.Key()+" "+evictions[p.UID].state(p))
	}
	slices.Sort(out)
	return out
}

// state words what is waited for.
func (a *asked) state(p *snapshot.Pod) string {
	switch {
	case p.Terminating:
		return "is terminating"
	case a.held != "":
		return "cannot be " + a.done() + " yet: " + a.held
	case a.at.IsZero():
		return "has not been " + a.done() + " yet"
	}
	return "is being " + a.done()
}

// done words what is asked for.
func (a *asked) done() string {
	if a.deletes {
		return "deleted"
	}
	return "evicted"
}

// evict asks for the eviction of a pod that is not going yet, or deletes it, and not too often. What held
// it before holds it until there is another answer.
func (d *draining) evict(ctx context.Context, p *snapshot.Pod, one *asked) error {
	if p.Terminating || time.Since(one.at) < evictAgain {
		return nil
	}
	remove, doing := d.cluster.Evict, "evicting a pod"
	if one.deletes {
		remove, doing = d.cluster.DeletePod, "deleting a pod"
	}
	if one.at.IsZero() {
		logger(ctx).InfoContext(ctx, doing, "pod", p.Key(), "node", p.Node)
	}
	err := remove(ctx, p, d.drain.GracePeriod)
	one.at = time.Now()
	if held := new(kube.HeldError); errors.As(err, &held) {
		one.held = held.Why
		return nil
	}
	if err == nil {
		one.held = ""
	}
	return err
}

// tell reports what stands still, where that has changed.
func (d *draining) tell(ctx context.Context, name string) {
	now := strings.Join(d.waiting, "; ")
	if now == d.told {
		return
	}
	d.told = now
	logger(ctx).InfoContext(ctx, "waiting for pods to terminate", "node", name, "waiting", now)
	if d.drain.Waiting != nil {
		d.drain.Waiting(name, d.waiting)
	}
}

func (d *draining) say(format string, args ...any) {
	if d.drain.Progress != nil {
		d.drain.Progress(fmt.Sprintf(format, args...))
	}
}
