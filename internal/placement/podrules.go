// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"math"
	"strconv"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// podRules are what relates the pods of a class to other pods.
type podRules struct {
	// affinity has a counter for each term, of the pods that match all terms.
	affinity []*counter
	// self is set where the pods of the class match their own affinity.
	self bool
	anti []*counter
	// excluding are the anti-affinity terms of other pods that select those of the class.
	excluding []*antiTerm
	spread    []*spreadRule
	// claims count the pods that use the exclusive ones.
	claims []*counts
}

// spreadRule is a constraint of topology spread.
type spreadRule struct {
	*counter
	maxSkew, minDomains, self int32
	// known are the domains that have eligible nodes at a stage: there reports whether a node is one then.
	known  []int32
	stages *stages
	stage  int
	there  func(at int) bool
	// least is the lowest count of a domain, as of a generation of the counts.
	least int32
	at    int
}

// of returns what relates pods of a class to others, nil for nothing.
func (r *rules) of(s *simulation, c *class, pod *snapshot.Pod) *podRules {
	out := &podRules{claims: r.claims.counts(pod)}
	for _, t := range r.terms {
		if t.term.Matches(t.namespace, pod.Namespace, pod.Labels, s.namespaceLabels(pod.Namespace)) {
			out.excluding = append(out.excluding, t)
		}
	}
	if pod.Rules != nil {
		r.affinity(s, out, pod)
		r.antiAffinity(s, out, pod)
		r.spreading(s, out, c, pod)
	}
	if len(out.excluding)+len(out.affinity)+len(out.anti)+len(out.spread)+len(out.claims) == 0 {
		return nil
	}
	return out
}

// affinity counts, for each term, the pods that match all of them: one pod must.
func (r *rules) affinity(s *simulation, out *podRules, pod *snapshot.Pod) {
	terms := pod.Rules.Affinity
	if len(terms) == 0 {
		return
	}
	all := func(o occupant) bool {
		for i := range terms {
			if !terms[i].Matches(pod.Namespace, o.pod.Namespace, o.pod.Labels, s.namespaceLabels(o.pod.Namespace)) {
				return false
			}
		}
		return true
	}
	local := true
	for i := range terms {
		local = local && terms[i].OwnNamespace
	}
	for i := range terms {
		key := counterKey{rules: pod.Rules, namespace: pod.Namespace, kind: byPodAffinity, index: i}
		out.affinity = append(out.affinity, r.counter(s, key, terms[i].TopologyKey, local, nil, all))
	}
	out.self = all(occupant{pod: pod})
}

func (r *rules) antiAffinity(s *simulation, out *podRules, pod *snapshot.Pod) {
	for i := range pod.Rules.AntiAffinity {
		term := &pod.Rules.AntiAffinity[i]
		key := counterKey{rules: pod.Rules, namespace: pod.Namespace, kind: byPodAntiAffinity, index: i}
		out.anti = append(out.anti, r.counter(s, key, term.TopologyKey, term.OwnNamespace, nil, func(o occupant) bool {
			return term.Matches(pod.Namespace, o.pod.Namespace, o.pod.Labels, s.namespaceLabels(o.pod.Namespace))
		}))
	}
}

// spreading counts, for each constraint, the pods on nodes that have the labels of all
// constraints and that the constraint's policies include. Pods that are terminating do not count
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/podtopologyspread/filtering.go,
// calPreFilterState, and common.go, countPodsMatchSelector).
func (r *rules) spreading(s *simulation, out *podRules, c *class, pod *snapshot.Pod) {
	for i := range pod.Rules.Spread {
		constraint := &pod.Rules.Spread[i]
		selector, values := narrowed(constraint, pod.Labels)
		key := counterKey{rules: pod.Rules, namespace: pod.Namespace, kind: bySpread, index: i, scheduling: c.scheduling, values: values}
		eligible := func(at int) bool { return s.included(pod.Rules.Spread, constraint, c.scheduling, s.places[at]) }
		rule := &spreadRule{maxSkew: constraint.MaxSkew, minDomains: constraint.MinDomains, stages: &s.stages, stage: -1}
		rule.counter = r.counter(s, key, constraint.TopologyKey, true, eligible, func(o occupant) bool {
			return o.pod.Namespace == pod.Namespace && !selector.Empty() && selector.Matches(o.pod.Labels)
		})
		if selector.Matches(pod.Labels) {
			rule.self = 1
		}
		rule.there = func(at int) bool {
			return s.stages.there(int32(at), s.moment) && (!constraint.HonorTaints || s.stages.open(c.search, int32(at), s.moment)) //nolint:gosec // A cluster has no two thousand million nodes.
		}
		r.honorsTaints = r.honorsTaints || constraint.HonorTaints
		out.spread = append(out.spread, rule)
	}
}

// narrowed returns the selector of a constraint with the pod's own values of certain labels.
func narrowed(c *snapshot.SpreadConstraint, pod labels.Set) (selector labels.Selector, values string) {
	own := labels.Set{}
	for _, key := range c.MatchLabelKeys {
		if value, has := pod[key]; has {
			own[key] = value
			values += strconv.Quote(key) + strconv.Quote(value)
		}
	}
	requirements, selectable := c.Selector.Requirements()
	if len(own) == 0 || !selectable {
		return c.Selector, ""
	}
	return labels.SelectorFromSet(own).Add(requirements...), values
}

// included reports whether the pods of a node count for a constraint.
func (s *simulation) included(all []snapshot.SpreadConstraint, c *snapshot.SpreadConstraint, scheduling *snapshot.Scheduling, p *place) bool {
	for i := range all {
		if _, has := p.node.Labels[all[i].TopologyKey]; !has {
			return false
		}
	}
	if c.HonorAffinity && !s.Selects(scheduling, p.node.Name, p.node.Labels) {
		return false
	}
	return !c.HonorTaints || UntoleratedTaint(scheduling.Tolerations, p.meanwhile().after, s.comparison) == nil && !s.cordons(p.meanwhile(), scheduling)
}

// cordons reports whether a node has, or gets while it is drained, the taint of a cordon that pods do not
// tolerate (k8s.io/kubernetes v1.37.2 pkg/controller/nodelifecycle/node_lifecycle_controller.go,
// doNoScheduleTaintingPass), or is deleted.
func (f *Finder) cordons(p *place, scheduling *snapshot.Scheduling) bool {
	return p.closed && f.change.Closed[p.node.Name] || (p.cordoned || p.drained) && !scheduling.ToleratesCordon(f.comparison)
}

// ask returns what a node answers, and by which rule it refuses
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/podtopologyspread/filtering.go and
// interpodaffinity/filtering.go, Filter).
func (r *podRules) ask(i int32) (kind, answer) {
	for _, c := range r.claims {
		if c.total > 0 {
			return byClaim, unschedulable
		}
	}
	for _, rule := range r.spread {
		matching, in := rule.on(i)
		if !in {
			return bySpread, unresolvable
		}
		if matching+rule.self-rule.lowest() > rule.maxSkew {
			return bySpread, unschedulable
		}
	}
	if !r.affine(i) {
		return byPodAffinity, unresolvable
	}
	for _, c := range r.anti {
		if n, _ := c.on(i); n > 0 {
			return byPodAntiAffinity, unschedulable
		}
	}
	for _, t := range r.excluding {
		if n, _ := t.on(i); n > 0 {
			return byAntiAffinityOfPods, unschedulable
		}
	}
	return 0, takes
}

// affine reports whether a pod that matches all terms is in the node's domain of each. The first
// pod that matches its own terms needs none.
func (r *podRules) affine(i int32) bool {
	exist, total := true, 0
	for _, c := range r.affinity {
		n, in := c.on(i)
		if !in {
			return false
		}
		exist, total = exist && n > 0, total+c.total
	}
	return exist || total == 0 && r.self
}

// domainsWhere returns the domains of eligible nodes that count.
func (r *spreadRule) domainsWhere(counts func(at int) bool) (out []int32) {
	seen := make([]bool, r.domains)
	for at, in := range r.eligible {
		if domain := r.of[at]; in && !seen[domain] && counts(at) {
			seen[domain] = true
			out = append(out, domain)
		}
	}
	return out
}

// lowest returns the lowest count of a domain, 0 where there are fewer than there must be.
func (r *spreadRule) lowest() int32 {
	if r.stage != r.stages.n {
		r.known, r.stage, r.at = r.domainsWhere(r.there), r.stages.n, -1
	}
	if len(r.known) < int(r.minDomains) {
		return 0
	}
	if r.at != r.generations {
		least := int32(math.MaxInt32)
		for _, domain := range r.known {
			least = min(least, r.now[domain])
		}
		r.least, r.at = least, r.generations
	}
	return r.least
}
