// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestDisksOf(t *testing.T) {
	t.Parallel()
	spec := &corev1.PodSpec{}
	for _, source := range []corev1.VolumeSource{
		{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: "a", ReadOnly: true}},
		{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "b", ReadOnly: true}},
		{EmptyDir: &corev1.EmptyDirVolumeSource{}},
		{ISCSI: &corev1.ISCSIVolumeSource{IQN: "c", TargetPortal: "host"}},
		{RBD: &corev1.RBDVolumeSource{CephMonitors: []string{"m1", "m2"}, RBDPool: "p", RBDImage: "d", ReadOnly: true}},
	} {
		spec.Volumes = append(spec.Volumes, corev1.Volume{VolumeSource: source})
	}
	want := []Disk{{"gce a", true}, {"aws b", false}, {"iscsi c", false}, {"rbd p/d at m1", true}, {"rbd p/d at m2", true}}
	if diff := cmp.Diff(want, DisksOf(spec)); diff != "" {
		t.Error(diff)
	}
	if got := PodRulesOf(spec); got == nil || len(got.Disks) != len(want) {
		t.Errorf("its rules are %v", got)
	}
}

func TestDisk_Conflicts(t *testing.T) {
	t.Parallel()
	writes, reads := Disk{"iscsi c", false}, Disk{"iscsi c", true}
	for name, tt := range map[string]struct {
		a, b Disk
		want bool
	}{
		"both write":         {writes, writes, true},
		"one of them writes": {writes, reads, true},
		"both read":          {reads, reads, false},
		"another disk":       {writes, Disk{"gce c", false}, false},
	} {
		if tt.a.Conflicts(tt.b) != tt.want || tt.b.Conflicts(tt.a) != tt.want {
			t.Errorf("%s: it is not %t", name, tt.want)
		}
	}
}

func TestAttachesInline(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		source corev1.VolumeSource
		want   bool
	}{
		"gce":       {corev1.VolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{}}, true},
		"aws":       {corev1.VolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{}}, true},
		"cinder":    {corev1.VolumeSource{Cinder: &corev1.CinderVolumeSource{}}, true},
		"azure":     {corev1.VolumeSource{AzureDisk: &corev1.AzureDiskVolumeSource{}}, true},
		"portworx":  {corev1.VolumeSource{PortworxVolume: &corev1.PortworxVolumeSource{}}, true},
		"iscsi":     {corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{}}, false},
		"emptyDir":  {corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}, false},
		"no volume": {corev1.VolumeSource{}, false},
	} {
		if got := AttachesInline(&corev1.PodSpec{Volumes: []corev1.Volume{{VolumeSource: tt.source}}}); got != tt.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
