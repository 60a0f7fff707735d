// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package admission

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
)

// Rules are all that gives something to pods which are made from now on.
type Rules struct {
	// Policies are those in force, in the order of their names.
	Policies []Policy
	// Former are those that are no longer in force, or pin pods to other labels by now: pods have what they gave.
	Former []Policy
	// Namespaces by name: only those of which something is known.
	Namespaces map[string]Namespace
}

// Namespace is what admission takes from a namespace.
type Namespace struct {
	Labels labels.Set
	// Defaults are what the admission plug-in PodTolerationRestriction gives to pods, and
	// Allowed all that they may have, where it is not empty; none where the plug-in is
	// off.
	Defaults, Allowed []corev1.Toleration
}

// MemoryPressure is what the admission plug-in PodTolerationRestriction adds to every pod that
// has requests or limits (k8s.io/kubernetes v1.37.2
// plugin/pkg/admission/podtolerationrestriction/admission.go, Admit).
var MemoryPressure = corev1.Toleration{Key: corev1.TaintNodeMemoryPressure, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}

// Gives returns what the plug-in adds to a new pod of the namespace. A pod of the class
// BestEffort has neither requests nor limits.
func (n Namespace) Gives(bestEffort bool) []corev1.Toleration {
	if bestEffort {
		return n.Defaults
	}
	return append(slices.Clone(n.Defaults), MemoryPressure)
}

// Empty reports that pods are made as they are asked for, as far as is known.
func (r *Rules) Empty() bool {
	return r == nil || len(r.Policies)+len(r.Former)+len(r.Namespaces) == 0
}

// With returns the rules with a policy in the place of one of the same name.
func (r *Rules) With(p Policy) *Rules {
	out := r.Without(p.Name)
	out.Former = slices.DeleteFunc(out.Former, func(f Policy) bool { return f.Name == p.Name && maps.Equal(f.Pin, p.Pin) })
	p.Match.read()
	out.Policies = append(out.Policies, p)
	slices.SortFunc(out.Policies, func(a, b Policy) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Without returns the rules without the policy of this name.
func (r *Rules) Without(name string) *Rules {
	out := &Rules{}
	if r != nil {
		*out = *r
		named := func(p Policy) bool { return p.Name == name }
		if at := slices.IndexFunc(r.Policies, named); at >= 0 {
			out.Former = append(slices.Clone(r.Former), r.Policies[at])
		}
		out.Policies = slices.DeleteFunc(slices.Clone(r.Policies), named)
	}
	return out
}

// Applying are the policies that mean a pod, in order, and what its namespace gives and
// allows.
func (r *Rules) Applying(p Pod) (policies []Policy, in Namespace) {
	if r.Empty() {
		return nil, Namespace{}
	}
	in = r.Namespaces[p.Namespace]
	return r.meaning(r.Policies, p), in
}

// Left are the former policies that meant a pod.
func (r *Rules) Left(p Pod) []Policy { return r.meaning(r.Former, p) }

func (r *Rules) meaning(all []Policy, p Pod) (out []Policy) {
	p.NamespaceLabels = r.Namespaces[p.Namespace].Labels
	for _, policy := range all {
		if policy.Match.Means(p) {
			out = append(out, policy)
		}
	}
	return out
}

// Made returns what a pod tolerates and requires once it is made with these: the plug-in
// comes first, then the policies (k8s.io/kubernetes v1.37.1
// pkg/kubeapiserver/options/plugins.go, AllOrderedPlugins). The API server promises no
// order of policies; it decides on seconds alone, where two of them give the same
// toleration with different ones.
func Made(tolerations []corev1.Toleration, required *corev1.NodeSelector, policies []Policy, defaults []corev1.Toleration) ([]corev1.Toleration, *corev1.NodeSelector) {
	if len(defaults) > 0 {
		tolerations = mergeDefaults(tolerations, defaults)
	}
	for _, p := range policies {
		tolerations, required = p.Give(tolerations), p.Require(required)
	}
	return tolerations, required
}

// mergeDefaults merges as the plug-in does: the pod's own tolerations come first, and an
// entry that another one covers is dropped, whichever list it is from
// (k8s.io/kubernetes v1.37.2 pkg/util/tolerations/tolerations.go, MergeTolerations).
func mergeDefaults(own, defaults []corev1.Toleration) []corev1.Toleration {
	all := slices.Concat(own, defaults)
	var out []corev1.Toleration
	for i, t := range all {
		kept := func(one corev1.Toleration) bool { return allows(one, t) }
		// Of equal entries the first one stays.
		later := func(one corev1.Toleration) bool { return allows(one, t) && !apiequality.Semantic.DeepEqual(one, t) }
		if !slices.ContainsFunc(out, kept) && !slices.ContainsFunc(all[i+1:], later) {
			out = append(out, t)
		}
	}
	return out
}

// The annotations of a namespace that the plug-in reads (k8s.io/kubernetes v1.37.1
// plugin/pkg/admission/podtolerationrestriction/admission.go).
const (
	DefaultsAnnotation  = "scheduler.alpha.kubernetes.io/defaultTolerations"
	WhitelistAnnotation = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
)

// ParseList reads one of these annotations; an empty one is no tolerations.
func ParseList(annotation string) ([]corev1.Toleration, error) {
	if annotation == "" {
		return nil, nil
	}
	var out []corev1.Toleration
	err := json.Unmarshal([]byte(annotation), &out)
	return out, err
}
