// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// MaxObstacles bounds how many kinds of obstacles a sentence names, volumes
// apart.
const MaxObstacles = 4

// kind is a kind of obstacle. Of equally frequent ones the first is named first.
type kind int

const (
	byTaint kind = iota + 1
	byCordon
	byDrain
	bySelector
	byAffinity
	byPort
	byDisk
	byShortage
	byVolumeLimit
	byDriver
	byFreeVolume
	byTopology
	byCapacity
	byOpenClaim
	byClaim
	bySpread
	byPodAffinity
	byPodAntiAffinity
	byAntiAffinityOfPods
	byVolume
)

// obstacle is what keeps a pod away from a node.
type obstacle struct {
	kind kind
	// key, value and effect are of the taint; key is the resource that is short, the driver
	// of volumes, their StorageClass, or the state of a claim, value how much of its capacity is needed.
	key, value string
	effect     corev1.TaintEffect
	// volume reports which one of the pod's volumes it is.
	volume int
}

// refusals counts nodes by what keeps a pod away from them. Most searches meet one or
// two obstacles, and a map for each search would cost more than the search.
type refusals struct {
	few  []refusal
	many map[obstacle]int
}

type refusal struct {
	obstacle obstacle
	nodes    int
}

func (r *refusals) add(o obstacle) {
	for i := range r.few {
		if r.few[i].obstacle == o {
			r.few[i].nodes++
			return
		}
	}
	if len(r.few) < MaxObstacles {
		r.few = append(r.few, refusal{o, 1})
		return
	}
	if r.many == nil {
		r.many = map[obstacle]int{}
	}
	r.many[o]++
}

// of returns how many nodes refuse for one reason.
func (r *refusals) of(o obstacle) int {
	for i := range r.few {
		if r.few[i].obstacle == o {
			return r.few[i].nodes
		}
	}
	return r.many[o]
}

// each goes through all obstacles, in no order.
func (r *refusals) each(do func(obstacle)) {
	for i := range r.few {
		do(r.few[i].obstacle)
	}
	for o := range r.many {
		do(o)
	}
}

// lacking counts nodes that have too little of one resource.
type lacking struct {
	resource corev1.ResourceName
	nodes    int
	// most is the most that one of them has, next the most beside that one.
	most, next int64
}

// note remembers that one more node is short of something.
func (v *Result) note(s shortage) {
	at := slices.IndexFunc(v.lacking, func(l lacking) bool { return l.resource == s.resource })
	if at < 0 {
		at, v.lacking = len(v.lacking), append(v.lacking, lacking{resource: s.resource})
	}
	l := &v.lacking[at]
	l.nodes++
	free := max(s.free, 0)
	l.most, l.next = max(l.most, free), max(l.next, min(l.most, free))
}

// reasonKey is by what pods have the same reason for staying Pending: they asked
// the same nodes, apart from the one that each is on.
type reasonKey struct {
	result *Result
	own    obstacle
	free   int64
}

// Obstacles words what keeps a pod away from every node but its own, if it had
// this scheduling, as the end of a sentence: the most frequent first.
func (f *Finder) Obstacles(pod *snapshot.Pod, s *snapshot.Scheduling) string {
	if len(s.Forbidden) > 0 {
		return ": " + Forbidden(pod, s)
	}
	v := f.Find(pod, s)
	key := reasonKey{result: v}
	if own, there := f.byName[pod.Node]; there {
		key.own, key.free = f.obstacle(v, own)
	}
	text, known := f.reasons[key]
	if !known {
		text = f.reason(key)
		f.reasons[key] = text
	}
	var parts []string
	if text != "" {
		parts = append(parts, text)
	}
	for i, volume := range f.snapshot.VolumesOf(pod) {
		o := obstacle{kind: byVolume, volume: i}
		nodes := v.search.count(o, f.there)
		if o == key.own {
			nodes--
		}
		if nodes > 0 {
			parts = append(parts, f.bound(volume))
		}
	}
	if len(parts) == 0 {
		return ": the cluster has no other node"
	}
	return ": " + strings.Join(parts, ", ")
}

// obstacle returns what keeps a pod away from its own node, and what is free
// there of a resource that is short.
func (f *Finder) obstacle(v *Result, own *place) (obstacle, int64) {
	if o, refuses := f.refuses(v.search, own); refuses {
		return o, 0
	}
	s, _ := f.lacks(own, v.demand)
	return obstacle{kind: byShortage, key: string(s.resource)}, s.free
}

// count reports how many nodes refuse the pods for one reason.
func (l *nodeSearch) count(o obstacle, all int) int {
	n := l.refusals.of(o)
	if beyond := all - l.there; beyond > 0 && l.constraints[0].obstacle == o {
		n += beyond
	}
	return n
}

// reason words the obstacles that are not volumes, without that of the pod's own
// node.
func (f *Finder) reason(key reasonKey) string {
	var all []counted
	add := func(o obstacle, nodes int, most int64) {
		if o == key.own {
			nodes--
		}
		if nodes > 0 && o.kind != byVolume {
			all = append(all, counted{o, nodes, most})
		}
	}
	l := key.result.search
	l.refusals.each(func(o obstacle) { add(o, l.count(o, f.there), 0) })
	if len(l.constraints) > 0 {
		if first := l.constraints[0].obstacle; l.refusals.of(first) == 0 {
			add(first, l.count(first, f.there), 0)
		}
	}
	for _, n := range key.result.lacking {
		o, most := obstacle{kind: byShortage, key: string(n.resource)}, n.most
		if o == key.own && key.free == most {
			most = n.next
		}
		add(o, n.nodes, most)
	}
	return wordAll(all, key.result.demand)
}

// counted is an obstacle with the nodes that have it, and the most that one of them has of a
// resource that is short.
type counted struct {
	obstacle
	nodes int
	most  int64
}

// sortCounted puts the most frequent obstacle first.
func sortCounted(all []counted) {
	slices.SortFunc(all, func(a, b counted) int {
		return cmp.Or(cmp.Compare(b.nodes, a.nodes), cmp.Compare(a.kind, b.kind), cmp.Compare(a.key, b.key),
			cmp.Compare(a.value, b.value), cmp.Compare(a.effect, b.effect), cmp.Compare(a.volume, b.volume))
	})
}

// briefly names obstacles by their kinds alone, such as "8 selector, 3 taint".
func briefly(all []counted) string {
	sortCounted(all)
	var names []string
	nodes := map[string]int{}
	for _, c := range all {
		name := c.brief()
		if nodes[name] == 0 {
			names = append(names, name)
		}
		nodes[name] += c.nodes
	}
	slices.SortStableFunc(names, func(a, b string) int { return nodes[b] - nodes[a] })
	for i, name := range names {
		names[i] = strconv.Itoa(nodes[name]) + " " + name
	}
	return strings.Join(names, ", ")
}

// brief names an obstacle in a word.
func (o obstacle) brief() string {
	if o.kind == byShortage {
		return o.key
	}
	return map[kind]string{
		byTaint: "taint", byCordon: "cordon", byDrain: "drain", bySelector: "selector", byAffinity: "affinity", byPort: "host port", byDisk: "disk", bySpread: "spread",
		byVolumeLimit: "volume limit", byDriver: "CSI driver", byFreeVolume: "volume", byTopology: "topology", byCapacity: "storage capacity", byOpenClaim: "claim", byClaim: "claim", byPodAffinity: "pod affinity", byPodAntiAffinity: "anti-affinity", byAntiAffinityOfPods: "anti-affinity", byVolume: "volume",
	}[o.kind]
}

// wordAll words obstacles, the most frequent first.
func wordAll(all []counted, d *snapshot.Demand) string {
	sortCounted(all)
	var parts []string
	rest := 0
	for i, c := range all {
		if i < MaxObstacles {
			parts = append(parts, c.word(c.nodes, d, c.most))
		} else {
			rest += c.nodes
		}
	}
	if rest > 0 {
		parts = append(parts, fmt.Sprintf("%d for other reasons", rest))
	}
	return strings.Join(parts, ", ")
}

// word says of a number of nodes what keeps the pod away from them.
func (o obstacle) word(nodes int, d *snapshot.Demand, most int64) string {
	return fmt.Sprintf("%d %s", nodes, o.phrase(nodes != 1, d, most))
}

// phrase says of one node, or of many, what keeps the pod away.
func (o obstacle) phrase(many bool, d *snapshot.Demand, most int64) string {
	verb := func(one, more string) string {
		if many {
			return more
		}
		return one
	}
	switch o.kind {
	case byTaint:
		return verb("is", "are") + " tainted " + taint.Format(corev1.Taint{Key: o.key, Value: o.value, Effect: o.effect})
	case byCordon:
		return verb("is", "are") + " cordoned"
	case byDrain:
		return verb("is", "are") + " drained"
	case bySelector:
		return verb("does", "do") + " not match its node selector"
	case byAffinity:
		return verb("does", "do") + " not match its node affinity"
	case byVolume:
		return verb("is", "are") + " not where its volume is"
	case byPort, byDisk, byVolumeLimit, byDriver, byClaim, bySpread, byPodAffinity, byPodAntiAffinity, byAntiAffinityOfPods:
		return o.besides(verb)
	case byFreeVolume, byTopology, byCapacity, byOpenClaim:
		return o.storage(verb)
	}
	name := corev1.ResourceName(o.key)
	if name == corev1.ResourcePods {
		return verb("takes", "take") + " no more pods"
	}
	free := "none"
	if most > 0 {
		free = snapshot.FormatAmount(name, most, false)
		if many {
			free = "at most " + free
		}
	}
	return fmt.Sprintf("%s %s (needs %s, %s free)", verb("lacks", "lack"), name, snapshot.FormatAmount(name, d.Asks.Of(name), true), free)
}

// besides says of one node, or of many, how the pods that are there keep the pod away.
func (o obstacle) besides(verb func(one, more string) string) string {
	switch o.kind {
	case byPort:
		return verb("has", "have") + " its host port in use"
	case byDisk:
		return verb("has", "have") + " its disk in use"
	case byVolumeLimit:
		return verb("attaches", "attach") + " no more volumes of " + o.key
	case byDriver:
		return verb("lacks", "lack") + " the CSI driver " + o.key
	case byClaim:
		return verb("is", "are") + " ruled out while another pod uses its ReadWriteOncePod claim"
	case bySpread:
		return verb("does", "do") + " not match its topology spread"
	case byPodAffinity:
		return verb("does", "do") + " not match its pod affinity"
	case byPodAntiAffinity:
		return verb("does", "do") + " not match its pod anti-affinity"
	default:
		return verb("has", "have") + " pods with an anti-affinity to it"
	}
}

// Forbidden words what the namespace of a pod does not let the one have that would be made
// again.
func Forbidden(pod *snapshot.Pod, s *snapshot.Scheduling) string {
	return "namespace " + strconv.Quote(pod.Namespace) + " does not allow " + toleration.Format(s.Forbidden)
}
