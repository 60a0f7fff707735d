// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package admission

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
)

// The kinds of the two objects that a policy is made of.
const (
	PolicyKind  = "MutatingAdmissionPolicy"
	BindingKind = "MutatingAdmissionPolicyBinding"
)

// Labels and annotations on the objects.
const (
	// PolicyAnnotation holds the policy as it was asked for, and who owns it.
	PolicyAnnotation = "kubetaint.io/toleration-policy"
	// ManagedByLabel and ManagedBy select the objects
	// (kubernetes.io/docs/concepts/overview/working-with-objects/common-labels).
	ManagedByLabel = "app.kubernetes.io/managed-by"
	ManagedBy      = "terraform-provider-kubetaint"
	componentLabel = "app.kubernetes.io/component"
	component      = "toleration-policy"
)

// Mark says whose the objects of a policy are.
type Mark struct {
	// Owner is the id of the resource, the same at every create of it.
	Owner string `json:"owner"`
	// Generation is random and fresh at every create.
	Generation string `json:"generation"`
}

// idKind is in the ids of resources that make policies.
const idKind = "toleration_policy"

// NewID is the id of a resource that makes a policy of this name. It can be told at plan,
// and a create that was killed finds its own policy by it.
func NewID(owner, name string) string {
	return strings.Join([]string{owner, idKind, name}, "/")
}

// IsID reports whether an id is one of these: there is nothing in the cluster then that
// pods which are there would need to be waited for.
func IsID(id string) bool {
	at := strings.LastIndex(id, "/")
	return at > 0 && strings.HasSuffix(id[:at], "/"+idKind) && len(validation.IsDNS1123Subdomain(id[at+1:])) == 0
}

// NameOf returns the name of the policy with this id; false where the id is none of these.
func NameOf(id string) (string, bool) {
	return id[strings.LastIndex(id, "/")+1:], IsID(id)
}

// annotation is the value of PolicyAnnotation.
type annotation struct {
	Policy
	Mark
}

// Objects are the policy and its binding as the API server has them; either is nil where
// there is none.
type Objects struct {
	Policy  *admissionregistrationv1.MutatingAdmissionPolicy
	Binding *admissionregistrationv1.MutatingAdmissionPolicyBinding
}

// Objects writes the policy and its binding, with every default of the API server filled
// in, so that what it returns can be compared with it.
func (p Policy) Objects(mark Mark) (Objects, error) {
	constraints, err := p.constraints()
	if err != nil {
		return Objects{}, err
	}
	raw, err := json.Marshal(annotation{p, mark})
	if err != nil {
		return Objects{}, fmt.Errorf("writing the annotation %s: %w", PolicyAnnotation, err)
	}
	meta := func() metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: p.Name, Labels: map[string]string{ManagedByLabel: ManagedBy, componentLabel: component}, Annotations: map[string]string{PolicyAnnotation: string(raw)}}
	}
	failure := admissionregistrationv1.Ignore
	if p.Fail {
		failure = admissionregistrationv1.Fail
	}
	return Objects{
		Policy: &admissionregistrationv1.MutatingAdmissionPolicy{
			TypeMeta: metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: PolicyKind}, ObjectMeta: meta(),
			Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
				MatchConstraints: constraints, MatchConditions: p.conditions(), Variables: p.variables(), Mutations: p.mutations(), FailurePolicy: &failure,
				// A webhook may add a container that asks for a resource.
				ReinvocationPolicy: admissionregistrationv1.IfNeededReinvocationPolicy,
			},
		},
		Binding: &admissionregistrationv1.MutatingAdmissionPolicyBinding{
			TypeMeta: metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: BindingKind}, ObjectMeta: meta(),
			Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: p.Name},
		},
	}, nil
}

func (p Policy) constraints() (*admissionregistrationv1.MatchResources, error) {
	namespaced, equivalent := admissionregistrationv1.NamespacedScope, admissionregistrationv1.Equivalent
	out := &admissionregistrationv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{}, MatchPolicy: &equivalent,
		ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}, Scope: &namespaced},
		}}},
	}
	if p.Match.NamespaceSelector != "" {
		selector, err := ObjectSelector(p.Match.NamespaceSelector)
		if err != nil {
			return nil, fmt.Errorf("namespace_selector: %w", err)
		}
		out.NamespaceSelector = selector
	}
	if p.Match.PodSelector != "" {
		selector, err := ObjectSelector(p.Match.PodSelector)
		if err != nil {
			return nil, fmt.Errorf("pod_selector: %w", err)
		}
		out.ObjectSelector = selector
	}
	names := metav1.LabelSelectorRequirement{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpNotIn, Values: systemNamespaces}
	if len(p.Match.Namespaces) > 0 {
		names.Operator, names.Values = metav1.LabelSelectorOpIn, slices.Sorted(slices.Values(p.Match.Namespaces))
	}
	out.NamespaceSelector.MatchExpressions = append(out.NamespaceSelector.MatchExpressions, names)
	return out, nil
}

// Observed is a policy as the cluster has it.
type Observed struct {
	Policy
	Mark
	// Objects are what was read.
	Objects Objects
	// Err reports that the annotation cannot be read: the policy is not owned.
	Err error
	// Differs are the objects, by kind, that are not as they are written: "missing" or
	// "different".
	Differs map[string]string
}

// The ways in which an object differs.
const (
	Missing   = "missing"
	Different = "different"
)

// Observe reads a policy from its objects, of which one at least is there.
func Observe(o Objects) Observed {
	out := Observed{Objects: o, Differs: map[string]string{}}
	var meta *metav1.ObjectMeta
	if o.Policy != nil {
		meta = &o.Policy.ObjectMeta
	} else {
		meta = &o.Binding.ObjectMeta
	}
	var read annotation
	err := json.Unmarshal([]byte(meta.Annotations[PolicyAnnotation]), &read)
	if err == nil {
		err = read.printable()
	}
	if err != nil {
		read = annotation{}
		out.Err = fmt.Errorf("the annotation %s cannot be read: %w", PolicyAnnotation, err)
	}
	out.Policy, out.Mark = read.Policy, read.Mark
	out.Name = meta.Name
	if out.Err == nil {
		out.compare()
	}
	return out
}

// printable returns an error for a text that would be printed in messages in another form. Selectors,
// which stand there as the configuration has them, may hold line breaks, and are read before they are printed.
func (a annotation) printable() error {
	a.Match.NamespaceSelector, a.Match.PodSelector = "", ""
	text, err := json.Marshal(a)
	return errors.Join(err, printable.JSON(string(text)))
}

// inSpec returns the tolerations that the policy gives, as far as its spec does where it has been
// read: what the annotation alone says has been written there by another writer.
func (o *Observed) inSpec() []corev1.Toleration {
	given := o.given()
	if o.Objects.Policy == nil {
		return given
	}
	return slices.DeleteFunc(given, func(t corev1.Toleration) bool {
		return !slices.ContainsFunc(o.Objects.Policy.Spec.Mutations, func(m admissionregistrationv1.Mutation) bool {
			return m.JSONPatch != nil && strings.Contains(m.JSONPatch.Expression, tolerationExpression(t))
		})
	})
}

// compare notes what another writer has changed.
func (o *Observed) compare() {
	written, err := o.Policy.Objects(o.Mark)
	if err != nil {
		o.Err = err
		return
	}
	if p := o.Objects.Policy; p != nil && apiequality.Semantic.DeepEqual(p.Spec.Mutations, earlier(written.Policy.Spec.Mutations)) {
		written.Policy.Spec.Mutations = p.Spec.Mutations
	}
	switch {
	case o.Objects.Policy == nil:
		o.Differs[PolicyKind] = Missing
	case !apiequality.Semantic.DeepEqual(o.Objects.Policy.Spec, written.Policy.Spec) || !labelled(o.Objects.Policy.Labels, written.Policy.Labels):
		o.Differs[PolicyKind] = Different
	}
	switch {
	case o.Objects.Binding == nil:
		o.Differs[BindingKind] = Missing
	case !apiequality.Semantic.DeepEqual(o.Objects.Binding.Spec, written.Binding.Spec) || !labelled(o.Objects.Binding.Labels, written.Binding.Labels) ||
		o.Objects.Policy != nil && o.Objects.Binding.Annotations[PolicyAnnotation] != o.Objects.Policy.Annotations[PolicyAnnotation]:
		o.Differs[BindingKind] = Different
	}
}

func labelled(labels, with map[string]string) bool {
	for key, value := range with {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// InForce reports whether the API server does what the policy says.
func (o Observed) InForce() bool {
	return o.Err == nil && len(o.Differs) == 0
}
