// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package upstream

import (
	"sync"
	"testing"
)

// Rows notes which rows of a test agree with upstream's cases.
type Rows struct {
	// listed are the rows that the lists name for this test.
	listed map[string]bool

	mu sync.Mutex
	// declared are those that the test has, true for those that ran and passed.
	declared map[string]bool
	// filtered is set where the flag -run left out some of them.
	filtered bool
}

// Cases returns the rows that the lists name for a test. When the test ends, it fails if one of
// them did not run and pass, or if it has a row that the lists do not name.
func Cases(t *testing.T) *Rows {
	t.Helper()
	r := &Rows{listed: map[string]bool{}, declared: map[string]bool{}}
	for _, list := range Lists(t) {
		for _, test := range list.Tests {
			if test.Local != t.Name() {
				continue
			}
			for _, one := range test.Cases {
				for _, row := range one.Rows {
					r.listed[row] = true
				}
			}
		}
	}
	t.Cleanup(func() {
		for _, problem := range r.problems() {
			t.Error(problem)
		}
	})
	return r
}

// Run runs a row as a subtest.
func (r *Rows) Run(t *testing.T, row string, f func(t *testing.T)) {
	t.Helper()
	r.mu.Lock()
	_, twice := r.declared[row]
	r.declared[row] = false
	r.mu.Unlock()
	if twice {
		t.Errorf("two rows have the name %q", row)
	}
	ran := false
	t.Run(row, func(t *testing.T) {
		ran = true
		t.Cleanup(func() { r.ended(row, !t.Failed() && !t.Skipped()) })
		f(t)
	})
	if !ran {
		r.filtered = true
	}
}

func (r *Rows) ended(row string, passed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.declared[row] = passed
}

// problems returns how the rows differ from what the lists name.
func (r *Rows) problems() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for row := range r.declared {
		if !r.listed[row] {
			out = append(out, "no list in internal/test/upstream names the row "+row)
		}
	}
	for row := range r.listed {
		switch passed, found := r.declared[row]; {
		case !found:
			out = append(out, "a list in internal/test/upstream names a row that is not there: "+row)
		case !passed && !r.filtered:
			out = append(out, "a row that a list in internal/test/upstream names did not pass: "+row)
		}
	}
	return out
}
