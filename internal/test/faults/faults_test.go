// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// one is in how many requests that write, and that only read, a fault is tried; oneSecond
// in how many writes of the process that goes on it is killed as well. The first kill is
// tried at all of them. oneUnrefreshed is after how many kills of two resources the next
// run does not refresh.
var (
	one            = map[bool]int{true: 7, false: 49}
	oneSecond      = 16
	oneUnrefreshed = 4
)

func init() {
	if os.Getenv("KUBETAINT_TESTS") == "all" {
		one, oneSecond, oneUnrefreshed = map[bool]int{true: 1, false: 1}, 1, 1
	}
}

// least is how many points there are at least, so that none goes unnoticed.
const least = 3000

// table counts the points of each cell.
type table struct {
	mu    sync.Mutex
	cells map[string]map[string]int
	rows  []string
}

func (p *table) count(row, column string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cells[row][column]++
}

func TestFaults_applyingAgainEndsInTheWantedState(t *testing.T) {
	t.Parallel()
	points := &table{cells: map[string]map[string]int{}}
	t.Run("points", func(t *testing.T) {
		for _, s := range subjects() {
			for _, o := range s.operations() {
				row := s.name() + " " + o.name
				points.rows, points.cells[row] = append(points.rows, row), map[string]int{}
				t.Run(row, func(t *testing.T) {
					t.Parallel()
					st := prepare(t, s, o)
					st.killed(t, func(fault string) { points.count(row, fault) })
					for _, f := range faults {
						st.all(t, f, func() { points.count(row, f.name) })
					}
				})
			}
		}
	})
	points.print(t)
}

// killed kills the process before each request and after each write, and the process that
// goes on after those of its writes that are due.
func (s *stage) killed(t *testing.T, count func(fault string)) {
	t.Helper()
	seconds := 0
	for n, m := range s.undisturbed.before {
		again := s.goOn(t, fmt.Sprintf("%s request %d", killedBefore, n+1), m)
		if again == nil {
			continue
		}
		count(killedBefore)
		if !s.undisturbed.writes[n] {
			continue
		}
		for second, m := range again.after {
			if seconds++; seconds%oneSecond != 1%oneSecond {
				continue
			}
			if s.goOn(t, fmt.Sprintf("%s: before request %d, after write %d", killedTwice, n+1, second+1), m) != nil {
				count(killedTwice)
			}
		}
	}
	for n, m := range s.undisturbed.after {
		if s.goOn(t, fmt.Sprintf("%s write %d", killedAfter, n+1), m) != nil {
			count(killedAfter)
		}
	}
}

// all tries a fault at each request that is due. A run can have fewer requests than the
// undisturbed one, since which of two that wait for the same comes first is chance: where none of
// those that are due comes, it goes back from the last until one does.
func (s *stage) all(t *testing.T, f fault, count func()) {
	t.Helper()
	try := func(n int) (came bool) {
		return t.Run(fmt.Sprintf("%s request %d", f.name, n), func(t *testing.T) { came = s.disturbed(t, f, n) }) && came
	}
	some := false
	for _, n := range s.undisturbed.due(slices.Index(faults, f)) {
		if try(n) {
			some = true
			count()
		}
	}
	for n := len(s.undisturbed.writes); n > 0 && !some && !t.Failed(); n-- {
		if some = try(n); some {
			count()
		}
	}
}

// due returns the numbers of the requests at which the fault of an index is tried, at least
// one.
func (r *run) due(fault int) []int {
	var out []int
	seen := map[bool]int{}
	for n, write := range r.writes {
		if (seen[write]+fault)%one[write] == 0 {
			out = append(out, n+1)
		}
		seen[write]++
	}
	if len(out) == 0 {
		out = []int{1 + fault%len(r.writes)}
	}
	return out
}

// print writes the table and its sum. It fails the test where a cell is empty.
func (p *table) print(t *testing.T) {
	t.Helper()
	const width = 13
	var b strings.Builder
	sum := 0
	fmt.Fprintf(&b, "%-50s", "points")
	names := []string{killedBefore, killedAfter, killedTwice}
	for _, f := range faults {
		names = append(names, f.name)
	}
	for _, name := range names {
		fmt.Fprintf(&b, " %*s", width, name)
	}
	for _, row := range p.rows {
		fmt.Fprintf(&b, "\n%-50s", row)
		for _, name := range names {
			n := p.cells[row][name]
			sum += n
			fmt.Fprintf(&b, " %*d", width, n)
			if n == 0 && !t.Failed() {
				t.Errorf("%s: no point with %q", row, name)
			}
		}
	}
	for _, row := range slices.Sorted(maps.Keys(notPossible)) {
		fmt.Fprintf(&b, "\n%-50s none: %s", row, notPossible[row])
	}
	t.Logf("%s\n%d points", b.String(), sum)
	if sum < least && !t.Failed() {
		t.Errorf("%d points, and at least %d are wanted", sum, least)
	}
}
