// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// storage is claims and the volumes that can be used on some nodes or by one pod only, before
// they are put together.
type storage struct {
	// claims leads from namespace and name of a claim to the name of its volume.
	claims  map[string]map[string]string
	volumes map[string]*snapshot.Volume
	// csi are the volumes that CSI drivers attach, by name, equal ones shared.
	csi map[string]*snapshot.CSIVolume
	openStorage
}

// claimsInto reads the claims: those that have a volume, and those that no volume is bound to. One that is being
// deleted goes with the last pod that uses it, and binds no new one.
func (c *Cluster) claimsInto(ctx context.Context, s *storage) error {
	err := c.each(ctx, "persistentvolumeclaims", func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return c.client.core.PersistentVolumeClaims("").List(ctx, o)
	}, func() {
		s.claims = map[string]map[string]string{}
		s.noClaims()
	}, func(o runtime.Object) error {
		claim := o.(*corev1.PersistentVolumeClaim) //nolint:forcetypeassert // The list holds nothing else.
		if s.noteClaim(claim) {
			return nil
		}
		if s.claims[claim.Namespace] == nil {
			s.claims[claim.Namespace] = map[string]string{}
		}
		s.claims[claim.Namespace][claim.Name] = claim.Spec.VolumeName
		return nil
	})
	s.unreadClaims = errors.Is(err, ErrForbidden)
	return err
}

// volumesInto reads the volumes that have a required node affinity or labels of zones, or that one pod can use
// alone, and those of CSI drivers, and keeps equal affinities and zones once. A claim has that access mode if and only if its volume has
// (k8s.io/kubernetes v1.37.2 pkg/apis/core/validation/validation.go, ValidatePersistentVolumeSpec).
func (c *Cluster) volumesInto(ctx context.Context, s *storage) error {
	slim := newSlimmer()
	affinities, zones, csi := map[string]*corev1.NodeSelector{}, map[string]*snapshot.Zones{}, map[string]*snapshot.CSIVolume{}
	err := c.each(ctx, "persistentvolumes", func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return c.client.core.PersistentVolumes().List(ctx, o)
	}, func() {
		s.volumes, s.csi, s.free = map[string]*snapshot.Volume{}, map[string]*snapshot.CSIVolume{}, nil
	}, func(o runtime.Object) error {
		volume := o.(*corev1.PersistentVolume) //nolint:forcetypeassert // The list holds nothing else.
		one := &snapshot.Volume{Name: volume.Name, Exclusive: slices.Contains(volume.Spec.AccessModes, corev1.ReadWriteOncePod)}
		if volume.Spec.NodeAffinity != nil && volume.Spec.NodeAffinity.Required != nil && driverOfInTree(&volume.Spec) == "" {
			slim.key = slim.key[:0]
			slim.append(volume.Spec.NodeAffinity.Required)
			one.Affinity = shared(affinities, string(slim.key), volume.Spec.NodeAffinity.Required)
		}
		s.noteVolume(volume, func(required *corev1.NodeSelector) *corev1.NodeSelector {
			slim.key = slim.key[:0]
			slim.append(required)
			return shared(affinities, string(slim.key), required)
		})
		if in := snapshot.ZonesOf(volume.Labels); in != nil {
			one.Zones = shared(zones, fmt.Sprint(in), &in)
		}
		if one.Affinity != nil || one.Zones != nil || one.Exclusive {
			s.volumes[volume.Name] = one
		}
		if source := volume.Spec.CSI; source != nil {
			s.csi[volume.Name] = shared(csi, source.Driver+" "+source.VolumeHandle, &snapshot.CSIVolume{Driver: printable.Line(source.Driver), Handle: source.VolumeHandle})
		} else if driver := driverOfInTree(&volume.Spec); driver != "" {
			s.csi[volume.Name] = &snapshot.CSIVolume{Driver: driver, Handle: volume.Name}
		}
		return nil
	})
	s.unreadVolumes = errors.Is(err, ErrForbidden)
	s.sortFree()
	return err
}

// shared returns the first of several equal values.
func shared[T any](known map[string]*T, key string, value *T) *T {
	if known[key] == nil {
		known[key] = value
	}
	return known[key]
}

// driverOfInTree returns the CSI driver of which the scheduler takes a volume of another kind to be, "" for none: it counts
// among those that nodes attach, and the scheduler may read another affinity than the one that is written
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/nodevolumelimits/utils.go, isCSIMigrationOn, and
// volumebinding/binder.go, isCSIMigrationOnForPlugin).
func driverOfInTree(s *corev1.PersistentVolumeSpec) string {
	switch {
	case s.AWSElasticBlockStore != nil:
		return snapshot.InTreeDrivers["kubernetes.io/aws-ebs"]
	case s.GCEPersistentDisk != nil:
		return snapshot.InTreeDrivers["kubernetes.io/gce-pd"]
	case s.AzureDisk != nil:
		return snapshot.InTreeDrivers["kubernetes.io/azure-disk"]
	case s.Cinder != nil:
		return snapshot.InTreeDrivers["kubernetes.io/cinder"]
	case s.PortworxVolume != nil:
		return snapshot.InTreeDrivers["kubernetes.io/portworx-volume"]
	}
	return ""
}

// bound puts claims and volumes together.
func (s *storage) bound() map[string]map[string]*snapshot.Volume {
	out := map[string]map[string]*snapshot.Volume{}
	for namespace, claims := range s.claims {
		for claim, name := range claims {
			volume, known := s.volumes[name]
			if !known {
				continue
			}
			if out[namespace] == nil {
				out[namespace] = map[string]*snapshot.Volume{}
			}
			out[namespace][claim] = volume
		}
	}
	return out
}
