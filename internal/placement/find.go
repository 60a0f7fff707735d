// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"math"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// classKey is what two pods have in common that every node answers in the same way.
type classKey struct {
	search    *nodeSearch
	demand    *snapshot.Demand
	rules     *snapshot.PodRules
	namespace string
	labels    uintptr
	// claims are the exclusive ones.
	claims string
	// attached are the CSI volumes.
	attached *attached
	// node is the one that the template names, "" for none.
	node string
}

// class is the pods that every node answers in the same way.
type class struct {
	search     *nodeSearch
	scheduling *snapshot.Scheduling
	demand     *snapshot.Demand
	needs      holdings
	attached   *attached
	// podRules are what relates it to other pods, nil for nothing.
	podRules *podRules
	// named is the node that the template names, nil for none: no scheduler decides where its pods go.
	named *place
	// forbidden is why the namespace allows no such pod, nil where it does.
	forbidden *Refusal
	// plain is set where CPU, memory, local storage and places for pods alone decide which nodes take it.
	plain bool
	// failed is when no node took a pod of the class, hopeless when no preemption helped.
	failed, hopeless failure
	// stuck is why pods of the class were Pending in the first order in which one was, nil before.
	stuck *stuck
}

// classOf returns the class of a pod, or of one that replaces it, with this scheduling and demand.
func (s *simulation) classOf(pod *snapshot.Pod, scheduling *snapshot.Scheduling, demand *snapshot.Demand) *class {
	key := classKey{search: s.search(pod, scheduling), demand: demand, claims: s.rules.claims.key(pod), attached: s.attachments.of(pod)}
	if pod.Rules.Requires() {
		key.rules = pod.Rules
	}
	if key.rules != nil || s.rules.any() {
		key.namespace, key.labels = pod.Namespace, pointer(pod.Labels)
	}
	if pod.NamesNode {
		key.node = pod.Node
	}
	c, known := s.classes[key]
	if !known {
		c = &class{search: key.search, scheduling: scheduling, demand: key.demand, attached: key.attached, named: s.byName[key.node]}
		if pod.Rules != nil {
			c.needs = holdings{pod.Rules.Ports, pod.Rules.Disks}
		}
		if len(scheduling.Forbidden) > 0 {
			c.forbidden = &Refusal{Namespace: Forbidden(pod, scheduling)}
		}
		c.podRules = s.rules.of(s, c, pod)
		c.plain = c.independent() && len(c.demand.Asks.Others) == 0
		s.classes[key] = c
		if s.lowest != nil {
			*s.lowest = min(*s.lowest, c.demand.Priority)
		}
	}
	return c
}

// pointer tells sets of labels apart that are kept in different places.
func pointer(set labels.Set) uintptr { return reflect.ValueOf(set).Pointer() }

// answer is what a node answers to a pod.
type answer uint8

const (
	// takes: the node would take the pod.
	takes answer = iota
	// unschedulable: it would if other pods were gone.
	unschedulable
	// unresolvable: it would not, whatever other pods do.
	unresolvable
)

// staticResult is what a node answers whatever pods do.
type staticResult uint8

const (
	notAsked staticResult = iota
	staticTakes
	staticRefuses
)

// static reports whether taints, cordon, selectors and bound volumes let pods onto a node.
func (s *simulation) static(l *nodeSearch, i int32) bool {
	if l.static == nil {
		l.static = make([]staticResult, len(s.places))
	}
	if l.static[i] == notAsked {
		l.static[i] = staticTakes
		if _, refuses := s.refuses(l, s.places[i].meanwhile()); refuses {
			l.static[i] = staticRefuses
		}
	}
	return l.static[i] == staticTakes
}

// ask returns what a node answers to pods of a class, by the first filter that refuses them, in
// the order of the scheduler's default plug-ins
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/apis/config/v1/default_plugins.go).
func (s *simulation) ask(c *class, i int32) answer {
	s.work++
	if !s.static(c.search, i) || !s.stages.open(c.search, i, s.moment) {
		return unresolvable
	}
	if c.search.open != nil {
		if _, stored := s.stored(c, i); !stored {
			return unresolvable
		}
	}
	n := s.state(i)
	if limit := n.full(s.places[i].limits, c.attached); limit != nil {
		// Without a pod that preemption evicts, its VolumeAttachments still count (nodevolumelimits/csi.go, Filter).
		if limit.stays {
			return unresolvable
		}
		return unschedulable
	}
	if n.portTaken(c) {
		return unschedulable
	}
	if _, final, lacks := n.short(c.demand); lacks {
		if final {
			return unresolvable
		}
		return unschedulable
	}
	if n.diskTaken(c) {
		return unschedulable
	}
	if c.podRules == nil {
		return takes
	}
	if n.nominees > 0 {
		return s.askBesideNominees(c, i)
	}
	_, a := c.podRules.ask(i)
	return a
}

// takes reports whether a node takes pods of a class, as ask does.
func (s *simulation) takes(c *class, i int32) bool {
	if !c.plain {
		return s.ask(c, i) == takes
	}
	s.work++
	return s.static(c.search, i) && s.stages.open(c.search, i, s.moment) && s.state(i).hasRoom(&c.demand.Asks)
}

// obstacle returns how pods keep those of a class away from a node, and what is free of a
// resource that is short.
func (s *simulation) obstacle(c *class, i int32) (o obstacle, free int64, refuses bool) {
	if o, stored := s.stored(c, i); !stored {
		return o, 0, true
	}
	n := s.state(i)
	if n.portTaken(c) {
		return obstacle{kind: byPort}, 0, true
	}
	if short, _, lacks := n.short(c.demand); lacks {
		return obstacle{kind: byShortage, key: string(short.resource)}, max(short.free, 0), true
	}
	if n.diskTaken(c) {
		return obstacle{kind: byDisk}, 0, true
	}
	if limit := n.full(s.places[i].limits, c.attached); limit != nil {
		return obstacle{kind: map[bool]kind{true: byDriver, false: byVolumeLimit}[limit.lacks], key: limit.driver}, 0, true
	}
	if c.podRules == nil {
		return obstacle{}, 0, false
	}
	k, a := c.podRules.ask(i)
	return obstacle{kind: k}, 0, a != takes
}

// stuck is why no node takes pods of a class.
type stuck struct {
	reason, brief string
	awaits        []string
}

// stuck words why a replacement is Pending, once for each class.
func (s *simulation) stuck(r *replacement) *stuck {
	c := r.class
	if c.stuck != nil {
		return c.stuck
	}
	if c.named != nil {
		c.stuck = &stuck{reason: "its template names node " + c.named.node.Name + ", which is deleted", brief: "template names its node"}
		return c.stuck
	}
	all := s.obstacles(c)
	c.stuck = &stuck{brief: briefly(all)}
	volumes := s.snapshot.VolumesOf(r.pod)
	parts := []string{wordAll(slices.DeleteFunc(slices.Clone(all), func(one counted) bool { return one.kind == byVolume }), c.demand)}
	for _, one := range all {
		if one.kind == byVolume {
			parts = append(parts, s.bound(volumes[one.volume]))
		}
	}
	awaits, declined := s.arrive(c.search, c.demand)
	c.stuck.awaits = awaits
	c.stuck.reason = strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ", ")
	if len(awaits) == 0 {
		c.stuck.reason += declines(declined)
	}
	return c.stuck
}

// obstacles counts by node what keeps pods of a class away from all of them.
func (s *simulation) obstacles(c *class) []counted {
	var all []counted
	s.taker(c.search, math.MaxInt) // Looks at all nodes.
	c.search.refusals.each(func(o obstacle) { all = append(all, counted{obstacle: o, nodes: c.search.count(o, s.there)}) })
	if l := c.search; l.there < s.there && l.refusals.of(l.constraints[0].obstacle) == 0 {
		all = append(all, counted{obstacle: l.constraints[0].obstacle, nodes: s.there - l.there})
	}
	for _, at := range c.search.takers {
		o, free, refuses := s.obstacle(c, int32(c.search.candidates[at].index)) //nolint:gosec // A cluster has no two thousand million nodes.
		if !refuses {
			continue
		}
		known := slices.IndexFunc(all, func(one counted) bool { return one.obstacle == o })
		if known < 0 {
			known, all = len(all), append(all, counted{obstacle: o})
		}
		all[known].nodes++
		all[known].most = max(all[known].most, free)
	}
	return all
}

// enoughNodes is after how many nodes that take a pod the search for a better one ends. The
// scheduler never looks at fewer, where there are as many, and at up to half of all nodes in a
// large cluster. Which of so many nodes takes the pod decides little, unless it prefers those where certain pods run, and to score
// more of them would be most of the cost of a simulation.
const enoughNodes = 100

// wouldScore returns how many nodes the scheduler scores where more than enough take a pod
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/schedule_one.go, numFeasibleNodesToFind).
func (s *simulation) wouldScore() int {
	percentage := max(50-len(s.places)/125, 5)
	return max(len(s.places)*percentage/100, enoughNodes)
}

// find returns the node for a pod: of those that take it the one with the highest
// score, and of several one by chance. In some orders any of them: scores that are not repeated here
// decide as well.
func (s *simulation) find(r *replacement) (int32, bool) {
	c, chance := r.class, s.chance.of(ofNodes, r.name)
	if c.named != nil {
		i := int32(c.named.index) //nolint:gosec // A cluster has no two thousand million nodes.
		return i, s.stages.there(i, s.moment)
	}
	if s.again(c, c.failed) || c.plain && s.tooMuch(c) {
		return -1, false
	}
	enough := enoughNodes
	if s.spent() {
		enough = 1
	}
	s.takers = s.takers[:0]
	s.each(c.search, chance, func(i int32) bool {
		if !s.takes(c, i) || r.awaited && s.places[i].coming != nil {
			return true
		}
		one := rated{node: i}
		if !s.anyNode {
			one = s.rate(c, i)
		}
		s.takers = append(s.takers, one)
		enough--
		return enough > 0
	})
	if len(s.takers) == 0 {
		if r.awaited {
			// Nodes that come may take others of its class.
			return -1, false
		}
		if c.failed = s.failure(); c.plain {
			s.tooLarge.classes[c.search] = append(s.tooLarge.classes[c.search], c)
		}
		return -1, false
	}
	if s.anyNode {
		return s.takers[chance.pick(len(s.takers), func(i int) uint64 { return s.nodeNames[s.takers[i].node] })].node, true
	}
	if s.scored = len(s.takers); s.scored == enoughNodes {
		s.scored = min(s.wouldScore(), max(len(c.search.candidates), enoughNodes))
	}
	best := s.bestOf(r, s.takers)
	return best[chance.pick(len(best), func(i int) uint64 { return s.nodeNames[best[i]] })], true
}

// tooLarge are the plain classes of which no node took a pod since room became free, by their searches.
type tooLarge struct {
	classes map[*nodeSearch][]*class
	freed   int
}

// tooMuch reports whether no node took pods of a plain class that need no more than those of this one, and no room
// has become free since.
func (s *simulation) tooMuch(c *class) bool {
	if s.tooLarge.freed != s.freed {
		s.tooLarge.freed = s.freed
		clear(s.tooLarge.classes)
	}
	asks := &c.demand.Asks
	return slices.ContainsFunc(s.tooLarge.classes[c.search], func(other *class) bool {
		less := &other.demand.Asks
		return less.MilliCPU <= asks.MilliCPU && less.Memory <= asks.Memory && less.EphemeralStorage <= asks.EphemeralStorage
	})
}

// steady reports whether a pod of the class that no node takes finds none before room becomes
// free: pods that are placed take room, but can also satisfy an affinity and level a spread.
func (c *class) steady() bool {
	return c.podRules == nil || len(c.podRules.affinity)+len(c.podRules.spread) == 0
}

// each calls do with the nodes that can take pods of a search, from where the last search ended, until it
// returns false. Where only some can, chance decides where it begins.
func (s *simulation) each(l *nodeSearch, chance chance, do func(int32) bool) {
	if len(l.candidates) < len(s.places) {
		start := 0
		if len(l.candidates) > 0 {
			start = chance.of(ofStarts, 0).below(len(l.candidates))
		}
		for k := range l.candidates {
			if !do(int32(l.candidates[(start+k)%len(l.candidates)].index)) { //nolint:gosec // A cluster has no two thousand million nodes.
				return
			}
		}
		return
	}
	known := l.static
	for k := range s.order {
		at := s.next + k
		if at >= len(s.order) {
			at -= len(s.order)
		}
		if known != nil && known[s.order[at]] == staticRefuses {
			s.work++
			continue
		}
		if !do(s.order[at]) {
			s.next = (at + 1) % len(s.order)
			return
		}
	}
}
