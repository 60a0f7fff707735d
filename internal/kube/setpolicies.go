// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"maps"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// setPolicies are the StatefulSets whose podManagementPolicy was read, and whether it is OrderedReady. No StatefulSet can
// change it.
type setPolicies struct {
	mu      sync.Mutex
	ordered map[snapshot.WorkloadKey]bool
	asked   map[types.UID]bool
	reads   int
}

func (p *setPolicies) at() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reads
}

func (p *setPolicies) all() map[snapshot.WorkloadKey]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.ordered)
}

// learnPolicies reads the podManagementPolicy of the StatefulSets of evicted pods: by name where they are few, else with
// one list. It reports whether snapshots have more from now on. What there is no right to read stays unknown.
func (c *Cluster) learnPolicies(ctx context.Context, s *snapshot.Snapshot, evicted []*snapshot.Pod) (learned bool, err error) {
	p := &c.policies
	p.mu.Lock()
	defer p.mu.Unlock()
	needed := setsToRead(s, evicted)
	unknown := maps.Clone(needed)
	maps.DeleteFunc(unknown, func(uid types.UID, _ types.NamespacedName) bool { return p.asked[uid] })
	if len(unknown) > 0 {
		found, err := c.statefulSetsOf(ctx, unknown, setsWithPods(s))
		if err != nil {
			return false, err
		}
		p.note(unknown, found)
	}
	for _, name := range needed {
		key := setKey(name)
		_, before := s.Ordered[key]
		_, now := p.ordered[key]
		learned = learned || now && !before
	}
	return learned, nil
}

// setKey is how snapshots name a StatefulSet.
func setKey(name types.NamespacedName) snapshot.WorkloadKey {
	return snapshot.WorkloadKey{Namespace: name.Namespace, Owner: snapshot.Owner{Group: appsv1.GroupName, Kind: "StatefulSet", Name: name.Name}}
}

// note remembers StatefulSets, and which were asked for.
func (p *setPolicies) note(asked unread, found statefulSets) {
	if p.asked == nil {
		p.asked, p.ordered = map[types.UID]bool{}, map[snapshot.WorkloadKey]bool{}
	}
	p.reads++
	for uid := range asked {
		p.asked[uid] = true
	}
	for key, set := range found {
		p.ordered[key] = set.ordered
	}
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
