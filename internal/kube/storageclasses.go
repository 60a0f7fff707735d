// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"maps"

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
	part int
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
	part := found.needs(s, placed)
	if part > partClaims {
		if found.Classes, err = c.classes.get(ctx, func() (map[string]*snapshot.StorageClass, error) { return c.storageClasses(ctx) }); err != nil {
			return false, err
		}
		part = found.needs(s, placed)
	}
	if part == 0 || c.stored.Load().covers(part) {
		return false, nil
	}
	if part == partCapacities {
		if found.Classes, err = c.capacity.get(ctx, func() (map[string]*snapshot.StorageClass, error) { return c.withCapacities(ctx, found.Classes) }); err != nil {
			return false, err
		}
	}
	found.part = part
	for {
		before := c.stored.Load()
		if before.covers(part) || c.stored.CompareAndSwap(before, found) {
			return true, nil
		}
	}
}

func (l *learnedStorage) covers(part int) bool { return l != nil && l.part >= part }

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

// needs returns which part of the storage pods need, 0 for none.
func (l *learnedStorage) needs(s *snapshot.Snapshot, placed []*snapshot.Pod) (part int) {
	with := s.With(nil, nil)
	with.Storage = l.Storage
	for _, pod := range placed {
		for _, claim := range with.OpenClaims(pod) {
			part = max(part, l.partOf(&claim))
		}
	}
	return part
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
	err := c.each(ctx, "storageclasses", func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return c.client.storage.StorageClasses().List(ctx, o)
	}, func() { clear(out) }, func(o runtime.Object) error {
		class := o.(*storagev1.StorageClass) //nolint:forcetypeassert // The list holds nothing else.
		out[printable.Line(class.Name)] = &snapshot.StorageClass{
			Provisioner: class.Provisioner,
			Waits:       class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer,
			Provisions:  class.Provisioner != "" && class.Provisioner != noProvisioner,
			Topologies:  class.AllowedTopologies,
		}
		return nil
	})
	if errors.Is(err, ErrForbidden) {
		return nil, nil
	}
	return out, err
}

// withCapacities returns classes with the capacities of those whose drivers report them. They are not listed where no
// driver does.
func (c *Cluster) withCapacities(ctx context.Context, classes map[string]*snapshot.StorageClass) (map[string]*snapshot.StorageClass, error) {
	limited, err := c.limitedDrivers(ctx)
	if err != nil {
		return nil, err
	}
	out, some := maps.Clone(classes), false
	for name, class := range classes {
		one := *class
		one.Limited = limited[class.Provisioner]
		one.Unknown = limited == nil && one.Provisions
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
	return out, nil
}

// limitedDrivers lists the CSI drivers that report capacities, nil where there is no permission to.
func (c *Cluster) limitedDrivers(ctx context.Context) (map[string]bool, error) {
	out := map[string]bool{}
	err := c.each(ctx, "csidrivers", func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return c.client.storage.CSIDrivers().List(ctx, o)
	}, func() { clear(out) }, func(o runtime.Object) error {
		driver := o.(*storagev1.CSIDriver) //nolint:forcetypeassert // The list holds nothing else.
		if driver.Spec.StorageCapacity != nil && *driver.Spec.StorageCapacity {
			out[driver.Name] = true
		}
		return nil
	})
	if errors.Is(err, ErrForbidden) {
		return nil, nil
	}
	return out, err
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
