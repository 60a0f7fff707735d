// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

const driver = "csi.acme.example"

// storing is a random cluster whose pods have claims of every state, in two namespaces.
type storing struct {
	*fakeapi.Server

	r *rand.Rand
	// size is that of the next volume: none has that of another one.
	size int
	uids int
}

func storageOf(seed uint64) *storing {
	w := &storing{Server: fakeapi.New(fakeapi.CustomKind("apps.kruise.io/v1beta1", "StatefulSet", "statefulsets")), r: rand.New(rand.NewPCG(seed, 2)), size: 1}
	for n := range 3 + w.r.IntN(3) {
		w.node(n)
	}
	w.classes()
	w.Add(&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "none", Name: "none"}}, &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: "none", Name: "none"}})
	for _, namespace := range []string{"shop", "openshift-logging"} {
		w.set(namespace, "db", w.pick("data", "data-my"))
		w.set(namespace, "my-db", "logs")
		w.ephemeral(namespace)
		w.waiting(namespace)
	}
	return w
}

// noted is the metadata of an object whose UID is not made of its name.
func (w *storing) noted(namespace, name string, owners ...metav1.OwnerReference) metav1.ObjectMeta {
	w.uids++
	out := noted(namespace, name, owners...)
	out.UID = types.UID(fmt.Sprint("object-", w.uids))
	return out
}

// controlled is a reference to a controller in the same way.
func (w *storing) controlled(apiVersion, kind, namespace, name string) []metav1.OwnerReference {
	out := controlled(apiVersion, kind, name)
	out[0].UID = types.UID(fmt.Sprint("owner-", len(namespace), len(name)))
	return out
}

// some returns true in one of n cases.
func (w *storing) some(n int) bool { return w.r.IntN(n) == 0 }

func (w *storing) pick(from ...string) string { return from[w.r.IntN(len(from))] }

func (w *storing) node(n int) {
	name := fmt.Sprintf("acme-%d", n)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(fmt.Sprint("node-", n)), Labels: map[string]string{
		corev1.LabelHostname: name, corev1.LabelTopologyZone: string(rune('a' + n%2)), "topology.example.com/rack": fmt.Sprintf("rack-%d", n%2),
	}}}
	if n < 2 {
		node.Labels["pool"] = "1"
	}
	node.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("4"), "pods": resource.MustParse("110")}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	w.Add(node)
	if !w.some(3) {
		w.Add(&storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
			{Name: driver, NodeID: canary, TopologyKeys: []string{"topology.example.com/rack"}, Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(w.r.IntN(4)))}},
		}}})
	}
}

// classes adds StorageClasses and what drivers report. Their parameters can hold secrets.
func (w *storing) classes() {
	add := func(name, provisioner string, mode storagev1.VolumeBindingMode, change func(*storagev1.StorageClass)) {
		class := &storagev1.StorageClass{
			ObjectMeta: w.noted("", name), Provisioner: provisioner, VolumeBindingMode: &mode, ReclaimPolicy: new(corev1.PersistentVolumeReclaimDelete),
			Parameters: map[string]string{"secret": canary}, MountOptions: []string{"password=" + canary},
		}
		change(class)
		w.Add(class)
	}
	isDefault := func(c *storagev1.StorageClass) {
		if w.some(2) {
			c.Annotations["storageclass.kubernetes.io/is-default-class"] = w.pick("true", "false")
			// Of two defaults the newer one counts, and of equal ones that of the first name, which a hash changes.
			c.CreationTimestamp = metav1.Time{Time: moment.Add(time.Duration(w.uids) * time.Second)}
		}
	}
	add("local", "kubernetes.io/no-provisioner", storagev1.VolumeBindingWaitForFirstConsumer, isDefault)
	add("nfs", "nfs.acme.example", storagev1.VolumeBindingWaitForFirstConsumer, func(*storagev1.StorageClass) {})
	add("immediate", driver, storagev1.VolumeBindingImmediate, func(*storagev1.StorageClass) {})
	add("rack", driver, storagev1.VolumeBindingWaitForFirstConsumer, func(c *storagev1.StorageClass) {
		isDefault(c)
		if w.some(2) {
			c.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: "topology.example.com/rack", Values: []string{"rack-1"}}}}}
		}
	})
	w.Add(
		&storagev1.CSIDriver{ObjectMeta: w.noted("", driver), Spec: storagev1.CSIDriverSpec{StorageCapacity: new(!w.some(3)), AttachRequired: new(!w.some(3)), PreventPodSchedulingIfMissing: new(w.some(3)), TokenRequests: []storagev1.TokenRequest{{Audience: canary}}}},
		&storagev1.CSIDriver{ObjectMeta: w.noted("", "nfs.acme.example")},
	)
	for n := range 2 {
		one := &storagev1.CSIStorageCapacity{ObjectMeta: w.noted("kube-system", fmt.Sprintf("csisc-%d", n)), StorageClassName: "rack", Capacity: new(resource.MustParse(w.pick("0", "2Gi", "40Gi")))}
		one.NodeTopology = &metav1.LabelSelector{MatchLabels: map[string]string{"topology.example.com/rack": fmt.Sprintf("rack-%d", n)}}
		if w.some(2) {
			one.MaximumVolumeSize = new(resource.MustParse(w.pick("1Gi", "30Gi")))
		}
		w.Add(one)
	}
}

// next returns a size that no other volume has.
func (w *storing) next() resource.Quantity {
	w.size++
	return resource.MustParse(fmt.Sprintf("%dMi", 100+w.size))
}

// volume returns a volume of a class, for one node or rack.
func (w *storing) volume(name, class string) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: w.noted("", name), Spec: corev1.PersistentVolumeSpec{
		StorageClassName: class, Capacity: corev1.ResourceList{"storage": w.next()}, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		MountOptions: []string{canary},
	}, Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeAvailable, Message: canary}}
	v.Labels = map[string]string{"tier": w.pick("ssd", "hdd")}
	if w.some(2) {
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{
			Driver: driver, VolumeHandle: w.pick(name, "shared") + "-" + canary, VolumeAttributes: map[string]string{"password": canary},
			NodeStageSecretRef: &corev1.SecretReference{Name: canary, Namespace: canary},
		}
	} else {
		v.Spec.HostPath = &corev1.HostPathVolumeSource{Path: "/" + canary}
	}
	if w.some(4) {
		v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	}
	if w.some(2) {
		key, value := corev1.LabelHostname, fmt.Sprintf("acme-%d", w.r.IntN(4))
		if w.some(2) {
			key, value = "topology.example.com/rack", fmt.Sprintf("rack-%d", w.r.IntN(2))
		}
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}},
		}}}}
	}
	return v
}

// request returns what a claim asks for.
func (w *storing) request() corev1.PersistentVolumeClaimSpec {
	spec := corev1.PersistentVolumeClaimSpec{
		StorageClassName: new(w.pick("local", "local", "rack", "rack", "nfs", "immediate", "none")), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse(w.pick("1Mi", "110Mi", "3Gi"))}},
	}
	switch w.r.IntN(8) {
	case 0:
		spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpIn, Values: []string{"ssd"}}}}
	case 1:
		spec.VolumeMode = new(corev1.PersistentVolumeBlock)
	case 2:
		spec.VolumeAttributesClassName = new("gold")
	case 3:
		spec.StorageClassName = nil
	case 4:
		spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	}
	return spec
}

// claim adds a claim in a random state, or none, and a volume that it may get.
func (w *storing) claim(namespace, name string, owners ...metav1.OwnerReference) {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: w.noted(namespace, name, owners...), Spec: w.request()}
	c.Status.Phase = corev1.ClaimPending
	v := w.volume("pv-"+namespace+"-"+name, "local")
	v.Spec.VolumeMode, v.Spec.VolumeAttributesClassName = c.Spec.VolumeMode, c.Spec.VolumeAttributesClassName
	switch w.r.IntN(8) {
	case 0:
		return
	case 1:
		c.Annotations["volume.kubernetes.io/selected-node"] = "acme-1"
	case 2:
		c.DeletionTimestamp, c.Finalizers = &metav1.Time{Time: moment}, []string{"kubernetes.io/pvc-protection"}
	case 3:
		c.Status.Phase = corev1.ClaimLost
	case 4:
		c.Spec.VolumeName = v.Name
	case 5:
		v.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: namespace, Name: name, UID: types.UID(w.pick("", string(c.UID), "other")), ResourceVersion: canary}
	case 6:
		c.Annotations[corev1.BetaStorageClassAnnotation], v.Annotations[corev1.BetaStorageClassAnnotation] = "local", "local"
	default:
		// Its phase follows the annotation.
		c.Status.Phase, c.Spec.VolumeName = corev1.PersistentVolumeClaimPhase(w.pick("Bound", "Bound", "Pending")), v.Name
		c.Annotations["pv.kubernetes.io/bind-completed"] = "yes"
		v.Status.Phase, v.Spec.ClaimRef = corev1.VolumeBound, &corev1.ObjectReference{Namespace: namespace, Name: name, UID: c.UID}
	}
	w.Add(c, v)
}

func (w *storing) pod(namespace, name string, owners []metav1.OwnerReference, volumes ...corev1.Volume) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: w.noted(namespace, name, owners...)}
	p.Spec = corev1.PodSpec{NodeName: fmt.Sprintf("acme-%d", w.r.IntN(3)), Volumes: volumes, Containers: []corev1.Container{{Name: "main"}}}
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	return p
}

func claiming(name string) corev1.Volume {
	return corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}
}

// set adds a StatefulSet of Kubernetes or of OpenKruise, its pods and most of their claims.
func (w *storing) set(namespace, name, claims string) {
	template := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: claims, Annotations: map[string]string{"note": canary}, Labels: map[string]string{"note": canary}}, Spec: w.request()}
	if w.some(4) {
		template.Annotations[corev1.BetaStorageClassAnnotation] = "local"
	}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"set": name}}
	set := &appsv1.StatefulSet{ObjectMeta: w.noted(namespace, name), Spec: appsv1.StatefulSetSpec{Replicas: new(int32(2)), Selector: selector, VolumeClaimTemplates: []corev1.PersistentVolumeClaim{template}}}
	set.UID = w.controlled("", "", namespace, name)[0].UID
	group := "apps/v1"
	if w.some(4) {
		group = "apps.kruise.io/v1beta1"
		one := custom(group, "StatefulSet", name, map[string]any{"replicas": int64(2), "volumeClaimTemplates": []any{asMap(&template)}})
		one.SetNamespace(namespace)
		one.SetUID(set.UID)
		w.Add(one)
	} else {
		w.Add(set)
	}
	for n := range 2 {
		pod := fmt.Sprintf("%s-%d", name, n)
		w.Add(w.pod(namespace, pod, w.controlled(group, "StatefulSet", namespace, name), claiming(claims+"-"+pod)))
		w.claim(namespace, claims+"-"+pod)
	}
}

// ephemeral adds a pod with a claim of its own, and one without a StatefulSet that shares the claim of one.
func (w *storing) ephemeral(namespace string) {
	own := w.pod(namespace, "scratch", w.controlled("apps/v1", "ReplicaSet", namespace, "web"), corev1.Volume{Name: "tmp", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}})
	owner := w.controlled("v1", "Pod", namespace, own.Name)
	owner[0].UID = own.UID
	w.claim(namespace, "scratch-tmp", owner...)
	w.Add(own, w.pod(namespace, "backup", w.controlled("apps/v1", "ReplicaSet", namespace, "web"), claiming("data-db-0")))
}

// waiting adds a pod that no node has yet.
func (w *storing) waiting(namespace string) {
	p := w.pod(namespace, "late-0", w.controlled("apps/v1", "StatefulSet", namespace, "late"), claiming(w.pick("data-db-1", "data-late-0")))
	p.Spec.NodeName, p.Status.Phase = "", corev1.PodPending
	w.Add(p)
}

// lists is a folder with what kubectl get prints of the cluster.
func (w *storing) lists(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, path := range []string{
		"api/v1/nodes", "api/v1/pods", "api/v1/persistentvolumes", "api/v1/persistentvolumeclaims", "api/v1/resourcequotas", "api/v1/limitranges", "apis/apps/v1/statefulsets", "apis/apps.kruise.io/v1beta1/statefulsets",
		"apis/scheduling.k8s.io/v1/priorityclasses", "apis/storage.k8s.io/v1/storageclasses", "apis/storage.k8s.io/v1/csidrivers", "apis/storage.k8s.io/v1/csinodes", "apis/storage.k8s.io/v1/csistoragecapacities",
	} {
		write(t, dir, path+".json", list(t, w.Client(), "/"+path))
	}
	return dir
}
