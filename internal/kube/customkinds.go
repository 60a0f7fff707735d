// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// customKinds returns the custom kinds that the credentials' rights name, and the
// cluster serves: they are those whose tolerations may have been managed by path. To
// list every kind there is would be hundreds of requests, so that rights to
// everything name none. The API server tells rights in the whole cluster
// (https://kubernetes.io/docs/reference/access-authn-authz/authorization/,
// SelfSubjectRulesReview); an authorizer that cannot tell names none either.
func (c *Cluster) customKinds(ctx context.Context) ([]workload.Kind, error) {
	return c.custom.get(ctx, func() ([]workload.Kind, error) {
		var out []workload.Kind
		rules, err := c.rights(ctx)
		if errors.Is(err, ErrForbidden) || errors.Is(err, ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, resource := range customResources(rules) {
			kind, err := c.customKind(resource)
			if meta.IsNoMatchError(err) {
				continue
			}
			if err != nil {
				return nil, wrap("find out about "+resource.String(), err)
			}
			out = append(out, kind)
		}
		return out, nil
	})
}

// rights asks what the credentials may do in every namespace.
func (c *Cluster) rights(ctx context.Context) ([]authorizationv1.ResourceRule, error) {
	var rules []authorizationv1.ResourceRule
	err := reading.do(ctx, bounded(func(ctx context.Context) error {
		review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: metav1.NamespaceDefault}}
		review, err := c.client.authorization.SelfSubjectRulesReviews().Create(ctx, review, metav1.CreateOptions{})
		if err == nil {
			rules = review.Status.ResourceRules
		}
		return err
	}))
	return rules, wrap("review the rights of the credentials", err)
}

// customResources returns the resources that rules name and allow to list and to
// patch, but for those of Kubernetes itself, of the Machine API, and of kinds that
// are known.
func customResources(rules []authorizationv1.ResourceRule) []schema.GroupResource {
	var out []schema.GroupResource
	for _, rule := range rules {
		if !allows(rule.Verbs, "list") || !allows(rule.Verbs, "patch") || len(rule.ResourceNames) > 0 {
			continue
		}
		for _, group := range rule.APIGroups {
			if !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") || group == machinev1beta1.GroupName {
				continue
			}
			for _, plural := range rule.Resources {
				resource := schema.GroupResource{Group: group, Resource: plural}
				if plural != "*" && !strings.Contains(plural, "/") && !isKnown(resource) && !slices.Contains(out, resource) {
					out = append(out, resource)
				}
			}
		}
	}
	return out
}

func allows(verbs []string, verb string) bool {
	return slices.Contains(verbs, verb) || slices.Contains(verbs, "*")
}

func isKnown(resource schema.GroupResource) bool {
	return slices.ContainsFunc(workload.OpenShiftKinds(), func(k workload.Kind) bool { return k.Resource().GroupResource() == resource })
}

// customKind finds out the kind of a resource, in the version that the cluster
// prefers.
func (c *Cluster) customKind(resource schema.GroupResource) (workload.Kind, error) {
	gvk, err := c.mapper.KindFor(resource.WithVersion(""))
	if err != nil {
		return workload.Kind{}, err
	}
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return workload.Kind{}, err
	}
	return workload.Kind{
		APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Plural: mapping.Resource.Resource,
		Cluster: mapping.Scope.Name() == meta.RESTScopeNameRoot,
	}, nil
}
