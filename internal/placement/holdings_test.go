// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// mounts has a pod mount inline volumes.
func mounts(sources ...corev1.VolumeSource) podOption {
	spec := &corev1.PodSpec{}
	for _, source := range sources {
		spec.Volumes = append(spec.Volumes, corev1.Volume{VolumeSource: source})
	}
	return ruled(snapshot.PodRulesOf(spec))
}

func gceDisk(name string, readOnly bool) corev1.VolumeSource {
	return corev1.VolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: name, ReadOnly: readOnly}}
}

func awsDisk(id string) corev1.VolumeSource {
	return corev1.VolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: id}}
}

func rbdImage(monitors ...string) corev1.VolumeSource {
	return corev1.VolumeSource{RBD: &corev1.RBDVolumeSource{CephMonitors: monitors, RBDPool: "rbd", RBDImage: "data"}}
}

func iscsiDisk(iqn string) corev1.VolumeSource {
	return corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{TargetPortal: "10.0.0.2:3260", IQN: iqn}}
}

// TestUpstream_diskConflicts has the facts of TestGCEDiskConflicts, TestAWSDiskConflicts, TestRBDDiskConflicts and
// TestISCSIDiskConflicts in k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/volumerestrictions: whether a node takes
// a pod beside another one.
func TestUpstream_diskConflicts(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	none := corev1.VolumeSource{}
	for _, tt := range []struct {
		name        string
		disk, other corev1.VolumeSource
		want        answer
	}{
		{name: "GCE: no pod has a disk"},
		{name: "GCE: another pod has a disk", other: gceDisk("a", false)},
		{name: "GCE: another pod has the disk", disk: gceDisk("a", false), other: gceDisk("a", false), want: unschedulable},
		{name: "GCE: another pod has another disk", disk: gceDisk("b", false), other: gceDisk("a", false)},
		{name: "GCE: a volume of another kind", disk: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{name: "AWS: no pod has a disk"},
		{name: "AWS: another pod has a disk", other: awsDisk("a")},
		{name: "AWS: another pod has the disk", disk: awsDisk("a"), other: awsDisk("a"), want: unschedulable},
		{name: "AWS: another pod has another disk", disk: awsDisk("b"), other: awsDisk("a")},
		{name: "RBD: no pod has a disk"},
		{name: "RBD: another pod has a disk", other: rbdImage("m1", "m2")},
		{name: "RBD: another pod has the disk", disk: rbdImage("m1", "m2"), other: rbdImage("m1", "m2"), want: unschedulable},
		{name: "RBD: another pod has another disk", disk: rbdImage("m3", "m4"), other: rbdImage("m1", "m2")},
		{name: "iSCSI: no pod has a disk"},
		{name: "iSCSI: another pod has a disk", other: iscsiDisk("a")},
		{name: "iSCSI: another pod has the disk", disk: iscsiDisk("a"), other: iscsiDisk("a"), want: unschedulable},
		{name: "iSCSI: another pod has another disk", disk: iscsiDisk("b"), other: iscsiDisk("a")},
	} {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(node("n1"))
			if tt.other != none {
				w = w.run(other("q", "n1", mounts(tt.other)))
			}
			p := pod("p", "", mounts(tt.disk))
			w.expect(t, p, tt.want)
		})
	}
}

// TestDisks has pods of node n1 evicted that mount a disk, while another pod on n2 mounts it as well, and n3 has none.
func TestDisks(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		pods []podOption
		want Range
	}{
		"one of them finds the node without":    {pods: []podOption{asking(1, 1), mounts(gceDisk("a", false))}, want: exactly(1)},
		"all may read where the other one does": {pods: []podOption{asking(1, 1), mounts(gceDisk("a", true))}, want: exactly(2)},
		"a higher priority preempts the other":  {pods: []podOption{asking(1, 1), mounts(gceDisk("a", false)), priority(10)}, want: exactly(2)},
		"another disk":                          {pods: []podOption{asking(1, 1), mounts(gceDisk("b", true))}, want: exactly(2)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(node("n1"), node("n2"), node("n3")).run(
				pod("p1", "n1", tt.pods...), pod("p2", "n1", tt.pods...), other("q", "n2", asking(1, 1), mounts(gceDisk("a", true))))
			if got := w.simulate().of(t, "web-5d").Placed; got != tt.want {
				t.Errorf("placed %v, want %v", got, tt.want)
			}
		})
	}
}
