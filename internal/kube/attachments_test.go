// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// withVolumes serves a claim with a CSI volume, one with another volume, and a node with a limit.
func withVolumes() *testServer {
	api := serve(fakeapi.New())
	for name, source := range map[string]corev1.PersistentVolumeSource{
		"csi":   {CSI: &corev1.CSIPersistentVolumeSource{Driver: "ebs", VolumeHandle: "vol-1"}},
		"again": {CSI: &corev1.CSIPersistentVolumeSource{Driver: "ebs", VolumeHandle: "vol-1"}},
		"gp2":   {AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-2"}},
		"local": {Local: &corev1.LocalVolumeSource{Path: "/data"}},
	} {
		api.Add(
			&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: source}},
			&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: name}},
		)
	}
	api.Add(&storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
		{Name: "ebs", NodeID: "i-1", Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(25))}},
		{Name: "nfs", NodeID: "i-1", Allocatable: &storagev1.VolumeNodeResources{}}, {Name: "efs", NodeID: "i-1"},
	}}})
	for name, spec := range map[string]storagev1.CSIDriverSpec{
		"ebs": {}, "nfs": {AttachRequired: new(false)}, "efs": {AttachRequired: new(true), PreventPodSchedulingIfMissing: new(true)},
		"gone": {PreventPodSchedulingIfMissing: new(true)}, "plain": {PreventPodSchedulingIfMissing: new(false)},
	} {
		api.Add(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec})
	}
	return api
}

func TestJudge_readsLimitsOfVolumesWherePodsToPlaceHaveSome(t *testing.T) {
	t.Parallel()
	limits := map[string]map[string]int64{"n1": {"ebs": 25}}
	for name, tt := range map[string]struct {
		claims []string
		// waits is the claim of a pod that waits for a node, "" for no such pod.
		waits    string
		code     fakeapi.Fault
		requests []string
		limits   map[string]map[string]int64
		times    int
	}{
		"no claim":                              {times: 1},
		"a claim without a CSI volume":          {claims: []string{"local"}, requests: []string{"GET persistentvolumeclaims 200"}, times: 1},
		"a claim with one":                      {claims: []string{"local", "csi"}, requests: []string{"GET persistentvolumeclaims 200", "GET csidrivers 200", "GET csinodes 200"}, limits: limits, times: 2},
		"a claim of a volume before CSI":        {claims: []string{"gp2"}, requests: []string{"GET persistentvolumeclaims 200", "GET csidrivers 200", "GET csinodes 200"}, limits: limits, times: 2},
		"a pod that waits for a node has one":   {waits: "csi", requests: []string{"GET persistentvolumeclaims 200", "GET csidrivers 200", "GET csinodes 200"}, limits: limits, times: 2},
		"there is no right to list their nodes": {claims: []string{"csi"}, code: 403, requests: []string{"GET persistentvolumeclaims 200", "GET csidrivers 200", "GET csinodes 403"}, times: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := withVolumes()
			if tt.waits != "" {
				api.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "waits"}, Spec: corev1.PodSpec{Volumes: []corev1.Volume{
					{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: tt.waits}}},
				}}})
			}
			api.fault = func(r fakeapi.Request, _ int) fakeapi.Fault {
				return map[bool]fakeapi.Fault{true: tt.code}[r.Resource == "csinodes"]
			}
			c := api.connect(t)
			s, err := c.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			api.requests()
			times := 0
			for range 2 {
				s, err = c.Judge(t.Context(), s, func(*snapshot.Snapshot) Needs {
					times++
					return Needs{Evicted: []*snapshot.Pod{{Namespace: "shop", Claims: tt.claims}}}
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tt.requests, api.requests()); diff != "" || times != tt.times+1 {
				t.Errorf("judged %d times, requests: %s", times, diff)
			}
			if (s.Attachments != nil) != (tt.times == 2) {
				t.Fatalf("attachments %v", s.Attachments)
			}
			if s.Attachments == nil {
				return
			}
			if diff := cmp.Diff(tt.limits, s.Attachments.Limits); diff != "" || s.Attachments.Unread() != (tt.code != 0) {
				t.Error(diff)
			}
			having, unattached := map[string]map[string]bool{"efs": {"n1": true}, "gone": {}}, map[string]bool{"nfs": true}
			if tt.code != 0 {
				having, unattached = nil, nil
			}
			if diff := cmp.Diff([]any{having, unattached}, []any{s.Attachments.Having, s.Attachments.Unattached}); diff != "" {
				t.Error(diff)
			}
			if volumes := s.Attachments.Volumes["shop"]; len(volumes) != 3 || volumes["csi"] != volumes["again"] || volumes["gp2"].Driver != "ebs.csi.aws.com" {
				t.Errorf("volumes %v", volumes)
			}
			if later, err := c.Snapshot(t.Context()); err != nil || later.Attachments != s.Attachments {
				t.Errorf("a later snapshot has others: %v", err)
			}
		})
	}
}

func TestAttachments_areThoseOfAPodsClaims(t *testing.T) {
	t.Parallel()
	one, two := &snapshot.CSIVolume{Handle: "1"}, &snapshot.CSIVolume{Handle: "2"}
	a := &snapshot.Attachments{Volumes: map[string]map[string]*snapshot.CSIVolume{"shop": {"a": one, "b": two, "c": one}}}
	for namespace, want := range map[string][]*snapshot.CSIVolume{"shop": {one, two}, "prod": nil} {
		if got := a.Of(&snapshot.Pod{Namespace: namespace, Claims: []string{"a", "x", "c", "b"}}); !slices.Equal(got, want) {
			t.Errorf("%s: %v", namespace, got)
		}
	}
	if got := (*snapshot.Attachments)(nil).Of(&snapshot.Pod{Claims: []string{"a"}}); got != nil {
		t.Errorf("without attachments: %v", got)
	}
}
