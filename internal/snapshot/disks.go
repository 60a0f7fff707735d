// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Disk is an inline volume of a pod that a node cannot mount for every other pod as well.
type Disk struct {
	// Name tells it from all other disks.
	Name string
	// ReadOnly is set where pods share it that all mount it read-only. An AWS disk is never shared.
	ReadOnly bool
}

// Conflicts reports whether two pods cannot have these disks on one node
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go, isVolumeConflict).
func (d Disk) Conflicts(other Disk) bool {
	return d.Name == other.Name && (!d.ReadOnly || !other.ReadOnly)
}

// DisksOf reads the disks of a pod's spec. An RBD image is one for each of its monitors: two volumes are the same image
// where they share a monitor.
func DisksOf(spec *corev1.PodSpec) (out []Disk) {
	for i := range spec.Volumes {
		v := &spec.Volumes[i]
		if gce := v.GCEPersistentDisk; gce != nil {
			out = append(out, Disk{"gce " + gce.PDName, gce.ReadOnly})
		}
		if aws := v.AWSElasticBlockStore; aws != nil {
			out = append(out, Disk{"aws " + aws.VolumeID, false})
		}
		if iscsi := v.ISCSI; iscsi != nil {
			out = append(out, Disk{"iscsi " + iscsi.IQN, iscsi.ReadOnly})
		}
		if rbd := v.RBD; rbd != nil {
			for _, monitor := range rbd.CephMonitors {
				out = append(out, Disk{"rbd " + rbd.RBDPool + "/" + rbd.RBDImage + " at " + monitor, rbd.ReadOnly})
			}
		}
	}
	return out
}

// AttachesInline reports whether a pod of a spec has an inline volume that a CSI driver of InTreeDrivers attaches: it counts
// towards the driver's limit (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/nodevolumelimits/csi.go,
// checkAttachableInlineVolume).
func AttachesInline(spec *corev1.PodSpec) bool {
	return slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool {
		return v.GCEPersistentDisk != nil || v.AWSElasticBlockStore != nil || v.Cinder != nil || v.AzureDisk != nil || v.PortworxVolume != nil
	})
}
