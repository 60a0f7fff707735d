// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// hostSkew and zoneSkew are the default constraints' maxSkew.
const hostSkew, zoneSkew = 3, 5

// defaultSpread counts the pods of a controller: the scheduler prefers nodes and zones with fewer of them, unless the pods
// have constraints of their own
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/podtopologyspread/plugin.go, systemDefaultConstraints). It selects
// pods by the selectors of the controller and of Services, which select the pods of the controller as a rule. Those on nodes that a
// changed node affinity excludes count as well.
type defaultSpread struct{ hosts, zones *softCounts }

// defaultSpreads are those of controllers whose pods come to nodes or leave them.
type defaultSpreads struct {
	of map[spreadKey]*defaultSpread
	// by leads from controllers to them, nil for none. Pods share controllers, and to look up their UIDs costs more.
	by map[controllerKey]*defaultSpread
	// others are the pods of all controllers at the first moment, once they are needed.
	others map[types.UID][]located
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

// spreadKeyOf returns the key of a pod's controller, or of the one that a pod of a new template has.
func spreadKeyOf(c *snapshot.Controller, next bool) spreadKey {
	return spreadKey{c.UID, next && !c.StatefulSet()}
}

// defaultKeyOf returns the key of the controller of a pod to place, the zero value where it is not spread by default.
func (s *simulation) defaultKeyOf(pod *snapshot.Pod, next bool) spreadKey {
	if !spreadsByDefault(pod.Controller) || pod.Rules != nil && len(pod.Rules.Spread)+len(pod.Rules.SoftSpread) > 0 {
		return spreadKey{}
	}
	return spreadKeyOf(pod.Controller, next)
}

// spreadsByDefault reports whether the scheduler spreads pods of a controller, if they have no constraints.
func spreadsByDefault(c *snapshot.Controller) bool {
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
	note := func(c *snapshot.Controller, next bool) {
		if spreadsByDefault(c) && d.of[spreadKeyOf(c, next)] == nil {
			d.of[spreadKeyOf(c, next)] = d.make(s)
		}
	}
	for i := range evicted {
		note(evicted[i].Pod.Controller, false)
		if evicted[i].Next {
			note(evicted[i].Pod.Controller, true)
		}
	}
	for _, pod := range s.snapshot.Waiting {
		note(pod.Controller, false)
	}
}

func (d *defaultSpreads) make(s *simulation) *defaultSpread {
	return &defaultSpread{newSoftCounts(s.rules.topology(s, corev1.LabelHostname)), newSoftCounts(s.rules.topology(s, corev1.LabelTopologyZone))}
}

// find returns the counts of a controller, nil where none are kept.
func (d *defaultSpreads) find(c *snapshot.Controller, next bool) *defaultSpread {
	if c == nil {
		return nil
	}
	key := controllerKey{c, next}
	one, known := d.by[key]
	if !known {
		if one = d.of[spreadKeyOf(c, next)]; one != nil || !spreadsByDefault(c) {
			d.by[key] = one
		}
	}
	return one
}

// start returns the counts of a controller, and makes them while none of its pods has come or left, nil where it is not spread.
func (d *defaultSpreads) start(s *simulation, c *snapshot.Controller, next bool) *defaultSpread {
	if one := d.find(c, next); one != nil || !spreadsByDefault(c) {
		return one
	}
	one, key := d.make(s), spreadKeyOf(c, next)
	d.of[key] = one
	if !key.next {
		for _, l := range d.ofOthers(s)[key.controller] {
			one.count(l.node, occupant{pod: l.pod}, 1)
		}
	}
	one.reset()
	return one
}

// ofOthers sorts the pods by their controllers once. Preemption evicts pods of any of them.
func (d *defaultSpreads) ofOthers(s *simulation) map[types.UID][]located {
	if d.others == nil {
		d.others = map[types.UID][]located{}
		for i, p := range s.places {
			for _, pod := range s.snapshot.Pods[p.node.Name] {
				if spreadsByDefault(pod.Controller) && !pod.Completed && !s.gone(int32(i), pod, 0) {
					d.others[pod.Controller.UID] = append(d.others[pod.Controller.UID], located{pod, int32(i)})
				}
			}
		}
	}
	return d.others
}

// count adds a pod of a node, or takes it back where n is -1. Pods that are terminating do not count.
func (d *defaultSpread) count(i int32, o occupant, n int32) {
	if !o.terminating() {
		d.hosts.add(i, n)
		d.zones.add(i, n)
	}
}

// update counts a pod that comes to a node, or that leaves it where n is -1.
func (d *defaultSpreads) update(s *simulation, i int32, o occupant, n int32) {
	if one := d.start(s, o.pod.Controller, o.replacement != nil && o.replacement.next); one != nil {
		one.count(i, o, n)
	}
}

// reset takes back what an order has changed, and is called before the first one.
func (d *defaultSpread) reset() {
	d.hosts.reset()
	d.zones.reset()
}

func (d *defaultSpreads) reset() {
	for _, one := range d.of {
		one.reset()
	}
}

// constraints returns the default ones for pods of a controller, nil for the zero value.
func (d *defaultSpreads) constraints(s *simulation, c *snapshot.Controller, key spreadKey) []softConstraint {
	if key == (spreadKey{}) {
		return nil
	}
	one := d.start(s, c, key.next)
	return []softConstraint{{one.hosts, hostSkew, true}, {one.zones, zoneSkew, false}}
}
