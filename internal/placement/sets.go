// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// statefulSet is one that creates its pods one after the other.
type statefulSet struct {
	pods []*replacement
}

// pending is the pod that the later ones wait for, nil for none.
func (s *statefulSet) pending() *replacement {
	if s == nil {
		return nil
	}
	at := slices.IndexFunc(s.pods, func(r *replacement) bool { return r.created && r.node < 0 })
	if at < 0 {
		return nil
	}
	return s.pods[at]
}

// enlist adds a pod to its StatefulSet.
func (s *simulation) enlist(r *replacement) {
	_, ordinal, ok := snapshot.Ordinal(r.pod.Name)
	if !ok {
		return
	}
	key := string(r.pod.Controller.UID)
	if s.sets[key] == nil {
		s.sets[key] = &statefulSet{}
	}
	r.set, r.ordinal = s.sets[key], ordinal
	r.set.pods = append(r.set.pods, r)
	slices.SortFunc(r.set.pods, func(a, b *replacement) int { return a.ordinal - b.ordinal })
}
