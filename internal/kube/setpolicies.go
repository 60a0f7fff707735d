// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// setPolicies are the StatefulSets whose podManagementPolicy was read, and whether it is OrderedReady. No StatefulSet can
// change it.
type setPolicies = onDemand[snapshot.WorkloadKey, bool]

// learnPolicies reads the podManagementPolicy of the StatefulSets of evicted pods: by name where they are few, else with
// one list. It reports whether snapshots have more from now on. What there is no right to read stays unknown.
func (c *Cluster) learnPolicies(ctx context.Context, s *snapshot.Snapshot, evicted []*snapshot.Pod) (learned bool, err error) {
	needed := setsToRead(s, evicted)
	err = c.policies.learn(needed, func(some unread) (map[snapshot.WorkloadKey]bool, error) {
		found, err := c.statefulSetsOf(ctx, some, setsWithPods(s))
		ordered := map[snapshot.WorkloadKey]bool{}
		for key, set := range found {
			ordered[key] = set.ordered
		}
		return ordered, err
	})
	known := c.policies.all()
	for _, name := range needed {
		_, before := s.Ordered[setKey(name)]
		_, now := known[setKey(name)]
		learned = learned || now && !before
	}
	return learned, err
}

// setKey is how snapshots name a StatefulSet.
func setKey(name types.NamespacedName) snapshot.WorkloadKey {
	return snapshot.WorkloadKey{Namespace: name.Namespace, Owner: snapshot.Owner{Group: appsv1.GroupName, Kind: "StatefulSet", Name: name.Name}}
}

// setsToRead returns the StatefulSets of Kubernetes whose policy decides about evicted pods: those that have other pods,
// or had.
func setsToRead(s *snapshot.Snapshot, evicted []*snapshot.Pod) unread {
	out := unread{}
	for _, pod := range evicted {
		if pod.Controller == nil || pod.Controller.Group != appsv1.GroupName || !pod.Controller.StatefulSet() {
			continue
		}
		name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Controller.Name}
		if _, ordinal, _ := snapshot.Ordinal(pod.Name); ordinal > 0 || len(s.PodsByWorkload()[setKey(name)]) > 1 {
			out[pod.Controller.UID] = name
		}
	}
	return out
}

// setsWithPods counts the StatefulSets that have pods.
func setsWithPods(s *snapshot.Snapshot) int {
	count := 0
	for key := range s.PodsByWorkload() {
		if key.StatefulSet() {
			count++
		}
	}
	return count
}

// statefulSetsOf reads StatefulSets, in a cluster that has so many, unless all were listed for their claim templates.
func (c *Cluster) statefulSetsOf(ctx context.Context, some unread, total int) (statefulSets, error) {
	if all := c.statefulSets.known(); all != nil {
		return all, nil
	}
	if some.byName(total) {
		found := statefulSets{}
		err := getEach(ctx, c, "StatefulSet", some, func(ctx context.Context, name types.NamespacedName) (*appsv1.StatefulSet, error) {
			return c.client.apps.StatefulSets(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
		}, func(set *appsv1.StatefulSet) { found[keyOfSet(set)] = statefulSet{ordered: inOrder(set)} })
		if !errors.Is(err, ErrForbidden) {
			return found, err
		}
	}
	if namespace := some.namespace(); namespace != metav1.NamespaceAll {
		return c.listSets(ctx, namespace)
	}
	return c.allSets(ctx)
}
