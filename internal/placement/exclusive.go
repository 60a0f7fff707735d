// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"strings"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// claimKey names a claim in the cluster.
type claimKey struct{ namespace, name string }

// exclusives count the pods that use the claims which one pod at a time can use, whatever its node
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go,
// satisfyReadWriteOncePod).
type exclusives struct {
	snapshot *snapshot.Snapshot
	of       map[claimKey]*counts
	// cluster has all nodes in one domain.
	cluster *topology
}

func newExclusives(s *simulation) exclusives {
	return exclusives{snapshot: s.snapshot, of: map[claimKey]*counts{}, cluster: &topology{of: make([]int32, len(s.places)), domains: 1}}
}

// counts returns those of a pod's exclusive claims, nil for none.
func (e *exclusives) counts(pod *snapshot.Pod) (out []*counts) {
	for _, claim := range e.snapshot.ExclusiveClaims(pod) {
		key := claimKey{pod.Namespace, claim}
		if e.of[key] == nil {
			e.of[key] = new(newCounts(e.cluster))
		}
		out = append(out, e.of[key])
	}
	return out
}

// update counts a pod that comes to a node, or that leaves it where n is -1.
func (e *exclusives) update(i int32, pod *snapshot.Pod, n int32) {
	for _, c := range e.counts(pod) {
		c.add(i, n)
	}
}

func (e *exclusives) reset() {
	for _, c := range e.of {
		c.reset()
	}
}

// key tells pods with other exclusive claims apart, "" for none.
func (e *exclusives) key(pod *snapshot.Pod) string {
	claims := e.snapshot.ExclusiveClaims(pod)
	if len(claims) == 0 {
		return ""
	}
	return pod.Namespace + "/" + strings.Join(claims, "/")
}
