// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

// placementEquivalents are those of internal/placement, which keeps much of what it has worked out once.
var placementEquivalents = []equivalent{
	{
		file: "internal/placement/chance.go", function: "chance.pick", was: "draw >= most", becomes: "draw > most",
		reason: "no two nodes draw the same",
	},
	{
		file: "internal/placement/filters.go", function: "Finder.constraints", was: "len(s.NodeSelector) > 0", becomes: "len(s.NodeSelector) >= 0",
		reason: "an empty node selector matches every node",
	},
	{
		file: "internal/placement/limitranges.go", function: "Finder.admitted", was: "if one, known := f.admissions[key]; known { return one }",
		reason: "a cache: without it the same value is made again",
	},
	{
		file: "internal/placement/limitranges.go", function: "Finder.admitted", was: "f.admissions[key] = one",
		reason: "a cache: without it the same value is made again",
	},
	{
		file: "internal/placement/limitranges.go", function: "replacement.refusal", was: "earlier.ordinal < r.ordinal", becomes: "earlier.ordinal <= r.ordinal",
		reason: "a pod that has been refused itself ends before",
	},
	{
		file: "internal/placement/lookup.go", function: "Finder.lookUp", was: "return fewest, true",
		reason: "a shortcut: one list is sorted and has no node twice",
	},
	{
		file: "internal/placement/lookup.go", function: "Finder.lookUpTerm", was: "len(list) < len(fewest)", becomes: "len(list) <= len(fewest)",
		reason: "of two lists as long either one will do",
	},
	{
		file: "internal/placement/lookup.go", function: "Finder.lookUpTerm", was: "continue",
		reason: "a shortcut: a list of one value is the value's list",
	},
	{
		file: "internal/placement/lookup.go", function: "Finder.labelled", was: "f.byLabel[key] = values",
		reason: "a cache: without it the same value is made again",
	},
	{
		file: "internal/placement/nodestate.go", function: "simulation.gone", was: "if !s.leaves[i] { return false }",
		reason: "a shortcut: no pod of the node is evicted",
	},
	{
		file: "internal/placement/nodestate.go", function: "simulation.gone", was: "return false",
		reason: "a shortcut: no pod of the node is evicted",
	},
	{
		file: "internal/placement/holdings.go", function: "held", was: "times > 0", becomes: "times >= 0",
		reason: "it is 1 or -1",
	},
	{
		file: "internal/placement/obstacles.go", function: "refusals.add", was: "if len(r.few) < MaxObstacles { r.few = append(r.few, refusal{o, 1}) return }",
		reason: "a shortcut: a map counts the same",
	},
	{
		file: "internal/placement/obstacles.go", function: "refusals.add", was: "len(r.few) < MaxObstacles", becomes: "!(len(r.few) < MaxObstacles)",
		reason: "a shortcut: a map counts the same",
	},
	{
		file: "internal/placement/obstacles.go", function: "refusals.add", was: "len(r.few) < MaxObstacles", becomes: "len(r.few) <= MaxObstacles",
		reason: "a shortcut: a map counts the same",
	},
	{
		file: "internal/placement/rules.go", function: "rules.relate", was: "len(r.terms)+r.hard+len(r.claims.of) > 0", becomes: "len(r.terms)+r.hard+len(r.claims.of) >= 0",
		reason: "a shortcut: without rules no pod counts for others",
	},
	{
		file: "internal/placement/placement.go", function: "Finder.Find", was: "f.results[key] = v",
		reason: "a cache: without it the same value is made again",
	},
	{
		file: "internal/placement/placement.go", function: "Finder.taker", was: "if len(l.takers) == soon { l.takers = slices.Grow(l.takers, len(l.candidates)-l.next+1) }",
		reason: "a capacity",
	},
	{
		file: "internal/placement/placement.go", function: "Finder.taker", was: "len(l.takers) == soon", becomes: "!(len(l.takers) == soon)",
		reason: "a capacity",
	},
	{
		file: "internal/placement/placement.go", function: "Finder.taker", was: "l.takers = slices.Grow(l.takers, len(l.candidates)-l.next+1)",
		reason: "a capacity",
	},
	{
		file: "internal/placement/podrules.go", function: "rules.of", was: "if len(out.excluding)+len(out.affinity)+len(out.anti)+len(out.spread)+len(out.claims) == 0 { return nil }",
		reason: "a shortcut: every node takes pods by no rules",
	},
	{
		file: "internal/placement/podrules.go", function: "rules.of", was: "return nil",
		reason: "a shortcut: every node takes pods by no rules",
	},
	{
		file: "internal/placement/podrules.go", function: "rules.affinity", was: "if len(terms) == 0 { return }",
		reason: "a shortcut: no term is added",
	},
	{
		file: "internal/placement/podrules.go", function: "rules.affinity", was: "return",
		reason: "a shortcut: no term is added",
	},
	{
		file: "internal/placement/preemption.go", function: "simulation.trial", was: "if c.podRules == nil { n := *s.state(i) n.others, n.holdings, n.attachedTo = slices.Clone(n.others), n.copied(), n.clone() t.alone = &n }",
		reason: "a shortcut: the pods of the node are put back",
	},
	{
		file: "internal/placement/preemption.go", function: "simulation.trial", was: "t.alone = &n",
		reason: "a shortcut: the pods of the node are put back",
	},
	{
		file: "internal/placement/preemption.go", function: "simulation.dryRun", was: "if len(lower) == 0 { return candidate{}, false }",
		reason: "a shortcut: a node without victims is no candidate",
	},
	{
		file: "internal/placement/preemption.go", function: "simulation.dryRun", was: "return candidate{}, false",
		reason: "a shortcut: a node without victims is no candidate",
	},
	{
		file: "internal/placement/preemption.go", function: "simulation.dryRun", was: "s.freed, s.moved = before.freed, before.moved",
		reason: "a shortcut: nodes are asked again that answer the same",
	},
	{
		file: "internal/placement/preemption.go", function: "simulation.dryRun", was: "len(out.victims) > 0", becomes: "len(out.victims) >= 0",
		reason: "the node has been asked: without victims it takes no pod",
	},
	{
		file: "internal/placement/budgets.go", function: "budgets.allowed", was: "b.spent[key] = spent",
		reason: "a cache: without it the same value is made again",
	},
	{
		file: "internal/placement/proofs.go", function: "simulation.capacity", was: "sum < most", becomes: "sum <= most",
		reason: "the sum is cut at this number",
	},
	{
		file: "internal/placement/queue.go", function: "queue.Less", was: "a.since < b.since", becomes: "a.since <= b.since",
		reason: "the two differ there",
	},
	{
		file: "internal/placement/quotas.go", function: "quotas.of", was: "if known { return c }",
		reason: "a cache: without it the same value is made again",
	},
	{
		file: "internal/placement/quotas.go", function: "quotas.of", was: "return c",
		reason: "a cache: without it the same value is made again",
	},
	{
		file: "internal/placement/quotas.go", function: "quotas.of", was: "q.charges[key] = c",
		reason: "a cache: without it the same value is made again",
	},
	{
		file: "internal/placement/competition.go", function: "competition.prices", was: "open == sampled", becomes: "!(open == sampled)",
		reason: "any prices prove what they prove: those of one node prove less often, and the orders that are tried then come to the same",
	},
	{
		file: "internal/placement/room.go", function: "Finder.count", was: "f.rooms.all[at].priority > priority", becomes: "f.rooms.all[at].priority >= priority",
		reason: "two entries of one priority add up to the same",
	},
	{
		file: "internal/placement/room.go", function: "Finder.free", was: "free > 0", becomes: "free >= 0",
		reason: "a shortcut: nothing is left of nothing",
	},
	{
		file: "internal/placement/rules.go", function: "rules.any", was: "len(r.terms) > 0", becomes: "len(r.terms) >= 0",
		reason: "a shortcut: pods that no rule tells apart share their answers",
	},
	{
		file: "internal/placement/rules.go", function: "rules.topology", was: "if known { return t }",
		reason: "a cache: without it the same value is made again",
	},
	{
		file: "internal/placement/rules.go", function: "rules.topology", was: "return t",
		reason: "a cache: without it the same value is made again",
	},
	{
		file: "internal/placement/rules.go", function: "rules.topology", was: "r.topologies[key] = t",
		reason: "a cache: without it the same value is made again",
	},
	{
		file: "internal/placement/lingering.go", function: "simulation.eachLeaving", was: "if !leaves { continue }",
		reason: "a shortcut: no pod of the node is evicted",
	},
	{
		file: "internal/placement/lingering.go", function: "simulation.eachLeaving", was: "continue",
		reason: "a shortcut: no pod of the node is evicted",
	},
	{
		file: "internal/placement/rules.go", function: "rules.index", was: "if r.pods != nil { return }",
		reason: "a cache: without it the same value is made again",
	},
	{
		file: "internal/placement/rules.go", function: "rules.index", was: "return",
		reason: "a cache: without it the same value is made again",
	},
	{
		file: "internal/placement/sets.go", function: "simulation.await", was: "if len(s.sets) == 0 { return }",
		reason: "a shortcut: no pod is of such a set",
	},
	{
		file: "internal/placement/sets.go", function: "simulation.await", was: "return",
		reason: "a shortcut: no pod is of such a set",
	},
	{
		file: "internal/placement/simulate.go", function: "Outcome.fewest", was: "other.Orders < o.Orders", becomes: "other.Orders <= o.Orders",
		reason: "the same number takes the place of itself",
	},
	{
		file: "internal/placement/queue.go", function: "simulation.bind", was: "return",
		reason: "a shortcut: the pods after the next one wait for it",
	},
	{
		file: "internal/placement/baseline.go", function: "simulation.mayPreemptAnyway", was: "r.after < 0", becomes: "r.after <= 0",
		reason: "a shortcut: pods that wait for the change alone are in no baseline",
	},
	{
		file: "internal/placement/baseline.go", function: "simulation.mayPreemptAnyway", was: "r.waiting && r.after < 0", becomes: "r.waiting || r.after < 0",
		reason: "a shortcut: pods that wait for the change alone are in no baseline",
	},
	{
		file: "internal/placement/lookup.go", function: "Finder.lookUp", was: "if len(terms) == 1 { return fewest, true }",
		reason: "a shortcut: one list is sorted and has no node twice",
	},
	{
		file: "internal/placement/queue.go", function: "queue.Less", was: "a.rank < b.rank", becomes: "a.rank <= b.rank",
		reason: "no two pods of an order have the same rank",
	},
	{
		file: "internal/placement/filters.go", function: "Finder.Selects", was: "f.required[s] = required",
		reason: "a cache: without it the same value is made again",
	},
	{
		file: "internal/placement/obstacles.go", function: "Finder.Obstacles", was: "f.reasons[key] = text",
		reason: "a cache: without it the same value is made again",
	},
	{
		file: "internal/placement/counts.go", function: "counter.matches", was: "c.known[key] = selected",
		reason: "a cache: without it the same value is made again",
	},
	{
		file: "internal/placement/queue.go", function: "queue.Less", was: "a.priority > b.priority", becomes: "a.priority >= b.priority",
		reason: "the two differ there",
	},
	{
		file: "internal/placement/score.go", function: "leastAllocated", was: "requested[k] <= all[k]", becomes: "requested[k] < all[k]",
		reason: "nothing is added where nothing is left",
	},
	{
		file: "internal/placement/lookup.go", function: "Finder.lookUpTerm", was: "for i := range term.MatchFields { if r := &term.MatchFields[i]; r.Key == metav1.ObjectNameField && r.Operator == corev1.NodeSelectorOpIn { offer(union(f.byName, r.Values)) } }",
		reason: "a shortcut: all nodes are filtered then",
	},
	{
		file: "internal/placement/lookup.go", function: "Finder.lookUpTerm", was: "if len(r.Values) == 1 { offer(values[r.Values[0]]) continue }",
		reason: "a shortcut: a list of one value is the value's list",
	},
}
