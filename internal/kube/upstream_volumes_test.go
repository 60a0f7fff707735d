// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

const ebsDriver = "ebs.csi.aws.com"

// driversCase is a pod with volumes, and the node that may take it, as an API server has them.
type driversCase struct {
	name string
	// pod has the volumes of the pod to place, others those of each pod on the node: claims, and disks that a pod names
	// itself behind "inline:". Claims of volume "csi-N" are bound to one of the driver of EBS, "aws-N" to one of EBS from before
	// CSI, "gce-N" to one of GCE from before CSI, and "path-N" to a directory; "open" has a class, and no volume, "classless" neither,
	// and "gone" a class and a volume that does not exist.
	pod    string
	others []string
	// limits is how many volumes of the driver of EBS the node attaches, "" where it reports no limit, "none" where the driver is
	// not installed and "unknown" where there is no CSINode.
	limits string
	// driver is set where there is an object for the driver, strict where it asks to keep pods away from nodes without it.
	driver, strict bool
	// zone is the one that the driver of GCE gives the node, migrated whether its kubelet attaches volumes from before CSI by CSI.
	zone     string
	migrated bool
	fits     bool
}

func (c *driversCase) podOf(name, node, volumes string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	for i, one := range strings.Fields(volumes) {
		v := corev1.Volume{Name: fmt.Sprint("v", i)}
		if id, inline := strings.CutPrefix(one, "inline:"); inline {
			v.AWSElasticBlockStore = &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: id}
		} else {
			v.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: one}
		}
		p.Spec.Volumes = append(p.Spec.Volumes, v)
	}
	return p
}

// claims serves the claims and their volumes.
func (c *driversCase) claims(api *testServer) {
	for kind, source := range map[string]corev1.PersistentVolumeSource{
		"csi": {CSI: &corev1.CSIPersistentVolumeSource{Driver: ebsDriver}}, "aws": {AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{}},
		"gce": {GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: "disk"}}, "path": {HostPath: &corev1.HostPathVolumeSource{Path: "/tmp"}},
	} {
		for i := range 4 {
			name := fmt.Sprint(kind, "-", i)
			volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: *source.DeepCopy()}}
			switch kind {
			case "csi":
				volume.Spec.CSI.VolumeHandle = name
			case "aws":
				volume.Spec.AWSElasticBlockStore.VolumeID = name
			case "gce":
				volume.Labels = map[string]string{corev1.LabelFailureDomainBetaZone: "us-east-1", corev1.LabelFailureDomainBetaRegion: "us-east-1a"}
			}
			api.Add(volume, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: name}, Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound}})
		}
	}
	class, provisioner := "disks", ebsDriver
	if c.migrated {
		provisioner = "kubernetes.io/aws-ebs"
	}
	for name, spec := range map[string]corev1.PersistentVolumeClaimSpec{"open": {StorageClassName: &class}, "classless": {}, "gone": {StorageClassName: &class, VolumeName: "missing"}} {
		api.Add(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: spec})
	}
	// The class waits for a pod, so that the limit alone keeps the open claim from the node.
	api.Add(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: provisioner, VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer)})
}

// csiNode serves what the node reports of its drivers.
func (c *driversCase) csiNode(api *testServer) {
	n := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	driver := storagev1.CSINodeDriver{Name: ebsDriver, NodeID: "node"}
	if c.migrated {
		n.Annotations = map[string]string{corev1.MigratedPluginsAnnotationKey: "kubernetes.io/aws-ebs,kubernetes.io/gce-pd"}
	}
	switch c.limits {
	case "unknown":
		return
	case "":
		n.Spec.Drivers = []storagev1.CSINodeDriver{driver}
	case "none":
	default:
		var most int32
		if _, err := fmt.Sscan(c.limits, &most); err != nil {
			panic(err)
		}
		driver.Allocatable = &storagev1.VolumeNodeResources{Count: &most}
		n.Spec.Drivers = []storagev1.CSINodeDriver{driver}
	}
	api.Add(n)
}

// placed reports whether the node takes the pod, which another node evicts.
func (c *driversCase) placed(t *testing.T) bool {
	t.Helper()
	target := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	if c.zone != "" {
		target.Labels = map[string]string{"topology.gke.io/zone": c.zone}
	}
	api := serve(fakeapi.New(), target, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "left"}})
	c.claims(api)
	c.csiNode(api)
	if c.driver {
		api.Add(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: ebsDriver}, Spec: storagev1.CSIDriverSpec{PreventPodSchedulingIfMissing: &c.strict}})
	}
	api.Add(c.podOf("pod", "left", c.pod))
	for i, volumes := range c.others {
		api.Add(c.podOf(fmt.Sprint("other-", i), "node", volumes))
	}
	cluster := api.connect(t)
	s, err := cluster.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err = cluster.Judge(t.Context(), s, func(s *snapshot.Snapshot) Needs { return Needs{Evicted: s.Pods["left"]} })
	if err != nil {
		t.Fatal(err)
	}
	pod := s.Pods["left"][0]
	change := placement.Scenario{Taints: map[string][]corev1.Taint{"left": {{Key: "gone", Effect: corev1.TaintEffectNoExecute}}}}
	out := placement.New(s, change, false).Simulate([]placement.Eviction{{Pod: pod, Scheduling: pod.Scheduling}}, placement.Orders, 1)
	if out.Placed == out.Missing {
		t.Fatalf("placed %v, missing %v", out.Placed, out.Missing)
	}
	return out.Placed == placement.Range{Min: 1, Max: 1}
}

// TestUpstream_volumesOfDrivers has the facts about volumes from before CSI, and about nodes without a driver, of TestCSILimits and
// TestVolumeLimitScalingGate in k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/nodevolumelimits/csi_test.go, and those of
// TestFindPodVolumesWithCSIMigration in pkg/scheduler/framework/plugins/volumebinding/binder_test.go.
func TestUpstream_volumesOfDrivers(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	type list = []string
	const twoOfCSI, twoOfAWS = "csi-1 csi-2", "aws-1 aws-2"
	for _, tt := range []driversCase{
		{name: "a claim of a volume that does not exist beside two", pod: "csi-0", others: list{"gone", twoOfCSI}, limits: "2"},
		{name: "a claim without a class beside one", pod: "csi-0", others: list{"csi-3", "classless"}, limits: "2", fits: true},
		{name: "one from before CSI beside two", pod: "aws-0", others: list{twoOfAWS}, limits: "2", migrated: true},
		{name: "an inline disk, a node without a CSINode", pod: "inline:disk", others: list{twoOfAWS}, limits: "unknown", fits: true},
		{name: "an unbound claim beside two from before CSI", pod: "open", others: list{twoOfAWS}, limits: "2", migrated: true},
		{name: "one from before CSI beside two, no limit", pod: "aws-0", others: list{twoOfAWS}, migrated: true, fits: true},
		{name: "a directory beside two of CSI", pod: "path-0", others: list{twoOfCSI}, limits: "2", migrated: true, fits: true},
		{name: "one from before CSI beside two of CSI", pod: "aws-0", others: list{twoOfCSI}, limits: "2", migrated: true},
		{name: "an inline disk that a claim on the node is bound to", pod: "inline:csi-1", others: list{twoOfCSI, "aws-0"}, limits: "3", migrated: true, fits: true},
		{name: "one of CSI beside two from before it", pod: "csi-0", others: list{twoOfAWS}, limits: "2", migrated: true},

		{name: "a node without the driver", pod: "csi-0", limits: "none", driver: true, fits: true},
		{name: "a node without the driver, which asks to keep pods away", pod: "csi-0", limits: "none", driver: true, strict: true},
		{name: "a node with the driver, which asks to keep pods away", pod: "csi-0", limits: "2", driver: true, strict: true, fits: true},
		{name: "a node without the driver, which has no object", pod: "csi-0", limits: "none", fits: true},

		{name: "a volume from before CSI, its zone", pod: "gce-0", zone: "us-east-1", migrated: true, fits: true},
		{name: "a volume from before CSI, its zone, not by CSI", pod: "gce-0", zone: "us-east-1", fits: true},
		{name: "a volume from before CSI, its zone, no CSINode", pod: "gce-0", zone: "us-east-1", limits: "unknown", fits: true},
	} {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			if fits := tt.placed(t); fits != tt.fits {
				t.Errorf("fits %t, want %t", fits, tt.fits)
			}
		})
	}
}
