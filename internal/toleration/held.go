// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package toleration

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
)

// Holds reports whether a mark counts after an apply: that of a wanted entry, or of one that
// retires.
func (c Claim) Holds(mark Mark) bool {
	if mark.Path != c.Path || c.Generation == "" || !c.proves(mark) {
		return false
	}
	return mark.Retiring || mark.Generation == c.Generation && c.wants(mark.ID())
}

// Hold adds a mark to what is held after an apply, where it counts. An imported one is written with
// the next change.
func (c Claim) Hold(mark Mark, held record.Held) {
	switch {
	case c.Holds(mark):
		if !c.Seal.Proves(mark.Sealed()) {
			mark.Retiring = false
		}
		held.Hold(c.Seal, mark.Sealed())
	case slices.Contains(c.Imported[mark.ID()], mark.Generation) && c.Seal.Saw(mark.Sealed()):
		held.Note(c.Seal, mark.Sealed())
	}
}

// Proves reports whether a seal of the resource of an id is known and proves a mark on an object.
func (c Claim) Proves(id, object string, mark Mark) bool {
	return slices.ContainsFunc(c.Known, func(seal record.Seal) bool { return seal.Resource == id && seal.On(object).Proves(mark.Sealed()) })
}

// Current returns the generations that are known of the marks with an id, and whether these are all
// that its resource has: one of them was in the run that made the plan.
func (c Claim) Current(id string) (generations map[string]bool, all bool) {
	generations = map[string]bool{}
	for _, seal := range c.Known {
		if seal.Resource == id && seal.Generation != "" {
			generations[seal.Generation], all = true, all || seal.Live
		}
	}
	return generations, all
}

// proves reports whether the resource has written a mark. Retiring is not compared: builds from before
// it was part of the proof wrote such marks too, and owned entries are removed in any case.
func (c Claim) proves(mark Mark) bool {
	if c.Seal.Proves(mark.Sealed()) {
		return true
	}
	mark.Retiring = false
	return c.Seal.Proves(mark.Sealed())
}

// Unmarked is what an import sees of the entries of one identity without a mark, in the list at a
// path.
func (id ID) Unmarked(path string) record.Sealed {
	return record.Sealed{Parts: []string{"without a mark", path, id.Key, string(id.Operator), id.Value, string(id.Effect)}}
}

// HoldUnmarked adds the entries to what is held that were imported without a mark and have none yet:
// it is written with the next change.
func (c Claim) HoldUnmarked(list []corev1.Toleration, r Record, held record.Held) {
	for _, one := range Unmarked(r, list, c.Path) {
		if id := IDOf(one); c.wants(id) && c.unmarked(id) {
			held.Note(c.Seal, id.Unmarked(c.Path))
		}
	}
}

// Unmarked returns the entries of the list at a path that no mark of a record is about.
func Unmarked(r Record, list []corev1.Toleration, path string) []corev1.Toleration {
	return slices.DeleteFunc(slices.Clone(list), func(t corev1.Toleration) bool {
		return slices.ContainsFunc(r, func(m Mark) bool { return m.Path == path && m.ID() == IDOf(t) })
	})
}
