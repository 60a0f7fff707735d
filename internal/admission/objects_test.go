// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package admission

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func objectsOf(t *testing.T, p Policy) Objects {
	t.Helper()
	objects, err := p.Objects(Mark{Owner: "o", Generation: "1"})
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// TestObjects_mutations reads the expressions that the API server evaluates for each pod.
func TestObjects_mutations(t *testing.T) {
	t.Parallel()
	limited := exists("spot", corev1.TaintEffectNoExecute)
	limited.TolerationSeconds = new(int64(30))
	above := corev1.Toleration{Key: "cores", Operator: corev1.TolerationOpGt, Value: "8"}
	const absent = `(has(object.spec.tolerations) ? [] : [JSONPatch{op: "add", path: "/spec/tolerations", value: []}])`
	give := func(covered, value string) string {
		return `(variables.tolerations.exists(t, ` + covered + `) ? [] : [JSONPatch{op: "add", path: "/spec/tolerations/-", value: Object.spec.tolerations{` + value + `}}])`
	}
	for name, tt := range map[string]struct {
		policy    Policy
		variables []string
		// mutations are the steps of each mutation.
		mutations [][]string
	}{
		"a policy that gives nothing has no mutation": {policy: Policy{}},
		"a toleration of one effect": {
			policy: Policy{Tolerations: []corev1.Toleration{equal("team", "a", corev1.TaintEffectNoSchedule)}}, variables: []string{tolerationsVariable},
			mutations: [][]string{{absent, give(`t.?effect.orValue("") in ["", "NoSchedule"] && (t.?operator.orValue("") == "Exists" && t.?key.orValue("") in ["", "team"] || `+
				`t.?operator.orValue("") in ["", "Equal"] && t.?key.orValue("") == "team" && t.?value.orValue("") == "a")`,
				`key: "team", operator: "Equal", value: "a", effect: "NoSchedule"`)}},
		},
		"a toleration of any value, with seconds": {
			policy: Policy{Retiring: []corev1.Toleration{limited}}, variables: []string{tolerationsVariable},
			mutations: [][]string{{absent, give(`t.?effect.orValue("") in ["", "NoExecute"] && t.?operator.orValue("") == "Exists" && t.?key.orValue("") in ["", "spot"]`,
				`key: "spot", operator: "Exists", effect: "NoExecute", tolerationSeconds: 30`)}},
		},
		"a toleration of every taint, and one of a comparison": {
			policy: Policy{Tolerations: []corev1.Toleration{exists("", ""), above}}, variables: []string{tolerationsVariable},
			mutations: [][]string{{absent,
				give(`t.?effect.orValue("") == "" && t.?operator.orValue("") == "Exists" && t.?key.orValue("") == ""`, `operator: "Exists"`),
				give(`t.?effect.orValue("") == "" && (t.?operator.orValue("") == "Exists" && t.?key.orValue("") in ["", "cores"] || `+
					`t.?operator.orValue("") == "Gt" && t.?key.orValue("") == "cores" && t.?value.orValue("") == "8")`, `key: "cores", operator: "Gt", value: "8"`),
			}},
		},
		"labels of nodes": {
			policy: Policy{Pin: map[string]string{"pool": "gpu", "zone": "a"}}, variables: []string{termsVariable},
			mutations: [][]string{{"", "", "", "", "", ""}},
		},
		"tolerations and labels of nodes": {
			policy: Policy{Tolerations: []corev1.Toleration{exists("", "")}, Pin: map[string]string{"pool": "gpu"}}, variables: []string{tolerationsVariable, termsVariable},
			mutations: [][]string{{"", ""}, {"", "", "", "", ""}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := objectsOf(t, tt.policy).Policy.Spec
			var variables []string
			for _, v := range spec.Variables {
				variables = append(variables, v.Name)
			}
			if diff := cmp.Diff(tt.variables, variables); diff != "" {
				t.Errorf("the variables differ (-want +got):\n%s", diff)
			}
			if len(spec.Mutations) != len(tt.mutations) {
				t.Fatalf("got %d mutations, want %d", len(spec.Mutations), len(tt.mutations))
			}
			for i, want := range tt.mutations {
				got := strings.Split(spec.Mutations[i].JSONPatch.Expression, " +\n")
				for n := range min(len(got), len(want)) {
					if want[n] == "" {
						want[n] = got[n] // Only the number counts.
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("mutation %d differs (-want +got):\n%s", i, diff)
				}
			}
		})
	}
}

func TestObjects_constraintsAndConditions(t *testing.T) {
	t.Parallel()
	name := func(operator metav1.LabelSelectorOperator, values ...string) metav1.LabelSelectorRequirement {
		return metav1.LabelSelectorRequirement{Key: corev1.LabelMetadataName, Operator: operator, Values: values}
	}
	system := name(metav1.LabelSelectorOpNotIn, "kube-node-lease", "kube-public", "kube-system")
	requested := `(object.spec.containers + object.spec.?initContainers.orValue([])).exists(c, ["a.com/x", "b.com/y"].exists(r, r in c.?resources.?requests.orValue({}) && string(c.resources.requests[r]) != "0"))` +
		` || ["a.com/x", "b.com/y"].exists(r, r in object.spec.?resources.?requests.orValue({}) && string(object.spec.resources.requests[r]) != "0")`
	const notOpenShift = `!request.namespace.startsWith("openshift-")`
	for what, tt := range map[string]struct {
		match            Match
		namespaces, pods metav1.LabelSelector
		conditions       []string
	}{
		"every pod": {match: Match{All: true}, namespaces: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{system}}, conditions: []string{notOpenShift}},
		"namespaces by name, sorted": {
			match: Match{Namespaces: []string{"web", "ml"}}, namespaces: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{name(metav1.LabelSelectorOpIn, "ml", "web")}},
		},
		"namespaces by label": {
			match: Match{NamespaceSelector: "team=ml"}, namespaces: metav1.LabelSelector{MatchLabels: map[string]string{"team": "ml"}, MatchExpressions: []metav1.LabelSelectorRequirement{system}},
			conditions: []string{notOpenShift},
		},
		"pods by label and request": {
			match: Match{PodSelector: "app=train", Requests: []string{"a.com/x", "b.com/y"}}, namespaces: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{system}},
			pods: metav1.LabelSelector{MatchLabels: map[string]string{"app": "train"}}, conditions: []string{notOpenShift, requested},
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			spec := objectsOf(t, Policy{Match: tt.match}).Policy.Spec
			var conditions []string
			for _, c := range spec.MatchConditions {
				conditions = append(conditions, c.Expression)
			}
			if diff := cmp.Diff(tt.conditions, conditions); diff != "" {
				t.Errorf("the conditions differ (-want +got):\n%s", diff)
			}
			constraints := spec.MatchConstraints
			if diff := cmp.Diff(tt.namespaces, *constraints.NamespaceSelector, cmpopts.EquateEmpty()) + cmp.Diff(tt.pods, *constraints.ObjectSelector, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the selectors differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestObjects_failurePolicy(t *testing.T) {
	t.Parallel()
	for fail, want := range map[bool]string{false: "Ignore", true: "Fail"} {
		if got := string(*objectsOf(t, Policy{Fail: fail}).Policy.Spec.FailurePolicy); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestObjects_selectorsThatCannotBeReadAreErrors(t *testing.T) {
	t.Parallel()
	for attribute, match := range map[string]Match{"namespace_selector": {NamespaceSelector: "a in b"}, "pod_selector": {PodSelector: "a in b"}} {
		_, err := Policy{Match: match}.Objects(Mark{})
		if err == nil || !strings.HasPrefix(err.Error(), attribute+": ") {
			t.Errorf("got %v, want an error of %s", err, attribute)
		}
		if match.Means(Pod{Namespace: "web"}) {
			t.Errorf("%s matches a pod", attribute)
		}
	}
}

func TestObserve_reportsWhatDiffers(t *testing.T) {
	t.Parallel()
	p := Policy{Name: "p", Tolerations: []corev1.Toleration{exists("a", "")}}
	for name, tt := range map[string]struct {
		change func(*Objects)
		want   map[string]string
		err    bool
	}{
		"nothing":                                {change: func(*Objects) {}, want: map[string]string{}},
		"a label of another tool does not count": {change: func(o *Objects) { o.Policy.Labels["team"] = "ml" }, want: map[string]string{}},
		"the policy is missing":                  {change: func(o *Objects) { o.Policy = nil }, want: map[string]string{PolicyKind: Missing}},
		"the binding is missing":                 {change: func(o *Objects) { o.Binding = nil }, want: map[string]string{BindingKind: Missing}},
		"the policy has another label":           {change: func(o *Objects) { o.Policy.Labels[componentLabel] = "x" }, want: map[string]string{PolicyKind: Different}},
		"the binding has another label":          {change: func(o *Objects) { delete(o.Binding.Labels, ManagedByLabel) }, want: map[string]string{BindingKind: Different}},
		"the binding binds another policy":       {change: func(o *Objects) { o.Binding.Spec.PolicyName = "x" }, want: map[string]string{BindingKind: Different}},
		"both differ":                            {change: func(o *Objects) { o.Policy.Spec.Mutations, o.Binding.Labels = nil, nil }, want: map[string]string{PolicyKind: Different, BindingKind: Different}},
		"the annotation is no JSON":              {change: func(o *Objects) { o.Policy.Annotations[PolicyAnnotation] = "{" }, want: map[string]string{}, err: true},
		"the annotation has a text to spoof messages with": {change: func(o *Objects) {
			o.Policy.Annotations[PolicyAnnotation] = strings.Replace(o.Policy.Annotations[PolicyAnnotation], `"owner":"o`, `"owner":"\u001b[2K`, 1)
		}, want: map[string]string{}, err: true},
		"the annotation has a selector of no use": {change: func(o *Objects) { o.Policy.Annotations[PolicyAnnotation] = `{"match":{"podSelector":"a in b"}}` }, want: map[string]string{}, err: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := objectsOf(t, p)
			tt.change(&objects)
			got := Observe(objects)
			if diff := cmp.Diff(tt.want, got.Differs); diff != "" || (got.Err != nil) != tt.err || got.Name != "p" {
				t.Errorf("%s: error %v, differs (-want +got):\n%s", got.Name, got.Err, diff)
			}
			if tt.err && (got.Mark != Mark{} || len(got.Tolerations) > 0) {
				t.Errorf("it believes %v of %v", got.Policy, got.Mark)
			}
			if inForce := !tt.err && len(tt.want) == 0; got.InForce() != inForce {
				t.Errorf("in force %t, want %t", got.InForce(), inForce)
			}
		})
	}
}

func TestClaim_owns(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		claim Claim
		seen  *Observed
		want  bool
	}{
		"no policy":                                   {claim: Claim{Mark: Mark{"me", "1"}}},
		"its generation":                              {Claim{Mark: Mark{"me", "1"}}, &Observed{Mark: Mark{"me", "1"}}, true},
		"its generation under an older id":            {Claim{Mark: Mark{"me", "1"}}, &Observed{Mark: Mark{"formerly", "1"}}, true},
		"another generation":                          {Claim{Mark: Mark{"me", "1"}}, &Observed{Mark: Mark{"me", "2"}}, false},
		"another generation in a create":              {Claim{Mark: Mark{"me", "1"}, TakeOver: true}, &Observed{Mark: Mark{"me", "2"}}, true},
		"another owner in a create":                   {Claim{Mark: Mark{"me", "1"}, TakeOver: true}, &Observed{Mark: Mark{"other", "2"}}, false},
		"no generation on either side":                {Claim{Mark: Mark{Owner: "me"}}, &Observed{Mark: Mark{Owner: "me"}}, false},
		"this owner without a generation in a create": {Claim{Mark: Mark{"me", "1"}, TakeOver: true}, &Observed{Mark: Mark{Owner: "me"}}, false},
		"its generation in an unreadable policy":      {Claim{Mark: Mark{"me", "1"}}, &Observed{Mark: Mark{"me", "1"}, Err: errors.New("unreadable")}, false},
		"no generation, in a create of this owner":    {Claim{Mark: Mark{Owner: "me"}, TakeOver: true}, &Observed{Mark: Mark{"me", "2"}}, true},
	} {
		if got := tt.claim.Owns(tt.seen); got != tt.want {
			t.Errorf("%s: owns %t, want %t", name, got, tt.want)
		}
	}
}

// TestPlan_adds: a plan that only removes tolerations adds nothing.
// A user who may write the annotation alone cannot have the policy give more.
func TestPlan_retiresOnlyWhatThePolicyGives(t *testing.T) {
	t.Parallel()
	given, wanted, forged := exists("given", ""), exists("wanted", ""), exists("forged", "")
	mark := Mark{Owner: "me", Generation: "1"}
	live := []corev1.Taint{{Key: "given", Effect: corev1.TaintEffectNoSchedule}, {Key: "forged", Effect: corev1.TaintEffectNoSchedule}}
	objects, err := Policy{Name: "p", Tolerations: []corev1.Toleration{given}}.Objects(mark)
	if err != nil {
		t.Fatal(err)
	}
	other, err := Policy{Name: "p", Tolerations: []corev1.Toleration{given, forged}, Retiring: []corev1.Toleration{forged}}.Objects(mark)
	if err != nil {
		t.Fatal(err)
	}
	objects.Policy.Annotations, objects.Binding.Annotations = other.Policy.Annotations, other.Policy.Annotations
	seen := Observe(objects)
	plan, err := Claim{Policy: Policy{Name: "p", Tolerations: []corev1.Toleration{wanted}}, Mark: mark}.Plan(&seen, live, true)
	if err != nil || !slices.Equal(plan.Policy.Retiring, []corev1.Toleration{given}) {
		t.Errorf("retiring are %v, want %v alone: %v", plan.Policy.Retiring, given, err)
	}
}

func TestPlan_adds(t *testing.T) {
	t.Parallel()
	a, b := equal("team", "a", corev1.TaintEffectNoSchedule), equal("team", "b", corev1.TaintEffectNoSchedule)
	mark := Mark{Owner: "me", Generation: "1"}
	both := Policy{Name: "p", Tolerations: []corev1.Toleration{a, b}}
	with := func(change func(*Policy)) Policy {
		p := both
		p.Tolerations = slices.Clone(p.Tolerations)
		change(&p)
		return p
	}
	for name, tt := range map[string]struct {
		wanted        Policy
		seen          *Observed
		changed, adds bool
	}{
		"a new policy":                   {both, nil, true, true},
		"the same policy":                {both, &Observed{Policy: both, Mark: mark}, false, false},
		"a toleration less":              {with(func(p *Policy) { p.Tolerations = p.Tolerations[:1] }), &Observed{Policy: both, Mark: mark}, true, false},
		"a toleration more":              {both, &Observed{Policy: with(func(p *Policy) { p.Tolerations = p.Tolerations[:1] }), Mark: mark}, true, true},
		"a toleration less, and a label": {with(func(p *Policy) { p.Tolerations, p.Pin = p.Tolerations[:1], map[string]string{"pool": "gpu"} }), &Observed{Policy: both, Mark: mark}, true, true},
		"other pods":                     {with(func(p *Policy) { p.Match.All = true }), &Observed{Policy: with(func(p *Policy) { p.Match.Namespaces = []string{"ml"} }), Mark: mark}, true, true},
		"another failure policy":         {with(func(p *Policy) { p.Fail = true }), &Observed{Policy: both, Mark: mark}, true, true},
		"drift":                          {both, &Observed{Policy: both, Mark: mark, Differs: map[string]string{PolicyKind: Different}}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan, err := Claim{Policy: tt.wanted, Mark: mark}.Plan(tt.seen, nil, true)
			if err != nil || plan.Changed != tt.changed || plan.Adds != tt.adds || plan.Name != "p" {
				t.Errorf("changed %t and adds %t, want %t and %t: %v", plan.Changed, plan.Adds, tt.changed, tt.adds, err)
			}
		})
	}
}
