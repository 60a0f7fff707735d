// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package toleration

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

func TestCovers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, one, other string
		covers           bool
	}{
		{name: "itself", one: "a=1:NoExecute", other: "a=1:NoExecute", covers: true},
		{name: "itself with seconds", one: "a=1:NoExecute for 60s", other: "a=1:NoExecute for 60s", covers: true},
		{name: "forever covers seconds", one: "a=1:NoExecute", other: "a=1:NoExecute for 60s", covers: true},
		{name: "seconds do not cover forever", one: "a=1:NoExecute for 60s", other: "a=1:NoExecute"},
		{name: "more seconds cover fewer", one: "a=1:NoExecute for 60s", other: "a=1:NoExecute for 59s", covers: true},
		{name: "fewer seconds do not cover more", one: "a=1:NoExecute for 59s", other: "a=1:NoExecute for 60s"},
		{name: "negative seconds are none", one: "a=1:NoExecute for -5s", other: "a=1:NoExecute for 0s", covers: true},
		{name: "another value does not", one: "a=1:NoExecute", other: "a=2:NoExecute"},
		{name: "no value is a value", one: "a:NoExecute", other: "a=2:NoExecute"},
		{name: "another key does not", one: "a=1:NoExecute", other: "b=1:NoExecute"},
		{name: "another effect does not", one: "a=1:NoExecute", other: "a=1:NoSchedule"},
		{name: "no effect is every effect", one: "a=1", other: "a=1:NoSchedule", covers: true},
		{name: "one effect is not every effect", one: "a=1:NoSchedule", other: "a=1"},
		{name: "Exists covers every value of its key", one: "a Exists:NoExecute", other: "a=1:NoExecute", covers: true},
		{name: "Exists covers comparisons of its key", one: "a Exists:NoExecute", other: "a<5:NoExecute", covers: true},
		{name: "Exists of one effect is not Exists", one: "a Exists:NoExecute", other: "a Exists"},
		{name: "Exists of one key is not Exists of all", one: "a Exists", other: "Exists"},
		{name: "Exists of another key does not", one: "b Exists", other: "a=1:NoExecute"},
		{name: "one value is not Exists", one: "a=1:NoExecute", other: "a Exists:NoExecute"},
		{name: "no value is not Exists", one: "a:NoExecute", other: "a Exists:NoExecute"},
		{name: "Exists without a key covers everything", one: "Exists", other: "a=1:NoExecute", covers: true},
		{name: "Exists without a key covers itself", one: "Exists", other: "Exists", covers: true},
		{name: "Exists without a key covers everything of its effect", one: "Exists:NoExecute", other: "a<5:NoExecute", covers: true},
		{name: "Exists without a key does not cover another effect", one: "Exists:NoExecute", other: "a=1:NoSchedule"},
		{name: "Exists without a key does not cover what lasts longer", one: "Exists:NoExecute for 60s", other: "a=1:NoExecute"},
		{name: "a comparison covers itself", one: "a<5:NoExecute", other: "a<5:NoExecute", covers: true},
		{name: "a comparison does not cover the other one", one: "a<5:NoExecute", other: "a>5:NoExecute"},
		{name: "a comparison does not cover a value, which the gate may not know", one: "a<5:NoExecute", other: "a=3:NoExecute"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			one, other := tol(t, tt.one), tol(t, tt.other)
			if got := Covers(one, other); got != tt.covers {
				t.Errorf("%s covers %s: %t, want %t", tt.one, tt.other, got, tt.covers)
			}
			if got := CoveredBy(append(tols(t, "z Exists"), one), other); got != tt.covers {
				t.Errorf("%s is covered by a list with %s: %t, want %t", tt.other, tt.one, got, tt.covers)
			}
		})
	}
	equals := tol(t, "a=1:NoExecute")
	equals.Operator = ""
	if !Covers(equals, tol(t, "a=1:NoExecute")) || !Covers(tol(t, "a=1:NoExecute"), equals) {
		t.Error("no operator is Equal, and covers it")
	}
}

func TestLasts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		list  []string
		taint string
		gate  bool
		want  int64
	}{
		{name: "an empty list tolerates nothing", taint: "a:NoExecute", want: Untolerated},
		{name: "what does not match is not heard", list: []string{"a=2:NoExecute", "b Exists", "a=1:NoSchedule"}, taint: "a=1:NoExecute", want: Untolerated},
		{name: "without seconds it lasts forever", list: []string{"a=1:NoExecute"}, taint: "a=1:NoExecute", want: Forever},
		{name: "seconds are counted", list: []string{"a=1:NoExecute for 60s"}, taint: "a=1:NoExecute", want: 60},
		{name: "zero seconds are none", list: []string{"a=1:NoExecute for 0s"}, taint: "a=1:NoExecute", want: 0},
		{name: "negative seconds are none", list: []string{"a=1:NoExecute for -7s"}, taint: "a=1:NoExecute", want: 0},
		{name: "the first match decides, for less", list: []string{"a Exists:NoExecute for 60s", "a=1:NoExecute"}, taint: "a=1:NoExecute", want: 60},
		{name: "the first match decides, for more", list: []string{"Exists", "a=1:NoExecute for 60s"}, taint: "a=1:NoExecute", want: Forever},
		{name: "NoSchedule is tolerated forever or not at all", list: []string{"a Exists"}, taint: "a=1:NoSchedule", want: Forever},
		{name: "seconds against NoSchedule do not count", list: []string{"a Exists:NoSchedule for 60s"}, taint: "a=1:NoSchedule", want: Forever},
		{name: "PreferNoSchedule too", list: []string{"a Exists"}, taint: "a=1:PreferNoSchedule", want: Forever},
		{name: "a comparison matches where the gate is on", list: []string{"a<5:NoExecute for 60s"}, taint: "a=3:NoExecute", gate: true, want: 60},
		{name: "a comparison matches nothing where the gate is off", list: []string{"a<5:NoExecute for 60s", "a Exists"}, taint: "a=3:NoExecute", want: Forever},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := Lasts(tols(t, tt.list...), taints(t, tt.taint)[0], tt.gate); got != tt.want {
				t.Errorf("lasts %d, want %d", got, tt.want)
			}
		})
	}
}

func TestShadowing(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		list   []string
		of     string
		shadow string
	}{
		{name: "alone it is heard", list: []string{"a=1:NoExecute"}, of: "a=1:NoExecute"},
		{name: "a shorter one in front decides", list: []string{"a Exists:NoExecute for 60s", "a=1:NoExecute"}, of: "a=1:NoExecute", shadow: "a Exists:NoExecute for 60s"},
		{name: "a longer one in front decides", list: []string{"Exists", "a=1:NoExecute for 60s"}, of: "a=1:NoExecute for 60s", shadow: "Exists"},
		{name: "the same with other seconds in front decides", list: []string{"a=1:NoExecute for 30s", "a=1:NoExecute for 60s"}, of: "a=1:NoExecute for 60s", shadow: "a=1:NoExecute for 30s"},
		{name: "one that is not in the list yet would stand at its end", list: []string{"a Exists:NoExecute for 60s"}, of: "a=1:NoExecute", shadow: "a Exists:NoExecute for 60s"},
		{name: "one behind it does not decide", list: []string{"a=1:NoExecute", "a Exists:NoExecute for 60s"}, of: "a=1:NoExecute"},
		{name: "one in front that lasts as long makes no difference", list: []string{"a Exists", "a=1:NoExecute"}, of: "a=1:NoExecute"},
		{name: "of several in front the first one decides, and it lasts as long", list: []string{"a Exists", "Exists:NoExecute for 60s", "a=1:NoExecute"}, of: "a=1:NoExecute"},
		{name: "of several in front the first one decides, and it lasts less long", list: []string{"a Exists:NoExecute for 60s", "Exists", "a=1:NoExecute"}, of: "a=1:NoExecute", shadow: "a Exists:NoExecute for 60s"},
		{name: "the same in front makes heard what a shorter one would shadow", list: []string{"a=1:NoExecute", "a Exists:NoExecute for 60s", "a=1:NoExecute"}, of: "a=1:NoExecute"},
		{name: "one in front that decides about some of its taints alone is passed over", list: []string{"a=1:NoExecute for 60s", "a Exists"}, of: "a Exists"},
		{name: "one in front with one effect does not shadow all effects", list: []string{"a Exists:NoExecute for 60s", "a Exists"}, of: "a Exists"},
		{name: "zero and negative seconds are the same", list: []string{"a Exists:NoExecute for -1s", "a=1:NoExecute for 0s"}, of: "a=1:NoExecute for 0s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			list := tols(t, tt.list...)
			got := ""
			if shadow := Shadowing(list, tol(t, tt.of)); shadow != nil {
				got = taint.FormatToleration(*shadow)
			}
			if got != tt.shadow {
				t.Errorf("shadowed by %q, want %q", got, tt.shadow)
			}
		})
	}
}

func TestEqual_heedsSecondsAndTakesNoOperatorForEqual(t *testing.T) {
	t.Parallel()
	a, b := tol(t, "a=1:NoExecute for 60s"), tol(t, "a=1:NoExecute for 60s")
	b.Operator = ""
	if !Equal(a, b) || IDOf(a) != IDOf(b) {
		t.Error("no operator is Equal")
	}
	for _, other := range []string{"a=1:NoExecute", "a=1:NoExecute for 61s", "a=2:NoExecute for 60s", "b=1:NoExecute for 60s", "a Exists:NoExecute for 60s"} {
		if Equal(a, tol(t, other)) || Equal(tol(t, other), a) {
			t.Errorf("equals %s", other)
		}
	}
	if IDOf(a) != IDOf(tol(t, "a=1:NoExecute")) {
		t.Error("seconds are no part of the identity")
	}
	if Contains(tols(t, "a=1:NoExecute"), a) || !Contains(tols(t, "z Exists", "a=1:NoExecute for 60s"), a) {
		t.Error("a list contains what stands in it with the same seconds")
	}
}

func TestFormat_isSortedByIdentityThenTime(t *testing.T) {
	t.Parallel()
	list := tols(t, "b Exists", "a=1:NoSchedule", "a=2:NoExecute", "a=1:NoExecute", "a=1:NoExecute for 60s", "Exists")
	const text = "Exists, a=1:NoExecute for 60s, a=1:NoExecute, a=2:NoExecute, a=1:NoSchedule, b Exists"
	if got := Format(list); got != text {
		t.Errorf("%s, want %s", got, text)
	}
	if write(list)[0] != "b Exists" {
		t.Error("writing a list must not sort it in place")
	}
}

func TestWithout_leavesWhatWasAddedBeyondTheTemplate(t *testing.T) {
	t.Parallel()
	live := tols(t, "a=1:NoExecute", "b Exists:NoExecute for 300s", "c Exists")
	equal(t, "added", []string{"b Exists:NoExecute for 300s"}, write(Without(live, tols(t, "c Exists", "a=1:NoExecute", "b Exists:NoExecute"))))
	equal(t, "nothing added", nil, write(Without(live[:1], live)))
	var none []corev1.Toleration
	equal(t, "no template", write(live), write(Without(live, none)))
}

func TestID_isAKeyOfJSONAndReadBack(t *testing.T) {
	t.Parallel()
	kept := map[ID][]string{IDOf(tol(t, "a=1:NoExecute for 60s")): {"", "g1"}, IDOf(tol(t, "Exists")): {"g2"}}
	text, err := json.Marshal(kept)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"[\"\",\"Exists\",\"\",\"\"]":["g2"],"[\"a\",\"Equal\",\"1\",\"NoExecute\"]":["","g1"]}`
	if string(text) != want {
		t.Errorf("%s is kept in states, want %s", text, want)
	}
	var back map[ID][]string
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(kept, back); diff != "" {
		t.Error(diff)
	}
	for _, wrong := range []string{"", "a", "{}", `["a"]`, `["a","Equal","1","NoExecute","60"]`, `["a",1,"",""]`} {
		if err := new(ID).UnmarshalText([]byte(wrong)); err == nil {
			t.Errorf("%q was read", wrong)
		}
	}
}
