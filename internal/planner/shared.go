// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// PlannedTolerations is what a resource plans for one workload, or wants of it
// where nothing is to change.
type PlannedTolerations struct {
	Ref  workload.Ref
	Path []string
	Pods []snapshot.WorkloadKey
	// Wanted are the tolerations that running pods carry after the change.
	Wanted []corev1.Toleration
	// Before and After are the workload's whole lists.
	Before, After []corev1.Toleration
	// Labels are what new pods require of nodes beside what they require now, nil for one that they no longer require.
	Labels map[string]*string
	// Hold is why running pods do not follow by themselves, empty where they do, and
	// WayOut the remedy.
	Hold, WayOut string
	// Below is that of a workload.Rolling.
	Below int
	// Waits is set where the resource waits for the running pods.
	Waits bool
	// Later is set where running pods keep what they have, as those of a CronJob do.
	Later bool
	// Workload is the workload as the resource has read it.
	Workload *workload.Workload
}

// Lags reports whether running pods lack the tolerations, follow the template by themselves, and
// the resource does not wait for them after a change of its own: a linked resource waits then.
func (p PlannedTolerations) Lags(s *snapshot.Snapshot) bool {
	if p.Later || p.Workload == nil || p.Waits && p.follows() {
		return false
	}
	lacking := Lacking(s, p.Workload, p.Wanted, nil)
	return len(lacking) > len(p.rolling().Kept(lacking))
}

func (p PlannedTolerations) rolling() workload.Rolling {
	return workload.Rolling{Hold: p.Hold, Below: p.Below}
}

// follows reports whether running pods get the tolerations in this run.
func (p PlannedTolerations) follows() bool {
	return !p.Later && (p.Hold == "" || p.Waits) && (len(p.Labels) > 0 || !slices.EqualFunc(p.Before, p.After, toleration.Equal))
}

// Behind returns the running pods that lack the wanted tolerations and do not get them by
// themselves: nothing waits for them, and they do not follow their template.
func (p PlannedTolerations) Behind(s *snapshot.Snapshot) []*snapshot.Pod {
	if p.Hold == "" || p.Waits {
		return nil
	}
	return p.rolling().Kept(Lacking(s, &workload.Workload{Pods: p.Pods}, p.Wanted, nil))
}

// Shared is what the resources of one provider configuration exchange within one
// process. Between plan and apply nothing is shared.
type Shared struct {
	mu      sync.Mutex
	planned map[string][]PlannedTolerations
}

// Note records what the resource of this id plans.
func (s *Shared) Note(id string, planned []PlannedTolerations) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.planned == nil {
		s.planned = map[string][]PlannedTolerations{}
	}
	s.planned[id] = planned
}

// Of returns what the resource of this id plans; false where it has noted nothing.
func (s *Shared) Of(id string) ([]PlannedTolerations, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	planned, ok := s.planned[id]
	return planned, ok
}

// Tolerations returns what resources but the one of this id plan, by workload. Resources
// are walked in any order unless they are linked, so that only what the linked ids plan is
// sure to come before the taints; the rest may.
func (s *Shared) Tolerations(own string, linked []string) map[snapshot.WorkloadKey]eviction.Planned {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[snapshot.WorkloadKey]eviction.Planned{}
	for _, sure := range []bool{true, false} {
		for id, planned := range s.planned {
			if id == own || slices.Contains(linked, id) != sure {
				continue
			}
			for _, p := range planned {
				if !p.follows() {
					continue
				}
				for _, key := range p.Pods {
					next := eviction.Planned{Before: p.Before, After: p.After, Sure: sure, Restarts: true, Labels: p.Labels, Keeps: p.rolling().Keeps}
					if known, there := out[key]; there {
						next = both(known, next)
					}
					out[key] = next
				}
			}
		}
	}
	return out
}

// both joins two changes of one workload. Where one alone is sure to come before
// the taints, its tolerations alone count.
func both(known, next eviction.Planned) eviction.Planned {
	out := known
	switch {
	case known.Sure == next.Sure:
		out.After = next.Merge(known.After)
	case next.Sure:
		out = next
	}
	out.Restarts, out.Labels = known.Restarts || next.Restarts, joinedLabels(known.Labels, next.Labels)
	if out.Keeps == nil {
		out.Keeps = known.Keeps
	}
	return out
}

func joinedLabels(a, b map[string]*string) map[string]*string {
	if len(a)+len(b) == 0 {
		return nil
	}
	out := make(map[string]*string, len(a)+len(b))
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}
