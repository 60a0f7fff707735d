// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// learnVolumes reports whether snapshots have more from now on.
func (c *Cluster) learnVolumes(ctx context.Context, s *snapshot.Snapshot, replaced []*snapshot.Pod) (learned bool, err error) {
	if len(replaced) == 0 {
		return false, nil
	}
	placed := slices.DeleteFunc(slices.Concat(replaced, s.Waiting), func(p *snapshot.Pod) bool { return len(p.Claims) == 0 && !p.Ephemeral })
	if len(placed) == 0 {
		return false, nil
	}
	stored, err := c.claims.get(ctx, func() (storage, error) { return c.withClaims(ctx) })
	if err != nil {
		return false, err
	}
	store, err := c.learnStorage(ctx, s, &stored, placed)
	if err != nil {
		return false, err
	}
	attach, err := c.learnAttachments(ctx, s, &stored, placed)
	return attach || store, err
}

// withClaims lists the claims, unless they are known. Without the right to, there are none.
func (c *Cluster) withClaims(ctx context.Context) (storage, error) {
	around, err := c.around(ctx)
	stored := around.storage
	if err != nil || stored.claims != nil {
		return stored, err
	}
	if err := c.claimsInto(ctx, &stored); err != nil && !errors.Is(err, ErrForbidden) {
		return stored, err
	}
	return stored, nil
}

// learnAttachments reads limits of CSI volumes.
func (c *Cluster) learnAttachments(ctx context.Context, s *snapshot.Snapshot, stored *storage, placed []*snapshot.Pod) (learned bool, err error) {
	classes := c.stored.Load().classes()
	if s.Attachments != nil && (classes == nil || s.Attachments.Unbound) || len(stored.csi) == 0 && classes == nil {
		return false, nil
	}
	found := stored.attachments(classes)
	if !slices.ContainsFunc(placed, func(p *snapshot.Pod) bool { return len(found.Of(p)) > 0 }) {
		return false, nil
	}
	if err := c.limitsInto(ctx, found); err != nil {
		return false, err
	}
	c.attachments.Store(found)
	return true, nil
}

// limitsInto adds what is known of CSI drivers: of those that may not be listed that nodes limit their volumes, and
// nothing of the limits where the drivers of nodes may not be.
func (c *Cluster) limitsInto(ctx context.Context, found *snapshot.Attachments) error {
	drivers, err := c.drivers(ctx)
	if err != nil {
		return err
	}
	nodes, err := c.limits.get(ctx, func() (*nodeDrivers, error) { return c.nodeDrivers(ctx, drivers) })
	if err != nil || nodes == nil {
		return err
	}
	found.Limits, found.Having = nodes.limits, nodes.having
	if drivers != nil {
		found.Unattached = map[string]bool{}
	}
	for name, driver := range drivers {
		if driver.unattached {
			found.Unattached[name] = true
		}
	}
	return nil
}

// attachments returns the CSI volumes of claims: those that are bound to them, and those that the provisioners of these
// classes make for others, which count for the scheduler as well
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/nodevolumelimits/csi.go, getCSIDriverInfoFromSC).
func (s *storage) attachments(classes map[string]*snapshot.StorageClass) *snapshot.Attachments {
	out := &snapshot.Attachments{Unbound: classes != nil, Volumes: map[string]map[string]*snapshot.CSIVolume{}, Owned: map[types.UID][]*snapshot.CSIVolume{}}
	add := func(namespace, claim string, volume *snapshot.CSIVolume) {
		if volume == nil {
			return
		}
		if out.Volumes[namespace] == nil {
			out.Volumes[namespace] = map[string]*snapshot.CSIVolume{}
		}
		out.Volumes[namespace][claim] = volume
	}
	for namespace, claims := range s.claims {
		for claim, name := range claims {
			add(namespace, claim, s.csi[name])
		}
	}
	for namespace, claims := range s.open {
		for name, claim := range claims {
			if class := classes[claim.Request.Class]; class != nil && class.Waits && class.Provisions {
				add(namespace, name, &snapshot.CSIVolume{Driver: cmp.Or(snapshot.InTreeDrivers[class.Provisioner], printable.Line(class.Provisioner)), Handle: namespace + "/" + name})
			}
		}
	}
	for pod, claims := range s.owned {
		for _, claim := range claims {
			if volume := out.Volumes[claim.Namespace][claim.Name]; volume != nil {
				out.Owned[pod] = append(out.Owned[pod], volume)
			}
		}
	}
	return out
}
