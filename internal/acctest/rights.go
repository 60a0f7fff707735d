// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Without returns rules less some verbs for a resource.
func Without(rules []rbacv1.PolicyRule, resource string, verbs ...string) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	for _, rule := range rules {
		if !slices.Contains(rule.Resources, resource) {
			out = append(out, rule)
			continue
		}
		rest, less := *rule.DeepCopy(), *rule.DeepCopy()
		rest.Resources = slices.DeleteFunc(rest.Resources, func(r string) bool { return r == resource })
		less.Resources, less.Verbs = []string{resource}, slices.DeleteFunc(less.Verbs, func(v string) bool { return slices.Contains(verbs, v) })
		if len(rest.Resources) > 0 {
			out = append(out, rest)
		}
		if len(less.Verbs) > 0 {
			out = append(out, less)
		}
	}
	return out
}
