// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Classes of a random cluster: people make the volumes of the first, the test those of the others as provisioners do. The
// driver of the last one reports capacities.
const (
	localClass   = "local"
	zonalClass   = "zonal"
	limitedClass = "limited"
)

func (p *places) class(name string) string { return p.pool + "-" + name }

// classes makes the StorageClasses, all of which wait for a pod. Those of the zonal one are for one zone, and nodes have
// little capacity for the limited one.
func (p *places) classes() {
	p.t.Helper()
	p.storageClass(p.class(localClass), true, nil)
	p.storageClass(p.class(zonalClass), false, ofZone(fmt.Sprintf("z%d", p.volumes.IntN(2))))
	p.storageClass(p.class(limitedClass), false, nil)
	for _, node := range p.nodes {
		p.capacity(p.class(limitedClass), fmt.Sprintf("%dGi", p.volumes.IntN(3)), map[string]string{corev1.LabelHostname: node})
		for i := range p.volumes.IntN(4) {
			p.local(node, i)
		}
	}
}

// ofZone has volumes of a class made in one zone.
func ofZone(zone string) func(*storagev1.StorageClass) {
	return func(c *storagev1.StorageClass) {
		c.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: "zone", Values: []string{zone}}}}}
	}
}

// storageClass makes one whose volumes people make, or a provisioner once a pod needs them.
func (p *places) storageClass(name string, static bool, shape func(*storagev1.StorageClass)) {
	p.t.Helper()
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: name + ".example.com", VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer)}
	if static {
		class.Provisioner = "kubernetes.io/no-provisioner"
	}
	if shape != nil {
		shape(class)
	}
	classes := p.c.Admin.StorageV1().StorageClasses()
	_, err := classes.Create(p.t.Context(), class, metav1.CreateOptions{})
	p.must(err)
	p.t.Cleanup(func() { _ = classes.Delete(context.Background(), name, metav1.DeleteOptions{}) })
}

// capacity makes the driver of a class report what it has left for the nodes with these labels.
func (p *places) capacity(class, left string, nodes map[string]string) {
	p.t.Helper()
	drivers, driver := p.c.Admin.StorageV1().CSIDrivers(), class+".example.com"
	_, err := drivers.Create(p.t.Context(), &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driver}, Spec: storagev1.CSIDriverSpec{StorageCapacity: new(true)}}, metav1.CreateOptions{})
	p.must(ignoreThere(err))
	p.t.Cleanup(func() { _ = drivers.Delete(context.Background(), driver, metav1.DeleteOptions{}) })
	_, err = p.c.Admin.StorageV1().CSIStorageCapacities(p.namespace).Create(p.t.Context(), &storagev1.CSIStorageCapacity{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "left-"}, StorageClassName: class,
		NodeTopology: &metav1.LabelSelector{MatchLabels: nodes}, Capacity: new(resource.MustParse(left)),
	}, metav1.CreateOptions{})
	p.must(err)
}

func ignoreThere(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// local makes a volume of a node that a claim can be bound to.
func (p *places) local(node string, i int) {
	p.t.Helper()
	p.localVolume(node, fmt.Sprintf("%s-%d", node, i), p.class(localClass), fmt.Sprintf("%dGi", 1+p.volumes.IntN(3)))
}

// localVolume makes a volume of a node, of a class and a size.
func (m *move) localVolume(node, name, class, size string) {
	m.t.Helper()
	volumes := m.c.Admin.CoreV1().PersistentVolumes()
	one := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		StorageClassName: class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)},
		PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/data"}},
		NodeAffinity:           onHost(node),
	}}
	_, err := volumes.Create(m.t.Context(), one, metav1.CreateOptions{})
	m.must(err)
	m.t.Cleanup(func() { _ = volumes.Delete(context.Background(), one.Name, metav1.DeleteOptions{}) })
}

// onHost lets some nodes alone use a volume.
func onHost(nodes ...string) *corev1.VolumeNodeAffinity {
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: nodes}},
	}}}}
}

// scratch gives each pod an ephemeral volume of a random class.
func (p *places) scratch(name string, spec *corev1.PodSpec) {
	class := p.class([]string{localClass, localClass, zonalClass, limitedClass}[p.volumes.IntN(4)])
	spec.Volumes = []corev1.Volume{{Name: name, VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(fmt.Sprintf("%dGi", 1+p.volumes.IntN(2)))}},
		},
	}}}}}
}

// provision makes the volumes of claims for which the scheduler has chosen a node, as a provisioner does.
func (p *places) provision(ctx context.Context) error {
	claims, err := p.c.Admin.CoreV1().PersistentVolumeClaims(p.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range claims.Items {
		c := &claims.Items[i]
		selected := c.Annotations["volume.kubernetes.io/selected-node"]
		if c.Spec.VolumeName != "" || selected == "" || c.Spec.StorageClassName == nil || *c.Spec.StorageClassName == p.class(localClass) {
			continue
		}
		driver := *c.Spec.StorageClassName + ".example.com"
		one := &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: "pvc-" + string(c.UID), Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": driver}},
			Spec: corev1.PersistentVolumeSpec{
				StorageClassName: *c.Spec.StorageClassName, AccessModes: c.Spec.AccessModes, Capacity: c.Spec.Resources.Requests,
				ClaimRef:               &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: c.Namespace, Name: c.Name, UID: c.UID},
				PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: string(c.UID)}},
			},
		}
		if p.onHost {
			one.Spec.NodeAffinity = onHost(selected)
		}
		if _, err := p.c.Admin.CoreV1().PersistentVolumes().Create(ctx, one, metav1.CreateOptions{}); ignoreThere(err) != nil {
			return err
		}
		p.t.Cleanup(func() {
			_ = p.c.Admin.CoreV1().PersistentVolumes().Delete(context.Background(), one.Name, metav1.DeleteOptions{})
		})
	}
	return nil
}
