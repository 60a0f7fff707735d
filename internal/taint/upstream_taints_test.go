// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// The facts of k8s.io/kubernetes v1.37.2 pkg/util/taints/taints_test.go. The same facts
// are in kubectl's pkg/cmd/taint/utils_test.go.

// mine is a claim that owns what the marks of me/1 name.
func mine(t *testing.T, taints ...string) Claim {
	t.Helper()
	return Claim{Owner: "me", Generation: "1", Taints: list(t, taints...)}
}

// TestUpstream_addOrUpdateTaint has the facts of TestAddOrUpdateTaint.
func TestUpstream_addOrUpdateTaint(t *testing.T) {
	t.Parallel()
	mergeRows(t, upstream.Cases(t), []mergeCase{
		{name: "add to a node without taints", claim: mine(t, "foo=bar:NoSchedule"), want: []string{"foo=bar:NoSchedule"}, wantRecord: []string{"foo:NoSchedule me/1"}, deviations: []string{"foo:NoSchedule missing"}},
		{
			name: "add beside another one", current: []string{"foo=bar:NoSchedule"}, claim: mine(t, "foo_1=bar_1:NoSchedule"),
			want: []string{"foo=bar:NoSchedule", "foo_1=bar_1:NoSchedule"}, wantRecord: []string{"foo_1:NoSchedule me/1"}, deviations: []string{"foo_1:NoSchedule missing"},
		},
		{name: "add what is there", current: []string{"foo=bar:NoSchedule"}, record: []string{"foo:NoSchedule me/1"}, claim: mine(t, "foo=bar:NoSchedule")},
		{
			name: "change the value", current: []string{"foo=bar:NoSchedule"}, record: []string{"foo:NoSchedule me/1"}, claim: mine(t, "foo=bar_1:NoSchedule"),
			want: []string{"foo=bar_1:NoSchedule"}, wantRecord: []string{"foo:NoSchedule me/1"}, deviations: []string{"foo:NoSchedule different"},
		},
	})
}

// TestUpstream_removeTaint has the facts of TestRemoveTaint, TestDeleteTaint and
// TestDeleteTaintByKey: owned taints that are no longer claimed are removed by key and
// effect, whatever their value.
func TestUpstream_removeTaint(t *testing.T) {
	t.Parallel()
	mergeRows(t, upstream.Cases(t), []mergeCase{
		{name: "another key", current: []string{"foo:NoSchedule"}, record: []string{"foo_1:NoSchedule me/1"}, claim: mine(t), want: []string{"foo:NoSchedule"}, deviations: []string{"foo_1:NoSchedule different"}},
		{name: "another effect", current: []string{"foo:NoSchedule"}, record: []string{"foo:NoExecute me/1"}, claim: mine(t), want: []string{"foo:NoSchedule"}, deviations: []string{"foo:NoExecute different"}},
		{name: "the taint", current: []string{"foo:NoSchedule"}, record: []string{"foo:NoSchedule me/1"}, claim: mine(t), want: []string{}, deviations: []string{"foo:NoSchedule different"}},
		{name: "no taints", record: []string{"foo:NoSchedule me/1"}, claim: mine(t), want: []string{}, deviations: []string{"foo:NoSchedule different"}},
		{name: "another key and a value", current: []string{"foo=bar:NoSchedule"}, record: []string{"foo_1:NoSchedule me/1"}, claim: mine(t), want: []string{"foo=bar:NoSchedule"}, deviations: []string{"foo_1:NoSchedule different"}},
		{name: "the taint with a value", current: []string{"foo=bar:NoSchedule"}, record: []string{"foo:NoSchedule me/1"}, claim: mine(t), want: []string{}, deviations: []string{"foo:NoSchedule different"}},
	})
}

// TestUpstream_findTaint has the facts of TestTaintExists and
// TestCheckIfTaintsAlreadyExists: a taint is found by key and effect, whatever its value;
// and of TestTaintKeyExists: a toleration with Exists finds it by its key alone.
func TestUpstream_findTaint(t *testing.T) {
	t.Parallel()
	two := list(t, "foo_1=bar_1:NoExecute", "foo_2=bar_2:NoSchedule")
	rows := upstream.Cases(t)
	three := list(t, "foo_1=bar:NoSchedule", "foo_2=bar:NoSchedule", "foo_3=bar:NoSchedule")
	for _, tt := range []struct {
		name   string
		in     []corev1.Taint
		sought []ID
		want   string
	}{
		{"a taint", two, ids(t, "foo_1=bar_1:NoExecute"), "foo_1:NoExecute"},
		{"another key", two, ids(t, "no_such_key=bar_1:NoExecute"), ""},
		{"another effect", two, ids(t, "foo_1=bar_1:NoSchedule"), ""},
		{"nothing sought", three, nil, ""},
		{"none of them", three, ids(t, "foo_1:NoExecute"), ""},
		{"one of them", three, ids(t, "foo_2:NoSchedule"), "foo_2:NoSchedule"},
		{"two of them", three, ids(t, "foo_2:NoSchedule", "foo_3:NoSchedule"), "foo_2:NoSchedule,foo_3:NoSchedule"},
	} {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			found := slices.DeleteFunc(slices.Clone(tt.sought), func(id ID) bool { return Find(tt.in, id) < 0 })
			if got := strings.Join(writeIDs(found), ","); got != tt.want {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
	for key, want := range map[string]bool{"foo_1": true, "foo_3": false} {
		rows.Run(t, "the key "+key, func(t *testing.T) {
			t.Parallel()
			if left := Untolerated(two, []corev1.Toleration{tol(key, "Exists", "", "")}, false); (len(left) < len(two)) != want {
				t.Errorf("left %s", FormatAll(left))
			}
		})
	}
}

// parseCases are the facts of TestParseTaints of both files. A removal is written with
// kubectl's trailing minus there, and as an identity here.
var parseCases = []struct {
	name, in string
	wrong    bool
	want     corev1.Taint
}{
	{name: "nothing", wrong: true},
	{name: "no effect", in: "foo=abc", wrong: true},
	{name: "two equals signs", in: "foo=abc=xyz:NoSchedule", wrong: true},
	{name: "two colons", in: "foo=abc:xyz:NoSchedule", wrong: true},
	{name: "a key alone", in: "foo", wrong: true},
	{name: "a value with special characters", in: "foo=nospecialchars%^@:NoSchedule", wrong: true},
	{name: "a value with letters beyond ASCII", in: "foo=Tama-nui-te-rā.is.Māori.sun:NoSchedule", wrong: true},
	{name: "a value with backslashes", in: `foo=\backslashes\are\bad:NoSchedule`, wrong: true},
	{name: "a value that begins with a dash", in: "foo=-starts-with-dash:NoSchedule", wrong: true},
	{name: "a value that ends in a dash", in: "foo=ends-with-dash-:NoSchedule", wrong: true},
	{name: "a value that begins with a dot", in: "foo=.starts.with.dot:NoSchedule", wrong: true},
	{name: "a value that ends in a dot", in: "foo=ends.with.dot.:NoSchedule", wrong: true},
	{name: "an effect that is none", in: "foo=abc:invalid_effect", wrong: true},
	{name: "64 characters", in: strings.Repeat("a", 64), wrong: true},
	{name: "a value", in: "foo=abc:NoSchedule", want: corev1.Taint{Key: "foo", Value: "abc", Effect: noSched}},
	{name: "another value", in: "bar=abc:NoSchedule", want: corev1.Taint{Key: "bar", Value: "abc", Effect: noSched}},
	{name: "no value", in: "baz:NoSchedule", want: corev1.Taint{Key: "baz", Effect: noSched}},
	{name: "an equals sign and no value", in: "foobar=:NoSchedule", want: corev1.Taint{Key: "foobar", Effect: noSched}},
}

func TestUpstream_parseTaints(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	for _, tt := range parseCases {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Parse(tt.in)
			if (err != nil) != tt.wrong || got != tt.want {
				t.Errorf("%q: got %+v and %v, want %+v", tt.in, got, err, tt.want)
			}
		})
	}
	rows.Run(t, "a taint that is given twice", func(t *testing.T) {
		t.Parallel()
		if twice := Duplicates(list(t, "foo=abc:NoSchedule", "foo=abc:NoSchedule")); len(twice) != 1 {
			t.Errorf("%v, want one", twice)
		}
	})
	rows.Run(t, "taints to remove", func(t *testing.T) {
		t.Parallel()
		added := list(t, "foo=abc:NoSchedule", "bar=abc:NoSchedule", "baz:NoSchedule", "qux:NoSchedule", "foobar=:NoSchedule")
		for _, tt := range []struct {
			in   string
			want ID
		}{
			{"foo:NoSchedule", ID{Key: "foo", Effect: noSched}}, {"bar:NoSchedule", ID{Key: "bar", Effect: noSched}}, {"baz:NoSchedule", ID{Key: "baz", Effect: noSched}},
		} {
			id, err := ParseID(tt.in)
			if err != nil || id != tt.want {
				t.Errorf("%s: got %s and %v", tt.in, id, err)
			}
			if Find(added, id) < 0 {
				t.Errorf("%s is none of the added taints, whatever their values", id)
			}
		}
	})
	rows.Run(t, "an effect that is none, to remove", func(t *testing.T) {
		t.Parallel()
		if id, err := ParseID("foo:invalid_effect"); err == nil {
			t.Errorf("got %s, want an error", id)
		}
	})
}

// TestUpstream_validateTaint has the facts of TestValidateTaint.
func TestUpstream_validateTaint(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	for name, tt := range map[string]struct {
		taint corev1.Taint
		wrong bool
	}{
		"no key":                   {corev1.Taint{Value: "bar_1", Effect: noEx}, true},
		"a value of 64 characters": {corev1.Taint{Key: "foo_1", Value: strings.Repeat("a", 64), Effect: noEx}, true},
		"an effect that is none":   {corev1.Taint{Key: "foo_2", Value: "bar_2", Effect: "no_such_effect"}, true},
		"key, value and effect":    {corev1.Taint{Key: "foo_3", Value: "bar_3", Effect: noEx}, false},
		"key and effect":           {corev1.Taint{Key: "foo_4", Effect: noEx}, false},
	} {
		rows.Run(t, name, func(t *testing.T) {
			t.Parallel()
			if problems := Validate(tt.taint); (len(problems) > 0) != tt.wrong {
				t.Errorf("%v", problems)
			}
		})
	}
}

// TestUpstream_taintSetFilter has the facts of TestTaintSetFilter: what a toleration selects of a list, in
// its order.
func TestUpstream_taintSetFilter(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	all := list(t, "foo_1=bar_1:NoExecute", "foo_2=bar_2:NoSchedule", "foo_3=bar_3:NoSchedule")
	for name, tt := range map[string]struct {
		toleration corev1.Toleration
		selected   string
	}{
		"by a key that none has": {tol(corev1.TaintNodeUnschedulable, "Exists", "", ""), ""},
		"by an effect":           {tol("", "Exists", "", noEx), "foo_1=bar_1:NoExecute"},
		"every taint":            {tol("", "Exists", "", ""), FormatAll(all)},
	} {
		rows.Run(t, name, func(t *testing.T) {
			t.Parallel()
			rest := Untolerated(all, []corev1.Toleration{tt.toleration}, false)
			selected := slices.DeleteFunc(slices.Clone(all), func(one corev1.Taint) bool { return slices.Contains(rest, one) })
			if got := FormatAll(selected); got != tt.selected || len(rest)+len(selected) != len(all) {
				t.Errorf("selected are %q and left %q", got, FormatAll(rest))
			}
		})
	}
}

// TestUpstream_taintSetDiff has the facts of TestTaintSetDiff: what must be added to one
// list, and removed from it, to get another one.
func TestUpstream_taintSetDiff(t *testing.T) {
	t.Parallel()
	owned := []string{"foo_2:NoSchedule me/1", "foo_3:NoExecute me/1"}
	mergeRows(t, upstream.Cases(t), []mergeCase{
		{name: "no taints", claim: mine(t)},
		{
			name: "no taints before", claim: mine(t, "foo_1=bar_1:NoExecute", "foo_2=bar_2:NoSchedule"), want: []string{"foo_1=bar_1:NoExecute", "foo_2=bar_2:NoSchedule"},
			wantRecord: []string{"foo_1:NoExecute me/1", "foo_2:NoSchedule me/1"}, deviations: []string{"foo_1:NoExecute missing", "foo_2:NoSchedule missing"},
		},
		{
			name: "one is in both lists", current: []string{"foo_3=bar_3:NoExecute", "foo_2=bar_2:NoSchedule"}, record: owned, claim: mine(t, "foo_1=bar_1:NoExecute", "foo_2=bar_2:NoSchedule"),
			want: []string{"foo_2=bar_2:NoSchedule", "foo_1=bar_1:NoExecute"}, wantRecord: []string{"foo_1:NoExecute me/1", "foo_2:NoSchedule me/1"}, deviations: []string{"foo_1:NoExecute missing", "foo_3:NoExecute different"},
		},
		{
			name: "one is in both lists with another effect", current: []string{"foo_3=bar_3:NoExecute", "foo_2=bar_2:NoSchedule"}, record: owned, claim: mine(t, "foo_1=bar_1:NoExecute", "foo_2=different-value:NoExecute"),
			want: []string{"foo_1=bar_1:NoExecute", "foo_2=different-value:NoExecute"}, wantRecord: []string{"foo_1:NoExecute me/1", "foo_2:NoExecute me/1"},
			deviations: []string{"foo_1:NoExecute missing", "foo_2:NoExecute missing", "foo_2:NoSchedule different", "foo_3:NoExecute different"},
		},
		{
			// A changed value is neither added nor removed there. Here it differs, and is not
			// missing: it is written in its place.
			name: "one is in both lists with another value", current: []string{"foo_3=bar_3:NoExecute", "foo_2=bar_2:NoSchedule"}, record: owned, claim: mine(t, "foo_1=bar_1:NoExecute", "foo_2=different-value:NoSchedule"),
			want: []string{"foo_2=different-value:NoSchedule", "foo_1=bar_1:NoExecute"}, wantRecord: []string{"foo_1:NoExecute me/1", "foo_2:NoSchedule me/1"},
			deviations: []string{"foo_1:NoExecute missing", "foo_2:NoSchedule different", "foo_3:NoExecute different"},
		},
	})
}
