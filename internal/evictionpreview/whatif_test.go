// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
)

// added_tolerations name no API group: the pods' owners have it.
func TestWhatIf_findsTheGroupOfWorkloadsOfUnknownKinds(t *testing.T) {
	t.Parallel()
	rollout := eviction.OwnerOf("argoproj.io/v1alpha1", "Rollout", "web")
	s := &eviction.Snapshot{Pods: map[string][]*eviction.Pod{"n": {{Namespace: "shop", Name: "web-a", Controller: &eviction.Controller{Owner: rollout}}}}}
	named := func(name string) eviction.WorkloadKey {
		return eviction.WorkloadKey{Namespace: "shop", Owner: eviction.Owner{Kind: "Rollout", Name: name}}
	}
	got := whatIf{added: map[eviction.WorkloadKey]eviction.Planned{named("web"): {Sure: true}, named("other"): {Sure: true}}}.inGroups(s).added
	if _, is := got[eviction.WorkloadKey{Namespace: "shop", Owner: rollout}]; !is || len(got) != 2 {
		t.Errorf("the tolerations are added to %v", got)
	}
	if _, is := got[named("other")]; !is {
		t.Error("a workload without pods is forgotten")
	}
}
