// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// TestSnapshot_readsWhichVolumesOnePodCanUse shows that claims are read where a volume has that access mode alone.
func TestSnapshot_readsWhichVolumesOnePodCanUse(t *testing.T) {
	t.Parallel()
	for mode, want := range map[corev1.PersistentVolumeAccessMode]int{corev1.ReadWriteOncePod: 1, corev1.ReadWriteOnce: 0} {
		api := serve(fakeapi.New())
		api.Add(
			&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: corev1.PersistentVolumeSpec{AccessModes: []corev1.PersistentVolumeAccessMode{mode}}},
			&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv"}},
		)
		s, err := api.connect(t).Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		claims := 0
		for _, r := range api.requests() {
			claims += map[bool]int{true: 1}[r == "GET persistentvolumeclaims 200"]
		}
		if v := s.Volumes["shop"]["data"]; (v != nil && v.Exclusive) != (want == 1) || claims != want {
			t.Errorf("%s: volume %v, claims are listed %d times", mode, v, claims)
		}
	}
}

// TestSnapshot_readsTheZonesOfVolumes shows that labels of zones and regions count without an affinity, also of
// volumes of an in-tree driver, and that equal ones are kept once.
func TestSnapshot_readsTheZonesOfVolumes(t *testing.T) {
	t.Parallel()
	volume := func(name, zone string, source corev1.PersistentVolumeSource) *corev1.PersistentVolume {
		out := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: source}}
		if zone != "" {
			out.Labels = map[string]string{corev1.LabelTopologyZone: zone}
		}
		return out
	}
	claim := func(name, volume string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume}}
	}
	disk := corev1.PersistentVolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: "disk"}}
	api := serve(fakeapi.New())
	api.Add(
		volume("pv-1", "a__b", corev1.PersistentVolumeSource{}), volume("pv-2", "a__b", disk), volume("pv-3", "", corev1.PersistentVolumeSource{}),
		claim("one", "pv-1"), claim("two", "pv-2"), claim("three", "pv-3"),
	)
	s, err := api.connect(t).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := s.Volumes["shop"]
	if len(got) != 2 || got["one"].Zones == nil || got["one"].Zones != got["two"].Zones || got["one"].Affinity != nil {
		t.Fatalf("volumes %v", got)
	}
	if zones := got["one"].Zones; !zones.Match(map[string]string{corev1.LabelTopologyZone: "b"}) || zones.Match(map[string]string{corev1.LabelTopologyZone: "c"}) {
		t.Errorf("zones %v", *zones)
	}
}
