// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// noProvisioner is that of classes whose volumes people make
// (k8s.io/component-helpers v0.37.2 storage/volume/pv_helpers.go, NotSupportedProvisioner).
const noProvisioner = "kubernetes.io/no-provisioner"

// learnedStorage is what a process has learned about storage.
type learnedStorage struct {
	*snapshot.Storage
	storageNeed
	raw statefulSets
}

// storageNeed is which part of the storage pods need, 0 for none, and whether they need claim templates.
type storageNeed struct {
	part      int
	templates bool
}

// Parts of storage, each of which costs requests beside those before it.
const (
	partClaims = iota + 1
	partClasses
	partCapacities
)

// learnStorage reads as much of the storage as pods need that are to be placed, and reports whether snapshots have
// more from now on.
func (c *Cluster) learnStorage(ctx context.Context, s *snapshot.Snapshot, stored *storage, placed []*snapshot.Pod) (learned bool, err error) {
	found := stored.storage()
	need := found.needs(s, placed)
	before := c.stored.Load()
	if need.templates || before.hasTemplates() {
		if err := c.templatesInto(ctx, found); err != nil {
			return false, err
		}
		need.part = found.needs(s, placed).part
	}
	if need.part > partClaims {
		if found.Classes, err = c.classes.get(ctx, func() (map[string]*snapshot.StorageClass, error) { return c.storageClasses(ctx) }); err != nil {
			return false, err
		}
		found.defaultClass()
		need.part = found.needs(s, placed).part
	}
	if need.part == 0 || before.covers(need) {
		return false, nil
	}
	if need.part == partCapacities {
		if found.Classes, err = c.capacity.get(ctx, func() (map[string]*snapshot.StorageClass, error) { return c.withCapacities(ctx, found.Classes) }); err != nil {
			return false, err
		}
	}
	found.storageNeed = storageNeed{need.part, found.Templates != nil}
	for {
		before := c.stored.Load()
		if before.covers(found.storageNeed) || c.stored.CompareAndSwap(before, found) {
			return true, nil
		}
	}
}

func (l *learnedStorage) covers(need storageNeed) bool {
	return l != nil && l.part >= need.part && (l.templates || !need.templates)
}

func (l *learnedStorage) hasTemplates() bool { return l != nil && l.templates }

// classes returns the StorageClasses, nil where they were not read.
func (l *learnedStorage) classes() map[string]*snapshot.StorageClass {
	if l == nil {
		return nil
	}
	return l.Classes
}

// storage returns what is known without further requests.
func (s *storage) storage() *learnedStorage {
	out := &snapshot.Storage{Claims: s.open, Bound: s.claims, Owned: s.owned, Volumes: s.free, Unread: s.unreadVolumes}
	if s.unreadClaims {
		out.Claims = nil
	}
	return &learnedStorage{Storage: out}
}

// needs returns what of the storage pods need.
func (l *learnedStorage) needs(s *snapshot.Snapshot, placed []*snapshot.Pod) (need storageNeed) {
	with := s.With(nil, nil)
	with.Storage = l.Storage
	for _, pod := range placed {
		for _, claim := range with.OpenClaims(pod) {
			need.part = max(need.part, l.partOf(&claim))
		}
		if pod.Ephemeral && len(with.VolumesOf(pod)) > len(s.VolumesOf(pod)) {
			// Its own claim binds it to nodes.
			need.part = max(need.part, partClaims)
		}
		need.templates = need.templates || with.LacksTemplate(pod)
	}
	return need
}

// partOf returns which part decides about a claim.
func (l *learnedStorage) partOf(c *snapshot.OpenClaim) int {
	if c.Claim == nil || c.Request == nil || !c.New && (c.Deleting || c.Lost || c.Named) {
		return partClaims
	}
	if class := l.Classes[c.Request.Class]; class != nil && class.Waits && class.Provisions {
		return partCapacities
	}
	return partClasses
}

// storageClasses lists the StorageClasses, nil where there is no permission to: a preview names them as not
// modelled then.
func (c *Cluster) storageClasses(ctx context.Context) (map[string]*snapshot.StorageClass, error) {
	out := map[string]*snapshot.StorageClass{}
	var newest *storagev1.StorageClass
	err := c.each(ctx, "storageclasses", func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return c.client.storage.StorageClasses().List(ctx, o)
	}, func() {
		clear(out)
		newest = nil
	}, func(o runtime.Object) error {
		class := o.(*storagev1.StorageClass) //nolint:forcetypeassert // The list holds nothing else.
		if isDefault(class) && (newest == nil || precedes(class, newest)) {
			newest = class
		}
		out[printable.Line(class.Name)] = &snapshot.StorageClass{
			Provisioner: class.Provisioner,
			Waits:       class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer,
			Provisions:  class.Provisioner != "" && class.Provisioner != noProvisioner,
			Topologies:  class.AllowedTopologies,
			Retains:     class.ReclaimPolicy != nil && *class.ReclaimPolicy == corev1.PersistentVolumeReclaimRetain,
		}
		return nil
	})
	if errors.Is(err, ErrForbidden) {
		return nil, nil
	}
	if newest != nil && err == nil {
		out[printable.Line(newest.Name)].Default = true
	}
	return out, err
}

// isDefault reports whether a class is one of new claims that name none, by its annotation now or in the past.
func isDefault(class *storagev1.StorageClass) bool {
	return class.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" || class.Annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true"
}

// precedes reports whether a default class is taken rather than another one: the newer
// (k8s.io/kubernetes v1.37.2 pkg/volume/util/storageclass.go, GetDefaultClass).
func precedes(a, b *storagev1.StorageClass) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.Name < b.Name
	}
	return b.CreationTimestamp.Before(&a.CreationTimestamp)
}

// withCapacities returns classes with the capacities of those whose drivers report them. They are not listed where no
// driver does.
func (c *Cluster) withCapacities(ctx context.Context, classes map[string]*snapshot.StorageClass) (map[string]*snapshot.StorageClass, error) {
	drivers, err := c.drivers(ctx)
	if err != nil {
		return nil, err
	}
	out, some := maps.Clone(classes), false
	for name, class := range classes {
		one := *class
		one.Limited = drivers[class.Provisioner].limited
		one.Unknown = drivers == nil && one.Provisions
		some = some || one.Limited
		out[name] = &one
	}
	if !some {
		return out, nil
	}
	capacities, err := c.capacities(ctx)
	if err != nil {
		return nil, err
	}
	for name, class := range out {
		class.Capacities = capacities[name]
		if capacities == nil && class.Limited {
			class.Limited, class.Unknown = false, true
		}
	}
	joinPools(out)
	return out, nil
}

// joinPools finds the capacities from which the same storage may be taken: those that one driver reports for the same nodes, of as
// many bytes. Equal disks that are empty look the same.
func joinPools(classes map[string]*snapshot.StorageClass) {
	first := map[string]*snapshot.Capacity{}
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		for _, one := range classes[name].Capacities {
			key := fmt.Sprintf("%s %d %s", classes[name].Provisioner, one.Total, one.Nodes)
			if of := shared(first, key, one); of != one && one.Total >= 0 {
				one.First = of
			}
		}
	}
}

// capacities lists the capacities by StorageClass, nil where there is no permission to. Those of no node are left out.
func (c *Cluster) capacities(ctx context.Context) (map[string][]*snapshot.Capacity, error) {
	out := map[string][]*snapshot.Capacity{}
	err := c.each(ctx, "csistoragecapacities", func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return c.client.storage.CSIStorageCapacities("").List(ctx, o)
	}, func() { clear(out) }, func(o runtime.Object) error {
		one := o.(*storagev1.CSIStorageCapacity) //nolint:forcetypeassert // The list holds nothing else.
		nodes, err := metav1.LabelSelectorAsSelector(one.NodeTopology)
		if err != nil || one.NodeTopology == nil {
			return nil //nolint:nilerr // No node has access to it, for the scheduler as well.
		}
		class := printable.Line(one.StorageClassName)
		out[class] = append(out[class], &snapshot.Capacity{Nodes: nodes, Total: amountOf(one.Capacity), Largest: amountOf(one.MaximumVolumeSize)})
		return nil
	})
	if errors.Is(err, ErrForbidden) {
		return nil, nil
	}
	return out, err
}

// amountOf returns -1 for an amount that is not reported.
func amountOf(q *resource.Quantity) int64 {
	if q == nil {
		return -1
	}
	return q.Value()
}
