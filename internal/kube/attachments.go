// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"slices"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// claimedVolumes are CSI volumes by namespace and claim.
type claimedVolumes map[string]map[string]*snapshot.CSIVolume

// Judge calls judge with a snapshot, and once more with a newer one that has the limits of CSI volumes, if the pods
// that it returns have such volumes and the first snapshot has no limits. It returns the last snapshot. Snapshots of
// this process have the limits from then on. Errors: those of the API server.
func (c *Cluster) Judge(ctx context.Context, s *snapshot.Snapshot, judge func(*snapshot.Snapshot) []*snapshot.Pod) (*snapshot.Snapshot, error) {
	evicted := judge(s)
	if s.Attachments != nil || !slices.ContainsFunc(evicted, func(p *snapshot.Pod) bool { return len(p.Claims) > 0 }) {
		return s, nil
	}
	volumes, err := c.claims.get(ctx, func() (claimedVolumes, error) { return c.claimedVolumes(ctx) })
	found := &snapshot.Attachments{Volumes: volumes}
	if err != nil || !slices.ContainsFunc(evicted, func(p *snapshot.Pod) bool { return len(found.Of(p)) > 0 }) {
		return s, err
	}
	if found.Limits, err = c.limits.get(ctx, func() (map[string]map[string]int64, error) { return c.volumeLimits(ctx) }); err != nil {
		return s, err
	}
	c.attachments.CompareAndSwap(nil, found)
	newer, err := c.Snapshot(ctx)
	if err == nil {
		judge(newer)
	}
	return newer, err
}

// claimedVolumes lists the claims where there are CSI volumes, unless they are known. Without the right to, there are
// none.
func (c *Cluster) claimedVolumes(ctx context.Context) (claimedVolumes, error) {
	around, err := c.around(ctx)
	stored := around.storage
	if err != nil || len(stored.csi) == 0 {
		return nil, err
	}
	if stored.claims == nil {
		if err := c.claimsInto(ctx, &stored); err != nil && !errors.Is(err, ErrForbidden) {
			return nil, err
		}
	}
	out := claimedVolumes{}
	for namespace, claims := range stored.claims {
		for claim, name := range claims {
			volume := stored.csi[name]
			if volume == nil {
				continue
			}
			if out[namespace] == nil {
				out[namespace] = map[string]*snapshot.CSIVolume{}
			}
			out[namespace][claim] = volume
		}
	}
	return out, nil
}

// volumeLimits lists how many volumes of each CSI driver nodes can attach, nil where there is no permission to: a
// preview names the limits as not modelled then.
func (c *Cluster) volumeLimits(ctx context.Context) (map[string]map[string]int64, error) {
	out := map[string]map[string]int64{}
	err := c.each(ctx, "csinodes", func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return c.client.storage.CSINodes().List(ctx, o)
	}, func() { clear(out) }, func(o runtime.Object) error {
		n := o.(*storagev1.CSINode) //nolint:forcetypeassert // The list holds nothing else.
		for i := range n.Spec.Drivers {
			driver := &n.Spec.Drivers[i]
			if driver.Allocatable == nil || driver.Allocatable.Count == nil {
				continue
			}
			if out[n.Name] == nil {
				out[n.Name] = map[string]int64{}
			}
			out[n.Name][printable.Line(driver.Name)] = int64(*driver.Allocatable.Count)
		}
		return nil
	})
	if errors.Is(err, ErrForbidden) {
		return nil, nil
	}
	return out, err
}
