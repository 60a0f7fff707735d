// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/recorded"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// host is the name of a node, and fqdn its name with a domain.
const host, fqdn = "gke-acme-bank-prod-1", "gke-acme-bank-prod-1.c.example.internal"

// aboutNode is a cluster whose objects in namespaces of Kubernetes and OpenShift are named after their node.
func aboutNode() *fakeapi.Server {
	api := fakeapi.New(machines, tenants)
	meta := func(namespace, name string, owners ...metav1.OwnerReference) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(fmt.Sprint(len(namespace), strings.Index(name, host))), OwnerReferences: owners}
	}
	yes := true
	atNode := []corev1.Toleration{{Key: "for", Value: host, Effect: corev1.TaintEffectNoExecute}}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": host}}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: selector.MatchLabels}, Spec: corev1.PodSpec{Tolerations: atNode, NodeSelector: map[string]string{corev1.LabelHostname: fqdn, "topology.kubernetes.io/rack": host}}}
	node := &corev1.Node{ObjectMeta: meta("", fqdn), Spec: corev1.NodeSpec{ProviderID: "gce://" + fqdn, Taints: []corev1.Taint{{Key: "for", Value: host, Effect: corev1.TaintEffectNoExecute}}}}
	node.Labels = map[string]string{corev1.LabelHostname: host, "topology.kubernetes.io/rack": host, "node.kubernetes.io/instance-type": "large"}
	volume := &corev1.PersistentVolume{ObjectMeta: meta("", "local-"+host)}
	volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{host}}},
		MatchFields:      []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{fqdn}}},
	}}}}
	space := &corev1.Namespace{ObjectMeta: meta("", "openshift-storage")}
	space.Annotations = map[string]string{"scheduler.alpha.kubernetes.io/defaultTolerations": `[{"key":"for","value":"` + host + `"}]`}
	static := &corev1.Pod{ObjectMeta: meta("kube-system", "kube-proxy-"+fqdn, metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: fqdn, UID: node.UID, Controller: &yes}), Spec: corev1.PodSpec{NodeName: fqdn}}
	static.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	installer := &corev1.Pod{ObjectMeta: meta("openshift-etcd", "installer-7-"+fqdn, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "revision-status-7", UID: "c"}), Spec: corev1.PodSpec{NodeName: fqdn}}
	exporter := &corev1.Pod{ObjectMeta: meta("openshift-storage", "exporter-"+host+"-x", controlled("example.com/v1", "Tenant", "features-"+host)...), Spec: template.Spec}
	exporter.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "claim-" + host}}}}
	exporter.OwnerReferences[0].UID = "owner"
	// The node of this pod is deleted.
	gone := &corev1.Pod{ObjectMeta: meta("kube-system", "etcd-gone-acme-bank"), Spec: corev1.PodSpec{NodeName: "gone-acme-bank"}}
	api.Add(
		node, volume, space, static, installer, exporter, gone,
		&corev1.PersistentVolumeClaim{ObjectMeta: meta("openshift-storage", "claim-"+host), Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume.Name}},
		&appsv1.Deployment{ObjectMeta: meta("openshift-storage", "rook-ceph-crashcollector-"+host), Spec: appsv1.DeploymentSpec{Selector: selector, Template: template}},
		&appsv1.Deployment{ObjectMeta: meta("openshift-ingress", "router-default"), Spec: appsv1.DeploymentSpec{Selector: selector, Template: template}},
		&batchv1.Job{ObjectMeta: meta("kube-system", "apply-on-"+host+"-with-1"), Spec: batchv1.JobSpec{Template: template}},
		&policyv1.PodDisruptionBudget{ObjectMeta: meta("openshift-storage", "rook-ceph-osd-host-"+host), Spec: policyv1.PodDisruptionBudgetSpec{Selector: selector}},
	)
	object := func(apiVersion, kind, namespace, name string, more map[string]any) {
		more["apiVersion"], more["kind"], more["metadata"] = apiVersion, kind, map[string]any{"namespace": namespace, "name": name, "uid": "owner"}
		api.Add(&unstructured.Unstructured{Object: more})
	}
	object("example.com/v1", "Tenant", "openshift-storage", "features-"+host, map[string]any{})
	object("machine.openshift.io/v1beta1", "Machine", "openshift-machine-api", host, map[string]any{
		"spec": map[string]any{"providerID": fqdn, "taints": []any{map[string]any{"key": "for", "value": host, "effect": "NoExecute"}}}, "status": map[string]any{"nodeRef": map[string]any{"name": fqdn}},
	})
	return api
}

func TestWrite_hashedFilesHaveNoNameOfANode(t *testing.T) {
	t.Parallel()
	api := aboutNode()
	defer api.Close()
	file, summary := record(t, api.Client(), recorded.Options{HashNames: true})
	content := plain(t, file)
	for rest := content; ; {
		at := bytes.Index(rest, []byte("acme-bank"))
		if at < 0 {
			break
		}
		t.Errorf("the name of a node is in the file: …%q…", rest[max(0, at-60):min(len(rest), at+40)])
		rest = rest[at+len(host):]
	}
	if summary.Pods != 4 || summary.Objects < 14 {
		t.Errorf("summary = %+v", summary)
	}
	for _, kept := range []string{`"name":"router-default"`, "openshift-etcd", `"node.kubernetes.io/instance-type":"large"`} {
		if !strings.Contains(string(content), kept) {
			t.Errorf("%s is not in the file", kept)
		}
	}
	// Names that are hashed are the same in every place.
	live, err := connect(t, api.Client()).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	hashed, err := connect(t, read(t, file).Transport()).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(shape(live), shape(hashed)); diff != "" {
		t.Errorf("the hashed recording has another shape: %s", diff)
	}
	for _, n := range hashed.Nodes {
		for _, p := range hashed.Pods[n.Name] {
			if len(p.Scheduling.Tolerations) > 0 && p.Scheduling.Tolerations[0].Value != n.Taints[0].Value {
				t.Errorf("a toleration of %q no longer matches the taint of %q", p.Scheduling.Tolerations[0].Value, n.Taints[0].Value)
			}
		}
	}
}

// TestWrite_hashedNamesKeepTheOrderOfStatefulSets has a StatefulSet of which the first pod fits on no other node, so
// that the second one is created by one of the two podManagementPolicies alone.
func TestWrite_hashedNamesKeepTheOrderOfStatefulSets(t *testing.T) {
	t.Parallel()
	two := int32(2)
	for _, group := range []string{"apps/v1", "apps.kruise.io/v1beta1"} {
		api := fakeapi.New(fakeapi.CustomKind("apps.kruise.io/v1beta1", "StatefulSet", "statefulsets"))
		api.Add(
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "a", Labels: map[string]string{"pool": "1", "one": "1"}}},
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "b", UID: "b", Labels: map[string]string{"pool": "2"}}},
			&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db", UID: "uid-db"}, Spec: appsv1.StatefulSetSpec{Replicas: &two, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}}},
		)
		for name, selector := range map[string]map[string]string{"db-0": {"one": "1"}, "db-1": nil} {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), Labels: map[string]string{"app": "db"}, OwnerReferences: controlled(group, "StatefulSet", "db")}}
			p.Spec, p.Status.Phase = corev1.PodSpec{NodeName: "a", NodeSelector: selector, Containers: []corev1.Container{{Name: "c"}}}, corev1.PodRunning
			api.Add(p)
		}
		hashed, _ := record(t, api.Client(), recorded.Options{HashNames: true})
		if live, got := pending(t, connect(t, api.Client())), pending(t, connect(t, read(t, hashed).Transport())); live != (placement.Range{Min: 1, Max: 2}) || got != live {
			t.Errorf("%s: Pending of the cluster are %v, and of its hashed recording %v, want 1 or 2", group, live, got)
		}
		api.Close()
	}
}

// pending is how many pods are Pending once a taint evicts those of the nodes of pool 1.
func pending(t *testing.T, c *kube.Cluster) placement.Range {
	t.Helper()
	s, err := c.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pool, err := labels.Parse("pool=1")
	if err != nil {
		t.Fatal(err)
	}
	change := planner.WhatIf(s.SortedNodes(), planner.Target{Selector: pool}, []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}}, nil)
	return eviction.Evaluate(s, change, eviction.ComparisonOff).Summary().Pending
}
