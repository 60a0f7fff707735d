// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package preview

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// WhatIf is an imagined change and what it would do: Evaluate fills in the latter.
type WhatIf struct {
	// Target is the nodes that are meant.
	Target planner.Target
	// MachineSets is set in place of a target.
	MachineSets *MachineSets
	// Drain is set where the nodes are drained, and no taint changes.
	Drain *planner.DrainRules
	// Force has a drain evict pods without a controller, which are lost, in place of stopping.
	Force  bool
	Taints []corev1.Taint
	Absent []taint.ID
	// Added are tolerations that workloads would have by then; Strangers are the
	// ones among these workloads that no pod belongs to.
	Added     map[snapshot.WorkloadKey]eviction.Planned
	Strangers []string

	// Matched counts the nodes, or MachineSets, that are meant, whether they change or not.
	Matched int
	Report  *eviction.Report
	// Refusals are the pods that stop a drain before it begins.
	Refusals []planner.DrainRefusal
	// Stuck is what a drain waits for without end, a sentence each.
	Stuck []string
	// Doubts is what may go wrong with a rollout of machines or with a drain.
	Doubts []string
	// Unmodelled is what messages name.
	Unmodelled snapshot.Unmodelled
	// Unmatched is a drained node where a pod selector matches no pod of the nodes, "" where it matches one.
	Unmatched string
	// cordoned are the drained nodes that are cordoned already.
	cordoned []string
}

// Evaluate returns the change with what it would do on a snapshot. The MachineSets are looked at for a
// change of MachineSets alone, of which so many roll out at the same time.
func (w WhatIf) Evaluate(s *snapshot.Snapshot, sets []machineset.Observed, comparison eviction.Comparison, atOnce int) WhatIf {
	w = w.inGroups(s)
	switch {
	case w.Drain != nil:
		return w.drain(s, comparison)
	case w.MachineSets != nil:
		return w.imagine(s, sets, comparison, atOnce).strange(s)
	}
	return w.evaluate(s, comparison)
}

// Judge is Evaluate, on a newer snapshot where evicted pods need more of the cluster than the snapshot has. Errors:
// those of the API server.
func (w WhatIf) Judge(ctx context.Context, cluster *kube.Cluster, s *snapshot.Snapshot, sets []machineset.Observed, comparison eviction.Comparison, atOnce int) (WhatIf, error) {
	out := w
	_, err := cluster.Judge(ctx, s, func(s *snapshot.Snapshot) kube.Needs {
		out = w.Evaluate(s, sets, comparison, atOnce)
		return kube.Needs{Evicted: out.Report.Judged(), Recreates: out.Report.Recreates(), Places: out.Report.Places()}
	})
	return out, err
}

// evaluate imagines a change of nodes.
func (w WhatIf) evaluate(s *snapshot.Snapshot, comparison eviction.Comparison) WhatIf {
	nodes := s.SortedNodes()
	for _, n := range nodes {
		if w.Target.Matches(n) {
			w.Matched++
		}
	}
	change := planner.WhatIf(nodes, w.Target, w.Taints, w.Absent)
	change.Tolerations = w.Added
	w.Report = eviction.Evaluate(s, change, comparison)
	return w.strange(s)
}

// inGroups gives the workloads of unknown kinds the API group of the pods' owners with their
// kind and name.
func (w WhatIf) inGroups(s *snapshot.Snapshot) WhatIf {
	added := maps.Clone(w.Added)
	note := func(pods []*snapshot.Pod) {
		for _, p := range pods {
			key := snapshot.WorkloadKey{Namespace: p.Namespace, Owner: s.Owner(p)}
			named := key
			named.Group = ""
			if planned, is := w.Added[named]; is && key != named {
				delete(added, named)
				added[key] = planned
			}
		}
	}
	if len(added) > 0 {
		for _, pods := range s.Pods {
			note(pods)
		}
		note(s.Waiting)
	}
	w.Added = added
	return w
}

// strange notes the workloads that no pod belongs to.
func (w WhatIf) strange(s *snapshot.Snapshot) WhatIf {
	for key := range w.Added {
		if len(s.WorkloadPods(key)) == 0 && !workload.OfComponent(key) {
			w.Strangers = append(w.Strangers, key.Kind+" "+key.Namespace+"/"+key.Name)
		}
	}
	slices.Sort(w.Strangers)
	return w
}

// Subject words the change.
func (w WhatIf) Subject() message.Subject {
	if w.Drain != nil {
		return message.Subject{Verb: "Draining", What: message.Where(w.Target, w.Matched) + message.OfPods(w.Drain.PodSelector), Unmodelled: w.Unmodelled}
	}
	s := message.Subject{Verb: "Applying", Taints: w.Taints, Preposition: "to", Unmodelled: w.Unmodelled}
	removed := make([]corev1.Taint, len(w.Absent))
	for i, id := range w.Absent {
		removed[i] = corev1.Taint{Key: id.Key, Effect: id.Effect}
	}
	switch {
	case len(w.Taints) == 0:
		s.Verb, s.Taints, s.Preposition = "Removing", removed, "from"
	case len(removed) > 0:
		s.Verb = "Removing " + taint.FormatAll(removed) + " and applying"
	}
	s.Where = w.Where()
	return s
}

// Where names the nodes or MachineSets.
func (w WhatIf) Where() string {
	if w.MachineSets != nil {
		return w.MachineSets.where()
	}
	return message.Where(w.Target, w.Matched)
}
