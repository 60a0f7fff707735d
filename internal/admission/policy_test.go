// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package admission

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

func equal(key, value string, effect corev1.TaintEffect) corev1.Toleration {
	return corev1.Toleration{Key: key, Operator: corev1.TolerationOpEqual, Value: value, Effect: effect}
}

func exists(key string, effect corev1.TaintEffect) corev1.Toleration {
	return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect}
}

func TestMeans(t *testing.T) {
	t.Parallel()
	train := Pod{Namespace: "ml", NamespaceLabels: labels.Set{"team": "ml"}, Labels: labels.Set{"app": "train"}, Requests: func(r string) bool { return r == "nvidia.com/gpu" }}
	system := Pod{Namespace: "openshift-dns", NamespaceLabels: labels.Set{"team": "ml"}, Labels: labels.Set{"app": "train"}, Requests: train.Requests}
	for name, tt := range map[string]struct {
		match Match
		pod   Pod
		want  bool
	}{
		"every pod":                                      {Match{All: true}, train, true},
		"every pod but those of the system":              {Match{All: true}, system, false},
		"a namespace by name":                            {Match{Namespaces: []string{"x", "ml"}}, train, true},
		"another namespace":                              {Match{Namespaces: []string{"x"}}, train, false},
		"a namespace of the system by name":              {Match{Namespaces: []string{"openshift-dns"}}, system, true},
		"a namespace by its labels":                      {Match{NamespaceSelector: "team in (ml)"}, train, true},
		"a namespace by labels that it has not":          {Match{NamespaceSelector: "team=web"}, train, false},
		"a namespace of the system by its labels is not": {Match{NamespaceSelector: "team=ml"}, system, false},
		"a pod by its labels":                            {Match{PodSelector: "app=train,!legacy"}, train, true},
		"a pod by labels that it has not":                {Match{PodSelector: "app=web"}, train, false},
		"a pod that requests one of them":                {Match{Requests: []string{"amd.com/gpu", "nvidia.com/gpu"}}, train, true},
		"a pod that requests none of them":               {Match{Requests: []string{"amd.com/gpu"}}, train, false},
		"all of it has to hold":                          {Match{PodSelector: "app=train", Requests: []string{"amd.com/gpu"}}, train, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tt.match.Means(tt.pod); got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
}

// TestGive_whatItGivesIsTolerated: a pod tolerates what it did, for as long, and every
// taint that the policy is for; asked again, the policy gives nothing.
func TestGive_whatItGivesIsTolerated(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		own, given := rapid.SliceOfN(tolerations(), 0, 4).Draw(t, "own"), rapid.SliceOfN(tolerations(), 1, 3).Draw(t, "given")
		p := Policy{Tolerations: given}
		got := p.Give(own)
		if !slices.EqualFunc(got[:len(own)], own, toleration.Equal) {
			t.Fatalf("what the pod had was changed: %s", toleration.Format(got))
		}
		if again := p.Give(got); len(again) != len(got) {
			t.Fatalf("a second look gives more: %s", toleration.Format(again[len(got):]))
		}
		for _, one := range taints {
			before := toleration.Lasts(own, one, true)
			wanted := slices.ContainsFunc(given, func(g corev1.Toleration) bool { return taint.Tolerates(g, one, true) })
			after := toleration.Lasts(got, one, true)
			if before != toleration.Untolerated && after != before {
				t.Fatalf("%s was tolerated for %d s and is for %d s", taint.Format(one), before, after)
			}
			if (after != toleration.Untolerated) != (wanted || before != toleration.Untolerated) {
				t.Fatalf("%s: tolerated is %d", taint.Format(one), after)
			}
		}
	})
}

var taints = func() []corev1.Taint {
	var out []corev1.Taint
	for _, key := range []string{"a", "b"} {
		for _, value := range []string{"", "1", "2"} {
			for _, effect := range []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute} {
				out = append(out, corev1.Taint{Key: key, Value: value, Effect: effect})
			}
		}
	}
	return out
}()

// tolerations are valid ones, over few keys and values.
func tolerations() *rapid.Generator[corev1.Toleration] {
	return rapid.Custom(func(t *rapid.T) corev1.Toleration {
		out := corev1.Toleration{
			Key:      rapid.SampledFrom([]string{"a", "b", ""}).Draw(t, "key"),
			Operator: rapid.SampledFrom([]corev1.TolerationOperator{"", corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpGt}).Draw(t, "operator"),
			Effect:   rapid.SampledFrom([]corev1.TaintEffect{"", corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute}).Draw(t, "effect"),
		}
		switch {
		case out.Key == "":
			out.Operator = corev1.TolerationOpExists
		case out.Operator != corev1.TolerationOpExists:
			out.Value = rapid.SampledFrom([]string{"1", "2"}).Draw(t, "value")
		}
		if out.Effect == corev1.TaintEffectNoExecute && rapid.Bool().Draw(t, "limited") {
			out.TolerationSeconds = new(rapid.Int64Range(-1, 60).Draw(t, "seconds"))
		}
		return out
	})
}

func TestPlan(t *testing.T) {
	t.Parallel()
	a, b := equal("team", "a", corev1.TaintEffectNoSchedule), equal("team", "b", corev1.TaintEffectNoSchedule)
	mark := Mark{Owner: "o/toleration_policy/p", Generation: "1"}
	there := func(m Mark, retiring []corev1.Toleration, list ...corev1.Toleration) *Observed {
		return &Observed{Policy: Policy{Name: "p", Tolerations: list, Retiring: retiring}, Mark: m}
	}
	claim := func(list ...corev1.Toleration) Claim {
		return Claim{Policy: Policy{Name: "p", Tolerations: list}, Mark: mark}
	}
	live := func(value string, effect corev1.TaintEffect) []corev1.Taint {
		return []corev1.Taint{{Key: "team", Value: value, Effect: effect}}
	}
	released, taker := claim(), claim(a)
	released.Release, taker.TakeOver, taker.Generation = true, true, "2"
	for name, tt := range map[string]struct {
		claim    Claim
		seen     *Observed
		live     []corev1.Taint
		changed  bool
		deletes  bool
		retiring []corev1.Toleration
		conflict string
	}{
		"what is not there is made":                                {claim: claim(a), changed: true},
		"what is there as wanted is left as it is":                 {claim: claim(a), seen: there(mark, nil, a)},
		"what another writer changed is repaired":                  {claim: claim(a), seen: &Observed{Policy: Policy{Name: "p", Tolerations: []corev1.Toleration{a}}, Mark: mark, Differs: map[string]string{BindingKind: Missing}}, changed: true},
		"what is wanted no more goes":                              {claim: claim(b), seen: there(mark, nil, a), changed: true},
		"what a live taint asks for retires":                       {claim: claim(b), seen: there(mark, nil, a), live: live("a", corev1.TaintEffectNoSchedule), changed: true, retiring: []corev1.Toleration{a}},
		"a taint that keeps no pod away asks for nothing":          {claim: claim(b), seen: there(mark, nil, a), live: live("a", corev1.TaintEffectPreferNoSchedule), changed: true},
		"what is wanted covers what goes":                          {claim: claim(exists("team", "")), seen: there(mark, nil, a), live: live("a", corev1.TaintEffectNoSchedule), changed: true},
		"what retires stays while its taint stands":                {claim: claim(b), seen: there(mark, []corev1.Toleration{a}, b), live: live("a", corev1.TaintEffectNoSchedule), retiring: []corev1.Toleration{a}},
		"what retires goes with its taint":                         {claim: claim(b), seen: there(mark, []corev1.Toleration{a}, b), live: live("b", corev1.TaintEffectNoSchedule), changed: true},
		"what retires can be wanted again":                         {claim: claim(a, b), seen: there(mark, []corev1.Toleration{a}, b), live: live("a", corev1.TaintEffectNoSchedule), changed: true},
		"a create takes over what an earlier one left":             {claim: taker, seen: there(mark, nil, a), changed: true},
		"another id is a conflict":                                 {claim: claim(a), seen: there(Mark{Owner: "x", Generation: "3"}, nil, a), conflict: `MutatingAdmissionPolicy "p" is owned by "x"`},
		"a newer generation of the same id is a conflict":          {claim: claim(a), seen: there(Mark{Owner: mark.Owner, Generation: "3"}, nil, a), conflict: `MutatingAdmissionPolicy "p" is owned by "o/toleration_policy/p"`},
		"what this provider did not make is a conflict":            {claim: taker, seen: &Observed{Err: errors.New("unreadable")}, conflict: `MutatingAdmissionPolicy "p" was not created by this provider`},
		"a release deletes":                                        {claim: released, seen: there(mark, nil, a), live: live("a", corev1.TaintEffectNoSchedule), changed: true, deletes: true},
		"a release leaves alone what a newer object has":           {claim: released, seen: there(Mark{Owner: mark.Owner, Generation: "3"}, nil, a)},
		"a release of what is gone does nothing":                   {claim: released},
		"a release leaves alone what this provider did not make":   {claim: released, seen: &Observed{Err: errors.New("unreadable"), Mark: mark}},
		"a policy that a create has taken over is left to the new": {claim: claim(a), seen: there(Mark{Owner: mark.Owner, Generation: "2"}, nil, a), conflict: `MutatingAdmissionPolicy "p" is owned by "o/toleration_policy/p"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan, err := tt.claim.Plan(tt.seen, tt.live, true)
			said := ""
			if err != nil {
				said = err.Error()
			}
			if said != tt.conflict || plan.Changed != tt.changed || plan.Delete != tt.deletes {
				t.Fatalf("got changed %t, delete %t, error %q", plan.Changed, plan.Delete, said)
			}
			if plan.Policy == nil {
				return
			}
			if diff := cmp.Diff(tt.retiring, plan.Policy.Retiring); diff != "" {
				t.Errorf("what retires differs (-want +got):\n%s", diff)
			}
			after := there(tt.claim.Mark, plan.Policy.Retiring, plan.Policy.Tolerations...)
			if again, err := tt.claim.Plan(after, tt.live, true); err != nil || again.Changed {
				t.Errorf("planning again changes something: %v", err)
			}
		})
	}
}

func TestObserve_readsWhatObjectsWrites(t *testing.T) {
	t.Parallel()
	p := Policy{
		Name: "p", Match: Match{NamespaceSelector: "a in (b,\n c),!d", PodSelector: "x=y", Requests: []string{"nvidia.com/gpu"}},
		Tolerations: []corev1.Toleration{exists("a", "")}, Retiring: []corev1.Toleration{equal("b", "1", corev1.TaintEffectNoExecute)}, Pin: map[string]string{"pool": "gpu"}, Fail: true,
	}
	mark := Mark{Owner: "o", Generation: "1"}
	objects, err := p.Objects(mark)
	if err != nil {
		t.Fatal(err)
	}
	got := Observe(objects)
	if !got.InForce() || !got.Equal(p) || got.Mark != mark {
		t.Fatalf("got %+v", got)
	}
	for name, spoil := range map[string]func(*Objects){
		"the policy":              func(o *Objects) { o.Policy.Spec.Mutations = nil },
		"the label of the policy": func(o *Objects) { delete(o.Policy.Labels, ManagedByLabel) },
		"the binding":             func(o *Objects) { o.Binding.Spec.PolicyName = "other" },
		"the binding's note":      func(o *Objects) { o.Binding.Annotations[PolicyAnnotation] = "{}" },
		"no binding":              func(o *Objects) { o.Binding = nil },
		"no policy":               func(o *Objects) { o.Policy = nil },
		"no note":                 func(o *Objects) { o.Policy.Annotations = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects, err := p.Objects(mark)
			if err != nil {
				t.Fatal(err)
			}
			if spoil(&objects); Observe(objects).InForce() {
				t.Error("what another writer has changed counts as in force")
			}
		})
	}
}

func TestIsID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		NewID("terraform", "gpu"): true, NewID("a/b", "gpu.x"): true,
		"terraform/workload_tolerations/Deployment/shop/toleration_policy/a:NoSchedule": false, "": false, "toleration_policy/gpu": false,
	} {
		if got := IsID(id); got != want {
			t.Errorf("%q: got %t", id, got)
		}
		if _, is := NameOf(id); is != want {
			t.Errorf("%q has a name: %t", id, is)
		}
	}
	if name, _ := NameOf(NewID("a/b", "gpu.x")); name != "gpu.x" {
		t.Errorf("its name is %q", name)
	}
}
