// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package admission

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

func names(policies []Policy) []string {
	var out []string
	for _, p := range policies {
		out = append(out, p.Name)
	}
	return out
}

func TestRules_withAndWithoutAPolicy(t *testing.T) {
	t.Parallel()
	none := (*Rules)(nil)
	two := none.With(Policy{Name: "b"}).With(Policy{Name: "a"})
	if diff := cmp.Diff([]string{"a", "b"}, names(two.Policies)); diff != "" {
		t.Errorf("the policies are not in the order of their names (-want +got):\n%s", diff)
	}
	replaced := two.With(Policy{Name: "b", Fail: true})
	if diff := cmp.Diff([]string{"a", "b"}, names(replaced.Policies)); diff != "" || !replaced.Policies[1].Fail || two.Policies[1].Fail {
		t.Errorf("a policy of the same name is not replaced in a copy (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b"}, names(two.Without("a").Policies)); diff != "" || len(two.Policies) != 2 {
		t.Errorf("a policy is not removed from a copy (-want +got):\n%s", diff)
	}
	for name, tt := range map[string]struct {
		rules *Rules
		want  bool
	}{
		"no rules":    {none, true},
		"empty rules": {&Rules{}, true},
		"a policy":    {two, false},
		"a namespace": {&Rules{Namespaces: map[string]Namespace{"ml": {}}}, false},
	} {
		if got := tt.rules.Empty(); got != tt.want {
			t.Errorf("%s: empty %t", name, got)
		}
	}
}

func TestRules_applying(t *testing.T) {
	t.Parallel()
	defaults := []corev1.Toleration{exists("given", "")}
	rules := (*Rules)(nil).With(Policy{Name: "by-label", Match: Match{NamespaceSelector: "team=ml"}}).With(Policy{Name: "all", Match: Match{All: true}}).
		With(Policy{Name: "other", Match: Match{Namespaces: []string{"other"}}})
	rules.Namespaces = map[string]Namespace{"ml": {Labels: labels.Set{"team": "ml"}, Defaults: defaults}}
	policies, in := rules.Applying(Pod{Namespace: "ml"})
	if diff := cmp.Diff([]string{"all", "by-label"}, names(policies)) + cmp.Diff(defaults, in.Defaults); diff != "" {
		t.Errorf("namespace ml (-want +got):\n%s", diff)
	}
	if policies, in := rules.Applying(Pod{Namespace: "web"}); !slices.Equal(names(policies), []string{"all"}) || in.Defaults != nil {
		t.Errorf("namespace web: %v and %v", names(policies), in)
	}
	if policies, in := (*Rules)(nil).Applying(Pod{Namespace: "ml"}); policies != nil || in.Labels != nil {
		t.Errorf("no rules: %v and %v", policies, in)
	}
}

// TestMade_pluginThenPolicies: the namespace's defaults come first, and a policy gives
// nothing that they cover.
func TestMade_pluginThenPolicies(t *testing.T) {
	t.Parallel()
	own, wide := equal("own", "1", ""), exists("team", "")
	list, required := Made([]corev1.Toleration{own}, nil, []Policy{
		{Tolerations: []corev1.Toleration{equal("team", "a", ""), exists("spot", "")}}, {Pin: map[string]string{"pool": "gpu"}},
	}, []corev1.Toleration{own, wide})
	if diff := cmp.Diff([]corev1.Toleration{own, wide, exists("spot", "")}, list); diff != "" {
		t.Errorf("tolerations (-want +got):\n%s", diff)
	}
	if required == nil || len(required.NodeSelectorTerms) != 1 {
		t.Errorf("requires %v", required)
	}
}

// TestRequire_andRelease: a release leaves what the pod required before, but for what the policy found there already.
func TestRequire_andRelease(t *testing.T) {
	t.Parallel()
	in := func(key, value string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}
	}
	term := func(e ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: e}
	}
	of := func(terms ...corev1.NodeSelectorTerm) *corev1.NodeSelector {
		return &corev1.NodeSelector{NodeSelectorTerms: terms}
	}
	notIn := in("pool", "gpu")
	notIn.Operator = corev1.NodeSelectorOpNotIn
	byName := corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{in("metadata.name", "worker-1")}}
	byNameAndPool := byName
	byNameAndPool.MatchExpressions = []corev1.NodeSelectorRequirement{in("pool", "gpu")}
	pool := map[string]string{"pool": "gpu"}
	for name, tt := range map[string]struct {
		pin       map[string]string
		had, want *corev1.NodeSelector
	}{
		"no labels":                                  {nil, of(term(in("zone", "a"))), of(term(in("zone", "a")))},
		"no labels and no affinity":                  {nil, nil, nil},
		"no affinity: one term, by key":              {map[string]string{"zone": "a", "pool": "gpu"}, nil, of(term(in("pool", "gpu"), in("zone", "a")))},
		"every term demands them":                    {pool, of(term(in("zone", "a")), byName), of(term(in("zone", "a"), in("pool", "gpu")), byNameAndPool)},
		"a term that demands them already":           {pool, of(term(in("pool", "gpu"))), of(term(in("pool", "gpu")))},
		"another value is no reason to leave it out": {pool, of(term(in("pool", "cpu"))), of(term(in("pool", "cpu"), in("pool", "gpu")))},
		"nor is another key":                         {pool, of(term(in("tier", "gpu"))), of(term(in("tier", "gpu"), in("pool", "gpu")))},
		"nor is another operator":                    {pool, of(term(notIn)), of(term(notIn, in("pool", "gpu")))},
		"a term without demands matches no node":     {pool, of(term()), of(term())},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := tt.had.DeepCopy()
			if diff := cmp.Diff(tt.want, Policy{Pin: tt.pin}.Require(tt.had)); diff != "" {
				t.Errorf("requires (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, tt.had); diff != "" {
				t.Errorf("the pod's own affinity was changed:\n%s", diff)
			}
			after := tt.want.DeepCopy()
			if name == "a term that demands them already" {
				before = nil
			}
			if diff := cmp.Diff(before, Policy{Pin: tt.pin}.Release(tt.want), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("a release leaves (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(after, tt.want); diff != "" {
				t.Errorf("a release changes the pod's own affinity:\n%s", diff)
			}
		})
	}
}

// TestRules_rememberWhatPodsStillRequire: of a policy that is deleted or pins to other labels, and of no other.
func TestRules_rememberWhatPodsStillRequire(t *testing.T) {
	t.Parallel()
	pinned := func(name, value string) Policy {
		return Policy{Name: name, Match: Match{PodSelector: "app=web"}, Pin: map[string]string{"pool": value}}
	}
	rules := (&Rules{}).With(pinned("a", "gpu")).With(pinned("b", "gpu"))
	for name, tt := range map[string]struct {
		rules *Rules
		want  []string
	}{
		"all are in force":         {rules, nil},
		"one is deleted":           {rules.Without("a"), []string{"a pool=gpu"}},
		"one that was not there":   {rules.Without("c"), nil},
		"one pins to other labels": {rules.With(pinned("a", "cpu")), []string{"a pool=gpu"}},
		"one is written again":     {rules.With(pinned("a", "gpu")), nil},
		"one changes, and again":   {rules.With(pinned("a", "cpu")).With(pinned("a", "cpu")), []string{"a pool=gpu"}},
		"one comes back":           {rules.With(pinned("a", "cpu")).With(pinned("a", "gpu")), []string{"a pool=cpu"}},
		"all are deleted":          {rules.Without("a").Without("b"), []string{"a pool=gpu", "b pool=gpu"}},
	} {
		var got []string
		for _, p := range tt.rules.Left(Pod{Namespace: "shop", Labels: map[string]string{"app": "web"}}) {
			got = append(got, p.Name+" pool="+p.Pin["pool"])
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if other := tt.rules.Left(Pod{Namespace: "shop"}); len(other) > 0 || tt.rules.Empty() {
			t.Errorf("%s: it meant a pod without the label, or the rules are empty: %v", name, other)
		}
	}
}

func TestMatch_string(t *testing.T) {
	t.Parallel()
	for want, match := range map[string]Match{
		"pods":                               {All: true},
		"pods that request a.com/x, b.com/y": {Requests: []string{"b.com/y", "a.com/x"}},
		`pods that match "app=web"`:          {PodSelector: "app=web"},
		"pods of namespace ml, web":          {Namespaces: []string{"web", "ml"}, NamespaceSelector: "team=ml"},
		`pods that match "app=web", of namespaces that match "t"`: {PodSelector: "app=web", NamespaceSelector: "t"},
	} {
		if got := match.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestMatch_empty(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		match Match
		want  bool
	}{
		"every pod":        {Match{All: true}, true},
		"a namespace":      {Match{Namespaces: []string{"ml"}}, false},
		"namespace labels": {Match{NamespaceSelector: "a"}, false},
		"pod labels":       {Match{PodSelector: "a"}, false},
		"a request":        {Match{Requests: []string{"a.com/x"}}, false},
	} {
		if got := tt.match.Empty(); got != tt.want {
			t.Errorf("%s: empty %t", name, got)
		}
	}
}

func TestListClaim_merge(t *testing.T) {
	t.Parallel()
	team, spot := exists("team", ""), exists("spot", "")
	claim := func(list ...corev1.Toleration) toleration.Claim {
		return toleration.Claim{Owner: "me", Generation: "1", Tolerations: list}
	}
	m := ListClaim{Default: claim(team), Allowed: claim(team, spot)}.Merge(Lists{Allowed: []corev1.Toleration{exists("foreign", "")}})
	if diff := cmp.Diff([]corev1.Toleration{team}, m.Default) + cmp.Diff([]corev1.Toleration{exists("foreign", ""), team, spot}, m.Allowed); diff != "" || !m.Changed || len(m.Record) != 3 {
		t.Fatalf("changed %t, record %v, lists (-want +got):\n%s", m.Changed, m.Record, diff)
	}
	annotations, err := m.Annotations()
	if err != nil {
		t.Fatal(err)
	}
	read := map[string]string{}
	for name, value := range annotations {
		read[name] = *value
	}
	seen := ObserveLists(read)
	// A record is written in an order of its own.
	m.Record = seen.Record
	if diff := cmp.Diff(m.Lists, seen); diff != "" || len(seen.Record) != 3 {
		t.Errorf("the annotations are read differently (-want +got):\n%s", diff)
	}
	if again := (ListClaim{Default: claim(team), Allowed: claim(team, spot)}).Merge(seen); again.Changed {
		t.Error("merging again changes something")
	}
	if less := (ListClaim{Default: claim(), Allowed: claim(team, spot)}).Merge(seen); !less.Changed || len(less.Default) != 0 || len(less.Allowed) != 3 {
		t.Errorf("a change of one list: changed %t, %v and %v", less.Changed, less.Default, less.Allowed)
	}
	other := claim(team)
	other.Owner, other.Generation = "other", "2"
	for name, c := range map[string]ListClaim{"the defaults": {Default: other}, "the allowed": {Allowed: other}} {
		got := c.Merge(seen)
		if len(got.Conflicts()) != 1 || got.Changed || !cmp.Equal(got.Lists, seen) {
			t.Errorf("%s of another owner: conflicts %v, changed %t", name, got.Conflicts(), got.Changed)
		}
	}
	taker := claim(team)
	taker.Generation, taker.TakeOver = "2", true
	if got := (ListClaim{Default: taker, Allowed: taker}).Merge(seen); len(got.TakenOver()) != 2 {
		t.Errorf("takes over %v, want the entry of both lists", got.TakenOver())
	}
}

func TestObserveLists_annotationsThatCannotBeReadAreErrors(t *testing.T) {
	t.Parallel()
	for _, name := range []string{DefaultsAnnotation, WhitelistAnnotation, toleration.OwnedAnnotation} {
		if got := ObserveLists(map[string]string{name: "{"}); got.Err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	empty := ObserveLists(map[string]string{DefaultsAnnotation: ""})
	annotations, err := empty.Annotations()
	if empty.Err != nil || empty.Default != nil || err != nil {
		t.Fatalf("no annotation: %+v, %v", empty, err)
	}
	for name, value := range annotations {
		if value != nil {
			t.Errorf("%s is %q, want none for an empty list", name, *value)
		}
	}
	if len(annotations) != 3 {
		t.Errorf("got %v", annotations)
	}
}

// TestLists_tooLarge adds up the annotations of the lists and those of others.
func TestLists_tooLarge(t *testing.T) {
	t.Parallel()
	const most = 256 << 10 // All annotations of an object together.
	lists := Lists{Default: []corev1.Toleration{exists("a", "")}}
	values, err := lists.Annotations()
	if err != nil {
		t.Fatal(err)
	}
	room := most - len(DefaultsAnnotation) - len(*values[DefaultsAnnotation])
	for name, tt := range map[string]struct {
		others int
		want   string
	}{
		"they fit":                    {room, ""},
		"they have one byte too many": {room + 1, "the annotation " + DefaultsAnnotation},
	} {
		lists.OtherAnnotations = tt.others
		if got := lists.TooLarge(); (got == "") != (tt.want == "") || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestLists_haveNames(t *testing.T) {
	t.Parallel()
	a, b := []corev1.Toleration{exists("a", "")}, []corev1.Toleration{exists("b", "")}
	lists := Lists{Default: a, Allowed: b}
	if diff := cmp.Diff(a, lists.Of(DefaultList)) + cmp.Diff(b, lists.Of(AllowedList)); diff != "" {
		t.Error(diff)
	}
	claims := ListClaim{Default: toleration.Claim{Tolerations: a}, Allowed: toleration.Claim{Tolerations: b}}.Claims()
	if len(claims) != 2 || claims[0].Path != DefaultList || claims[1].Path != AllowedList || !cmp.Equal(claims[0].Tolerations, a) || !cmp.Equal(claims[1].Tolerations, b) {
		t.Errorf("the claims are %v", claims)
	}
}
