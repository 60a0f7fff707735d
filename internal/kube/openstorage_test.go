// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

func claimOf(name, class string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class, Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
		}},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	}
}

func inSet(set, pod, claim string) snapshot.Pod {
	owner := snapshot.Owner{Group: "apps", Kind: "StatefulSet", Name: set}
	return snapshot.Pod{Name: pod, Claims: []string{claim}, Controller: &snapshot.Controller{Owner: owner, UID: "uid-" + types.UID(set)}}
}

func waiting(name, provisioner string) *storagev1.StorageClass {
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer)}
}

// withStorage has a claim of each class, and one that is bound.
func withStorage() *testServer {
	api := serve(fakeapi.New())
	bound, owned := claimOf("bound", "plain"), claimOf("pod-scratch", "limited")
	bound.Spec.VolumeName, bound.Status.Phase = "pv", corev1.ClaimBound
	owned.Spec.VolumeName, owned.Status.Phase = "pv-of-pod", corev1.ClaimBound
	owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "pod", UID: "pod", Controller: new(true)}}
	lost, named := claimOf("lost", "static"), claimOf("named", "static")
	lost.Status.Phase, named.Spec.VolumeName = corev1.ClaimLost, "pv"
	api.Add(
		bound, owned, lost, named, claimOf("static", "static"), claimOf("plain", "plain"), claimOf("limited", "limited"), claimOf("at-once", "at-once"),
		waiting("static", noProvisioner), waiting("plain", "nfs"), waiting("limited", "lvm"),
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "at-once"}, Provisioner: "nfs", VolumeBindingMode: new(storagev1.VolumeBindingImmediate)},
		&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "lvm"}, Spec: storagev1.CSIDriverSpec{StorageCapacity: new(true)}},
		&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "nfs"}},
	)
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}}
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}, {ObjectMeta: metav1.ObjectMeta{Name: "logs"}}, {ObjectMeta: metav1.ObjectMeta{Name: "old"}}}
	for i, claim := range []*corev1.PersistentVolumeClaim{claimOf("data", "limited"), claimOf("logs", ""), claimOf("old", "")} {
		set.Spec.VolumeClaimTemplates[i].Spec = claim.Spec
	}
	set.Spec.VolumeClaimTemplates[1].Spec.StorageClassName = nil
	api.Add(set)
	for name, nodes := range map[string]*metav1.LabelSelector{"a": {MatchLabels: map[string]string{"zone": "a"}}, "unavailable": nil} {
		api.Add(&storagev1.CSIStorageCapacity{ObjectMeta: metav1.ObjectMeta{Namespace: "lvm", Name: name}, StorageClassName: "limited", NodeTopology: nodes, Capacity: new(resource.MustParse("10Gi"))})
	}
	return api
}

func TestJudge_readsStorageWhereClaimsHaveNoVolume(t *testing.T) {
	t.Parallel()
	const claims, classes, drivers, capacities, limits = "GET persistentvolumeclaims 200", "GET storageclasses 200", "GET csidrivers 200", "GET csistoragecapacities 200", "GET csinodes 200"
	const sets = "GET statefulsets 200"
	for name, tt := range map[string]struct {
		pod       snapshot.Pod
		waits     string
		forbidden string
		requests  []string
	}{
		"no claim":                            {},
		"no claim, and another pod waits":     {waits: "static", requests: []string{claims, classes}},
		"a bound claim":                       {pod: snapshot.Pod{Claims: []string{"bound"}}, requests: []string{claims}},
		"a claim that does not exist":         {pod: snapshot.Pod{Claims: []string{"none"}}, requests: []string{claims}},
		"a claim that a StatefulSet creates":  {pod: inSet("db", "db-0", "data-db-0"), requests: []string{claims, sets, classes, drivers, capacities}},
		"a claim that no template names":      {pod: inSet("db", "db-0", "none"), requests: []string{claims}},
		"a claim of a set without a template": {pod: inSet("gone", "gone-0", "data-gone-0"), requests: []string{claims, sets}},
		"no right to list StatefulSets":       {pod: inSet("db", "db-0", "data-db-0"), forbidden: "statefulsets", requests: []string{claims, "GET statefulsets 403"}},
		"a claim that has lost its volume":    {pod: snapshot.Pod{Claims: []string{"lost"}}, requests: []string{claims}},
		"a claim that names a volume":         {pod: snapshot.Pod{Claims: []string{"named"}}, requests: []string{claims}},
		"volumes that people make":            {pod: snapshot.Pod{Claims: []string{"static"}}, requests: []string{claims, classes}},
		"a class that does not wait":          {pod: snapshot.Pod{Claims: []string{"at-once"}}, requests: []string{claims, classes}},
		"a driver that reports no capacity":   {pod: snapshot.Pod{Claims: []string{"plain"}}, requests: []string{claims, classes, drivers, capacities, limits}},
		"a driver that reports capacities":    {pod: snapshot.Pod{Claims: []string{"limited"}}, requests: []string{claims, classes, drivers, capacities, limits}},
		"a generic ephemeral volume":          {pod: snapshot.Pod{Ephemeral: true, UID: "pod", Node: "n1"}, requests: []string{claims, classes, drivers, capacities}},
		"no right to list claims":             {pod: snapshot.Pod{Claims: []string{"static"}}, forbidden: "persistentvolumeclaims", requests: []string{"GET persistentvolumeclaims 403"}},
		"no right to list classes":            {pod: snapshot.Pod{Claims: []string{"limited"}}, forbidden: "storageclasses", requests: []string{claims, "GET storageclasses 403"}},
		"no right to list drivers":            {pod: snapshot.Pod{Claims: []string{"limited"}}, forbidden: "csidrivers", requests: []string{claims, classes, "GET csidrivers 403", limits}},
		"no right to list storage capacities": {pod: snapshot.Pod{Claims: []string{"limited"}}, forbidden: "csistoragecapacities", requests: []string{claims, classes, drivers, "GET csistoragecapacities 403", limits}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := withStorage()
			if tt.waits != "" {
				api.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "waits"}, Spec: corev1.PodSpec{Volumes: []corev1.Volume{
					{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: tt.waits}}},
				}}})
			}
			api.fault = func(r fakeapi.Request, _ int) fakeapi.Fault {
				return map[bool]fakeapi.Fault{true: 403}[tt.forbidden != "" && r.Resource == tt.forbidden]
			}
			c := api.connect(t)
			s, err := recreating(t, c)
			if err != nil {
				t.Fatal(err)
			}
			api.requests()
			tt.pod.Namespace = "shop"
			times := 0
			for range 2 {
				if s, err = c.Judge(t.Context(), s, func(*snapshot.Snapshot) Needs {
					times++
					return Needs{Evicted: []*snapshot.Pod{&tt.pod}}
				}); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tt.requests, api.requests()); diff != "" {
				t.Error(diff)
			}
			open := tt.requests != nil && name != "a bound claim"
			if (s.Storage != nil) != open || times != map[bool]int{true: 3, false: 2}[open] {
				t.Fatalf("judged %d times, storage %v", times, s.Storage)
			}
			if open {
				hasRead(t, s.Storage, tt.forbidden)
			}
		})
	}
}

// hasRead checks what is known of the storage without the right to list some of it.
func hasRead(t *testing.T, s *snapshot.Storage, forbidden string) {
	t.Helper()
	if (s.Claims == nil) != (forbidden == "persistentvolumeclaims") || forbidden == "storageclasses" && s.Classes != nil {
		t.Errorf("storage %+v", s)
	}
	class := s.Classes["limited"]
	if forbidden == "csidrivers" || forbidden == "csistoragecapacities" {
		if class.Limited || !class.Unknown {
			t.Errorf("without the right to list %s: %+v", forbidden, class)
		}
	}
	if class == nil || !class.Limited {
		return
	}
	if len(class.Capacities) != 1 || !class.Capacities[0].Nodes.Matches(labels.Set{"zone": "a"}) || class.Capacities[0].Total != 10<<30 || class.Capacities[0].Largest != -1 {
		t.Errorf("capacities %+v", class.Capacities)
	}
}

func TestJudge_readsMoreOfTheStorageWhenALaterPodNeedsIt(t *testing.T) {
	t.Parallel()
	api := withStorage()
	c := api.connect(t)
	s, err := c.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	api.requests()
	for _, step := range []struct {
		claim    string
		requests []string
	}{
		{"static", []string{"GET persistentvolumeclaims 200", "GET storageclasses 200"}},
		{"limited", []string{"GET csidrivers 200", "GET csistoragecapacities 200", "GET csinodes 200"}},
		{"static", nil},
	} {
		if s, err = c.Judge(t.Context(), s, func(*snapshot.Snapshot) Needs {
			return Needs{Evicted: []*snapshot.Pod{{Namespace: "shop", Claims: []string{step.claim}}}}
		}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.requests, api.requests()); diff != "" {
			t.Errorf("%s: %s", step.claim, diff)
		}
	}
	if !s.Storage.Classes["limited"].Limited {
		t.Error("the capacities are not known any more")
	}
}

func TestOpenStorage_keepsClaimsWithoutAVolume(t *testing.T) {
	t.Parallel()
	var s openStorage
	s.noClaims()
	selected, deleting := claimOf("selected", "fast"), claimOf("deleting", "fast")
	selected.Annotations = map[string]string{selectedNode: "n1"}
	deleting.DeletionTimestamp, deleting.Spec.VolumeName, deleting.Status.Phase = new(metav1.Now()), "pv", corev1.ClaimBound
	old, completed := claimOf("old", "fast"), claimOf("completed", "fast")
	old.Annotations = map[string]string{corev1.BetaStorageClassAnnotation: "slow"}
	completed.Annotations, completed.Spec.VolumeName = map[string]string{bindCompleted: "yes"}, "pv"
	block := claimOf("block", "fast")
	block.Spec.VolumeMode, block.Spec.VolumeAttributesClassName = new(corev1.PersistentVolumeBlock), new("gold")
	block.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}
	for _, c := range []*corev1.PersistentVolumeClaim{selected, deleting, old, completed, block, claimOf("plain", "fast")} {
		if open := s.noteClaim(c); open != (c.Name != "completed") {
			t.Errorf("%s: open %t", c.Name, open)
		}
	}
	got := s.open["shop"]
	if names := strings.Join(slices.Sorted(maps.Keys(got)), " "); names != "block deleting old plain selected" {
		t.Fatal(names)
	}
	if got["plain"].Request != got["selected"].Request || got["selected"].SelectedNode != "n1" || !got["deleting"].Deleting || got["old"].Request.Class != "slow" {
		t.Errorf("claims %+v", got)
	}
	if r := got["block"].Request; !r.Block || r.Attributes != "gold" || !r.Selector.Matches(labels.Set{"tier": "gold"}) || r.Size != 1<<30 {
		t.Errorf("request %+v", r)
	}
}

func TestOpenStorage_keepsVolumesThatCanBeBound(t *testing.T) {
	t.Parallel()
	volume := func(name string, phase corev1.PersistentVolumePhase, size string, claim string) *corev1.PersistentVolume {
		v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PersistentVolumeStatus{Phase: phase}}
		v.Spec.Capacity, v.Spec.StorageClassName = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}, "fast"
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{}}
		if claim != "" {
			v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "shop", Name: claim, UID: types.UID("uid-" + claim)}
		}
		return v
	}
	going := volume("going", corev1.VolumeAvailable, "1Gi", "")
	going.DeletionTimestamp = new(metav1.Now())
	var s openStorage
	for _, v := range []*corev1.PersistentVolume{
		volume("large", corev1.VolumeAvailable, "9Gi", ""), volume("small", corev1.VolumeAvailable, "1Gi", ""), volume("bound", corev1.VolumeBound, "1Gi", "data"),
		volume("released", corev1.VolumeReleased, "1Gi", "data"), volume("reserved", corev1.VolumePending, "2Gi", "data"), volume("pending", corev1.VolumePending, "1Gi", ""), going,
	} {
		s.noteVolume(v, func(n *corev1.NodeSelector) *corev1.NodeSelector { return n })
	}
	s.sortFree()
	var names []string
	for _, v := range s.free {
		names = append(names, v.Name)
		if v.Affinity == nil || v.Class != "fast" {
			t.Errorf("%s: %+v", v.Name, v)
		}
	}
	if got := strings.Join(names, " "); got != "small reserved large" || !s.free[1].ReservedFor("shop/data", "uid-data") {
		t.Errorf("volumes %s", got)
	}
}

// A volume that a provisioner has yet to make counts against the limits of its driver, one that a pod with a generic
// ephemeral volume has already counts for the pod that replaces it.
func TestStorage_attachesVolumesThatAreMade(t *testing.T) {
	t.Parallel()
	api := withStorage()
	api.Add(&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-of-pod"}, Spec: corev1.PersistentVolumeSpec{
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "lvm", VolumeHandle: "1"}},
	}})
	c := api.connect(t)
	s, err := c.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pods := []*snapshot.Pod{
		{Namespace: "shop", Ephemeral: true, UID: "pod", Node: "n1"}, {Namespace: "shop", Claims: []string{"plain"}},
		{Namespace: "shop", Claims: []string{"static"}}, {Namespace: "shop", Claims: []string{"at-once"}},
	}
	if s, err = c.Judge(t.Context(), s, func(*snapshot.Snapshot) Needs { return Needs{Evicted: pods} }); err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]*snapshot.CSIVolume{{{Driver: "lvm", Handle: "1"}}, {{Driver: "nfs", Handle: "shop/plain"}}, nil, nil} {
		if diff := cmp.Diff(want, s.Attachments.Of(pods[i])); diff != "" {
			t.Errorf("pod %d: %s", i, diff)
		}
	}
}
