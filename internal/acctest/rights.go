// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// roles are the roles that have been read: each test on the simulated API server asks for one.
var roles sync.Map

// documented reads one of the roles that the documentation shows.
func documented(file string) (*rbacv1.ClusterRole, error) {
	if known, is := roles.Load(file); is {
		return known.(*rbacv1.ClusterRole).DeepCopy(), nil //nolint:forcetypeassert // Nothing else is stored.
	}
	raw, err := os.ReadFile(filepath.Join(root(), "examples", "rbac", file))
	if err != nil {
		return nil, err
	}
	role := &rbacv1.ClusterRole{}
	if err := yaml.Unmarshal(raw, role); err != nil {
		return nil, err
	}
	roles.Store(file, role.DeepCopy())
	return role, nil
}

// Rights are the documented rules.
func (*Cluster) Rights(t testing.TB) []rbacv1.PolicyRule {
	t.Helper()
	role, err := documented("cluster-role.yaml")
	must(t, err)
	return role.Rules
}

// RightsToPlan are the rules that are documented for credentials which only plan.
func RightsToPlan(t testing.TB) []rbacv1.PolicyRule {
	t.Helper()
	role, err := documented("cluster-role-plan.yaml")
	must(t, err)
	return role.Rules
}

// RightsToDeletePods are the rules that are documented for drains which disable evictions, beside those
// of Rights.
func RightsToDeletePods(t testing.TB) []rbacv1.PolicyRule {
	t.Helper()
	role, err := documented("cluster-role-delete-pods.yaml")
	must(t, err)
	return role.Rules
}

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
