// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded_test

import (
	"bytes"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/recorded"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

var (
	subscriptions = fakeapi.CustomKind("operators.coreos.com/v1alpha1", "Subscription", "subscriptions")
	machines      = fakeapi.CustomKind("machine.openshift.io/v1beta1", "Machine", "machines")
)

// named is a cluster with a name in every field that names an object, and in every text that a writer chooses.
func named() *fakeapi.Server {
	api := fakeapi.New(subscriptions, machines, rollouts, tenants)
	meta := metav1.ObjectMeta{Namespace: "ns-" + canary, Name: canary, UID: "1", Annotations: map[string]string{
		"olm.owner": canary, "meta.helm.sh/release-name": canary, "machineconfiguration.openshift.io/currentConfig": "rendered-" + canary,
		"machine.openshift.io/delete-machine": canary, "scheduler.alpha.kubernetes.io/defaultTolerations": canary,
	}, Labels: map[string]string{"app": canary, "olm.owner": canary}}
	spec := corev1.PodSpec{
		NodeName: canary, SchedulerName: "scheduler-" + canary, SchedulingGates: []corev1.PodSchedulingGate{{Name: canary}},
		ResourceClaims: []corev1.PodResourceClaim{{Name: "claim-" + canary, ResourceClaimName: new(canary)}},
		Containers:     []corev1.Container{{Name: "container-" + canary, Ports: []corev1.ContainerPort{{HostPort: 1, ContainerPort: 1, HostIP: canary}}}},
		InitContainers: []corev1.Container{{Name: "init-" + canary}},
		Volumes:        []corev1.Volume{{Name: canary, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: canary}}}},
		Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: corev1.NodeSelectorTerm{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "app", Operator: corev1.NodeSelectorOpIn, Values: []string{canary}}},
		}}}}, PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			Namespaces: []string{canary}, TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{canary}}}},
		}}}},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": canary}}}},
	}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": canary}}
	pod := &corev1.Pod{ObjectMeta: *meta.DeepCopy(), Spec: spec}
	pod.OwnerReferences = append(controlled("argoproj.io/v1alpha1", "Rollout", canary), metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Tenant", Name: canary, UID: "2"})
	pod.OwnerReferences[0].UID = "1"
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "container-" + canary}},
		ExtendedResourceClaimStatus: &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: canary, RequestMappings: []corev1.ContainerExtendedResourceRequest{{ContainerName: canary, ResourceName: "example.com/gpu", RequestName: canary}}},
	}
	node := meta.DeepCopy()
	node.Namespace = ""
	template := spec.DeepCopy()
	template.NodeName = ""
	api.Add(
		&corev1.Node{ObjectMeta: *node}, pod,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns-" + canary, Annotations: meta.Annotations}},
		&appsv1.StatefulSet{
			ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Selector: selector, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels}, Spec: *template}},
			Status: appsv1.StatefulSetStatus{CurrentRevision: canary + "-1", UpdateRevision: canary + "-2"},
		},
	)
	api.Add(&batchv1.Job{ObjectMeta: *meta.DeepCopy(), Spec: batchv1.JobSpec{ManagedBy: new("example.com/" + canary)}})
	object := func(apiVersion, kind string, spec, status map[string]any) {
		api.Add(&unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": asMap(meta.DeepCopy()), "spec": spec, "status": status}})
	}
	object("operators.coreos.com/v1alpha1", "Subscription", map[string]any{"config": map[string]any{"nodeSelector": map[string]any{"app": canary}}}, map[string]any{"installedCSV": canary + ".v1"})
	object("machine.openshift.io/v1beta1", "Machine", map[string]any{"lifecycleHooks": map[string]any{"preDrain": []any{map[string]any{"name": canary, "owner": canary}}}},
		map[string]any{"errorMessage": canary, "errorReason": canary, "nodeRef": map[string]any{"name": canary, "uid": canary}})
	object("argoproj.io/v1alpha1", "Rollout", map[string]any{"workloadRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": canary}}, map[string]any{"pauseConditions": []any{map[string]any{"reason": canary}}})
	object("example.com/v1", "Tenant", map[string]any{"tenants": map[string]any{canary: map[string]any{"tolerations": []any{map[string]any{"key": "k"}}}}}, nil)
	return api
}

func TestWrite_hashedFilesHaveNoName(t *testing.T) {
	t.Parallel()
	api := named()
	defer api.Close()
	file, summary := record(t, api.Client(), recorded.Options{HashNames: true})
	content := plain(t, file)
	for rest := content; ; {
		at := bytes.Index(rest, []byte(canary))
		if at < 0 {
			break
		}
		t.Errorf("a name is in the file: …%q…", rest[max(0, at-60):min(len(rest), at+40)])
		rest = rest[at+len(canary):]
	}
	if summary.Objects < 8 {
		t.Errorf("only %d objects are in the file", summary.Objects)
	}
	for _, kept := range []string{`"currentRevision":"h`, `"lifecycleHooks":{"preDrain":[{"name":"h`, `"errorMessage":"h`, `"installedCSV":"h`, `"topologyKey":"zone"`} {
		if !strings.Contains(string(content), kept) {
			t.Errorf("%s is not in the file", kept)
		}
	}
}
