// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// hostSkew and zoneSkew are the default constraints' maxSkew.
const hostSkew, zoneSkew = 3, 5

// defaultSpread counts the pods of a controller by node: the scheduler prefers nodes and zones with fewer of them, unless the pods
// have constraints of their own
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/podtopologyspread/plugin.go, systemDefaultConstraints). It selects
// pods by the selectors of the controller and of Services, which select the pods of the controller as a rule.
type defaultSpread struct {
	// nodes have pods in the order that is being tried, base before it.
	nodes, base []nodeCount
	based       bool
}

// nodeCount is a number of pods of a node.
type nodeCount struct{ node, pods int32 }

// defaultSpreads are those of controllers whose pods are to be placed.
type defaultSpreads struct {
	of map[spreadKey]*defaultSpread
	// by leads from controllers to them, nil for none. Pods share controllers, and to look up their UIDs costs more.
	by map[controllerKey]*defaultSpread
	// others are the pods of all controllers at the first moment, once it is needed.
	others map[types.UID][]located
	// hosts and zones count the pods of the controller of which a pod is being placed.
	hosts, zones counts
}

// spreadKey names a controller. Next is set for the ReplicaSet that a Deployment makes for a new template.
type spreadKey struct {
	controller types.UID
	next       bool
}

// controllerKey is a controller as pods refer to it.
type controllerKey struct {
	*snapshot.Controller

	next bool
}

// spreadKeyOf returns the key of a pod's controller.
func spreadKeyOf(pod *snapshot.Pod) spreadKey {
	return spreadKey{pod.Controller.UID, pod.Like != "" && !pod.Controller.StatefulSet()}
}

// spreads reports whether the scheduler spreads pods of a controller by default, if they have no constraints.
func spreads(c *snapshot.Controller) bool {
	switch {
	case c == nil:
		return false
	case c.Group == appsv1.GroupName:
		return c.Kind == "ReplicaSet" || c.Kind == "StatefulSet"
	default:
		return c.Group == corev1.GroupName && c.Kind == "ReplicationController"
	}
}

// init notes the controllers whose pods are evicted, or wait.
func (d *defaultSpreads) init(s *simulation, evicted []Eviction) {
	d.of, d.by = map[spreadKey]*defaultSpread{}, map[controllerKey]*defaultSpread{}
	note := func(pod *snapshot.Pod) {
		if spreads(pod.Controller) && d.of[spreadKeyOf(pod)] == nil {
			d.of[spreadKeyOf(pod)] = &defaultSpread{}
		}
	}
	for i := range evicted {
		note(evicted[i].Pod)
	}
	for _, pod := range s.snapshot.Waiting {
		note(pod)
	}
	d.hosts, d.zones = newCounts(s.rules.topology(s, corev1.LabelHostname)), newCounts(s.rules.topology(s, corev1.LabelTopologyZone))
	d.hosts.reset()
	d.zones.reset()
}

// find returns the counts of a pod's controller, nil where none are kept.
func (d *defaultSpreads) find(pod *snapshot.Pod) *defaultSpread {
	if pod.Controller == nil {
		return nil
	}
	key := controllerKey{pod.Controller, pod.Like != ""}
	one, known := d.by[key]
	if !known {
		one = d.of[spreadKeyOf(pod)]
		d.by[key] = one
	}
	return one
}

// defaultSpread returns the counts that a pod to place is spread by, nil where it is not spread by default.
func (s *simulation) defaultSpread(pod *snapshot.Pod) *defaultSpread {
	if !spreads(pod.Controller) || pod.Rules != nil && len(pod.Rules.Spread)+len(pod.Rules.SoftSpread) > 0 {
		return nil
	}
	if d := s.spreads.find(pod); d != nil {
		return d
	}
	d, key := &defaultSpread{}, spreadKeyOf(pod)
	s.spreads.of[key] = d
	clear(s.spreads.by)
	for _, l := range s.spreads.ofOthers(s)[pod.Controller.UID] {
		d.count(l.node, occupant{pod: l.pod}, 1)
	}
	d.reset()
	s.eachChanged(func(i int32, o occupant, n int32) {
		if o.pod.Controller != nil && spreadKeyOf(o.pod) == key {
			d.count(i, o, n)
		}
	})
	return d
}

// ofOthers sorts the pods by their controllers once. Preemption evicts pods of any of them.
func (d *defaultSpreads) ofOthers(s *simulation) map[types.UID][]located {
	if d.others == nil {
		d.others = map[types.UID][]located{}
		for i, p := range s.places {
			for _, pod := range s.snapshot.Pods[p.node.Name] {
				if spreads(pod.Controller) && !pod.Completed && !s.gone(int32(i), pod, 0) {
					d.others[pod.Controller.UID] = append(d.others[pod.Controller.UID], located{pod, int32(i)})
				}
			}
		}
	}
	return d.others
}

// count adds a pod of a node, or takes it back where n is -1. Pods that are terminating do not count.
func (d *defaultSpread) count(i int32, o occupant, n int32) {
	if o.terminating() {
		return
	}
	at := slices.IndexFunc(d.nodes, func(one nodeCount) bool { return one.node == i })
	if at < 0 {
		d.nodes = append(d.nodes, nodeCount{i, n})
		return
	}
	d.nodes[at].pods += n
}

// reset takes back what an order has changed, and is called before the first one.
func (d *defaultSpread) reset() {
	if !d.based {
		d.base, d.based = slices.Clone(d.nodes), true
	}
	d.nodes = append(d.nodes[:0], d.base...)
}

// update counts a pod that comes to a node, or that leaves it where n is -1.
func (d *defaultSpreads) update(i int32, o occupant, n int32) {
	if one := d.find(o.pod); one != nil {
		one.count(i, o, n)
	}
}

func (d *defaultSpreads) reset() {
	for _, one := range d.of {
		one.reset()
	}
}

// constraints are the default ones, for pods of any controller.
func (d *defaultSpreads) constraints() []softConstraint {
	return []softConstraint{{&d.hosts, hostSkew, true}, {&d.zones, zoneSkew, false}}
}

// show has the default constraints count the pods of a controller, and no more where times is -1.
func (d *defaultSpreads) show(one *defaultSpread, times int32) {
	for _, of := range one.nodes {
		d.hosts.add(of.node, times*of.pods)
		d.zones.add(of.node, times*of.pods)
	}
}
