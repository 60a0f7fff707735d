// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// FoundInLists is what an import takes of the lists of a namespace.
type FoundInLists struct {
	// Owner is the id of the resource whose marks the entries carry, "" where they carry none.
	Owner string
	// Owners are the ids of all resources that own some.
	Owners []string
	// Lists are the entries, by the name of the list.
	Lists map[string][]corev1.Toleration
	// Generations are those of the entries' marks, "" for none.
	Generations map[toleration.ID][]string

	sealed []record.Sealed
}

// FindInLists returns the entries that carry marks of the resource of an id or, where there is no id,
// of the first resource whose id has a prefix. Where there are none either, it returns the
// entries without a mark.
func FindInLists(l admission.Lists, prefix, id string) FoundInLists {
	f := FoundInLists{Lists: map[string][]corev1.Toleration{}, Generations: map[toleration.ID][]string{}}
	owners := map[string]bool{}
	for _, mark := range l.Record {
		if !strings.HasPrefix(mark.Owner, prefix) {
			continue
		}
		owners[mark.Owner] = true
		if mark.Owner == cmp.Or(id, f.Owner, mark.Owner) {
			f.Owner = mark.Owner
			f.take(mark.Path, mark.Toleration(), mark.Generation, mark.Sealed())
		}
	}
	f.Owners = slices.Sorted(maps.Keys(owners))
	if f.Owner != "" || id != "" {
		return f
	}
	for _, list := range []string{admission.DefaultList, admission.AllowedList} {
		for _, t := range toleration.Unmarked(l.Record, l.Of(list), list) {
			f.take(list, t, "", toleration.IDOf(t).Unmarked(list))
		}
	}
	return f
}

func (f *FoundInLists) take(list string, t corev1.Toleration, generation string, sealed record.Sealed) {
	t.Operator = cmp.Or(t.Operator, corev1.TolerationOpEqual)
	f.Lists[list], f.sealed = append(f.Lists[list], t), append(f.sealed, sealed)
	if id := toleration.IDOf(t); !slices.Contains(f.Generations[id], generation) {
		f.Generations[id] = append(f.Generations[id], generation)
	}
}

// Held is what is remembered of the entries.
func (f FoundInLists) Held(seal record.Seal) record.Held {
	held := record.Held{}
	for _, one := range f.sealed {
		held.Note(seal, one)
	}
	return held
}

// HeldInLists returns the marks that the claim to the lists of a namespace has after an apply.
func HeldInLists(claim admission.ListClaim, l admission.Lists) record.Held {
	held := record.Held{}
	for _, c := range claim.Claims() {
		for _, mark := range l.Record {
			c.Hold(mark, held)
		}
		c.HoldUnmarked(l.Of(c.Path), l.Record, held)
	}
	return held
}

// NewlyForbidden returns how many running pods of a namespace could not be recreated after a change of
// its lists, and their workloads by the tolerations that the namespace does not allow. It leaves out the
// tolerations that every pod is rejected for, and pods that could not be recreated before.
func NewlyForbidden(s *snapshot.Snapshot, namespace string, before, after admission.Lists, rejecting []corev1.Toleration) (pods int, owners map[string][]string) {
	owners = map[string][]string{}
	for _, all := range s.Pods {
		for _, p := range all {
			if p.Namespace != namespace || p.Completed || p.Mirror {
				continue
			}
			not := slices.DeleteFunc(after.Forbidden(p.Scheduling.Tolerations), func(t corev1.Toleration) bool { return toleration.Contains(rejecting, t) })
			if len(not) == 0 || len(before.Forbidden(p.Scheduling.Tolerations)) > 0 {
				continue
			}
			pods++
			tolerations := toleration.Format(not)
			owners[tolerations] = append(owners[tolerations], cmp.Or(s.Owner(p).String(), "Pod/"+p.Name))
		}
	}
	return pods, owners
}
