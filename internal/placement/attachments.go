// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// attachments are the CSI volumes that pods attach to their nodes.
type attachments struct {
	snapshot *snapshot.Snapshot
	// uses is how many pods use a volume, those that are created included.
	uses  map[*snapshot.CSIVolume]int
	pods  map[*snapshot.Pod]*attached
	known map[string]*attached
}

// attached are the CSI volumes of a pod. Pods whose volumes no node tells apart have the same.
type attached struct {
	// own counts by driver the volumes that no other pod uses.
	own map[string]int64
	// shared are the others: pods of one node attach them once.
	shared []*snapshot.CSIVolume
}

func newAttachments(s *snapshot.Snapshot, evicted []Eviction) attachments {
	a := attachments{snapshot: s, uses: map[*snapshot.CSIVolume]int{}, pods: map[*snapshot.Pod]*attached{}, known: map[string]*attached{}}
	if s.Attachments == nil {
		return a
	}
	count := func(pods []*snapshot.Pod) {
		for _, pod := range pods {
			for _, v := range s.Attachments.Of(pod) {
				a.uses[v]++
			}
		}
	}
	for _, pods := range s.Pods {
		count(pods)
	}
	count(s.Waiting)
	for _, e := range evicted {
		// Others are created once the old pod is gone.
		if !e.Surplus && !e.Arrives {
			continue
		}
		for _, claim := range e.Pod.Claims {
			if v := s.Attachments.Volumes[e.Pod.Namespace][claim]; v != nil {
				a.uses[v]++
			}
		}
	}
	return a
}

// of returns the CSI volumes of a pod, nil for none.
func (a *attachments) of(pod *snapshot.Pod) *attached {
	if len(a.uses) == 0 || len(pod.Claims) == 0 && !pod.Ephemeral {
		return nil
	}
	out, known := a.pods[pod]
	if !known {
		out = a.count(pod)
		a.pods[pod] = out
	}
	return out
}

func (a *attachments) count(pod *snapshot.Pod) *attached {
	volumes := a.snapshot.Attachments.Of(pod)
	if len(volumes) == 0 {
		return nil
	}
	out := &attached{own: map[string]int64{}}
	for _, v := range volumes {
		if a.uses[v] > 1 {
			out.shared = append(out.shared, v)
		} else {
			out.own[v.Driver]++
		}
	}
	key := fmt.Sprint(out.own)
	for _, v := range out.shared {
		key += fmt.Sprintf(" %q %q", v.Driver, v.Handle)
	}
	if a.known[key] == nil {
		a.known[key] = out
	}
	return a.known[key]
}

// volumeLimit is how many volumes of a CSI driver a node can attach.
type volumeLimit struct {
	driver string
	most   int64
	// lacks is set where the node has not the driver, and may take no pods with its volumes therefore. stays is set where
	// volumes count until they are detached, which is after a pod was preempted.
	lacks, stays bool
}

// volumeLimits returns those of a node, sorted by driver.
func volumeLimits(s *snapshot.Snapshot, node string) (out []volumeLimit) {
	if s.Attachments == nil {
		return nil
	}
	for driver, most := range s.Attachments.Limits[node] {
		out = append(out, volumeLimit{driver: driver, most: most, stays: !s.Attachments.Unattached[driver]})
	}
	for driver, nodes := range s.Attachments.Having {
		if !nodes[node] {
			out = append(out, volumeLimit{driver: driver, lacks: true, stays: true})
		}
	}
	slices.SortFunc(out, func(a, b volumeLimit) int { return cmp.Compare(a.driver, b.driver) })
	return out
}

// limitsOfNew returns those of a node that comes and will be like another one. It gets the drivers that nodes need.
func limitsOfNew(s *snapshot.Snapshot, like string) []volumeLimit {
	return slices.DeleteFunc(volumeLimits(s, like), func(l volumeLimit) bool { return l.lacks })
}

// attachedTo counts the volumes on a node whose drivers limit them.
type attachedTo struct {
	// counts are in the order of the node's limits.
	counts []int64
	shared map[*snapshot.CSIVolume]int64
}

// attach counts what a pod attaches, or takes it back where times is -1.
func (n *attachedTo) attach(limits []volumeLimit, a *attached, times int64) {
	if a == nil || len(limits) == 0 {
		return
	}
	if n.counts == nil {
		n.counts, n.shared = make([]int64, len(limits)), map[*snapshot.CSIVolume]int64{}
	}
	for i, limit := range limits {
		n.counts[i] += times * a.own[limit.driver]
		for _, v := range a.shared {
			if v.Driver != limit.driver {
				continue
			}
			before := n.shared[v]
			n.shared[v] = before + times
			if before == 0 || before+times == 0 {
				n.counts[i] += times
			}
		}
	}
}

// full returns the limit of the first driver that cannot attach what a pod attaches beside what is attached, one that stays
// before all others, and nil for none (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/nodevolumelimits/csi.go,
// Filter). Volumes that are attached and that no pod uses are not known.
func (n *attachedTo) full(limits []volumeLimit, a *attached) *volumeLimit {
	if a == nil {
		return nil
	}
	var first *volumeLimit
	for i := range limits {
		limit := &limits[i]
		asks, held := a.own[limit.driver], int64(0)
		if n.counts != nil {
			held = n.counts[i]
		}
		for _, v := range a.shared {
			if v.Driver == limit.driver && n.shared[v] == 0 {
				asks++
			}
		}
		if asks == 0 || held+asks <= limit.most {
			continue
		}
		if limit.stays {
			return limit
		}
		first = cmp.Or(first, limit)
	}
	return first
}

func (n *attachedTo) clone() attachedTo {
	out := attachedTo{counts: slices.Clone(n.counts)}
	if n.shared != nil {
		out.shared = make(map[*snapshot.CSIVolume]int64, len(n.shared))
		for v, pods := range n.shared {
			out.shared[v] = pods
		}
	}
	return out
}

// leaveAttached has the volumes of a pod that is gone count on its node, if that takes pods again, until they are detached. One
// that no other pod of the node uses counts beside the same one of a new pod
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/nodevolumelimits/csi.go, Filter).
func (s *simulation) leaveAttached(i int32, pod *snapshot.Pod) {
	a, limits := s.attachments.of(pod), s.places[i].limits
	if a == nil || s.refills == nil || !s.refills[i] {
		return
	}
	n, left := s.change(i), &attached{own: map[string]int64{}}
	for _, limit := range limits {
		if !limit.stays {
			continue
		}
		left.own[limit.driver] = a.own[limit.driver]
		for _, v := range a.shared {
			if v.Driver == limit.driver && n.shared[v] == 0 && !s.leftAttached(i, v) {
				left.own[limit.driver]++
			}
		}
	}
	n.attach(limits, left, 1)
	s.lingering = append(s.lingering, lingering{occupant: occupant{pod: pod}, node: i, attached: left})
	s.freed++
	s.moved++
}

// leftAttached reports whether a pod that is gone has left a volume on a node.
func (s *simulation) leftAttached(i int32, v *snapshot.CSIVolume) bool {
	return slices.ContainsFunc(s.lingering, func(l lingering) bool {
		return l.attached != nil && l.node == i && slices.Contains(s.attachments.of(l.pod).shared, v)
	})
}
