// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
)

// csiDriver is what the scheduler looks up of a CSI driver.
type csiDriver struct {
	// limited is set for one that reports capacities, unattached for one whose volumes are mounted without being attached,
	// needed for one without which a node takes no pods with its volumes.
	limited, unattached, needed bool
}

// drivers lists the CSI drivers once, nil where there is no permission to.
func (c *Cluster) drivers(ctx context.Context) (map[string]csiDriver, error) {
	return c.csiDrivers.get(ctx, func() (map[string]csiDriver, error) {
		out := map[string]csiDriver{}
		err := c.each(ctx, "csidrivers", func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return c.client.storage.CSIDrivers().List(ctx, o)
		}, func() { clear(out) }, func(o runtime.Object) error {
			driver := o.(*storagev1.CSIDriver) //nolint:forcetypeassert // The list holds nothing else.
			out[printable.Line(driver.Name)] = csiDriver{
				limited:    isTrue(driver.Spec.StorageCapacity),
				unattached: driver.Spec.AttachRequired != nil && !*driver.Spec.AttachRequired,
				needed:     isTrue(driver.Spec.PreventPodSchedulingIfMissing),
			}
			return nil
		})
		if errors.Is(err, ErrForbidden) {
			return nil, nil
		}
		return out, err
	})
}

func isTrue(b *bool) bool { return b != nil && *b }

// nodeDrivers are the CSI drivers of nodes: how many volumes of each they can attach, and which of those that are needed
// they have.
type nodeDrivers struct {
	limits map[string]map[string]int64
	having map[string]map[string]bool
}

// nodeDrivers lists them, nil where there is no permission to: a preview names the limits as not modelled then.
func (c *Cluster) nodeDrivers(ctx context.Context, drivers map[string]csiDriver) (*nodeDrivers, error) {
	out := &nodeDrivers{}
	begin := func() {
		*out = nodeDrivers{limits: map[string]map[string]int64{}, having: map[string]map[string]bool{}}
		for name, driver := range drivers {
			if driver.needed {
				out.having[name] = map[string]bool{}
			}
		}
	}
	begin()
	err := c.each(ctx, "csinodes", func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return c.client.storage.CSINodes().List(ctx, o)
	}, begin, func(o runtime.Object) error {
		n := o.(*storagev1.CSINode) //nolint:forcetypeassert // The list holds nothing else.
		for i := range n.Spec.Drivers {
			out.add(n.Name, &n.Spec.Drivers[i])
		}
		return nil
	})
	if errors.Is(err, ErrForbidden) {
		return nil, nil
	}
	return out, err
}

func (d *nodeDrivers) add(node string, driver *storagev1.CSINodeDriver) {
	name := printable.Line(driver.Name)
	if having := d.having[name]; having != nil {
		having[node] = true
	}
	if driver.Allocatable == nil || driver.Allocatable.Count == nil {
		return
	}
	if d.limits[node] == nil {
		d.limits[node] = map[string]int64{}
	}
	d.limits[node][name] = int64(*driver.Allocatable.Count)
}
