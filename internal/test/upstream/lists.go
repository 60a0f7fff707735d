// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package upstream compares table tests with those of Kubernetes itself.
//
// Every list in testdata has the tests of some upstream files and their cases, with the rows
// of this repository that have the same facts, or the reason for leaving it out:
//
//	module k8s.io/kubernetes v1.37.2
//	file pkg/controller/tainteviction/taint_eviction_test.go
//	test TestCreatePod = TestUpstream_tainteviction
//	  2 scheduled on untainted Node
//	    create pod: node without taints
//	  3 schedule on tainted Node
//	    - the reason
//	test TestPodDeletionEvent
//	  - the reason for each of its cases
//	  1 emitPodDeletionEvent
//	  2 emitCancelPodDeletionEvent
//
// A case has its place in upstream's table, from 1, and the beginning of its name there. A test
// without a table is one case without a name. TestLists_haveEveryCaseOfTheSource compares the lists
// with upstream's files. Where several local tests share a table, each has
// a part of the list. A list can have a part of a file, "file PATH, cases about taints": the places
// are then those among these cases.
//
// A case is not about this provider if it is about a part of the original that has no counterpart
// here, or about what no API shows. The list names such a subject once, and the cases refer to it:
//
//	subject extenders: the API does not show the scheduler's configuration
//	test TestPreempt = TestUpstream_defaultPreemption
//	  3 Scheduler extenders allow only node1
//	    - extenders
package upstream

import (
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

//go:embed testdata/*.txt
var lists embed.FS

// List has the cases of a few upstream files that belong together.
type List struct {
	Name string
	// Versions are those of the modules that the files are in.
	Versions map[string]string
	// Subjects are things that no case of the list is expected about, with the reasons.
	Subjects map[string]string
	Tests    []*Test
}

// Test is a test function of an upstream file.
type Test struct {
	File, Name string
	// Local is the test of this repository that has the rows, "" where none has.
	Local string
	// Reason is for leaving out all cases that have no reason of their own.
	Reason string
	Cases  []*Case
}

// Case is a row of an upstream table.
type Case struct {
	// Number is its place in the table, from 1.
	Number int
	Name   string
	// Rows are the rows of the local test that have its facts. Without rows, there is a Reason.
	Rows   []string
	Reason string
}

// Lists returns all lists.
func Lists(t *testing.T) []*List {
	t.Helper()
	entries, err := lists.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	var out []*List
	for _, e := range entries {
		text, err := lists.ReadFile("testdata/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		list, err := parse(e.Name(), string(text))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, list)
	}
	return out
}

// parser reads a list line by line.
type parser struct {
	list *List
	file string
	// module is the one that the current file is in.
	module string
}

func parse(name, text string) (*List, error) {
	p := &parser{list: &List{Name: strings.TrimSuffix(name, ".txt"), Versions: map[string]string{}, Subjects: map[string]string{}}}
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if err := p.line(line); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, i+1, err)
		}
	}
	for _, one := range p.list.Tests {
		if err := one.complete(); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, one.Name, err)
		}
	}
	return p.list, nil
}

func (p *parser) line(line string) error {
	text := strings.TrimLeft(line, " ")
	switch len(line) - len(text) {
	case 0:
		return p.heading(text)
	case 2:
		return p.entry(text)
	case 4:
		return p.row(text)
	}
	return fmt.Errorf("unexpected indentation: %q", line)
}

func (p *parser) heading(text string) error {
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "":
	case "module":
		module, version, found := strings.Cut(rest, " ")
		if !found {
			return fmt.Errorf("module %s has no version", module)
		}
		p.module, p.list.Versions[module] = module, version
	case "subject":
		subject, reason, found := strings.Cut(rest, ": ")
		if !found {
			return fmt.Errorf("subject %s has no reason", subject)
		}
		p.list.Subjects[subject] = reason
	case "file":
		p.file = p.module + " " + rest
	case "test":
		name, local, _ := strings.Cut(rest, " = ")
		p.list.Tests = append(p.list.Tests, &Test{File: p.file, Name: name, Local: local})
	default:
		return fmt.Errorf("unexpected word %q", word)
	}
	return nil
}

// entry reads a case, or the reason for leaving out a whole test.
func (p *parser) entry(text string) error {
	if len(p.list.Tests) == 0 {
		return fmt.Errorf("%q belongs to no test", text)
	}
	test := p.list.Tests[len(p.list.Tests)-1]
	if reason, found := strings.CutPrefix(text, "- "); found {
		test.Reason = reason
		return nil
	}
	number, name, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || len(test.Cases) > 0 && n <= test.Cases[len(test.Cases)-1].Number {
		return fmt.Errorf("case %q of %s is out of order", text, test.Name)
	}
	test.Cases = append(test.Cases, &Case{Number: n, Name: name})
	return nil
}

// row reads a row of the local test, or the reason for leaving out a case.
func (p *parser) row(text string) error {
	if len(p.list.Tests) == 0 || len(p.list.Tests[len(p.list.Tests)-1].Cases) == 0 {
		return fmt.Errorf("%q belongs to no case", text)
	}
	test := p.list.Tests[len(p.list.Tests)-1]
	one := test.Cases[len(test.Cases)-1]
	if reason, found := strings.CutPrefix(text, "- "); found {
		one.Reason = reason
		return nil
	}
	if slices.Contains(one.Rows, text) {
		return fmt.Errorf("row %q is listed twice", text)
	}
	one.Rows = append(one.Rows, text)
	return nil
}

// complete returns an error where a test or a case has neither rows nor a reason, or both. Cases of
// a test that is left out have its reason, unless they have one of their own.
func (t *Test) complete() error {
	if (t.Local == "") == (t.Reason == "") || len(t.Cases) == 0 {
		return fmt.Errorf("want cases, and a local test that has them or a reason")
	}
	for _, one := range t.Cases {
		if t.Local == "" && one.Reason == "" {
			one.Reason = t.Reason
		}
		if (len(one.Rows) == 0) == (one.Reason == "") || t.Local == "" && len(one.Rows) > 0 {
			return fmt.Errorf("case %d, %s: want rows or a reason", one.Number, one.Name)
		}
	}
	return nil
}
