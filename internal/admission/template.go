// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package admission

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// defaultSeconds is what DefaultTolerationSeconds gives pods unless flags of the API server change that.
const defaultSeconds = 300

// withDefaultSeconds adds what the admission plug-in DefaultTolerationSeconds does to the tolerations of a new
// pod (k8s.io/kubernetes v1.37.2 plugin/pkg/admission/defaulttolerationseconds/admission.go, Admit).
func withDefaultSeconds(tolerations []corev1.Toleration) []corev1.Toleration {
	out := slices.Clone(tolerations)
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		there := func(t corev1.Toleration) bool {
			return (t.Key == key || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "")
		}
		if !slices.ContainsFunc(tolerations, there) {
			out = append(out, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(defaultSeconds))})
		}
	}
	return out
}

// Tolerated returns what a pod tolerates that is created from a template with these tolerations: the plug-ins
// DefaultTolerationSeconds and PodTolerationRestriction come first, then policies
// (k8s.io/kubernetes v1.37.2 pkg/kubeapiserver/options/plugins.go, AllOrderedPlugins). Tolerations do not show
// whether a policy that selects pods by labels or requests means it, and whether it has requests: what is
// given for these is left out.
func (r *Rules) Tolerated(namespace string, tolerations []corev1.Toleration) []corev1.Toleration {
	policies, in := r.Applying(Pod{Namespace: namespace, Requests: func(string) bool { return false }})
	policies = slices.DeleteFunc(policies, func(p Policy) bool { return p.Match.PodSelector != "" })
	out, _ := Made(withDefaultSeconds(tolerations), nil, policies, in.Gives(true))
	return out
}
