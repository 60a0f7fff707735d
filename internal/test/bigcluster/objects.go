// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package bigcluster

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// apps is how many workloads the pods belong to, and teams how many namespaces these
	// are in.
	apps, teams = 3000, 100
	// revisions is how many ReplicaSets a served Deployment has.
	revisions = 8
	// PoolSize is how many nodes bear the same pool label, one after the other.
	PoolSize = 10
)

// born is when all objects were created.
var born = metav1.Unix(1_700_000_000, 0)

// NodeName returns the name of the i-th node.
func NodeName(i int) string { return fmt.Sprintf("node-%05d", i) }

// Namespace returns the i-th namespace.
func Namespace(i int) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("team-%d", i), UID: types.UID(fmt.Sprintf("namespace-%026d", i)), CreationTimestamp: born,
	}, Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive}}
}

// Node returns the i-th node: 4 KB, most of it images, as kubelets report them.
func Node(i int) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: NodeName(i), UID: types.UID(fmt.Sprintf("node-uid-%027d", i)), CreationTimestamp: born,
		Labels: map[string]string{
			corev1.LabelHostname: NodeName(i), corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
			corev1.LabelTopologyZone: fmt.Sprintf("z%d", i%3), "pool": fmt.Sprintf("p%d", i/PoolSize),
		},
		Annotations: map[string]string{"node.alpha.kubernetes.io/ttl": "0", "volumes.kubernetes.io/controller-managed-attach-detach": "true"},
	}}
	n.Status.Allocatable = corev1.ResourceList{
		"cpu": resource.MustParse("15890m"), "memory": resource.MustParse(fmt.Sprintf("%dKi", 62_000_000+i)), "ephemeral-storage": resource.MustParse("95491281146"),
		"hugepages-2Mi": resource.MustParse("0"), "pods": resource.MustParse("250"),
	}
	n.Status.Capacity = n.Status.Allocatable
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: born, LastHeartbeatTime: born}}
	for j := range 20 {
		n.Status.Images = append(n.Status.Images, corev1.ContainerImage{Names: []string{fmt.Sprintf("registry.example.com/image-%d@sha256:%064d", j, j)}, SizeBytes: 1 << 27})
	}
	return n
}

// ReplicaSet returns the i-th ReplicaSet, whose pods are each apps-th pod from the i-th on.
func ReplicaSet(i int) *appsv1.ReplicaSet {
	meta, spec := podMeta(i), podSpec(i)
	labels := map[string]string{"app.kubernetes.io/name": meta.Labels["app.kubernetes.io/name"], "pod-template-hash": meta.Labels["pod-template-hash"]}
	owner := meta.OwnerReferences[0]
	replicas := int32(1)
	deployment := fmt.Sprintf("app-%d", i%apps)
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: meta.Namespace, Name: owner.Name, UID: owner.UID, CreationTimestamp: born, Labels: labels, ManagedFields: meta.ManagedFields,
			Annotations:     map[string]string{"deployment.kubernetes.io/desired-replicas": "1", "deployment.kubernetes.io/max-replicas": "2", "deployment.kubernetes.io/revision": "8"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: deployment, UID: types.UID(deployment), Controller: new(true), BlockOwnerDeletion: new(true)}},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels}, Spec: spec},
		},
	}
}

// Pod returns the i-th pod, on one of so many nodes: 7 KB with what the API server and
// a kubelet add to it.
func Pod(i, nodes int) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: podMeta(i), Spec: podSpec(i)}
	p.Name, p.UID = fmt.Sprintf("%s-%06d", p.OwnerReferences[0].Name, i), types.UID(fmt.Sprintf("pod-uid-%028d", i))
	p.Spec.NodeName = NodeName(i % nodes)
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, HostIP: "10.0.0.1", PodIP: "10.1.0.1", StartTime: &born}
	for _, c := range p.Spec.Containers {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Ready: true, AllocatedResources: c.Resources.Requests, Resources: &corev1.ResourceRequirements{Requests: c.Resources.Requests},
			Image: c.Image, ImageID: fmt.Sprintf("%s@sha256:%064d", c.Image, i%apps), ContainerID: fmt.Sprintf("containerd://%064d", i),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: born}},
		})
	}
	for _, c := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: born})
	}
	return p
}

func podMeta(i int) metav1.ObjectMeta {
	app, yes := i%apps, true
	name := fmt.Sprintf("app-%d", app)
	meta := metav1.ObjectMeta{
		Namespace: fmt.Sprintf("team-%d", app%teams), CreationTimestamp: born,
		Labels: map[string]string{
			"app.kubernetes.io/name": name, "app.kubernetes.io/instance": name, "app.kubernetes.io/part-of": fmt.Sprintf("team-%d", app%teams),
			"app.kubernetes.io/version": "1.2.3", "app.kubernetes.io/managed-by": "helm", "pod-template-hash": "5d9c7b6f4",
		},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name + "-5d9c7b6f4", UID: types.UID(fmt.Sprintf("rs-uid-%029d", app)), Controller: &yes, BlockOwnerDeletion: &yes,
		}},
	}
	// Field managers are a third of a pod that a cluster keeps.
	for _, manager := range []string{"kube-controller-manager", "kubelet"} {
		fields := fmt.Sprintf(`{"f:metadata":{"f:labels":{".":{},"f:app.kubernetes.io/instance":{},"f:app.kubernetes.io/name":{},"f:pod-template-hash":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"%s\"}":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"main\"}":{".":{},"f:env":{".":{},"k:{\"name\":\"SETTING_0\"}":{".":{},"f:name":{},"f:value":{}},"k:{\"name\":\"SETTING_1\"}":{".":{},"f:name":{},"f:value":{}}},"f:image":{},"f:imagePullPolicy":{},"f:resources":{".":{},"f:requests":{".":{},"f:cpu":{},"f:memory":{}}},"f:terminationMessagePath":{},"f:terminationMessagePolicy":{}}},"f:dnsPolicy":{},"f:enableServiceLinks":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},"f:terminationGracePeriodSeconds":{}}}`, meta.OwnerReferences[0].UID)
		meta.ManagedFields = append(meta.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &born, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
		})
	}
	return meta
}

func podSpec(i int) corev1.PodSpec {
	app, seconds, grace := i%apps, int64(300), int64(30)
	requests := corev1.ResourceList{"cpu": resource.MustParse(fmt.Sprintf("%dm", 50+app%20*10)), "memory": resource.MustParse(fmt.Sprintf("%dMi", 64+app%50*16))}
	container := func(name string) corev1.Container {
		c := corev1.Container{
			Name: name, Image: fmt.Sprintf("registry.example.com/team/%s:%d", name, app), ImagePullPolicy: corev1.PullIfNotPresent,
			TerminationMessagePath: corev1.TerminationMessagePathDefault, TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		}
		for j := range 32 {
			c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", j), Value: fmt.Sprintf("value-%d-of-app-%d-in-production", j, app)})
		}
		c.Resources.Requests = requests
		c.VolumeMounts = []corev1.VolumeMount{{Name: "kube-api-access", ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}}
		return c
	}
	spec := corev1.PodSpec{
		ServiceAccountName: "default", SchedulerName: corev1.DefaultSchedulerName, RestartPolicy: corev1.RestartPolicyAlways, DNSPolicy: corev1.DNSClusterFirst,
		TerminationGracePeriodSeconds: &grace, SecurityContext: &corev1.PodSecurityContext{},
		Containers: []corev1.Container{container("main"), container("sidecar")},
		Volumes:    []corev1.Volume{{Name: "kube-api-access", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}}}, {Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		Tolerations: []corev1.Toleration{
			{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: fmt.Sprintf("team-%d", app%teams), Effect: corev1.TaintEffectNoSchedule},
			{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds},
			{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds},
		},
	}
	// A tenth of the pods keep apart, and have rules that placement reads.
	if app%10 == 0 {
		own := &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": fmt.Sprintf("app-%d", app)}}
		spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 100, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: own}}
		spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname, LabelSelector: own}},
		}}
	}
	return spec
}
