// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package admission

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
)

// The lists of a pod that expressions look at, absent ones as empty: what a JSON patch
// changes is decided by the pod as it was when the mutation began.
const (
	tolerationsVariable = "tolerations"
	termsVariable       = "terms"
	requestedVariable   = "requested"

	requiredPath = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution"
	requiredType = "Object.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
)

// variables are evaluated when an expression asks for them.
func (p Policy) variables() []admissionregistrationv1.Variable {
	var out []admissionregistrationv1.Variable
	if len(p.given()) > 0 {
		out = append(out, admissionregistrationv1.Variable{Name: tolerationsVariable, Expression: "object.spec.?tolerations.orValue([])"})
	}
	if len(p.Pin) > 0 {
		out = append(out, admissionregistrationv1.Variable{Name: termsVariable, Expression: "object.spec.?affinity.?nodeAffinity.?requiredDuringSchedulingIgnoredDuringExecution.?nodeSelectorTerms.orValue([])"})
	}
	return out
}

// conditions narrow what the selectors of the policy let through.
func (p Policy) conditions() []admissionregistrationv1.MatchCondition {
	var out []admissionregistrationv1.MatchCondition
	if len(p.Match.Namespaces) == 0 {
		out = append(out, admissionregistrationv1.MatchCondition{Name: "not-of-the-system", Expression: "!request.namespace.startsWith(" + strconv.Quote(openshiftPrefix) + ")"})
	}
	if len(p.Match.Requests) > 0 {
		names := make([]string, len(p.Match.Requests))
		for i, name := range p.Match.Requests {
			names[i] = strconv.Quote(name)
		}
		// A sidecar is an init container, and a request may be for the pod as a whole.
		// The API server writes no request as "0".
		asks := "[" + strings.Join(names, ", ") + "].exists(r, r in %[1]s.?resources.?requests.orValue({}) && string(%[1]s.resources.requests[r]) != \"0\")"
		out = append(out, admissionregistrationv1.MatchCondition{Name: requestedVariable, Expression: "(object.spec.containers + object.spec.?initContainers.orValue([])).exists(c, " +
			fmt.Sprintf(asks, "c") + ") || " + fmt.Sprintf(asks, "object.spec")})
	}
	return out
}

// mutations are JSON patches: tolerations are an atomic list, which an apply
// configuration may not touch.
func (p Policy) mutations() []admissionregistrationv1.Mutation {
	var out []admissionregistrationv1.Mutation
	mutation := func(expression string) {
		out = append(out, admissionregistrationv1.Mutation{PatchType: admissionregistrationv1.PatchTypeJSONPatch, JSONPatch: &admissionregistrationv1.JSONPatch{Expression: expression}})
	}
	if given := p.given(); len(given) > 0 {
		steps := []string{`(has(object.spec.tolerations) ? [] : [JSONPatch{op: "add", path: "/spec/tolerations", value: []}])`}
		for _, t := range given {
			steps = append(steps, fmt.Sprintf(`(variables.%s.exists(t, %s) ? [] : [JSONPatch{op: "add", path: "/spec/tolerations/-", value: %s}])`, tolerationsVariable, coversExpression(t), tolerationExpression(t)))
		}
		mutation(strings.Join(steps, " +\n"))
	}
	if len(p.Pin) > 0 {
		mutation(p.pinExpression())
	}
	return out
}

// coversExpression says, as covers does, that the toleration t of a pod makes another
// one superfluous.
func coversExpression(other corev1.Toleration) string {
	effect := `t.?effect.orValue("") == ""`
	if other.Effect != "" {
		effect = fmt.Sprintf(`t.?effect.orValue("") in ["", %q]`, string(other.Effect))
	}
	exists := `t.?operator.orValue("") == "Exists"`
	if other.Key == "" {
		return fmt.Sprintf(`%s && %s && t.?key.orValue("") == ""`, effect, exists)
	}
	key := `t.?key.orValue("")`
	wide := fmt.Sprintf(`%s && %s in ["", %q]`, exists, key, other.Key)
	operator := `t.?operator.orValue("") in ["", "Equal"]`
	switch other.Operator {
	case corev1.TolerationOpExists:
		return effect + " && " + wide
	case corev1.TolerationOpLt, corev1.TolerationOpGt:
		operator = fmt.Sprintf(`t.?operator.orValue("") == %q`, string(other.Operator))
	}
	return fmt.Sprintf(`%s && (%s || %s && %s == %q && t.?value.orValue("") == %q)`, effect, wide, operator, key, other.Key, other.Value)
}

// tolerationExpression is the toleration as an object.
func tolerationExpression(t corev1.Toleration) string {
	var fields []string
	for _, f := range [][2]string{{"key", t.Key}, {"operator", string(t.Operator)}, {"value", t.Value}, {"effect", string(t.Effect)}} {
		if f[1] != "" {
			fields = append(fields, f[0]+": "+strconv.Quote(f[1]))
		}
	}
	if t.TolerationSeconds != nil {
		fields = append(fields, "tolerationSeconds: "+strconv.FormatInt(*t.TolerationSeconds, 10))
	}
	return "Object.spec.tolerations{" + strings.Join(fields, ", ") + "}"
}

// unlessDaemonSet begins what is not done to pods that a DaemonSet controls: its controller creates a pod for each node that
// the template matches, and a pod that requires more of its node would stay Pending
// (k8s.io/kubernetes v1.37.2 pkg/controller/daemon/daemon_controller.go, nodeShouldRunDaemonPod).
const unlessDaemonSet = `object.metadata.?ownerReferences.orValue([]).exists(o, o.kind == "DaemonSet" && o.apiVersion.startsWith("apps/") && o.?controller.orValue(false)) ? [] : (` + "\n"

// pinExpression does as Require does, but for pods of DaemonSets.
func (p Policy) pinExpression() string {
	requirements := make([]string, 0, len(p.Pin))
	for _, pin := range pins(p.Pin) {
		requirements = append(requirements, fmt.Sprintf(`%s.nodeSelectorTerms.matchExpressions{key: %q, operator: "In", values: [%q]}`, requiredType, pin.Key, pin.Values[0]))
	}
	steps := []string{
		`(has(object.spec.affinity) ? [] : [JSONPatch{op: "add", path: "/spec/affinity", value: Object.spec.affinity{}}])`,
		`(has(object.spec.affinity) && has(object.spec.affinity.nodeAffinity) ? [] : [JSONPatch{op: "add", path: "/spec/affinity/nodeAffinity", value: Object.spec.affinity.nodeAffinity{}}])`,
		fmt.Sprintf(`(object.spec.?affinity.?nodeAffinity.?requiredDuringSchedulingIgnoredDuringExecution.hasValue() ? [] : [JSONPatch{op: "add", path: %q, value: %s{nodeSelectorTerms: [%s.nodeSelectorTerms{matchExpressions: [%s]}]}}])`,
			requiredPath, requiredType, requiredType, strings.Join(requirements, ", ")),
		fmt.Sprintf(`variables.%s.transformList(i, t, !has(t.matchExpressions) && has(t.matchFields), JSONPatch{op: "add", path: %q + string(i) + "/matchExpressions", value: []})`, termsVariable, requiredPath+"/nodeSelectorTerms/"),
	}
	for i, pin := range pins(p.Pin) {
		steps = append(steps, fmt.Sprintf(`variables.%s.transformList(i, t, (has(t.matchExpressions) || has(t.matchFields)) && !t.?matchExpressions.orValue([]).exists(e, e.key == %q && e.operator == "In" && e.?values.orValue([]) == [%q]), JSONPatch{op: "add", path: %q + string(i) + "/matchExpressions/-", value: %s})`,
			termsVariable, pin.Key, pin.Values[0], requiredPath+"/nodeSelectorTerms/", requirements[i]))
	}
	return unlessDaemonSet + strings.Join(steps, " +\n") + ")"
}

// earlier returns mutations as they were written when they pinned pods of DaemonSets as well. Such a policy stays as it
// is until something else of it changes.
func earlier(mutations []admissionregistrationv1.Mutation) []admissionregistrationv1.Mutation {
	out := slices.Clone(mutations)
	for i := range out {
		if former, is := strings.CutPrefix(out[i].JSONPatch.Expression, unlessDaemonSet); is {
			out[i].JSONPatch = &admissionregistrationv1.JSONPatch{Expression: strings.TrimSuffix(former, ")")}
		}
	}
	return out
}
