// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"slices"
	"strings"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Coming is a kind of node that a change brings. Pods that leave may come back on
// one of these, though not before it is there.
type Coming struct {
	// Node is what each of them will look like, apart from its name.
	Node *snapshot.Node
	// Like is the name of a node of the same kind that is there now: what runs on
	// every node, pods of DaemonSets and static pods, will hold room on the new ones.
	Like string
	// Of is what brings them, such as: MachineSet "openshift-machine-api/gpu".
	Of string
}

// arrivals are the places that a change brings, in its order.
func (f *Finder) arrivals() []*place {
	if f.coming == nil {
		for i := range f.change.Comes {
			c := &f.change.Comes[i]
			f.coming = append(f.coming, &place{node: c.Node, after: c.Node.Taints, has: c.Node.Allocatable, cordoned: c.Node.Unschedulable, coming: c, index: len(f.allPlaces()) + i})
		}
	}
	return f.coming
}

// arrive says which of the places that come would take pods of a Result, and what
// keeps them away from the others.
func (f *Finder) arrive(v *Result) {
	for _, p := range f.arrivals() {
		o, refuses := f.refuses(v.search, p)
		if refuses {
			v.decline(f.declined(o))
			continue
		}
		if short, lacks := f.lacks(p, v.demand); lacks {
			o = obstacle{kind: byShortage, key: string(short.resource)}
			v.decline(o.phrase(true, v.demand, max(short.free, 0)))
			continue
		}
		v.Awaits = append(v.Awaits, p.coming.Of)
	}
}

func (v *Result) decline(why string) {
	if !slices.Contains(v.declined, why) {
		v.declined = append(v.declined, why)
	}
}

func (f *Finder) declined(o obstacle) string {
	if o.kind == byVolume {
		return "are not where its volume is"
	}
	return o.phrase(true, nil, 0)
}

// Declines words why the nodes that come would not take a pod either, as the end of
// a sentence.
func (f *Finder) Declines(pod *snapshot.Pod, s *snapshot.Scheduling) string {
	v := f.Find(pod, s)
	switch some := v.declined[:min(len(v.declined), MaxObstacles)]; len(v.declined) {
	case 0:
		return ""
	case 1:
		return "; the new machines " + some[0]
	default:
		return "; of the new machines some " + strings.Join(some, ", some ")
	}
}
