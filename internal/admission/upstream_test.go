// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package admission

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// The facts below are those of k8s.io/kubernetes v1.37.2
// pkg/util/tolerations/tolerations_test.go and
// plugin/pkg/admission/podtolerationrestriction/admission_test.go.

const (
	noSched  = corev1.TaintEffectNoSchedule
	preferNo = corev1.TaintEffectPreferNoSchedule
	noEx     = corev1.TaintEffectNoExecute
)

// named are the tolerations that the tables speak of.
func named() map[string]corev1.Toleration {
	during := func(t corev1.Toleration, seconds int64) corev1.Toleration {
		t.TolerationSeconds = &seconds
		return t
	}
	return map[string]corev1.Toleration{
		"all": exists("", ""), "all-sched": exists("", noSched), "all-exec": exists("", noEx),
		"foo": exists("foo", ""), "foo=bar": equal("foo", "bar", ""),
		"foo-sched": exists("foo", noSched), "foo=bar-sched": equal("foo", "bar", noSched), "foo=baz-sched": equal("foo", "baz", noSched),
		"faz-sched": exists("faz", noSched), "faz=baz-sched": equal("faz", "baz", noSched), "foo-prefer": exists("foo", preferNo),
		"foo-exec": exists("foo", noEx), "foo=bar-exec": equal("foo", "bar", noEx),
		"foo-exec-10": during(exists("foo", noEx), 10), "foo-exec-0": during(exists("foo", noEx), 0), "foo=bar-exec-10": during(equal("foo", "bar", noEx), 10),
	}
}

func listOf(names ...string) []corev1.Toleration {
	var out []corev1.Toleration
	for _, name := range names {
		out = append(out, named()[name])
	}
	return out
}

func TestUpstream_tolerationsSuperset(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	sched := []string{"foo-sched", "foo=bar-sched", "foo=baz-sched", "faz-sched", "faz=baz-sched"}
	exec := []string{"foo-exec", "foo=bar-exec", "foo-exec-10", "foo-exec-0", "foo=bar-exec-10"}
	for name, covered := range map[string][]string{
		"all":       slices.Concat(sched, exec, []string{"all-sched", "all-exec", "foo", "foo=bar", "foo-prefer"}),
		"all-sched": sched, "all-exec": exec,
		"foo":       slices.Concat(exec, []string{"foo=bar", "foo-sched", "foo=bar-sched", "foo=baz-sched", "foo-prefer"}),
		"foo=bar":   {"foo=bar-sched", "foo=bar-exec", "foo=bar-exec-10"},
		"foo-sched": {"foo=bar-sched", "foo=baz-sched"}, "foo=bar-sched": nil,
		"faz-sched": {"faz=baz-sched"}, "faz=baz-sched": nil, "foo-prefer": nil,
		"foo-exec": exec, "foo=bar-exec": {"foo=bar-exec-10"},
		"foo-exec-10": {"foo-exec-0", "foo=bar-exec-10"}, "foo-exec-0": nil, "foo=bar-exec-10": nil,
	} {
		rows.Run(t, name, func(t *testing.T) {
			t.Parallel()
			for other, t2 := range named() {
				if want := other == name || slices.Contains(covered, other); allows(named()[name], t2) != want {
					t.Errorf("allows %s: %t, want %t", other, !want, want)
				}
			}
		})
	}
}

func TestUpstream_tolerationsWhitelist(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	for name, tt := range map[string]struct {
		has, allowed []string
		refused      bool
	}{
		"the same":             {[]string{"foo=bar-sched", "foo=baz-sched"}, []string{"foo=bar-sched", "foo=baz-sched"}, false},
		"twice, allowed":       {[]string{"foo=bar-sched", "foo=bar-sched"}, []string{"foo=bar-sched", "foo=baz-sched"}, false},
		"everything allowed":   {[]string{"foo=bar-sched", "foo=bar-sched"}, []string{"all"}, false},
		"twice, not allowed":   {[]string{"foo=bar-sched", "foo=bar-sched"}, []string{"foo=baz-sched"}, true},
		"one has other values": {[]string{"foo=bar-sched", "foo=baz-sched"}, []string{"foo=baz-sched"}, true},
		"not in the list":      {[]string{"foo=bar-sched"}, []string{"foo=baz-sched"}, true},
		"other effects":        {[]string{"foo=bar"}, []string{"foo-sched"}, true},
		"an empty list":        {[]string{"foo=bar"}, nil, false},
		"no tolerations":       {nil, []string{"foo=bar"}, false},
	} {
		rows.Run(t, name, func(t *testing.T) {
			t.Parallel()
			if got := Forbidden(listOf(tt.allowed...), listOf(tt.has...)); (len(got) > 0) != tt.refused {
				t.Errorf("%s is refused", toleration.Format(got))
			}
		})
	}
}

func TestUpstream_tolerationsMerge(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	three := []string{"foo=bar-sched", "faz=baz-sched", "foo-exec-10"}
	for name, tt := range map[string]struct{ own, defaults, want []string }{
		"disjoint":                          {three, []string{"foo-prefer", "foo=baz-sched"}, append(slices.Clone(three), "foo-prefer", "foo=baz-sched")},
		"the same":                          {three, three, three},
		"a default covers two of the pod's": {[]string{"foo=bar-sched", "foo=baz-sched"}, []string{"foo-sched", "faz=baz-sched"}, []string{"foo-sched", "faz=baz-sched"}},
		"a default covers everything":       {[]string{"foo=bar-sched", "foo=baz-sched", "foo-exec-10"}, []string{"all"}, []string{"all"}},
		"the pod's own toleration covers all of them": {[]string{"all"}, []string{"foo=bar-sched", "foo=baz-sched", "foo-exec-10"}, []string{"all"}},
	} {
		rows.Run(t, name, func(t *testing.T) {
			t.Parallel()
			got, _ := Made(listOf(tt.own...), nil, nil, listOf(tt.defaults...))
			if diff := cmp.Diff(listOf(tt.want...), got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestUpstream_podTolerationRestriction has the cases of a pod that is created. Defaults
// are those of the namespace, where it has the annotation, even an empty one.
func TestUpstream_podTolerationRestriction(t *testing.T) {
	t.Parallel()
	v, v1 := equal("testKey", "testValue", noSched), equal("testKey", "testValue1", noSched)
	type list = []corev1.Toleration
	tests := map[string]struct {
		own, defaults, allowed, want list
		refused                      bool
		// notBestEffort is set for a pod with requests or limits.
		notBestEffort bool
	}{
		"the cluster's default, which the pod has":        {own: list{v}, want: list{v}},
		"the namespace's default, which the pod has":      {own: list{v}, defaults: list{v}, want: list{v}},
		"a pod without tolerations":                       {defaults: list{v}, want: list{v}},
		"a default with another value":                    {own: list{v1}, defaults: list{v}, want: list{v, v1}},
		"an empty default overrides the cluster's":        {own: list{v1}, want: list{v1}},
		"what the pod gets is allowed":                    {defaults: list{v}, allowed: list{v}, want: list{v}},
		"an empty default, and a pod without tolerations": {},
		"an empty list overrides what the cluster allows": {own: list{v}, want: list{v}},
		"what the pod gets is not allowed":                {defaults: list{v}, allowed: list{v1}, want: list{v}, refused: true},
		"two values of one key":                           {own: list{v, v1}, want: list{v, v1}},
		"memory pressure of a Burstable pod":              {notBestEffort: true, defaults: list{v}, want: list{v, MemoryPressure}},
		"memory pressure of a Guaranteed pod":             {notBestEffort: true, defaults: list{v}, want: list{v, MemoryPressure}},
	}
	rows := upstream.Cases(t)
	for name, tt := range tests {
		rows.Run(t, name, func(t *testing.T) {
			t.Parallel()
			got, _ := Made(tt.own, nil, nil, Namespace{Defaults: tt.defaults}.Gives(!tt.notBestEffort))
			if diff := cmp.Diff(toleration.Sort(slices.Clone(tt.want)), toleration.Sort(slices.Clone(got)), cmpopts.EquateEmpty()); diff != "" && !tt.refused {
				t.Error(diff)
			}
			if refused := Forbidden(tt.allowed, got); (len(refused) > 0) != tt.refused {
				t.Errorf("refused for %s", toleration.Format(refused))
			}
		})
	}
}

// TestUpstream_tolerationsFuzzed has the facts of TestFuzzed: what an allowlist accepts, some of its
// entries accept one by one, and each toleration that is merged is covered by one of the result.
func TestUpstream_tolerationsFuzzed(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	effects := []corev1.TaintEffect{"", noEx, noSched, preferNo}
	one := rapid.Custom(func(t *rapid.T) corev1.Toleration {
		if rapid.IntRange(0, 99).Draw(t, "all") == 0 {
			return exists("", "")
		}
		// Few keys and values, so that tolerations cover each other.
		out := exists(rapid.StringMatching("a{1,6}").Draw(t, "key"), rapid.SampledFrom(effects).Draw(t, "effect"))
		if rapid.Bool().Draw(t, "equal") {
			out = equal(out.Key, rapid.StringMatching("b{1,6}").Draw(t, "value"), out.Effect)
		}
		if out.Effect == noEx && rapid.Bool().Draw(t, "for a time") {
			out.TolerationSeconds = new(rapid.Int64Range(0, 9).Draw(t, "seconds"))
		}
		return out
	})
	covered := func(one corev1.Toleration, by []corev1.Toleration) bool {
		return slices.ContainsFunc(by, func(x corev1.Toleration) bool { return allows(x, one) })
	}
	rows.Run(t, "allowlist", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			has, allowed := rapid.SliceOfN(one, 0, 9).Draw(t, "has"), rapid.SliceOfN(one, 1, 9).Draw(t, "allowed")
			forbidden := Forbidden(allowed, has)
			want := slices.DeleteFunc(slices.Clone(has), func(x corev1.Toleration) bool { return covered(x, allowed) })
			if (len(forbidden) > 0) != (len(want) > 0) {
				t.Errorf("forbidden are %s, want %s", toleration.Format(forbidden), toleration.Format(want))
			}
		})
	})
	rows.Run(t, "merge", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			own, defaults := rapid.SliceOfN(one, 0, 9).Draw(t, "own"), rapid.SliceOfN(one, 0, 9).Draw(t, "defaults")
			got, _ := Made(own, nil, nil, defaults)
			for _, x := range slices.Concat(own, defaults) {
				if !covered(x, got) {
					t.Errorf("%s is lost: %s", taint.FormatToleration(x), toleration.Format(got))
				}
			}
		})
	})
}
