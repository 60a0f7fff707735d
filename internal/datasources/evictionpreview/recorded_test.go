// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestRecorded_previewsAreThoseOfTheCluster asks the data source about random changes of the random clusters
// of the predictions, and then of a recording of each: every field of the answers is the same.
func TestRecorded_previewsAreThoseOfTheCluster(t *testing.T) {
	t.Parallel()
	acctest.TooLong(t)
	var pods, volumes atomic.Int64
	t.Cleanup(func() {
		if n, m := pods.Load(), volumes.Load(); (n < 15*manySeeds || m < manySeeds) && !t.Failed() {
			t.Errorf("the previews have %d pods, and volumes decide %d times: the test shows little", n, m)
		}
	})
	for seed := range manySeeds {
		t.Run(fmt.Sprintf("seed_%d", seed), func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				w := emptyWorld(t, c, uint64(seed))
				// Nothing plays the controllers of a world that is not quiet.
				w.quiet = true
				w.fill()
				w.own()
				w.store()
				live, recording := &acctest.Terraform{Provider: c.Provider(t)}, c.Snapshot(t)
				config := map[string]any{"node_selector": "world=" + w.label, "taints": w.change(), "include_unaffected": true}
				want, said := live.Data(t, "kubetaint_eviction_preview", config)
				if said.Errors() != "" {
					t.Fatal(said.Errors())
				}
				got, d := recording.Data(t, "kubetaint_eviction_preview", config)
				if d.Errors() != "" {
					t.Fatal(d.Errors())
				}
				if diff := cmp.Diff(want, got) + cmp.Diff(said.Warnings(), d.Warnings()); diff != "" {
					t.Errorf("the recording gives another preview: %s", diff)
				}
				some, _ := got["pods"].([]any)
				pods.Add(int64(len(some)))
				volumes.Add(int64(strings.Count(fmt.Sprint(some), "volume") + strings.Count(fmt.Sprint(some), "storage")))
			})
		})
	}
}

// own adds pods of a Deployment, of which a PodDisruptionBudget covers some, and of a DaemonSet with
// another template than its pods.
func (w *world) own() {
	w.t.Helper()
	yes, labels := true, map[string]string{"app": "web"}
	controlled := func(kind, name string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, UID: types.UID("uid-" + name), Controller: &yes}}
	}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Tolerations: w.daemonTolerations()}}
	meta := func(name string, owners ...metav1.OwnerReference) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: w.namespace, Name: name, UID: types.UID("uid-" + name), OwnerReferences: owners}
	}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	apps := w.c.Admin.AppsV1()
	_, err := apps.Deployments(w.namespace).Create(w.t.Context(), &appsv1.Deployment{ObjectMeta: meta("web"), Spec: appsv1.DeploymentSpec{Selector: selector, Template: template}}, metav1.CreateOptions{})
	w.must(err)
	_, err = apps.ReplicaSets(w.namespace).Create(w.t.Context(), &appsv1.ReplicaSet{ObjectMeta: meta("web-1", controlled("Deployment", "web")...), Spec: appsv1.ReplicaSetSpec{Selector: selector, Template: template}}, metav1.CreateOptions{})
	w.must(err)
	_, err = apps.DaemonSets(w.namespace).Create(w.t.Context(), &appsv1.DaemonSet{ObjectMeta: meta("agent"), Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template}}, metav1.CreateOptions{})
	w.must(err)
	_, err = w.c.Admin.PolicyV1().PodDisruptionBudgets(w.namespace).Create(w.t.Context(), &policyv1.PodDisruptionBudget{ObjectMeta: meta("web"), Spec: policyv1.PodDisruptionBudgetSpec{Selector: selector}}, metav1.CreateOptions{})
	w.must(err)
	for n, node := range w.nodes {
		for _, owner := range []string{"web-1", "agent"} {
			kind := map[string]string{"web-1": "ReplicaSet", "agent": "DaemonSet"}[owner]
			w.c.Pod(w.t, w.namespace, fmt.Sprintf("%s-%d", owner, n), node, func(p *corev1.Pod) {
				p.Labels, p.OwnerReferences, p.Spec.Tolerations = labels, controlled(kind, owner), w.daemonTolerations()
			})
		}
	}
}

// store adds pods of a StatefulSet with claims that no volume is bound to or that have a CSI volume, classes of which one
// has capacities, and nodes that attach few volumes.
func (w *world) store() {
	w.t.Helper()
	ctx, storage := w.t.Context(), w.c.Admin.StorageV1()
	for name, provisioner := range map[string]string{"local": "kubernetes.io/no-provisioner", "limited": "csi.example.com"} {
		_, err := storage.StorageClasses().Create(ctx, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer)}, metav1.CreateOptions{})
		w.must(err)
	}
	_, err := storage.CSIDrivers().Create(ctx, &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "csi.example.com"}, Spec: storagev1.CSIDriverSpec{StorageCapacity: new(w.r.IntN(3) > 0)}}, metav1.CreateOptions{})
	w.must(err)
	template := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: w.request()}
	_, err = w.c.Admin.AppsV1().StatefulSets(w.namespace).Create(ctx, &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "db", UID: "uid-db"}, Spec: appsv1.StatefulSetSpec{
			PodManagementPolicy: appsv1.PodManagementPolicyType(w.pick("Parallel", "OrderedReady", "Parallel")), VolumeClaimTemplates: []corev1.PersistentVolumeClaim{template},
		},
	}, metav1.CreateOptions{})
	w.must(err)
	for n, node := range w.nodes {
		_, err := storage.CSINodes().Create(ctx, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
			{Name: "csi.example.com", NodeID: node, Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(w.r.IntN(2)))}},
		}}}, metav1.CreateOptions{})
		w.must(err)
		_, err = storage.CSIStorageCapacities(w.namespace).Create(ctx, &storagev1.CSIStorageCapacity{
			ObjectMeta: metav1.ObjectMeta{Name: node}, StorageClassName: "limited", Capacity: new(resource.MustParse(w.pick("0", "5Gi"))),
			NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelHostname: node}},
		}, metav1.CreateOptions{})
		w.must(err)
		for i := range 3 {
			w.stored(fmt.Sprintf("db-%d", 3*n+i), node)
		}
	}
}

// stored adds a pod of the StatefulSet, and most often its claim and a volume for it.
func (w *world) stored(pod, node string) {
	w.t.Helper()
	w.c.Pod(w.t, w.namespace, pod, node, func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", UID: "uid-db", Controller: new(true)}}
		p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-" + pod}}}}
	})
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data-" + pod}, Spec: w.request()}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: w.label + pod}, Spec: corev1.PersistentVolumeSpec{
		StorageClassName: "local", Capacity: corev1.ResourceList{"storage": resource.MustParse(w.pick("1Gi", "3Gi"))}, AccessModes: claim.Spec.AccessModes,
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.example.com", VolumeHandle: pod}},
	}}
	volume.Status.Phase, claim.Status.Phase = corev1.VolumeAvailable, corev1.ClaimPending
	switch w.r.IntN(4) {
	case 0:
		return
	case 1:
		claim.Spec.VolumeName, claim.Status.Phase, volume.Status.Phase = volume.Name, corev1.ClaimBound, corev1.VolumeBound
		claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
		volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: w.namespace, Name: claim.Name}
	}
	_, err := w.c.Admin.CoreV1().PersistentVolumeClaims(w.namespace).Create(w.t.Context(), claim, metav1.CreateOptions{})
	w.must(err)
	_, err = w.c.Admin.CoreV1().PersistentVolumes().Create(w.t.Context(), volume, metav1.CreateOptions{})
	w.must(err)
}

// request is what a claim asks for.
func (w *world) request() corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{
		StorageClassName: new(w.pick("local", "limited")), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("2Gi")}},
	}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}
