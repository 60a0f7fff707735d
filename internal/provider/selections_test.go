// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// selected matches regular expressions of tests: a variable of the makefile, or -run, -skip, TESTS and FAULTS.
var selected = regexp.MustCompile(`(?m)(?:^(?:KIND_)?CORE := |-run '?|-skip '?|TESTS='?|FAULTS='?)([\^A-Za-z][^\s']*)`)

// TestSelections_eachAlternativeIsATest: a test that is renamed would silently leave the core and the parts that name it.
func TestSelections_eachAlternativeIsATest(t *testing.T) {
	t.Parallel()
	names := slices.Collect(maps.Keys(declaredTests(t)))
	seen := 0
	for _, file := range []string{"GNUmakefile", ".ci/parts", ".ci/soak", ".ci/testacc-kind"} {
		text, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range selected.FindAllStringSubmatch(string(text), -1) {
			// In the makefile a dollar is written twice, and ^$ selects no test for a benchmark.
			selection := strings.ReplaceAll(m[1], "$$", "$")
			if selection == "^$" {
				continue
			}
			for _, one := range alternatives("(" + selection + ")") {
				seen++
				if expression := regexp.MustCompile(one); !slices.ContainsFunc(names, expression.MatchString) {
					t.Errorf("%s: no test matches %s of %s", file, one, selection)
				}
			}
		}
	}
	if seen < 40 {
		t.Errorf("%d expressions were found, and there are more", seen)
	}
}

// alternatives returns the expressions that one with alternatives in parentheses stands for.
func alternatives(expression string) []string {
	before, rest := expression, ""
	depth, start, parts := 0, 0, []string(nil)
	for i, c := range expression {
		switch {
		case c == '(':
			if depth++; depth == 1 {
				before, start = expression[:i], i+1
			}
		case depth == 1 && (c == '|' || c == ')'):
			if parts, start = append(parts, expression[start:i]), i+1; c == ')' {
				rest = expression[i+1:]
				return joined(before, parts, rest)
			}
		case c == ')':
			depth--
		}
	}
	return []string{expression}
}

func joined(before string, parts []string, rest string) []string {
	var out []string
	for _, part := range parts {
		for _, one := range alternatives(part) {
			for _, end := range alternatives(rest) {
				out = append(out, before+one+end)
			}
		}
	}
	return out
}
