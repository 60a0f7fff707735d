// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package toleration

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

var notation = regexp.MustCompile(`^([a-z./]*) ?(Exists|[=<>][^: ]*)?(?::(\w+))?(?: for (-?\d+)s)?$`)

// tol reads a toleration as taint.FormatToleration writes it: "a=1:NoExecute",
// "a Exists", "Exists:NoExecute for 60s", "a<5".
func tol(t testing.TB, s string) corev1.Toleration {
	t.Helper()
	part := notation.FindStringSubmatch(s)
	if part == nil {
		t.Fatalf("%q is not a toleration", s)
	}
	out := corev1.Toleration{Key: part[1], Operator: corev1.TolerationOpEqual, Effect: corev1.TaintEffect(part[3])}
	switch op := part[2]; {
	case op == "Exists":
		out.Operator = corev1.TolerationOpExists
	case op != "":
		out.Value = op[1:]
		out.Operator = map[byte]corev1.TolerationOperator{'=': corev1.TolerationOpEqual, '<': corev1.TolerationOpLt, '>': corev1.TolerationOpGt}[op[0]]
	}
	if part[4] != "" {
		n, err := strconv.ParseInt(part[4], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		out.TolerationSeconds = &n
	}
	if written := taint.FormatToleration(out); written != s {
		t.Fatalf("%q is read as %q", s, written)
	}
	return out
}

func tols(t testing.TB, notations ...string) []corev1.Toleration {
	t.Helper()
	var out []corev1.Toleration
	for _, n := range notations {
		out = append(out, tol(t, n))
	}
	return out
}

func taints(t testing.TB, notations ...string) []corev1.Taint {
	t.Helper()
	var out []corev1.Taint
	for _, n := range notations {
		x, err := taint.Parse(n)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, x)
	}
	return out
}

func write(list []corev1.Toleration) []string {
	var out []string
	for _, x := range list {
		out = append(out, taint.FormatToleration(x))
	}
	return out
}

// mark reads a mark: a toleration, " of OWNER/GENERATION", and then perhaps
// " at PATH" and " retiring".
func mark(t testing.TB, s string) Mark {
	t.Helper()
	written, rest, found := strings.Cut(s, " of ")
	parts := strings.Fields(rest)
	if !found || len(parts) == 0 {
		t.Fatalf("%q is not a mark", s)
	}
	x := tol(t, written)
	owner, generation, _ := strings.Cut(parts[0], "/")
	m := Mark{Key: x.Key, Operator: x.Operator, Value: x.Value, Effect: x.Effect, Seconds: x.TolerationSeconds, Owner: owner, Generation: generation}
	for i, word := range parts[1:] {
		switch word {
		case "retiring":
			m.Retiring = true
		case "at":
			m.Path = parts[i+2]
		}
	}
	return m
}

func marks(t testing.TB, notations ...string) Record {
	t.Helper()
	var out Record
	for _, n := range notations {
		out = append(out, mark(t, n))
	}
	return out
}

func writeMarks(r Record) []string {
	var out []string
	for _, m := range r {
		s := fmt.Sprintf("%s of %s/%s", taint.FormatToleration(m.Toleration()), m.Owner, m.Generation)
		if m.Path != "" {
			s += " at " + m.Path
		}
		if m.Retiring {
			s += " retiring"
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

func equal(t *testing.T, what string, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

// mergeCase is one merge. Where want and wantRecord are both nil, the merge must
// change nothing; where want alone is nil, it must leave the list alone.
type mergeCase struct {
	name   string
	list   []string
	record []string
	claim  Claim
	live   []string

	want       []string
	wantRecord []string
	conflicts  []string
	takenOver  []string
	missing    []string
	retired    []string
	removed    []string
}

func runMerge(t *testing.T, tests []mergeCase) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			list, record, live := tols(t, tt.list...), marks(t, tt.record...), taints(t, tt.live...)
			before, recordBefore := slices.Clone(list), slices.Clone(record)
			got := Merge(list, record, tt.claim, live, true)

			want, wantRecord := tt.want, tt.wantRecord
			if changed := want != nil || wantRecord != nil; got.Changed != changed || got.Template != (want != nil) {
				t.Errorf("changed %t and template %t, want %t and %t", got.Changed, got.Template, changed, want != nil)
			} else if !changed {
				wantRecord = tt.record
			}
			if want == nil {
				want = tt.list
			}
			slices.Sort(wantRecord)
			equal(t, "tolerations", want, write(got.Tolerations))
			equal(t, "record", wantRecord, writeMarks(got.Record))
			var conflicts []string
			for _, c := range got.Conflicts {
				conflicts = append(conflicts, taint.FormatToleration(c.Toleration)+" of "+c.Owner)
			}
			equal(t, "conflicts", tt.conflicts, conflicts)
			equal(t, "taken over", tt.takenOver, write(got.TakenOver))
			equal(t, "missing", tt.missing, write(got.Missing))
			equal(t, "retired", tt.retired, write(got.Retired))
			equal(t, "removed", tt.removed, write(got.Removed))
			if diff := cmp.Diff(before, list) + cmp.Diff(recordBefore, record); diff != "" {
				t.Errorf("the merge wrote into its input: %s", diff)
			}
			if len(got.Conflicts) > 0 {
				return
			}
			again := Merge(got.Tolerations, got.Record, tt.claim, live, true)
			if again.Changed || len(again.Missing)+len(again.Removed) > 0 {
				t.Errorf("merging again changes %v %v", write(again.Tolerations), writeMarks(again.Record))
			}
		})
	}
}

// The claim's own generation is always g2, its owner "me".
func want(t *testing.T, notations ...string) Claim {
	t.Helper()
	return Claim{Owner: "me", Generation: "g2", Tolerations: tols(t, notations...)}
}

func (c Claim) takingOver() Claim { c.TakeOver = true; return c }
func (c Claim) releasing() Claim  { c.Release = true; return c }
func (c Claim) naming(key string, effect corev1.TaintEffect) Claim {
	c.Named, c.Known = append(slices.Clone(c.Named), taint.ID{Key: key, Effect: effect}), []record.Seal{{}}
	return c
}
func (c Claim) along(path string) Claim { c.Path = path; return c }

// importing adds an imported entry, with the generations of its marks.
func (c Claim) importing(t *testing.T, notation string, generations ...string) Claim {
	t.Helper()
	imported := map[ID][]string{IDOf(tol(t, notation)): generations}
	for id, more := range c.Imported {
		imported[id] = more
	}
	c.Imported = imported
	return c
}
