// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const aggregated = jsonMedia + ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// discover answers which kinds are served, in the aggregated form alone: clients that do
// not know it are older than the provider's.
func (s *Server) discover(q *query) *response {
	if len(q.path) != 1 || !strings.Contains(q.accept, "as=APIGroupDiscoveryList") {
		return s.notServed(q)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := apidiscoveryv2.APIGroupDiscoveryList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"}}
	for _, k := range slices.SortedFunc(slices.Values(s.kinds), func(a, b *Kind) int { return strings.Compare(a.Plural, b.Plural) }) {
		if (k.Group == "") != (q.path[0] == "api") {
			continue
		}
		version := versionIn(&list, k)
		scope := apidiscoveryv2.ScopeNamespace
		if k.Cluster {
			scope = apidiscoveryv2.ScopeCluster
		}
		responds := metav1.GroupVersionKind{Kind: k.Kind}
		if k.Custom {
			responds.Group, responds.Version = k.Group, k.Version
		}
		version.Resources = append(version.Resources, apidiscoveryv2.APIResourceDiscovery{
			Resource: k.Plural, SingularResource: strings.ToLower(k.Kind), Scope: scope,
			ResponseKind: &responds,
			Verbs:        []string{"create", "delete", "get", "list", "patch", "update", "watch"},
		})
	}
	raw, err := json.Marshal(list)
	if err != nil {
		return failure(err)
	}
	return &response{code: http.StatusOK, raw: raw, mediaType: aggregated}
}

// versionIn returns where the resources of a kind's version are in a list.
func versionIn(list *apidiscoveryv2.APIGroupDiscoveryList, k *Kind) *apidiscoveryv2.APIVersionDiscovery {
	for g := range list.Items {
		group := &list.Items[g]
		if group.Name != k.Group {
			continue
		}
		for v := range group.Versions {
			if group.Versions[v].Version == k.Version {
				return &group.Versions[v]
			}
		}
		group.Versions = append(group.Versions, apidiscoveryv2.APIVersionDiscovery{Version: k.Version, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent})
		return &group.Versions[len(group.Versions)-1]
	}
	list.Items = append(list.Items, apidiscoveryv2.APIGroupDiscovery{
		ObjectMeta: metav1.ObjectMeta{Name: k.Group},
		Versions:   []apidiscoveryv2.APIVersionDiscovery{{Version: k.Version, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent}},
	})
	return &list.Items[len(list.Items)-1].Versions[0]
}
