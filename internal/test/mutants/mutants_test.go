// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sample = `package sample

type list[T any] struct{ items []T }

func (l *list[T]) trim(most int) int {
	dropped := 0
	for len(l.items) > most {
		l.items = l.items[1:]
		dropped++
	}
	if most < 0 || dropped == 0 && most != 1 {
		return 0
	}
	return dropped
}
`

func TestMutantsOf_findsConditionsOperatorsBoundsAndStatements(t *testing.T) {
	t.Parallel()
	found, err := mutantsOf("internal/sample/sample.go", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range found {
		if m.pkg != "internal/sample" || m.function != "list.trim" {
			t.Errorf("%s is in %s of %s", m.was, m.function, m.pkg)
		}
		got = append(got, fmt.Sprintf("%d: %s -> %s", m.line, m.was, m.becomes))
	}
	want := []string{
		"7: for len(l.items) > most { l.items = l.items[1:] dropped++ } -> ",
		"11: if most < 0 || dropped == 0 && most != 1 { return 0 } -> ",
		"14: return dropped -> ",
		"7: len(l.items) > most -> !(len(l.items) > most)",
		"7: len(l.items) > most -> len(l.items) >= most",
		"8: l.items = l.items[1:] -> ",
		"9: dropped++ -> ",
		"11: most < 0 || dropped == 0 && most != 1 -> !(most < 0 || dropped == 0 && most != 1)",
		"11: most < 0 || dropped == 0 && most != 1 -> most < 0 && dropped == 0 && most != 1",
		"11: most < 0 -> most <= 0",
		"11: dropped == 0 && most != 1 -> dropped == 0 || most != 1",
		"12: return 0 -> ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMutant_showsWhereItIsAndWhatItChanges(t *testing.T) {
	t.Parallel()
	found, err := mutantsOf("internal/sample/sample.go", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[int]string{
		6: "internal/sample/sample.go:9: in list.trim\n-\t\tdropped++",
		9: "internal/sample/sample.go:11: in list.trim\n-\tif most < 0 || dropped == 0 && most != 1 {\n+\tif most <= 0 || dropped == 0 && most != 1 {",
	} {
		if got := found[at].String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		changed := string(found[at].source)
		if changed == sample || strings.Count(changed, "\n") != strings.Count(sample, "\n") {
			t.Errorf("the file becomes %q", changed)
		}
	}
}

// numbered returns mutants that differ in their line alone.
func numbered(count int) []mutant {
	all := make([]mutant, count)
	for n := range all {
		all[n] = mutant{file: "sample.go", line: n}
	}
	return all
}

func TestDraw_repeatsByItsSeed(t *testing.T) {
	t.Parallel()
	lines := func(seed uint64, workers int) []int {
		s, err := draw(t.Context(), numbered(100), seed, 20, workers, func(_ context.Context, m mutant) (outcome, error) {
			if m.line%3 == 0 {
				return invalid, nil
			}
			return survived, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var out []int
		for _, m := range s.survivors {
			out = append(out, m.line)
		}
		return out
	}
	one := lines(7, 1)
	if len(one) != 20 || slices.ContainsFunc(one, func(n int) bool { return n%3 == 0 }) {
		t.Errorf("drew %v, want 20 that compile", one)
	}
	if again := lines(7, 8); !slices.Equal(again, one) {
		t.Errorf("drew %v and then %v", one, again)
	}
	if slices.Equal(lines(8, 1), one) {
		t.Error("two seeds draw the same")
	}
}

func TestDraw_countsWhatIsCaught(t *testing.T) {
	t.Parallel()
	for uncaught, want := range map[int]string{
		1: "19 of 20 caught (95 %), 0 equivalent",
		2: "18 of 20 caught (90 %), 0 equivalent",
	} {
		s, err := draw(t.Context(), numbered(20), 1, 60, 2, func(_ context.Context, m mutant) (outcome, error) {
			if m.line < uncaught {
				return survived, nil
			}
			return caught, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if s.String() != want {
			t.Errorf("got %q, want %q", s, want)
		}
		if failed := s.verdict() != nil; failed != (uncaught > 1) {
			t.Errorf("%s: fails %t", s, failed)
		}
	}
}

func TestDraw_endsWithAnErrorOfATest(t *testing.T) {
	t.Parallel()
	broken := errors.New("no space left")
	if _, err := draw(t.Context(), numbered(5), 1, 5, 2, func(context.Context, mutant) (outcome, error) { return survived, broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

// TestGoTool_leavesNoFailFiles: package rapid writes what a property test fails with into the
// tree, and replays it when the mutant is gone.
func TestGoTool_leavesNoFailFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte("#!/bin/sh\necho \"$TF_ACC,$RAPID_NOFAILFILE\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	t.Setenv("TF_ACC", "1")
	out, err := goTool(t.Context(), "test")
	if got := strings.TrimSpace(string(out)); err != nil || got != ",1" {
		t.Errorf("go test has %q of the environment, want \",1\": %v", got, err)
	}
}

// TestEquivalents_areStillThere: one whose code has changed may hide a mutant that matters.
func TestEquivalents_areStillThere(t *testing.T) {
	t.Parallel()
	all, err := find(filepath.Join("..", "..", ".."), packages)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range equivalents {
		if e.reason == "" {
			t.Errorf("%s: %q has no reason", e.file, e.was)
		}
		if !slices.ContainsFunc(all, func(m mutant) bool {
			return m.file == e.file && m.function == e.function && m.was == e.was && m.becomes == e.becomes
		}) {
			t.Errorf("%s has no mutant %q of %q in %s: remove it", e.file, e.becomes, e.was, e.function)
		}
	}
}
