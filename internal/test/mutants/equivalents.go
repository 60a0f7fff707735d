// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

// equivalent names a mutant that no test can catch, because the code does the same with it.
type equivalent struct {
	file, function string
	// was and becomes are those of the mutant, on one line.
	was, becomes string
	reason       string
}

// equivalents are the mutants that no test can catch. They are found by their text, so
// that they may move within their function.
var equivalents = []equivalent{
	{
		file: "internal/eviction/daemons.go", function: "evaluation.successor", was: "e.next[key] = s",
		reason: "a cache: without it the same value is made again",
	},
	{
		file: "internal/placement/lookup.go", function: "Finder.lookUp", was: "if len(terms) == 1 { return fewest, true }",
		reason: "a shortcut: one list is sorted and has no node twice",
	},
}

// equivalent reports whether a mutant is named above.
func (m mutant) equivalent() bool {
	for _, e := range equivalents {
		if e.file == m.file && e.function == m.function && e.was == m.was && e.becomes == m.becomes {
			return true
		}
	}
	return false
}
