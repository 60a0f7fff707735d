// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package admission

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

func lasting(t corev1.Toleration, seconds int64) corev1.Toleration {
	t.TolerationSeconds = &seconds
	return t
}

// TestPlan_retiresByTheTaintsThatAreThere, whatever retired before.
func TestPlan_retiresByTheTaintsThatAreThere(t *testing.T) {
	t.Parallel()
	a, b := equal("a", "1", "NoSchedule"), equal("b", "1", "NoSchedule")
	taints := func(keys ...string) []corev1.Taint {
		var out []corev1.Taint
		for _, key := range keys {
			out = append(out, corev1.Taint{Key: key, Value: "1", Effect: corev1.TaintEffectNoSchedule})
		}
		return out
	}
	for name, tt := range map[string]struct {
		wanted, retiring, seen []corev1.Toleration
		live                   []corev1.Taint
		want                   []corev1.Toleration
	}{
		"what no taint needs retires no more":                     {wanted: []corev1.Toleration{b}, retiring: []corev1.Toleration{a}, seen: []corev1.Toleration{b}},
		"what a taint needs retires":                              {wanted: []corev1.Toleration{b}, seen: []corev1.Toleration{a, b}, live: taints("a"), want: []corev1.Toleration{a}},
		"what another taint needs does not":                       {wanted: []corev1.Toleration{b}, seen: []corev1.Toleration{a, b}, live: taints("c")},
		"what is wanted does not":                                 {wanted: []corev1.Toleration{a, b}, seen: []corev1.Toleration{a, b}, live: taints("a", "b")},
		"what another one that is wanted tolerates does not":      {wanted: []corev1.Toleration{exists("a", "")}, seen: []corev1.Toleration{a}, live: taints("a")},
		"what a wanted one of another time tolerates does not":    {wanted: []corev1.Toleration{lasting(exists("a", "NoExecute"), 5)}, seen: []corev1.Toleration{lasting(exists("a", "NoExecute"), 60)}, live: []corev1.Taint{{Key: "a", Effect: "NoExecute"}}},
		"what a taint that keeps no pod away asks for retires no": {wanted: []corev1.Toleration{b}, seen: []corev1.Toleration{exists("a", ""), b}, live: []corev1.Taint{{Key: "a", Effect: "PreferNoSchedule"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mark := Mark{Owner: "me", Generation: "g"}
			seen := Observed{Policy: Policy{Name: "p", Tolerations: tt.seen, Retiring: tt.retiring}, Mark: mark}
			plan, err := Claim{Policy: Policy{Name: "p", Tolerations: tt.wanted, Retiring: tt.retiring}, Mark: mark}.Plan(&seen, tt.live, false)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(plan.Policy.Retiring, tt.want, toleration.Equal) {
				t.Errorf("it retires %v, want %v", plan.Policy.Retiring, tt.want)
			}
		})
	}
}

func TestCovers_looksAtNoTime(t *testing.T) {
	t.Parallel()
	a := exists("a", "NoExecute")
	for _, one := range []corev1.Toleration{a, lasting(a, 5)} {
		for _, other := range []corev1.Toleration{a, lasting(a, 60), lasting(equal("a", "1", "NoExecute"), 60)} {
			if !covers(one, other) {
				t.Errorf("%v does not cover %v", one, other)
			}
		}
	}
	if covers(equal("a", "1", "NoExecute"), a) {
		t.Error("one value covers every value")
	}
}

func TestMade_leavesTheListOfAPodWhereItsNamespaceGivesNothing(t *testing.T) {
	t.Parallel()
	own := []corev1.Toleration{exists("a", ""), equal("a", "1", "NoExecute")}
	if got, _ := Made(own, nil, nil, nil); !slices.EqualFunc(got, own, toleration.Equal) {
		t.Errorf("it has %v, want what it had: %v", got, own)
	}
	if got, _ := Made(own, nil, nil, []corev1.Toleration{exists("b", "")}); len(got) != 2 {
		t.Errorf("it has %v, want that what is covered goes", got)
	}
}

func TestMatch_meansInReadsItsSelector(t *testing.T) {
	t.Parallel()
	m := Match{NamespaceSelector: "team=ml"}
	if !m.MeansIn("a", labels.Set{"team": "ml"}) || m.MeansIn("a", labels.Set{"team": "web"}) {
		t.Error("it does not mean namespaces by their labels")
	}
}

func TestRules_withAPolicyKeepTheNamespaces(t *testing.T) {
	t.Parallel()
	r := &Rules{Namespaces: map[string]Namespace{"a": {Defaults: []corev1.Toleration{exists("a", "")}}}}
	if got := r.With(Policy{Name: "p"}); len(got.Namespaces) != 1 || len(got.Policies) != 1 {
		t.Errorf("there are %v", got)
	}
}

// TestListClaim_mergeChangesNothingWhereItMeetsAConflict.
func TestListClaim_mergeChangesNothingWhereItMeetsAConflict(t *testing.T) {
	t.Parallel()
	a, b := exists("a", "NoSchedule"), exists("b", "NoSchedule")
	stands := Lists{Default: []corev1.Toleration{a}, Record: toleration.Record{{Path: DefaultList, Key: "a", Operator: a.Operator, Effect: a.Effect, Owner: "other", Generation: "g9"}}}
	claim := func(t ...corev1.Toleration) toleration.Claim {
		return toleration.Claim{Owner: "me", Generation: "g", Tolerations: t}
	}
	got := ListClaim{Default: claim(a, b), Allowed: claim(b)}.Merge(stands)
	if len(got.Conflicts()) == 0 || got.Changed || len(got.Default) != 1 || len(got.Allowed) != 0 || len(got.Record) != 1 {
		t.Errorf("conflicts %v, changed %t: %v", got.Conflicts(), got.Changed, got.Lists)
	}
}
