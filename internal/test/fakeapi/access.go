// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Account is who makes requests.
type Account struct {
	Name string
	// Rules are what it may do, in all namespaces.
	Rules []rbacv1.PolicyRule
	all   bool
}

var admin = &Account{Name: "admin", all: true}

// Account makes an account with these rights and returns its bearer token. Requests
// without a token have all rights; those with another one are answered with 401.
func (s *Server) Account(name string, rules ...rbacv1.PolicyRule) (token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	token = "token-of-" + name
	s.accounts[token] = &Account{Name: name, Rules: rules}
	return token
}

// Revoke has a token not accepted any more.
func (s *Server) Revoke(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.accounts, token)
}

func (s *Server) authenticate(r *http.Request) (*Account, error) {
	token, has := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !has {
		return admin, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	account := s.accounts[token]
	if account == nil {
		return admin, apierrors.NewUnauthorized("Unauthorized")
	}
	return account, nil
}

// allows reports an error where the account may not make a request.
func (a *Account) allows(q *query) error {
	if a.all || q.resource.Group == authorizationv1.GroupName {
		return nil
	}
	resource := q.resource.Resource
	if q.subresource != "" {
		resource += "/" + q.subresource
	}
	for _, rule := range a.Rules {
		if covers(rule.Verbs, q.verb) && covers(rule.APIGroups, q.resource.Group) && covers(rule.Resources, resource) &&
			(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, q.key.name)) {
			return nil
		}
	}
	namespace, where := q.key.namespace, "at the cluster scope"
	if q.resource.Resource == "namespaces" {
		// One namespace is said to be in itself.
		namespace = q.key.name
	}
	if namespace != "" {
		where = fmt.Sprintf("in the namespace %q", namespace)
	}
	return apierrors.NewForbidden(q.groupResource(), q.key.name,
		fmt.Errorf("User %q cannot %s resource %q in API group %q %s", a.Name, q.verb, resource, q.resource.Group, where)) //nolint:staticcheck // The API server's own words.
}

func covers(allowed []string, wanted string) bool {
	return slices.Contains(allowed, wanted) || slices.Contains(allowed, "*")
}

// review answers what an account may do.
func (s *Server) review(account *Account, q *query) *response {
	if q.resource.Resource != "selfsubjectrulesreviews" {
		return s.notServed(q)
	}
	decoded, err := decodeAs(q, authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectRulesReview"))
	review, is := decoded.(*authorizationv1.SelfSubjectRulesReview)
	if err != nil || !is {
		return failure(apierrors.NewBadRequest("a SelfSubjectRulesReview is expected"))
	}
	rules := account.Rules
	if account.all {
		rules = []rbacv1.PolicyRule{{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}}
	}
	review.Status = authorizationv1.SubjectRulesReviewStatus{NonResourceRules: []authorizationv1.NonResourceRule{}}
	for _, r := range rules {
		review.Status.ResourceRules = append(review.Status.ResourceRules, authorizationv1.ResourceRule{Verbs: r.Verbs, APIGroups: r.APIGroups, Resources: r.Resources, ResourceNames: r.ResourceNames})
	}
	review.Spec = authorizationv1.SelfSubjectRulesReviewSpec{}
	review.SetGroupVersionKind(authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectRulesReview"))
	return created(review)
}
