// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// defaultSpread counts the pods of a controller by node and by zone: the scheduler prefers nodes and zones with fewer of them,
// unless the pods have constraints of their own
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/podtopologyspread/plugin.go, systemDefaultConstraints). It selects
// pods by the selectors of the controller and of Services, which select the pods of the controller as a rule.
type defaultSpread struct{ hosts, zones counts }

// hostSkew and zoneSkew are the default constraints' maxSkew.
const hostSkew, zoneSkew = 3, 5

// constraints are the default ones.
func (d *defaultSpread) constraints() []softConstraint {
	return []softConstraint{{&d.hosts, hostSkew, true}, {&d.zones, zoneSkew, false}}
}

// defaultSpreads are those of controllers whose pods are to be placed.
type defaultSpreads struct {
	of map[types.UID]*defaultSpread
	// pods are those of controllers that count at the first moment.
	pods map[types.UID][]located
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

// defaultSpread returns the counts that a pod to place is spread by, nil where it is not spread by default.
func (s *simulation) defaultSpread(pod *snapshot.Pod) *defaultSpread {
	if !spreads(pod.Controller) || pod.Rules != nil && len(pod.Rules.Spread)+len(pod.Rules.SoftSpread) > 0 {
		return nil
	}
	d, known := s.spreads.of[pod.Controller.UID]
	if known {
		return d
	}
	d = &defaultSpread{newCounts(s.rules.topology(s, corev1.LabelHostname)), newCounts(s.rules.topology(s, corev1.LabelTopologyZone))}
	if s.spreads.of == nil {
		s.spreads.of = map[types.UID]*defaultSpread{}
	}
	s.spreads.of[pod.Controller.UID] = d
	s.spreads.index(s)
	for _, l := range s.spreads.pods[pod.Controller.UID] {
		d.count(l.node, occupant{pod: l.pod}, 1)
	}
	if s.running {
		d.reset()
		s.eachChanged(func(i int32, o occupant, n int32) {
			if c := o.pod.Controller; c != nil && c.UID == pod.Controller.UID {
				d.count(i, o, n)
			}
		})
	}
	return d
}

// index sorts the pods by their controllers once.
func (d *defaultSpreads) index(s *simulation) {
	if d.pods != nil {
		return
	}
	d.pods = map[types.UID][]located{}
	for i, p := range s.places {
		for _, pod := range s.snapshot.Pods[p.node.Name] {
			if spreads(pod.Controller) && !pod.Completed && !s.gone(int32(i), pod, 0) {
				d.pods[pod.Controller.UID] = append(d.pods[pod.Controller.UID], located{pod, int32(i)})
			}
		}
	}
}

// count adds a pod of a node, or takes it back where n is -1. Pods that are terminating do not count.
func (d *defaultSpread) count(i int32, o occupant, n int32) {
	if !o.terminating() {
		d.hosts.add(i, n)
		d.zones.add(i, n)
	}
}

func (d *defaultSpread) reset() {
	d.hosts.reset()
	d.zones.reset()
}

// update counts a pod that comes to a node, or that leaves it where n is -1.
func (d *defaultSpreads) update(i int32, o occupant, n int32) {
	if c := o.pod.Controller; c != nil && d.of != nil {
		if one := d.of[c.UID]; one != nil {
			one.count(i, o, n)
		}
	}
}

func (d *defaultSpreads) reset() {
	for _, one := range d.of {
		one.reset()
	}
}
