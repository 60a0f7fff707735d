// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Coming is a kind of node that a change brings. Pods that leave may come back on
// one of these, though not before it is there.
type Coming struct {
	// Node is what each of them will look like, apart from its name.
	Node *Node
	// Like is the name of a node of the same kind that is there now: what runs on
	// every node, pods of DaemonSets and static pods, will hold room on the new ones.
	Like string
	// Of is what brings them, such as: MachineSet "openshift-machine-api/gpu".
	Of string
}

// arrivals are the places that a change brings, in its order.
func (e *evaluation) arrivals() []*place {
	if e.coming == nil {
		for i := range e.change.Comes {
			c := &e.change.Comes[i]
			e.coming = append(e.coming, &place{node: c.Node, after: c.Node.Taints, has: c.Node.Allocatable, cordoned: c.Node.Unschedulable, coming: c, index: len(e.allPlaces()) + i})
		}
	}
	return e.coming
}

// arrive says which of the places that come would take pods of a vacancy, and what
// keeps them away from the others.
func (e *evaluation) arrive(v *vacancy) {
	for _, p := range e.arrivals() {
		o, refuses := e.refuses(v.lodging, p)
		if refuses {
			v.decline(e.declined(o))
			continue
		}
		if short, lacks := e.lacks(p, v.demand); lacks {
			o = obstacle{kind: byShortage, key: string(short.resource)}
			v.decline(o.phrase(true, v.demand, max(short.free, 0)))
			continue
		}
		v.awaits = append(v.awaits, p.coming.Of)
	}
}

func (v *vacancy) decline(why string) {
	if !slices.Contains(v.declined, why) {
		v.declined = append(v.declined, why)
	}
}

func (e *evaluation) declined(o obstacle) string {
	if o.kind == byVolume {
		return "are not where its volume is"
	}
	return o.phrase(true, nil, 0)
}

// declines words why the nodes that come would not take a pod either, as the end of
// a sentence.
func (e *evaluation) declines(pod *Pod, s *Scheduling) string {
	v := e.vacancy(pod, s)
	switch some := v.declined[:min(len(v.declined), maxObstacles)]; len(v.declined) {
	case 0:
		return ""
	case 1:
		return "; the new machines " + some[0]
	default:
		return "; of the new machines some " + strings.Join(some, ", some ")
	}
}

// everywhere says that a pod is of those that run on each node: a drain leaves them.
func (s *Snapshot) everywhere(p *Pod) bool {
	return p.Mirror || s.Owner(p).DaemonSet() && !p.Completed
}

// Words writes what pods can have of nodes, of cpu and memory.
func (r Resources) Words() string {
	return amount(corev1.ResourceCPU, r.MilliCPU, false) + " cpu and " + amount(corev1.ResourceMemory, r.Memory, false) + " memory"
}
