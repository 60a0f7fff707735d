// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// Policy is what pods get when they are made.
type Policy struct {
	// Name is that of the MutatingAdmissionPolicy and of its binding.
	Name  string `json:"-"`
	Match Match  `json:"match"`
	// Tolerations are given to a pod each on its own: where one that the pod has
	// tolerates the same taints already, it is left as it is.
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// Retiring are given as well, for as long as a taint stands that they are for.
	Retiring []corev1.Toleration `json:"retiring,omitempty"`
	// Pin are labels that the nodes of the pods must have.
	Pin map[string]string `json:"pin,omitempty"`
	// Fail reports that pods are refused where the policy cannot be evaluated.
	Fail bool `json:"fail,omitempty"`
}

// Match reports which pods are meant: those for which all of it holds.
type Match struct {
	// All reports that every pod outside system namespaces is meant.
	All bool `json:"all,omitempty"`
	// Namespaces are names. These alone may be those of the system.
	Namespaces []string `json:"namespaces,omitempty"`
	// NamespaceSelector and PodSelector are label selectors in kubectl's syntax.
	NamespaceSelector string `json:"namespaceSelector,omitempty"`
	PodSelector       string `json:"podSelector,omitempty"`
	// Requests are names of extended resources, of which a pod asks for at least one.
	Requests []string `json:"requests,omitempty"`

	// namespaces and pods are the selectors, read once for many pods.
	namespaces, pods labels.Selector
}

// read reads the selectors.
func (m *Match) read() {
	if m.NamespaceSelector != "" {
		m.namespaces = selectorOf(m.NamespaceSelector)
	}
	if m.PodSelector != "" {
		m.pods = selectorOf(m.PodSelector)
	}
}

// Empty reports that nothing narrows the match.
func (m Match) Empty() bool {
	return len(m.Namespaces) == 0 && m.NamespaceSelector == "" && m.PodSelector == "" && len(m.Requests) == 0
}

// given are all tolerations that pods get.
func (p Policy) given() []corev1.Toleration {
	return slices.Concat(p.Tolerations, p.Retiring)
}

// Equal reports whether two policies do the same, whatever their names.
func (p Policy) Equal(other Policy) bool {
	return p.Match.String() == other.Match.String() && p.Fail == other.Fail && maps.Equal(p.Pin, other.Pin) &&
		same(p.Tolerations, other.Tolerations) && same(p.Retiring, other.Retiring)
}

// within reports whether a policy is another one but for tolerations that it does not give.
func (p Policy) within(other Policy) bool {
	given := other.given()
	for _, t := range p.given() {
		if !toleration.Contains(given, t) {
			return false
		}
	}
	p.Tolerations, p.Retiring, other.Tolerations, other.Retiring = nil, nil, nil, nil
	return p.Equal(other)
}

func same(a, b []corev1.Toleration) bool {
	return slices.EqualFunc(toleration.Sort(slices.Clone(a)), toleration.Sort(slices.Clone(b)), toleration.Equal)
}

// String reports which pods are meant, for a reader.
func (m Match) String() string {
	var parts []string
	list := func(names []string) string { return strings.Join(slices.Sorted(slices.Values(names)), ", ") }
	if len(m.Requests) > 0 {
		parts = append(parts, "that request "+list(m.Requests))
	}
	if m.PodSelector != "" {
		parts = append(parts, fmt.Sprintf("that match %q", selectorOf(m.PodSelector)))
	}
	switch {
	case len(m.Namespaces) > 0:
		parts = append(parts, "of namespace "+list(m.Namespaces))
	case m.NamespaceSelector != "":
		parts = append(parts, fmt.Sprintf("of namespaces that match %q", selectorOf(m.NamespaceSelector)))
	}
	return strings.TrimSpace("pods " + strings.Join(parts, ", "))
}

// selectorOf reads a selector; one that does not parse matches nothing.
func selectorOf(s string) labels.Selector {
	selector, err := labels.Parse(s)
	if err != nil {
		return labels.Nothing()
	}
	return selector
}

// systemNamespaces are those of Kubernetes itself; those of OpenShift begin with
// openshiftPrefix.
var systemNamespaces = []string{"kube-node-lease", "kube-public", "kube-system"}

const openshiftPrefix = "openshift-"

// System reports whether a namespace is the cluster's own: a policy means it only where it
// is named.
func System(namespace string) bool {
	return slices.Contains(systemNamespaces, namespace) || strings.HasPrefix(namespace, openshiftPrefix)
}

// covers reports whether one toleration matches every taint that another one matches, for
// whatever time: to give a pod that has the first the second would lengthen nothing,
// because the first that matches decides and the shortest time counts.
func covers(one, other corev1.Toleration) bool {
	none := int64(0)
	other.TolerationSeconds = &none
	return toleration.Covers(one, other)
}

// Pod is what a policy looks at.
type Pod struct {
	Namespace       string
	NamespaceLabels labels.Set
	Labels          labels.Set
	// Requests reports whether the pod asks for some of a resource.
	Requests func(resource string) bool
}

// Means reports whether a policy is about a pod.
func (m Match) Means(p Pod) bool {
	if m.namespaces == nil && m.pods == nil {
		m.read()
	}
	if !m.MeansIn(p.Namespace, p.NamespaceLabels) || m.pods != nil && !m.pods.Matches(p.Labels) {
		return false
	}
	return len(m.Requests) == 0 || slices.ContainsFunc(m.Requests, p.Requests)
}

// MeansIn reports whether a policy is about any pod of a namespace with these labels.
func (m Match) MeansIn(namespace string, has labels.Set) bool {
	if m.namespaces == nil {
		m.read()
	}
	if len(m.Namespaces) > 0 {
		return slices.Contains(m.Namespaces, namespace)
	}
	return !System(namespace) && (m.namespaces == nil || m.namespaces.Matches(has))
}

// Give returns the tolerations of a pod after the policy, in which those that it had
// come first.
func (p Policy) Give(list []corev1.Toleration) []corev1.Toleration {
	return add(list, list, p.given())
}

// add appends what the entries of own do not cover.
func add(list, own, given []corev1.Toleration) []corev1.Toleration {
	out := slices.Clip(list)
	for _, t := range given {
		if !slices.ContainsFunc(own, func(one corev1.Toleration) bool { return covers(one, t) }) {
			out = append(out, t)
		}
	}
	return out
}

// Require returns the required node affinity of a pod after the policy: each term that is
// there demands the labels as well. A term that demands nothing matches no node, and is
// left as it is.
func (p Policy) Require(required *corev1.NodeSelector) *corev1.NodeSelector {
	if len(p.Pin) == 0 {
		return required
	}
	if required == nil {
		return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: pins(p.Pin)}}}
	}
	terms := slices.Clone(required.NodeSelectorTerms)
	for i := range terms {
		if len(terms[i].MatchExpressions) == 0 && len(terms[i].MatchFields) == 0 {
			continue
		}
		expressions := slices.Clip(terms[i].MatchExpressions)
		for _, pin := range pins(p.Pin) {
			if !slices.ContainsFunc(expressions, func(e corev1.NodeSelectorRequirement) bool { return equalRequirement(e, pin) }) {
				expressions = append(expressions, pin)
			}
		}
		terms[i].MatchExpressions = expressions
	}
	return &corev1.NodeSelector{NodeSelectorTerms: terms}
}

// Release returns the required node affinity of a pod without what Require adds to it.
func (p Policy) Release(required *corev1.NodeSelector) *corev1.NodeSelector {
	if required == nil || len(p.Pin) == 0 {
		return required
	}
	gone, out := pins(p.Pin), &corev1.NodeSelector{}
	for _, term := range required.NodeSelectorTerms {
		kept := slices.DeleteFunc(slices.Clone(term.MatchExpressions), func(e corev1.NodeSelectorRequirement) bool {
			return slices.ContainsFunc(gone, func(pin corev1.NodeSelectorRequirement) bool { return equalRequirement(e, pin) })
		})
		if len(kept)+len(term.MatchFields) == 0 && len(term.MatchExpressions) > 0 {
			// Nothing but labels of the policy: the pod came without a requirement.
			return nil
		}
		term.MatchExpressions = kept
		out.NodeSelectorTerms = append(out.NodeSelectorTerms, term)
	}
	return out
}

// pins are the labels as requirements, by key.
func pins(wanted map[string]string) []corev1.NodeSelectorRequirement {
	var out []corev1.NodeSelectorRequirement
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		out = append(out, corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{wanted[key]}})
	}
	return out
}

func equalRequirement(a, b corev1.NodeSelectorRequirement) bool {
	return a.Key == b.Key && a.Operator == b.Operator && slices.Equal(a.Values, b.Values)
}
