// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     corev1.Taint
		// wrong is a part of the error.
		wrong string
	}{
		{name: "key, value and effect", in: "dedicated=gpu:NoExecute", want: corev1.Taint{Key: "dedicated", Value: "gpu", Effect: noEx}},
		{name: "without a value", in: "dedicated:NoSchedule", want: corev1.Taint{Key: "dedicated", Effect: "NoSchedule"}},
		{name: "with an equals sign and no value", in: "dedicated=:PreferNoSchedule", want: corev1.Taint{Key: "dedicated", Effect: "PreferNoSchedule"}},
		{name: "with a prefixed key", in: "example.com/pool=a-b_c.d:NoExecute", want: corev1.Taint{Key: "example.com/pool", Value: "a-b_c.d", Effect: noEx}},
		{name: "the empty string is no taint", in: "", wrong: "write key=value:Effect or key:Effect"},
		{name: "an effect is needed", in: "dedicated=gpu", wrong: "write key=value:Effect or key:Effect"},
		{name: "kubectl's trailing minus is not part of a taint", in: "dedicated=gpu:NoExecute-", wrong: `the minus at its end is kubectl's notation for removing one, write "dedicated=gpu:NoExecute"`},
		{name: "an effect in lower case is none", in: "dedicated=gpu:noexecute", wrong: "is none of NoSchedule, PreferNoSchedule, NoExecute"},
		{name: "an empty effect is none", in: "dedicated=gpu:", wrong: `effect "" is none of`},
		{name: "a key is needed", in: "=gpu:NoExecute", wrong: `key "" is not a qualified name`},
		{name: "two colons are one too many", in: "a:b:NoExecute", wrong: "is not a taint"},
		{name: "a value with an equals sign is no label value", in: "a=b=c:NoExecute", wrong: `value "b=c" is not a label value`},
		{name: "a key with a space is no key", in: "a b:NoExecute", wrong: "key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Parse(tt.in)
			if tt.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wrong) {
					t.Fatalf("got error %v, want one with %q", err, tt.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseID(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want, wrong string }{
		{name: "key and effect", in: "dedicated:NoExecute", want: "dedicated:NoExecute"},
		{name: "a value does not belong to an identity", in: "dedicated=gpu:NoExecute", wrong: "write dedicated:NoExecute"},
		{name: "nor does an empty value", in: "dedicated=:NoExecute", wrong: "write dedicated:NoExecute"},
		{name: "an effect does", in: "dedicated", wrong: "is not a taint"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseID(tt.in)
			if tt.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wrong) {
					t.Fatalf("got error %v, want one with %q", err, tt.wrong)
				}
				return
			}
			if err != nil || got.String() != tt.want {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
		})
	}
}

func TestFormat(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"dedicated=gpu:NoExecute": "dedicated=gpu:NoExecute",
		"dedicated=:NoExecute":    "dedicated:NoExecute",
		"dedicated:NoExecute":     "dedicated:NoExecute",
	} {
		if got := Format(must(t, in)); got != want {
			t.Errorf("%s is written %s, want %s", in, got, want)
		}
	}
	if got := FormatAll(list(t, "b:NoExecute", "a=1:NoSchedule")); got != "b:NoExecute, a=1:NoSchedule" {
		t.Errorf("got %s: a list keeps its order", got)
	}
	if got := FormatAll(nil); got != "" {
		t.Errorf("got %q for no taints", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"a=b:NoExecute", "a:NoSchedule", "a=:PreferNoSchedule", "example.com/a=b:NoExecute", "a:b:NoExecute", "=:", "a=b=c:NoExecute", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		x, err := Parse(s)
		if err != nil {
			return
		}
		if problems := Validate(x); len(problems) > 0 {
			t.Fatalf("%q parses to an invalid taint: %v", s, problems)
		}
		again, err := Parse(Format(x))
		if err != nil || again != x {
			t.Fatalf("%q parses to %+v, which is written %q, which parses to %+v (%v)", s, x, Format(x), again, err)
		}
		if id, err := ParseID(IDOf(x).String()); err != nil || id != IDOf(x) {
			t.Fatalf("the identity %s reads back as %s (%v)", IDOf(x), id, err)
		}
	})
}

func TestFormatToleration(t *testing.T) {
	t.Parallel()
	minute := int64(60)
	tests := []struct {
		want string
		in   corev1.Toleration
	}{
		{want: "Exists", in: corev1.Toleration{Operator: "Exists"}},
		{want: "dedicated Exists", in: corev1.Toleration{Key: "dedicated", Operator: "Exists"}},
		{want: "Exists:NoExecute", in: corev1.Toleration{Operator: "Exists", Effect: noEx}},
		{want: "dedicated=gpu:NoExecute for 60s", in: corev1.Toleration{Key: "dedicated", Operator: "Equal", Value: "gpu", Effect: noEx, TolerationSeconds: &minute}},
		{want: "dedicated=gpu", in: corev1.Toleration{Key: "dedicated", Value: "gpu"}},
		{want: "dedicated:NoSchedule", in: corev1.Toleration{Key: "dedicated", Effect: "NoSchedule"}},
		{want: "cost<5", in: corev1.Toleration{Key: "cost", Operator: "Lt", Value: "5"}},
		{want: "cost>5:NoExecute", in: corev1.Toleration{Key: "cost", Operator: "Gt", Value: "5", Effect: noEx}},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			t.Parallel()
			if got := FormatToleration(tt.in); got != tt.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestIDs_areSortedByKeyThenEffect(t *testing.T) {
	t.Parallel()
	got := SortIDs(ids(t, "b:NoExecute", "a:NoSchedule", "a:NoExecute"))
	if diff := cmp.Diff(ids(t, "a:NoExecute", "a:NoSchedule", "b:NoExecute"), got); diff != "" {
		t.Error(diff)
	}
	claim := Claim{Taints: list(t, "b=1:NoExecute"), Absent: ids(t, "c:NoExecute", "a:NoExecute")}
	if diff := cmp.Diff(ids(t, "a:NoExecute", "b:NoExecute", "c:NoExecute"), claim.IDs()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(list(t, "a=2:NoExecute", "b=1:NoExecute"), Sort(list(t, "b=1:NoExecute", "a=2:NoExecute"))); diff != "" {
		t.Error(diff)
	}
}
