// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// middlemen are the kinds of controllers that may be controlled themselves.
var middlemen = map[schema.GroupKind]schema.GroupVersionResource{
	{Group: "apps", Kind: "ReplicaSet"}: {Group: "apps", Version: "v1", Resource: "replicasets"},
	{Group: "batch", Kind: "Job"}:       {Group: "batch", Version: "v1", Resource: "jobs"},
	{Kind: "ReplicationController"}:     {Version: "v1", Resource: "replicationcontrollers"},
}

// ancestry is what was learned about controllers that came after the snapshot's
// first reading, as a rollout makes them.
type ancestry struct {
	mu      sync.Mutex
	parents map[types.UID]snapshot.Owner
	asked   map[types.UID]bool
}

// learn asks about the controllers of pods that are not known yet, with one list
// per kind. What there is no permission to read stays unknown.
func (c *Cluster) learn(ctx context.Context, pods []*snapshot.Pod, listed map[types.UID]bool) (map[types.UID]snapshot.Owner, error) {
	a := &c.ancestry
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.asked == nil {
		a.asked, a.parents = map[types.UID]bool{}, map[types.UID]snapshot.Owner{}
	}
	unknown := map[schema.GroupKind]*unread{}
	for _, p := range pods {
		if p.Controller == nil || listed[p.Controller.UID] || a.asked[p.Controller.UID] {
			continue
		}
		kind := schema.GroupKind{Group: p.Controller.Group, Kind: p.Controller.Kind}
		if _, may := middlemen[kind]; !may {
			continue
		}
		if unknown[kind] == nil {
			unknown[kind] = &unread{namespaces: map[string]bool{}, controllers: map[types.UID]bool{}}
		}
		unknown[kind].namespaces[p.Namespace] = true
		unknown[kind].controllers[p.Controller.UID] = true
	}
	for kind, some := range unknown {
		if err := a.read(ctx, c, kind, some.namespaces); err != nil && !errors.Is(err, ErrForbidden) {
			return nil, err
		}
		maps.Copy(a.asked, some.controllers)
	}
	return maps.Clone(a.parents), nil
}

// unread is controllers of one kind that are not known yet, and where they are.
type unread struct {
	namespaces  map[string]bool
	controllers map[types.UID]bool
}

// read lists the controllers of a kind, in one namespace where that is all.
func (a *ancestry) read(ctx context.Context, c *Cluster, kind schema.GroupKind, namespaces map[string]bool) error {
	namespace := ""
	if len(namespaces) == 1 {
		for only := range namespaces {
			namespace = only
		}
	}
	gvr := middlemen[kind]
	return c.each(ctx, gvr.Resource, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return c.meta.Resource(gvr).Namespace(namespace).List(ctx, o)
	}, func() {}, func(o runtime.Object) error {
		object, err := meta.Accessor(o)
		if err != nil {
			return err
		}
		a.asked[object.GetUID()] = true
		if ref := metav1.GetControllerOfNoCopy(object); ref != nil {
			a.parents[object.GetUID()] = snapshot.OwnerOf(ref.APIVersion, ref.Kind, ref.Name)
		}
		return nil
	})
}
