// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/recorded"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// canary is a text in every place of the shop that no verdict reads.
const canary = "canary-7f3a"

// moment is when recordings of tests are taken.
var moment = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

var (
	rollouts = fakeapi.CustomKind("argoproj.io/v1alpha1", "Rollout", "rollouts")
	tenants  = fakeapi.CustomKind("example.com/v1", "Tenant", "tenants")
)

// connect returns a connection to what a transport leads to.
func connect(t testing.TB, transport http.RoundTripper) *kube.Cluster {
	t.Helper()
	c, err := kube.New(kube.Config{Host: fakeapi.Host, Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// record returns the file of a cluster.
func record(t testing.TB, transport http.RoundTripper, options recorded.Options) ([]byte, recorded.Summary) {
	t.Helper()
	options.Now = func() time.Time { return moment }
	var b bytes.Buffer
	summary, err := recorded.Write(context.Background(), &b, connect(t, transport), options)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), summary
}

// read returns the cluster of a file.
func read(t testing.TB, file []byte) *recorded.Cluster {
	t.Helper()
	c, err := recorded.Read(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func controlled(apiVersion, kind, name string) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID("uid-" + name), Controller: &yes}}
}

// noted is the metadata of an object with what no file may have.
func noted(namespace, name string, owners ...metav1.OwnerReference) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID("uid-" + name), OwnerReferences: owners,
		Labels:      map[string]string{"app": "web"},
		Annotations: map[string]string{"kubectl.kubernetes.io/last-applied-configuration": canary, "example.com/note": canary},
		Finalizers:  []string{"example.com/" + canary},
	}
}

// secretSpec is a pod spec with everything that verdicts read, and secrets beside it.
func secretSpec(node string, tolerations ...corev1.Toleration) corev1.PodSpec {
	always := corev1.ContainerRestartPolicyAlways
	container := corev1.Container{
		Name: "main", Image: "registry/" + canary, Command: []string{canary}, Args: []string{"--password=" + canary}, WorkingDir: "/" + canary,
		Env:       []corev1.EnvVar{{Name: "PASSWORD", Value: canary}},
		EnvFrom:   []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: canary}}}},
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("64Mi")}},
		Ports:     []corev1.ContainerPort{{HostPort: 8080, ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
		Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{canary}}}},
	}
	sidecar := container
	sidecar.Name, sidecar.RestartPolicy, sidecar.Ports = "side", &always, nil
	return corev1.PodSpec{
		TerminationGracePeriodSeconds: new(int64(45)),
		NodeName:                      node, Tolerations: tolerations, NodeSelector: map[string]string{"pool": "a"}, ServiceAccountName: canary, Hostname: canary,
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: canary}},
		Containers:       []corev1.Container{container}, InitContainers: []corev1.Container{sidecar},
		Volumes: []corev1.Volume{
			{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
			{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"canary": canary}}, Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: new(canary)},
			}}}},
			{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "s", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: canary}}},
		},
		Affinity: &corev1.Affinity{
			NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "pool", Operator: corev1.NodeSelectorOpIn, Values: []string{"a", "b"}}},
			}}}, PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 7, Preference: corev1.NodeSelectorTerm{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "pool", Operator: corev1.NodeSelectorOpIn, Values: []string{"b"}}},
			}}}},
			PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}}, TopologyKey: "kubernetes.io/hostname",
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "red"}},
			}}},
		},
	}
}

// shop is a cluster with an object of every kind that is recorded, and a canary wherever none may be.
func shop(more ...fakeapi.Kind) *fakeapi.Server {
	api := fakeapi.New(append([]fakeapi.Kind{rollouts, tenants}, more...)...)
	small := int32(1)
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: selector.MatchLabels, Annotations: map[string]string{"a": canary}}, Spec: secretSpec("")}
	deployment := noted("shop", "web")
	deployment.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "argocd-controller", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "apps/v1", FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:` + canary + `":{}}},"f:spec":{"f:template":{"f:spec":{"f:tolerations":{},"f:containers":{"k:{\"name\":\"` + canary + `\"}":{"f:image":{}}}}}}}`),
	}}
	api.Add(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"team": "red"}, Annotations: map[string]string{
			"scheduler.alpha.kubernetes.io/defaultTolerations": `[{"key":"team","operator":"Exists"}]`, "note": canary,
		}}},
		&corev1.PersistentVolume{ObjectMeta: noted("", "pv"), Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.example.com", VolumeHandle: canary, VolumeAttributes: map[string]string{"share": canary}}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "pool", Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}}},
			}}}},
		}},
		&corev1.PersistentVolumeClaim{ObjectMeta: noted("shop", "data"), Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv", StorageClassName: new("fast")}},
		&storagev1.StorageClass{ObjectMeta: noted("", "fast"), Provisioner: "csi.example.com", Parameters: map[string]string{"password": canary}, MountOptions: []string{canary}},
		&schedulingv1.PriorityClass{ObjectMeta: noted("", "high"), Value: 1000, Description: canary},
		&storagev1.CSIDriver{ObjectMeta: noted("", "csi.example.com"), Spec: storagev1.CSIDriverSpec{TokenRequests: []storagev1.TokenRequest{{Audience: canary}}}},
		&storagev1.CSINode{ObjectMeta: noted("", "a"), Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "csi.example.com", NodeID: canary}}}},
		&storagev1.CSIStorageCapacity{ObjectMeta: noted("shop", "csisc-1"), StorageClassName: "fast"},
		&appsv1.Deployment{ObjectMeta: deployment, Spec: appsv1.DeploymentSpec{Replicas: &small, Selector: selector, Template: template}},
		&appsv1.ReplicaSet{ObjectMeta: noted("shop", "web-1", controlled("apps/v1", "Deployment", "web")...), Spec: appsv1.ReplicaSetSpec{Replicas: &small, Selector: selector, Template: template}},
		&appsv1.StatefulSet{ObjectMeta: noted("shop", "db"), Spec: appsv1.StatefulSetSpec{Replicas: &small, Selector: selector, Template: template, VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: noted("", "logs")}}}},
		&appsv1.DaemonSet{ObjectMeta: noted("shop", "agent"), Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template}},
		&batchv1.Job{ObjectMeta: noted("shop", "job-1", controlled("batch/v1", "CronJob", "job")...), Spec: batchv1.JobSpec{Template: template}},
		&batchv1.CronJob{ObjectMeta: noted("shop", "job"), Spec: batchv1.CronJobSpec{Schedule: "@daily", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template}}}},
		&corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "compute"},
			Spec:       corev1.ResourceQuotaSpec{Scopes: []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeNotBestEffort}},
			Status: corev1.ResourceQuotaStatus{
				Hard: corev1.ResourceList{"requests.cpu": resource.MustParse("2500m"), "pods": resource.MustParse("9"), "services": resource.MustParse("1")},
				Used: corev1.ResourceList{"requests.cpu": resource.MustParse("3"), "pods": resource.MustParse("4"), "services": resource.MustParse("1")},
			},
		},
		&corev1.LimitRange{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "sizes"},
			Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
				Type: corev1.LimitTypeContainer, DefaultRequest: corev1.ResourceList{"cpu": resource.MustParse("250m")}, Default: corev1.ResourceList{"cpu": resource.MustParse("1")},
				Min: corev1.ResourceList{"cpu": resource.MustParse("10m")}, Max: corev1.ResourceList{"cpu": resource.MustParse("8")}, MaxLimitRequestRatio: corev1.ResourceList{"cpu": resource.MustParse("20")},
			}}},
		},
		&policyv1.PodDisruptionBudget{
			ObjectMeta: noted("shop", "web"),
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: selector, MinAvailable: new(intstr.FromInt32(1))},
			Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1, ExpectedPods: 3, DesiredHealthy: 1, CurrentHealthy: 2},
		},
	)
	for n, name := range []string{"a", "b"} {
		node := &corev1.Node{ObjectMeta: noted("", name), Spec: corev1.NodeSpec{ProviderID: canary, Taints: []corev1.Taint{{Key: "k", Value: "v", Effect: corev1.TaintEffectNoSchedule}}}}
		node.Labels = map[string]string{"pool": name, "kubernetes.io/hostname": name}
		node.Annotations[taint.OwnedAnnotation] = taint.Record{{Key: "k", Effect: corev1.TaintEffectNoSchedule, Owner: "terraform/x", Generation: "g"}}.String()
		node.Annotations["machine.openshift.io/machine"] = "openshift-machine-api/m"
		node.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("110")}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Message: canary}}
		node.Status.Images = []corev1.ContainerImage{{Names: []string{canary}}}
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.99.88." + fmt.Sprint(n)}}
		api.Add(node)
	}
	for _, pod := range []struct {
		name   string
		owners []metav1.OwnerReference
	}{
		{"web-1-x", controlled("apps/v1", "ReplicaSet", "web-1")},
		{"db-0", controlled("apps/v1", "StatefulSet", "db")},
		{"agent-x", controlled("apps/v1", "DaemonSet", "agent")},
		{"job-1-x", controlled("batch/v1", "Job", "job-1")},
		{"roll-x", controlled("argoproj.io/v1alpha1", "Rollout", "roll")},
		{"bare", nil},
	} {
		p := &corev1.Pod{ObjectMeta: noted("shop", pod.name, pod.owners...), Spec: secretSpec("a", corev1.Toleration{Key: "k", Operator: corev1.TolerationOpExists})}
		p.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.99.77.1", Message: canary, StartTime: &metav1.Time{Time: moment}, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, Message: canary}}}
		api.Add(p)
	}
	api.Add(custom("argoproj.io/v1alpha1", "Rollout", "roll", map[string]any{
		"replicas": int64(1), "selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}, "template": asMap(&template),
		"strategy": map[string]any{"canary": map[string]any{"steps": []any{map[string]any{"setWeight": int64(5)}, map[string]any{"pause": map[string]any{}}, map[string]any{"analysis": canary}}}},
	}))
	api.Add(custom("example.com/v1", "Tenant", "t", map[string]any{
		"password": canary, "deep": map[string]any{"secret": canary, "placement": map[string]any{"tolerations": []any{map[string]any{"key": "k", "note": canary}}, "nodeSelector": map[string]any{"pool": "a"}}},
	}))
	return api
}

func custom(apiVersion, kind, name string, spec map[string]any) *unstructured.Unstructured {
	meta := noted("shop", name)
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": asMap(&meta), "spec": spec, "status": map[string]any{"secret": canary}}}
}

func asMap(pointer any) map[string]any {
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pointer)
	if err != nil {
		panic(err)
	}
	return out
}
