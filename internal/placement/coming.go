// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"slices"
	"strings"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Coming is a kind of node that a change brings. Evicted pods may be recreated on
// one of these, though not before it is there.
type Coming struct {
	// Node is what each of them will look like, apart from its name.
	Node *snapshot.Node
	// Like is the name of a node of the same kind that is there now: what runs on
	// every node, pods of DaemonSets and static pods, will hold room on the new ones.
	Like string
	// Of is what brings them, such as: MachineSet "openshift-machine-api/gpu".
	Of string
	// Count is how many come at most, 0 where that is not known.
	Count int
	// Surges is set where some are there before the first node is deleted, Overlaps where some are before the last one is.
	Surges, Overlaps bool
}

// arrivals are the places that a change brings, in its order.
func (f *Finder) arrivals() []*place {
	if f.coming == nil {
		for i := range f.change.Comes {
			c := &f.change.Comes[i]
			f.coming = append(f.coming, &place{node: c.Node, after: c.Node.Taints, has: c.Node.Allocatable, cordoned: c.Node.Unschedulable, limits: limitsOfNew(f.snapshot, c.Like), coming: c, index: len(f.allPlaces()) + i})
		}
	}
	return f.coming
}

// arrive returns what brings the places that come and would take pods of a search, and what keeps
// these away from the others.
func (f *Finder) arrive(l *nodeSearch, d *snapshot.Demand) (awaits, declined []string) {
	for _, p := range f.arrivals() {
		switch why := f.keepsAway(l, d, p); {
		case why == "":
			awaits = append(awaits, p.coming.Of)
		case !slices.Contains(declined, why):
			declined = append(declined, why)
		}
	}
	return awaits, declined
}

// keepsAway words what keeps pods of a search away from a place that comes, "" where nothing does.
func (f *Finder) keepsAway(l *nodeSearch, d *snapshot.Demand, p *place) string {
	if o, refuses := f.refuses(l, p); refuses {
		return o.phrase(true, nil, 0)
	}
	if short, lacks := f.lacks(p, d); lacks {
		return obstacle{kind: byShortage, key: string(short.resource)}.phrase(true, d, max(short.free, 0))
	}
	return ""
}

// declines words why the nodes that come would not take a pod either, as the end of
// a sentence.
func declines(declined []string) string {
	switch some := declined[:min(len(declined), MaxObstacles)]; len(declined) {
	case 0:
		return ""
	case 1:
		return "; the new machines " + some[0]
	default:
		return "; of the new machines some " + strings.Join(some, ", some ")
	}
}
