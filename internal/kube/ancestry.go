// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
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

// learn asks about the controllers of pods that are not known yet: by name where they are few, else with one
// list per kind. What there is no permission to read stays unknown.
func (c *Cluster) learn(ctx context.Context, pods []*snapshot.Pod, listed map[types.UID]bool) (map[types.UID]snapshot.Owner, error) {
	a := &c.ancestry
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.asked == nil {
		a.asked, a.parents = map[types.UID]bool{}, map[types.UID]snapshot.Owner{}
	}
	unknown := map[schema.GroupKind]unread{}
	for _, p := range pods {
		if p.Controller == nil || listed[p.Controller.UID] || a.asked[p.Controller.UID] {
			continue
		}
		kind := schema.GroupKind{Group: p.Controller.Group, Kind: p.Controller.Kind}
		if _, may := middlemen[kind]; !may {
			continue
		}
		if unknown[kind] == nil {
			unknown[kind] = unread{}
		}
		unknown[kind][p.Controller.UID] = types.NamespacedName{Namespace: p.Namespace, Name: p.Controller.Name}
	}
	for kind, some := range unknown {
		if err := a.read(ctx, c, kind, some); err != nil && !errors.Is(err, ErrForbidden) {
			return nil, err
		}
		for uid := range some {
			a.asked[uid] = true
		}
	}
	return maps.Clone(a.parents), nil
}

// unread is controllers of one kind that are not known yet.
type unread map[types.UID]types.NamespacedName

// namespace returns that of all of them, "" where they are in several.
func (u unread) namespace() string {
	found := map[string]bool{}
	for _, name := range u {
		found[name.Namespace] = true
	}
	if len(found) > 1 {
		return metav1.NamespaceAll
	}
	return slices.Collect(maps.Keys(found))[0]
}

// byName reports whether controllers are got by name rather than listed, in a cluster that had so many of their
// kind when they were listed: where that takes no more requests, each of which is smaller than a page. The list
// of a namespace counts as one page.
func (u unread) byName(listed int) bool {
	pages := 1
	if u.namespace() == metav1.NamespaceAll {
		pages = max(1, (listed+pageSize-1)/pageSize)
	}
	return len(u) <= pages
}

// read reads the controllers of a kind.
func (a *ancestry) read(ctx context.Context, c *Cluster, kind schema.GroupKind, some unread) error {
	known, builtin := workload.Lookup("", kind.Kind)
	// ReplicationControllers may be listed and not got, by the documented role.
	if builtin && some.byName(len(c.controllers.of(known).known().listed)) {
		if err := a.get(ctx, c, kind, some); !errors.Is(err, ErrForbidden) {
			return err
		}
	}
	return a.list(ctx, c, kind, some.namespace())
}

// get reads controllers by name. What is gone stays unknown.
func (a *ancestry) get(ctx context.Context, c *Cluster, kind schema.GroupKind, some unread) error {
	return getEach(ctx, c, kind.Kind, some, func(ctx context.Context, name types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
		return c.meta.Resource(middlemen[kind]).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	}, func(object *metav1.PartialObjectMetadata) { a.note(object) })
}

// getEach gets controllers by name in parallel, and calls note with one after the other. What is gone is left out.
func getEach[T any](ctx context.Context, c *Cluster, kind string, some unread, get func(context.Context, types.NamespacedName) (T, error), note func(T)) error {
	var mu sync.Mutex
	var gets []func() error
	for _, name := range some {
		// Owner references can have any name: no object has this one.
		if len(content.IsPathSegmentName(name.Name)) > 0 {
			continue
		}
		gets = append(gets, func() error {
			var object T
			err := wrap("get "+kind+" "+name.String(), c.patience().do(ctx, bounded(func(ctx context.Context) (err error) {
				object, err = get(ctx, name)
				return err
			})))
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				note(object)
			}
			if errors.Is(err, ErrNotFound) {
				return nil
			}
			return err
		})
	}
	return parallel(gets...)
}

// list lists the controllers of a kind.
func (a *ancestry) list(ctx context.Context, c *Cluster, kind schema.GroupKind, namespace string) error {
	gvr := middlemen[kind]
	return c.each(ctx, gvr.Resource, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return c.meta.Resource(gvr).Namespace(namespace).List(ctx, o)
	}, func() {}, func(o runtime.Object) error {
		object, err := meta.Accessor(o)
		if err == nil {
			a.note(object)
		}
		return err
	})
}

// note remembers a controller, and its own one.
func (a *ancestry) note(object metav1.Object) {
	a.asked[object.GetUID()] = true
	if ref := metav1.GetControllerOfNoCopy(object); ref != nil {
		a.parents[object.GetUID()] = snapshot.OwnerOf(ref.APIVersion, ref.Kind, ref.Name)
	}
}
