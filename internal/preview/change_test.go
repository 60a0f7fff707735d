// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package preview

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// added_tolerations name no API group: the pods' owners have it.
func TestWhatIf_findsTheGroupOfWorkloadsOfUnknownKinds(t *testing.T) {
	t.Parallel()
	rollout := snapshot.OwnerOf("argoproj.io/v1alpha1", "Rollout", "web")
	s := &snapshot.Snapshot{Pods: map[string][]*snapshot.Pod{"n": {{Namespace: "shop", Name: "web-a", Controller: &snapshot.Controller{Owner: rollout}}}}}
	named := func(name string) snapshot.WorkloadKey {
		return snapshot.WorkloadKey{Namespace: "shop", Owner: snapshot.Owner{Kind: "Rollout", Name: name}}
	}
	got := WhatIf{Added: map[snapshot.WorkloadKey]eviction.Planned{named("web"): {Sure: true}, named("other"): {Sure: true}}}.inGroups(s).Added
	if _, is := got[snapshot.WorkloadKey{Namespace: "shop", Owner: rollout}]; !is || len(got) != 2 {
		t.Errorf("the tolerations are added to %v", got)
	}
	if _, is := got[named("other")]; !is {
		t.Error("a workload without pods is forgotten")
	}
}
