// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package upstream

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Share is how many of some cases the local tests have.
type Share struct {
	All, Carried int
	// Beyond are those that are not about this provider, by subject.
	Beyond map[string]int
	// Missing are those that are about it, and that no local test has, with the reasons.
	Missing []string
}

// About returns how many cases are about this provider.
func (s Share) About() int { return s.Carried + len(s.Missing) }

// Enough reports whether local tests have nine of ten of all cases.
func (s Share) Enough() bool { return s.Carried*10 >= s.All*9 }

// EnoughAbout reports whether they have nine of ten of those that are about this provider.
func (s Share) EnoughAbout() bool { return s.Carried*10 >= s.About()*9 }

// String returns the numbers, as in "31 of 40 cases, 31 of 33 about this provider; 7 events".
func (s Share) String() string {
	var beyond []string
	for _, subject := range slices.Sorted(maps.Keys(s.Beyond)) {
		beyond = append(beyond, fmt.Sprintf("%d %s", s.Beyond[subject], subject))
	}
	out := fmt.Sprintf("%d of %d cases, %d of %d about this provider", s.Carried, s.All, s.Carried, s.About())
	if len(beyond) > 0 {
		out += "; " + strings.Join(beyond, ", ")
	}
	return out
}

// add counts a case, which several local tests may share.
func (s *Share) add(name string, parts []*Case, subjects map[string]string) {
	s.All++
	subject, reason := "", ""
	for _, part := range parts {
		if len(part.Rows) > 0 {
			s.Carried++
			return
		}
		if reason = part.Reason; subjects[reason] != "" {
			subject = reason
		}
	}
	if subject == "" {
		s.Missing = append(s.Missing, strings.TrimSpace(name)+": "+reason)
		return
	}
	if s.Beyond == nil {
		s.Beyond = map[string]int{}
	}
	s.Beyond[subject]++
}

// Shares returns how many cases of the list the local tests have: in all, by upstream's file and by upstream's test.
func (l *List) Shares() (whole Share, files, tables map[string]*Share) {
	parts, of := map[string][]*Case{}, map[string]*Test{}
	var order []string
	for _, test := range l.Tests {
		for _, one := range test.Cases {
			name := fmt.Sprintf("%s, %d %s", test.Name, one.Number, one.Name)
			key := test.File + " " + name
			if parts[key] == nil {
				order = append(order, key)
			}
			parts[key], of[key] = append(parts[key], one), test
		}
	}
	files, tables = map[string]*Share{}, map[string]*Share{}
	for _, key := range order {
		file, test := of[key].File, of[key].File+" "+of[key].Name
		if files[file] == nil {
			files[file] = &Share{}
		}
		if tables[test] == nil {
			tables[test] = &Share{}
		}
		for _, share := range []*Share{&whole, files[file], tables[test]} {
			share.add(key, parts[key], l.Subjects)
		}
	}
	return whole, files, tables
}
