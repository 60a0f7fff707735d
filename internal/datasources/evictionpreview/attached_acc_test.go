// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// driver returns the CSI driver of the volumes.
func (m *move) driver() string { return cmp.Or(m.csi, "csi.example.com") }

// mounts makes a CSI driver for the volumes that does not attach them.
func (m *move) mounts() {
	m.t.Helper()
	m.csi = m.pool + ".example.com"
	drivers := m.c.Admin.StorageV1().CSIDrivers()
	_, err := drivers.Create(m.t.Context(), &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: m.csi}, Spec: storagev1.CSIDriverSpec{AttachRequired: new(false)}}, metav1.CreateOptions{})
	m.must(err)
	m.t.Cleanup(func() { _ = drivers.Delete(context.Background(), m.csi, metav1.DeleteOptions{}) })
}

// handle names the volume of a claim. The attach-detach controller takes equal handles for one volume, and attaches one that a
// pod uses alone nowhere else: those of another test count, too.
func (m *move) handle(claim string) string { return m.pool + "-" + claim }

// exclusive makes a claim, bound to a volume that one pod can use at a time.
func (m *move) exclusive(claim string) {
	m.t.Helper()
	m.bind(claim, corev1.PersistentVolumeSpec{
		AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod},
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: m.driver(), VolumeHandle: m.handle(claim)}},
	})
}

// attached makes a claim, bound to a volume of a CSI driver, of which nodes attach only so many.
func (m *move) attached(claim string) {
	m.t.Helper()
	m.bind(claim, corev1.PersistentVolumeSpec{
		AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: m.driver(), VolumeHandle: m.handle(claim)}},
	})
}

// attaches limits how many volumes of that driver a node attaches.
func (m *move) attaches(node string, most int32) {
	m.t.Helper()
	nodes := m.c.Admin.StorageV1().CSINodes()
	_, err := nodes.Create(m.t.Context(), &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
		{Name: m.driver(), NodeID: node, Allocatable: &storagev1.VolumeNodeResources{Count: &most}},
	}}}, metav1.CreateOptions{})
	m.must(err)
	m.t.Cleanup(func() { _ = nodes.Delete(context.Background(), node, metav1.DeleteOptions{}) })
	// Every kubelet has the attach-detach controller attach volumes (k8s.io/kubernetes v1.37.2
	// pkg/kubelet/kubelet_node_status.go, initialNode): that makes the VolumeAttachments which the scheduler counts.
	_, err = m.c.Admin.CoreV1().Nodes().Patch(m.t.Context(), node, types.MergePatchType, []byte(`{"metadata":{"annotations":{"volumes.kubernetes.io/controller-managed-attach-detach":"true"}}}`), metav1.PatchOptions{})
	m.must(err)
}

// attach does what an external attacher does: it reports VolumeAttachments of these nodes as attached.
func (m *move) attach(ctx context.Context, nodes []string) error {
	// These writes are not the test's own.
	attacher := rest.CopyConfig(m.c.REST)
	attacher.UserAgent = "external-attacher"
	client, err := kubernetes.NewForConfig(attacher)
	if err != nil {
		return err
	}
	attachments := client.StorageV1().VolumeAttachments()
	all, err := attachments.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range all.Items {
		if one := &all.Items[i]; slices.Contains(nodes, one.Spec.NodeName) && !one.Status.Attached {
			one.Status.Attached = true
			if _, err := attachments.UpdateStatus(ctx, one, metav1.UpdateOptions{}); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				return err
			}
		}
	}
	return nil
}
