// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// holdings are the host ports and the disks that the pods of a node have, each as often as pods have it.
type holdings struct {
	ports []snapshot.HostPort
	disks []snapshot.Disk
}

// hold counts those of a pod, or takes them back where times is -1.
func (h *holdings) hold(rules *snapshot.PodRules, times int64) {
	h.ports, h.disks = held(h.ports, rules.Ports, times), held(h.disks, rules.Disks, times)
}

func held[T comparable](all, some []T, times int64) []T {
	if times > 0 {
		return append(all, some...)
	}
	for _, one := range some {
		if at := slices.Index(all, one); at >= 0 {
			all = slices.Delete(all, at, at+1)
		}
	}
	return all
}

// portTaken reports whether a pod on a node has a port that pods of a class need
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/nodeports/node_ports.go).
func (h *holdings) portTaken(c *class) bool {
	return slices.ContainsFunc(h.ports, func(used snapshot.HostPort) bool { return slices.ContainsFunc(c.needs.ports, used.Conflicts) })
}

// diskTaken reports the same for a disk
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go, satisfyVolumeConflicts).
func (h *holdings) diskTaken(c *class) bool {
	return slices.ContainsFunc(h.disks, func(used snapshot.Disk) bool { return slices.ContainsFunc(c.needs.disks, used.Conflicts) })
}

// excludes reports whether a node takes only one of the pods that need these.
func (h *holdings) excludes() bool {
	return len(h.ports) > 0 || slices.ContainsFunc(h.disks, func(d snapshot.Disk) bool { return d.Conflicts(d) })
}

func (h *holdings) empty() bool { return len(h.ports)+len(h.disks) == 0 }

func (h *holdings) copied() holdings {
	return holdings{slices.Clone(h.ports), slices.Clone(h.disks)}
}
