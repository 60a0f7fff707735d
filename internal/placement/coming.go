// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

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
	// Count is how many come. There is one at least.
	Count int
	// Turn is the turn of a rollout in which the first of them come, First how many these are, and Each how many come in each
	// turn after that: 0 for all in the first one.
	Turn, First, Each int
	// Surges is set where those of a turn are there before nodes are drained in it, Last where none is before these are gone.
	Surges, Last bool
}

// turnOf is the turn in which one of them comes.
func (c *Coming) turnOf(k int) int {
	if c.Each == 0 || k < c.First {
		return c.Turn
	}
	return c.Turn + (k-c.First)/c.Each + min(c.First, 1)
}

// bring adds the places that the change brings. Each has a host's name of its own: it is a domain of topology spread.
func (f *Finder) bring() {
	for i := range f.change.Comes {
		c := &f.change.Comes[i]
		limits, soft := limitsOfNew(f.snapshot, c.Like), softTaints(c.Node.Taints)
		for k := range max(c.Count, 1) {
			n := *c.Node
			n.Name = fmt.Sprintf("%s, new machine %d.%d", c.Of, i, k)
			n.Labels = maps.Clone(n.Labels)
			if n.Labels == nil {
				n.Labels = map[string]string{}
			}
			n.Labels[corev1.LabelHostname] = n.Name
			p := &place{node: &n, after: n.Taints, soft: soft, has: n.Allocatable, cordoned: n.Unschedulable, limits: limits, coming: c, index: len(f.places), turn: c.turnOf(k)}
			if k == 0 {
				f.kinds = append(f.kinds, p)
			}
			f.places, f.byName[n.Name] = append(f.places, p), p
		}
	}
}

// arrive returns what brings the places that come and would take pods of a search, and what keeps
// these away from the others.
func (f *Finder) arrive(l *nodeSearch, d *snapshot.Demand) (awaits, declined []string) {
	f.allPlaces()
	for _, p := range f.kinds {
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
