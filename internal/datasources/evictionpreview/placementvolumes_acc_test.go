// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Volumes of workloads.
const (
	oneVolume        = "volume of one pod at a time"
	attachedVolumes  = "volume that nodes attach"
	boundVolumes     = "volume of some nodes"
	ephemeralVolumes = "ephemeral volume"
	claimTemplates   = "volumeClaimTemplates"
	zoneVolumes      = "volume of a zone"
)

// store gives some workloads a volume, which one pod at a time or some nodes can use, or of which nodes attach
// only so many, or each of their pods an ephemeral one.
func (p *places) store(name string, spec *corev1.PodSpec) {
	p.t.Helper()
	if p.volumes == nil {
		return
	}
	volume := ""
	switch p.volumes.IntN(6) {
	case 0:
		volume = oneVolume
		p.exclusive(name)
	case 2:
		volume = attachedVolumes
		p.attached(name)
	case 1:
		volume = boundVolumes
		p.volume(name, p.nodes[p.volumes.IntN(len(p.nodes)):]...)
	case 3:
		p.have(name, ephemeralVolumes)
		p.scratch(name, spec)
		return
	default:
		if !p.zoned || p.zonal.IntN(2) == 0 {
			return
		}
		volume = zoneVolumes
		p.ofOneZone(name)
	}
	p.have(name, volume)
	p.using(name)(spec)
}

// ofOneZone makes a volume with the label of a zone, and without a node affinity.
func (p *places) ofOneZone(name string) {
	p.t.Helper()
	p.bindTo(name, corev1.PersistentVolumeSpec{
		AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
		PersistentVolumeSource: corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "nfs.example.com", Path: "/data"}},
	}, map[string]string{corev1.LabelTopologyZone: p.zone(p.zonal.IntN(2))})
}

// claims gives the pods of half of the StatefulSets a volume each, of a random class. A recreated pod uses that of
// the one before: some nodes can use it, or all.
func (p *places) claims(name string) []corev1.PersistentVolumeClaim {
	p.t.Helper()
	if p.volumes == nil || p.added.IntN(2) == 0 {
		return nil
	}
	p.have(name, claimTemplates)
	class := p.class([]string{localClass, zonalClass, limitedClass}[p.added.IntN(3)])
	return []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
		StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(fmt.Sprintf("%dGi", 1+p.added.IntN(2)))}},
	}}}
}
