// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/version"
)

// played is the version of Kubernetes that the fake plays. The API servers of older ones
// answer some steps of the scripts in another way: these steps are marked, and the answers
// are in a golden file for each version. Neither a difference without a mark nor a mark
// without a difference passes.
const played = "1.37"

// mark is the version from which on a step is answered as in the version that the fake
// plays, and why it is not before.
type mark struct{ since, reason string }

// parseMark takes what stands behind "@since".
func parseMark(note string) (*mark, error) {
	since, reason, _ := strings.Cut(note, " ")
	if _, err := version.ParseGeneric(since); err != nil || older(played, since) || strings.TrimSpace(reason) == "" {
		return nil, fmt.Errorf("@since %s: want a version up to %s, and a reason", note, played)
	}
	return &mark{since: since, reason: reason}, nil
}

// before reports whether a version of Kubernetes is older than a mark says.
func (m *mark) before(version string) bool { return m != nil && older(version, m.since) }

func older(a, b string) bool {
	return version.MustParseGeneric(a).LessThan(version.MustParseGeneric(b))
}

// olderFile is the golden file of an older version.
func olderFile(version string) string { return "conformance-" + version + ".golden" }

// marked returns the steps that are marked for a version, with the titles of their
// scenarios.
func marked(blocks []block, version string) []block {
	var out []block
	title := ""
	for _, b := range blocks {
		if !b.step.mark.before(version) {
			continue
		}
		if b.title != title {
			title = b.title
			out = append(out, block{title: title, text: title})
		}
		out = append(out, b)
	}
	return out
}

// wrongMarks compares the answers of an older version with the recorded ones of the version
// that the fake plays.
func wrongMarks(recorded []string, got []block, version string) []string {
	if len(recorded) != len(got) {
		return []string{fmt.Sprintf("%d steps are recorded and %d were made: record those of Kubernetes %s first", len(recorded), len(got), played)}
	}
	var out []string
	for i, b := range got {
		differs, isMarked := recorded[i] != b.text, b.step.mark.before(version)
		switch {
		case differs && !isMarked:
			out = append(out, fmt.Sprintf("%s\nKubernetes %s:\n%s\nKubernetes %s:\n%s\nMark the step in its script: @since VERSION REASON", b.title, played, recorded[i], version, b.text))
		case !differs && isMarked:
			out = append(out, fmt.Sprintf("%s\nKubernetes %s answers as %s does, although the script says \"@since %s %s\":\n%s", b.title, version, played, b.step.mark.since, b.step.mark.reason, b.text))
		}
	}
	return out
}

func TestWrongMarks(t *testing.T) {
	t.Parallel()
	later := &mark{since: "1.36", reason: "a reason"}
	for name, c := range map[string]struct {
		mark           *mark
		version, older string
		want           string
	}{
		"the same answer":                              {version: "1.34", older: "> GET /a\n< 200"},
		"another answer needs a mark":                  {version: "1.34", older: "> GET /a\n< 404", want: "Mark the step"},
		"a marked step is answered in another way":     {mark: later, version: "1.35", older: "> GET /a\n< 404"},
		"a marked step without a difference":           {mark: later, version: "1.35", older: "> GET /a\n< 200", want: "although the script says"},
		"from the version of the mark on it is as now": {mark: later, version: "1.36", older: "> GET /a\n< 200"},
		"a mark that names too old a version":          {mark: later, version: "1.36", older: "> GET /a\n< 404", want: "Mark the step"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := strings.Join(wrongMarks([]string{"> GET /a\n< 200"}, []block{{step: step{mark: c.mark}, text: c.older}}, c.version), "\n")
			if (got != "") != (c.want != "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestParseMark_wantsAVersionThatIsPlayedAndAReason(t *testing.T) {
	t.Parallel()
	for note, valid := range map[string]bool{"1.36 a reason": true, "1.37 a reason": true, "1.38 a reason": false, "soon a reason": false, "1.36": false, "1.36 ": false} {
		if m, err := parseMark(note); (err == nil) != valid || (m != nil) != valid {
			t.Errorf("%q is %v, %v", note, m, err)
		}
	}
}

// Without a control plane of an older version, its golden file shows that a mark still
// stands for a difference.
func TestConformance_marksAreRecordedForOlderVersions(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", olderFile("*")))
	if err != nil || len(files) == 0 {
		t.Fatal("no older version is recorded", err)
	}
	now := withoutPlaying(t)
	unproved := map[*mark]bool{}
	for _, b := range now {
		if b.step.mark != nil {
			unproved[b.step.mark] = true
		}
	}
	for _, file := range files {
		file = filepath.Base(file)
		version := strings.TrimSuffix(strings.TrimPrefix(file, "conformance-"), ".golden")
		var lines []string
		for _, b := range marked(now, version) {
			delete(unproved, b.step.mark)
			lines = append(lines, firstLine(b.text))
		}
		then := recorded(t, file)
		var recordedLines []string
		for _, text := range then {
			recordedLines = append(recordedLines, firstLine(text))
		}
		if diff := cmp.Diff(lines, recordedLines); diff != "" {
			t.Errorf("%s has other steps than those that the scripts mark for it: run \"make test-conformance KUBERNETES=%s TESTARGS=-update\"\n%s", file, version, diff)
			continue
		}
		for i, b := range marked(now, version) {
			if b.text == then[i] && b.step.mark != nil {
				t.Errorf("%s has the answer of Kubernetes %s: %s", file, played, b.text)
			}
		}
	}
	for m := range unproved {
		t.Errorf("no recorded version is older than \"@since %s %s\" says", m.since, m.reason)
	}
}

// withoutPlaying returns the steps of the scripts with the recorded answers.
func withoutPlaying(t *testing.T) []block {
	t.Helper()
	answers := recorded(t, goldenFile)
	var out []block
	add := func(b block) {
		if len(out) == len(answers) || firstLine(answers[len(out)]) != b.text {
			t.Fatalf("%s is not in its place in %s: record it anew", b.text, goldenFile)
		}
		b.text = answers[len(out)]
		out = append(out, b)
	}
	for _, sc := range scripts(t) {
		title := "== " + sc.title
		add(block{title: title, text: title})
		for _, s := range sc.steps {
			add(block{title: title, step: s, text: "> " + s.line})
		}
	}
	return out
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
