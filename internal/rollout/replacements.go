// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Replacement is a workload whose evicted pods do not run elsewhere yet.
type Replacement struct {
	// Workload is its kind, namespace and name.
	Workload string
	// Missing of Wanted pods are not ready on other nodes.
	Missing, Wanted int
	// Why is what the scheduler or a container reports, empty where that does not show.
	Why string
}

// String returns it as a half sentence.
func (r Replacement) String() string {
	out := fmt.Sprintf("%s: %d of %d pods not ready on other nodes", r.Workload, r.Missing, r.Wanted)
	if r.Why != "" {
		out += ": " + r.Why
	}
	return out
}

// replaced is what a drain waits for in one workload.
type replaced struct {
	// key is what the pods are rolled up to, and controller what creates them: a Job, where
	// key is its CronJob.
	key, controller snapshot.WorkloadKey
	// wanted is how many pods are to be ready on other nodes, and observed how many of them this
	// drain has seen ready itself: the others are recorded by an earlier one.
	wanted, observed int
	// evicted is how many of its ready pods the drain evicts, and nodes are those that it evicts
	// them from.
	evicted int
	nodes   map[string]bool
	// short is since when it has fewer pods than wanted, and askedAt when its controller was
	// asked how many it is to have.
	short, askedAt time.Time
}

// expected returns what a drain of nodes waits for: as many ready pods as there are before it,
// without those that the report finds lost or Pending.
func expected(s *snapshot.Snapshot, report *eviction.Report, d planner.NodeDrain) []*replaced {
	homeless := map[types.UID]bool{}
	for _, v := range report.Pods {
		homeless[v.Pod.UID] = v.Lost || v.NoPlace && !v.Rejected() || v.MayFail()
	}
	pending := map[snapshot.WorkloadKey]int{}
	for _, w := range report.Workloads() {
		pending[snapshot.WorkloadKey{Namespace: w.Namespace, Owner: w.Owner}] = w.Summary.Pending.Max
	}
	var out []*replaced
	for _, r := range evictedReady(s, homeless, d) {
		if r.evicted <= pending[r.key] {
			continue
		}
		r.wanted = -pending[r.key]
		for _, p := range r.pods(s) {
			if p.Ready && !homeless[p.UID] {
				r.wanted++
			}
		}
		if r.observed = r.wanted; r.wanted > 0 {
			out = append(out, r)
		}
	}
	return out
}

// evictedReady returns the workloads that a drain evicts ready pods of, by what creates them.
func evictedReady(s *snapshot.Snapshot, homeless map[types.UID]bool, d planner.NodeDrain) map[snapshot.WorkloadKey]*replaced {
	out := map[snapshot.WorkloadKey]*replaced{}
	for _, node := range d.Nodes {
		pods, _ := planner.Drain(s.Pods[node], d.Rules)
		for _, p := range pods {
			if homeless[p.UID] || !recreatedElsewhere(p) {
				continue
			}
			r := replacedOf(s, p)
			if known := out[r.controller]; known != nil {
				r = known
			}
			out[r.controller] = r
			r.evicted++
			r.nodes[node] = true
		}
	}
	return out
}

// recreatedElsewhere reports whether a pod that is evicted:
//   - is ready, so that one which never was holds no drain,
//   - has not run to its end,
//   - is not being deleted already: its replacement exists, and an earlier drain that waits for it
//     has recorded it,
//   - has a controller that is no DaemonSet, whatever runs that: its pods belong to their nodes.
func recreatedElsewhere(p *snapshot.Pod) bool {
	return p.Ready && !p.Completed && !p.Terminating && p.Controller != nil && p.Controller.Kind != "DaemonSet"
}

// replacedOf names what recreates a pod.
func replacedOf(s *snapshot.Snapshot, p *snapshot.Pod) *replaced {
	key := snapshot.WorkloadKey{Namespace: p.Namespace, Owner: s.Owner(p)}
	r := &replaced{key: key, controller: key, nodes: map[string]bool{}}
	if c := p.Controller; c.Group == batchv1.GroupName && c.Kind == "Job" {
		// Other Jobs of a CronJob begin and end by themselves.
		r.controller.Owner = c.Owner
	}
	return r
}

func (r *replaced) title() string {
	return r.controller.Kind + " " + r.controller.Namespace + "/" + r.controller.Name
}

func byTitle(a, b *replaced) int { return cmp.Compare(a.title(), b.title()) }

// pods are those of the workload that are not being deleted and have not run to their end.
func (r *replaced) pods(s *snapshot.Snapshot) []*snapshot.Pod {
	if pods := s.PodsByWorkload()[r.controller]; len(pods) > 0 || !r.createsPods() {
		return pods
	}
	// They are rolled up to what controls their controller: a Job's to its CronJob.
	var out []*snapshot.Pod
	for key, pods := range s.PodsByWorkload() {
		if key.Namespace != r.controller.Namespace {
			continue
		}
		for _, p := range pods {
			if p.Controller != nil && p.Controller.Owner == r.controller.Owner {
				out = append(out, p)
			}
		}
	}
	return out
}

// await returns when as many pods as before are ready on other nodes. Errors: the end of the
// context, and those of kube.
func (d *draining) await(ctx context.Context) error {
	// The time can be over before the first look has ended.
	d.find(d.before)
	told, pause := "", evictAgain
	for {
		err := d.outlast(ctx, func(ctx context.Context) (err error) {
			pause, err = d.lookForReplacements(ctx)
			return err
		})
		if err == nil && len(d.missing) == 0 {
			if len(d.expected) > 0 {
				d.say("the %s pods have replacements that are ready on other nodes", d.drain.Rules.Removed())
			}
			return nil
		}
		if now := words(d.missing); err == nil && now != told {
			logger(ctx).InfoContext(ctx, "waiting for replacements", "waiting", now)
			d.say("waiting for replacements of %s pods: %s", d.drain.Rules.Removed(), now)
			told = now
		}
		if err == nil {
			d.cluster.NextPods(ctx, pause)
			err = context.Cause(ctx)
		}
		if err != nil {
			// The time can be over in the middle of a look: the one before it is explained then.
			if ctx.Err() != nil && d.outage == nil {
				d.askWhy(ctx)
			}
			return err
		}
	}
}

// find notes what is missing in a snapshot.
func (d *draining) find(s *snapshot.Snapshot) {
	d.missing, d.behind = nil, nil
	for _, r := range d.expected {
		if _, ready := r.count(s, d.leaves); ready < r.wanted {
			d.missing, d.behind = append(d.missing, Replacement{Workload: r.title(), Missing: r.wanted - ready, Wanted: r.wanted}), append(d.behind, r)
		}
	}
}

// lookForReplacements finds what is missing, and how long to wait before the next look. A look that
// fails changes nothing of what the one before it has found.
func (d *draining) lookForReplacements(ctx context.Context) (time.Duration, error) {
	s, err := d.cluster.Snapshot(ctx)
	if err != nil {
		return 0, err
	}
	pause := evictAgain
	for _, r := range d.expected {
		if r.wanted <= 0 {
			continue
		}
		pods, _ := r.count(s, d.leaves)
		soon, err := r.follow(ctx, d.cluster, pods)
		if err != nil {
			return 0, err
		}
		if soon {
			pause = lookAgain
		}
	}
	d.seen = s
	d.find(s)
	return pause, nil
}

// words lists the first few.
func words(missing []Replacement) string {
	const few = 3
	var out []string
	for _, r := range missing[:min(few, len(missing))] {
		out = append(out, r.String())
	}
	if more := len(missing) - few; more > 0 {
		out = append(out, fmt.Sprintf("… and %d more", more))
	}
	return strings.Join(out, "; ")
}

// leaves reports whether a pod's node is drained, or is to be: pods there are not elsewhere. A pod that
// the pod selector leaves there runs where it is to run.
func (d *draining) leaves(s *snapshot.Snapshot, p *snapshot.Pod) bool {
	n := s.Nodes[p.Node]
	drained := slices.Contains(d.drain.Nodes, p.Node) || n != nil && d.drain.Selects != nil && d.drain.Selects(n)
	return drained && d.drain.Rules.Selects(p)
}

// returned reports whether a pod runs on a drained node again since it tolerates the cordon, or its template names the node. It is a
// replacement: each one may be there again.
func returned(s *snapshot.Snapshot, p *snapshot.Pod) bool {
	n := s.Nodes[p.Node]
	return n != nil && n.Unschedulable && (p.NamesNode || p.Scheduling.ToleratesCordon(false))
}

// count returns how many pods there are, and how many of them are ready elsewhere or have returned.
func (r *replaced) count(s *snapshot.Snapshot, leaves func(*snapshot.Snapshot, *snapshot.Pod) bool) (pods, ready int) {
	for _, p := range r.pods(s) {
		pods++
		if p.Ready && (!leaves(s, p) || returned(s, p)) {
			ready++
		}
	}
	return pods, ready
}

// follow lowers what is wanted where the controller is to have fewer pods by now: it may have
// been scaled down or deleted. It is asked where it has fewer, and not before it has had time to
// create them, unless only a record has that many. It reports whether it is to be asked soon.
func (r *replaced) follow(ctx context.Context, cluster *kube.Cluster, pods int) (soon bool, err error) {
	now := time.Now()
	recorded := r.wanted > r.observed && r.askedAt.IsZero()
	switch {
	case pods >= r.wanted:
		r.short = time.Time{}
		return false, nil
	case recorded && pods == 0 && r.observed == 0 && !r.createsPods():
		r.wanted = 0
		return false, nil
	case recorded:
		r.short = now
	case r.short.IsZero():
		r.short = now
		return true, nil
	case now.Sub(r.short) < lookAgain || now.Sub(r.askedAt) < lookAtMost:
		return r.askedAt.Before(r.short), nil
	}
	r.askedAt = now
	desired, known, err := cluster.DesiredPods(ctx, r.controller)
	if err == nil {
		r.believable(pods, desired, known)
	}
	return false, err
}
