// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
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
	parents map[types.UID]eviction.Owner
	asked   map[types.UID]bool
}

// learn asks about the controllers of pods that are not known yet, with one list
// per kind. What there is no permission to read stays unknown.
func (c *Cluster) learn(ctx context.Context, pods []*eviction.Pod, listed map[types.UID]bool) (map[types.UID]eviction.Owner, error) {
	a := &c.ancestry
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.asked == nil {
		a.asked, a.parents = map[types.UID]bool{}, map[types.UID]eviction.Owner{}
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
			a.parents[object.GetUID()] = eviction.OwnerOf(ref.APIVersion, ref.Kind, ref.Name)
		}
		return nil
	})
}

// families remembers for a while which workloads have which owners: the objects of
// one namespace that are looked at together ask once.
type families struct {
	mu    sync.Mutex
	known map[string]family
	// direct are the controllers of pods and of ReplicaSets, by namespace.
	direct map[string]directControllers
}

type directControllers struct {
	uids map[types.UID]bool
	read time.Time
}

type family struct {
	children []child
	read     time.Time
}

// child is a workload and its owners.
type child struct {
	workload eviction.WorkloadKey
	owners   []metav1.OwnerReference
}

// descendants finds the workloads that an operator made of an object, by their
// owner references; of a Subscription, those that its installed version owns. An object that
// controls pods or ReplicaSets itself, as a Rollout of Argo or a CloneSet does, is its own.
func (c *Cluster) descendants(ctx context.Context, object *unstructured.Unstructured) ([]eviction.WorkloadKey, error) {
	children, err := c.children(ctx, object.GetNamespace())
	if err != nil {
		return nil, err
	}
	version, _, _ := unstructured.NestedString(object.Object, "status", "installedCSV")
	var out []eviction.WorkloadKey
	for _, one := range children {
		for _, ref := range one.owners {
			if ref.UID == object.GetUID() || version != "" && ref.Kind == "ClusterServiceVersion" && ref.Name == version {
				out = append(out, one.workload)
				break
			}
		}
	}
	if len(out) > 0 || object.GetNamespace() == "" {
		return out, nil
	}
	direct, err := c.controlsPods(ctx, object)
	if err != nil || !direct {
		return nil, err
	}
	owner := eviction.OwnerOf(object.GetAPIVersion(), object.GetKind(), object.GetName())
	return []eviction.WorkloadKey{{Namespace: object.GetNamespace(), Owner: owner}}, nil
}

// controlsPods reports whether an object controls pods, directly or by ReplicaSets.
func (c *Cluster) controlsPods(ctx context.Context, object *unstructured.Unstructured) (bool, error) {
	f := &c.families
	f.mu.Lock()
	defer f.mu.Unlock()
	namespace := object.GetNamespace()
	if known, there := f.direct[namespace]; there && time.Since(known.read) < shelfLife {
		return known.uids[object.GetUID()], nil
	}
	known := directControllers{uids: map[types.UID]bool{}, read: time.Now()}
	for _, gvr := range []schema.GroupVersionResource{middlemen[schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}], corev1.SchemeGroupVersion.WithResource("pods")} {
		err := c.each(ctx, gvr.Resource, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return c.meta.Resource(gvr).Namespace(namespace).List(ctx, o)
		}, func() {}, func(o runtime.Object) error {
			one, err := meta.Accessor(o)
			if err != nil {
				return err
			}
			if ref := metav1.GetControllerOfNoCopy(one); ref != nil {
				known.uids[ref.UID] = true
			}
			return nil
		})
		if err != nil {
			return false, err
		}
	}
	if f.direct == nil {
		f.direct = map[string]directControllers{}
	}
	f.direct[namespace] = known
	return known.uids[object.GetUID()], nil
}

// children lists the workloads of a namespace that have owners; of all of them for
// an object without one.
func (c *Cluster) children(ctx context.Context, namespace string) ([]child, error) {
	f := &c.families
	f.mu.Lock()
	defer f.mu.Unlock()
	if known, ok := f.known[namespace]; ok && time.Since(known.read) < shelfLife {
		return known.children, nil
	}
	var out []child
	for _, name := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
		kind, _ := workload.Lookup("apps/v1", name)
		var some []child
		err := c.each(ctx, kind.Plural, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return c.meta.Resource(kind.Resource()).Namespace(namespace).List(ctx, o)
		}, func() { some = nil }, func(o runtime.Object) error {
			object, err := meta.Accessor(o)
			if err == nil && len(object.GetOwnerReferences()) > 0 {
				key := eviction.WorkloadKey{Namespace: object.GetNamespace(), Owner: eviction.OwnerOf(kind.APIVersion, name, object.GetName())}
				some = append(some, child{key, object.GetOwnerReferences()})
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	if f.known == nil {
		f.known = map[string]family{}
	}
	f.known[namespace] = family{out, time.Now()}
	return out, nil
}
