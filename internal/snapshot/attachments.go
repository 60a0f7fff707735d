// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Attachments are the CSI volumes of claims, and how many of them nodes can attach. They are read where evicted
// pods have such volumes.
type Attachments struct {
	// Volumes by namespace and name of the claim that is bound to them.
	Volumes map[string]map[string]*CSIVolume
	// Unbound is set where volumes are among them that a provisioner has yet to make.
	Unbound bool
	// Owned are those of claims of generic ephemeral volumes, by the UID of their pod.
	Owned map[types.UID][]*CSIVolume
	// Limits by name of the node and of the driver, nil where they could not be read.
	Limits map[string]map[string]int64
	// Having are the nodes that have a driver, by the names of those drivers without which a node takes no pods with their
	// volumes. Unattached are the drivers whose volumes are not attached to nodes, though these limit them, nil where they
	// could not be read.
	Having     map[string]map[string]bool
	Unattached map[string]bool
}

// Unread reports whether the drivers or their limits could not be read.
func (a *Attachments) Unread() bool { return a.Limits == nil || a.Unattached == nil }

// InTreeDrivers are the CSI drivers that attach the volumes of these provisioners, which were made before CSI. A
// StorageClass may still name one, such as gp2 on EKS (k8s.io/csi-translation-lib v0.37.2 plugins).
var InTreeDrivers = map[string]string{
	"kubernetes.io/aws-ebs": "ebs.csi.aws.com", "kubernetes.io/gce-pd": "pd.csi.storage.gke.io", "kubernetes.io/azure-disk": "disk.csi.azure.com",
	"kubernetes.io/cinder": "cinder.csi.openstack.org", "kubernetes.io/portworx-volume": "pxd.portworx.com",
}

// CSIVolume is a volume that a CSI driver attaches. Claims that are bound to the same one share it.
type CSIVolume struct{ Driver, Handle string }

// Of returns the CSI volumes of a pod, each once.
func (a *Attachments) Of(pod *Pod) []*CSIVolume {
	if a == nil {
		return nil
	}
	var out []*CSIVolume
	add := func(v *CSIVolume) {
		if v != nil && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	for _, claim := range pod.Claims {
		add(a.Volumes[pod.Namespace][claim])
	}
	if pod.Ephemeral {
		for _, v := range a.Owned[pod.Claimant()] {
			add(v)
		}
	}
	return out
}
