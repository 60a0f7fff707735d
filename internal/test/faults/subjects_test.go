// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
)

// object is an object of a configuration.
type object = map[string]any

func subjects() []subject {
	out := []subject{
		{
			typeName: "node_taints", strategy: "taints", world: twoNodes,
			first:  object{"node_selector": "pool=x", "taints": []any{taint("team", "a", "NoExecute")}},
			second: object{"node_selector": "pool=x", "taints": []any{taint("team", "b", "NoExecute"), taint("extra", "", "NoSchedule")}},
			evicts: true,
		},
		{
			typeName: "node_taints", strategy: "absent_taints", world: twoNodes,
			first:  object{"node_name": "n1", "absent_taints": []any{object{"key": "foreign", "effect": "NoSchedule"}}},
			second: object{"node_name": "n1", "absent_taints": []any{object{"key": "foreign", "effect": "PreferNoSchedule"}}},
		},
		adoptedFromMachines(),
		{
			typeName: "namespace_tolerations", world: shop("Deployment"),
			first:  object{"namespace": "shop", "default": []any{toleration("team", "a")}},
			second: object{"namespace": "shop", "default": []any{toleration("team", "b")}, "allowed": []any{toleration("team", "b"), toleration("spot", "")}},
		},
		{
			typeName: "toleration_policy", world: shop("Deployment"),
			first:  object{"name": "team", "match": object{"namespaces": []any{"shop"}}, "tolerations": []any{toleration("team", "a")}},
			second: object{"name": "team", "match": object{"namespaces": []any{"shop", "other"}}, "tolerations": []any{toleration("team", "b")}},
		},
		{
			typeName: "dedicated_nodes", strategy: "admission", world: shop("Deployment"),
			first:  admitting("a", "shop"),
			second: admitting("b", "shop", "other"),
		},
		{
			typeName: "drain_nodes", world: shop("Deployment", "DaemonSet"), action: true,
			first: object{"node_selector": "pool=x"},
		},
		{
			typeName: "uncordon_nodes", world: drained, action: true,
			first: object{"node_selector": "pool=x"},
		},
		{
			typeName: "drain_nodes", strategy: "deletes selected pods", world: shop("Deployment", "DaemonSet"), action: true,
			first: object{"node_selector": "pool=x", "pod_selector": "app=web", "disable_eviction": true},
		},
	}
	for strategy, of := range map[string]struct {
		namespace, name, text string
	}{
		"a ConfigMap":                   {"openshift-user-workload-monitoring", "user-workload-monitoring-config", "# kept\nthanosRuler: {logLevel: info, tolerations: [{key: foreign, operator: Exists}]}\n"},
		"a ConfigMap of ten components": {"openshift-monitoring", "cluster-monitoring-config", "# kept\nthanosQuerier: {logLevel: info, tolerations: [{key: foreign, operator: Exists}]}\n"},
		"a ConfigMap that is not there": {"openshift-user-workload-monitoring", "user-workload-monitoring-config", ""},
	} {
		workload := object{"kind": "ConfigMap", "namespace": of.namespace, "name": of.name}
		out = append(out, subject{
			typeName: "workload_tolerations", strategy: strategy, world: monitoring(of.namespace, of.name, of.text), alike: strategy == "a ConfigMap of ten components",
			first:  object{"workload": workload, "tolerations": []any{toleration("team", "a")}},
			second: object{"workload": workload, "tolerations": []any{toleration("team", "b")}},
		})
	}
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
		workload := object{"kind": kind, "namespace": "shop", "name": "web"}
		out = append(out, subject{
			typeName: "workload_tolerations", strategy: kind, world: shop(kind),
			first:  object{"workload": workload, "tolerations": []any{toleration("team", "a")}},
			second: object{"workload": workload, "tolerations": []any{toleration("team", "b")}},
		}, subject{
			typeName: "dedicated_nodes", strategy: "nodes for a " + kind, world: shop(kind), alike: kind == "DaemonSet",
			first: object{
				"node_selector": "pool=x", "taints": []any{taint("team", "a", "NoExecute")}, "labels": object{"dedicated": "a"},
				"workloads": []any{object{"kind": kind, "namespace": "shop", "name": "web", "pin": true}},
			},
			second: object{
				"node_selector": "pool=x", "taints": []any{taint("team", "b", "NoExecute")}, "labels": object{"dedicated": "b"},
				"workloads": []any{object{"kind": kind, "namespace": "shop", "name": "web", "pin": true}},
			},
		})
	}
	out = append(out, subject{
		typeName: "machine_set_taints", strategy: "in_place and then template_only", kinds: controllers.MachineAPI, world: pool,
		first:  object{"namespace": "machines", "name": "ms", "taints": []any{taint("team", "a", "NoSchedule")}, "rollout": rollouts["in_place"]},
		second: object{"namespace": "machines", "name": "ms", "taints": []any{taint("extra", "", "NoSchedule")}, "rollout": rollouts["template_only"]},
	})
	for strategy, rollout := range rollouts {
		out = append(out, subject{
			typeName: "machine_set_taints", strategy: strategy, kinds: controllers.MachineAPI, world: pool,
			first:  object{"namespace": "machines", "name": "ms", "taints": []any{taint("team", "a", "NoSchedule")}, "rollout": rollout},
			second: object{"namespace": "machines", "name": "ms", "taints": []any{taint("team", "b", "NoSchedule")}, "rollout": rollout},
		}, subject{
			typeName: "dedicated_nodes", strategy: "machine_sets " + strategy, kinds: controllers.MachineAPI, world: pool, alike: rollout["wait_for"] != nil,
			first: object{
				"machine_sets": object{"namespace": "machines", "name": "ms", "rollout": rollout}, "taints": []any{taint("team", "a", "NoSchedule")}, "labels": object{"dedicated": "a"},
				"workloads": []any{object{"kind": "Deployment", "namespace": "shop", "name": "web"}},
			},
			second: object{
				"machine_sets": object{"namespace": "machines", "name": "ms", "rollout": rollout}, "taints": []any{taint("team", "b", "NoSchedule")}, "labels": object{"dedicated": "a"},
				"workloads": []any{object{"kind": "Deployment", "namespace": "shop", "name": "web"}},
			},
		})
		if notPossible["cycle_machine_set/"+strategy] != "" {
			continue
		}
		out = append(out, subject{
			typeName: "cycle_machine_set", strategy: strategy, kinds: controllers.MachineAPI, world: pool, action: true,
			first: object{"namespace": "machines", "name": "ms", "rollout": rollout},
		})
	}
	return slices.DeleteFunc(out, func(s subject) bool { return s.alike && !acctest.All() })
}

// admitting gives the nodes of the pool to all new pods of namespaces.
func admitting(value string, namespaces ...any) object {
	return object{
		"node_selector": "pool=x", "taints": []any{taint("team", value, "NoSchedule")}, "labels": object{"dedicated": value},
		"admission": object{"name": "team", "pin": true, "match": object{"namespaces": namespaces}},
	}
}

var rollouts = map[string]object{
	"template_only":         {"strategy": "template_only"},
	"in_place":              {"strategy": "in_place"},
	"rolling":               {"strategy": "rolling"},
	"surge":                 {"strategy": "surge"},
	"scale_to_zero":         {"strategy": "scale_to_zero"},
	"scale_to_zero removed": {"strategy": "scale_to_zero", "wait_for": "removed"},
}

func taint(key, value, effect string) object {
	out := object{"key": key, "effect": effect}
	if value != "" {
		out["value"] = value
	}
	return out
}

func toleration(key, value string) object {
	if value == "" {
		return object{"key": key, "operator": "Exists"}
	}
	return object{"key": key, "value": value}
}

// node is a node with a taint that is not owned.
func node(name string, labels map[string]string, taints ...corev1.Taint) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: map[string]string{"foreign": "kept"}},
		Spec:       corev1.NodeSpec{Taints: taints},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
}

var foreign = corev1.Taint{Key: "foreign", Value: "kept", Effect: corev1.TaintEffectNoSchedule}

// twoNodes has a Deployment that tolerates every taint on two nodes of a pool.
func twoNodes(api *fakeapi.Server) {
	api.Add(
		node("n1", map[string]string{"pool": "x"}, foreign, corev1.Taint{Key: "foreign", Effect: corev1.TaintEffectPreferNoSchedule}),
		node("n2", map[string]string{"pool": "x"}, foreign),
		workload("Deployment", corev1.Toleration{Operator: corev1.TolerationOpExists}),
	)
}

// shop has workloads that tolerate a taint that is not owned, on two nodes of a pool and on one
// beside it.
func shop(kinds ...string) func(api *fakeapi.Server) {
	return func(api *fakeapi.Server) {
		api.Add(
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Annotations: map[string]string{"foreign": "kept"}}},
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}},
			node("n1", map[string]string{"pool": "x"}, foreign), node("n2", map[string]string{"pool": "x"}, foreign), node("n3", nil),
		)
		for _, kind := range kinds {
			api.Add(workload(kind, corev1.Toleration{Key: "foreign", Operator: corev1.TolerationOpExists}))
		}
	}
}

// drained is a shop whose pool an interrupted drain has left, on a cluster whose Machines cannot be read.
func drained(api *fakeapi.Server) {
	shop("Deployment")(api)
	cordonPool(api)
	for _, name := range []string{"n1", "n2"} {
		fakeapi.Edit(api, "", name, func(n *corev1.Node) {
			metav1.SetMetaDataAnnotation(&n.ObjectMeta, snapshot.AwaitedAnnotation, `[{"group":"apps","kind":"Deployment","namespace":"shop","name":"web","pods":1}]`)
			metav1.SetMetaDataAnnotation(&n.ObjectMeta, "machine.openshift.io/machine", "machines/"+name)
		})
	}
}

// monitoring is OpenShift's monitoring with a text, "" for none, whose operator makes nothing.
func monitoring(namespace, name, text string) func(api *fakeapi.Server) {
	return func(api *fakeapi.Server) {
		shop("Deployment")(api)
		api.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
		if text != "" {
			api.Add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{"config.yaml": text}})
		}
	}
}

// workload has two pods, or one on each node of the pool.
func workload(kind string, tolerations ...corev1.Toleration) runtime.Object {
	name, labels := "web", map[string]string{"app": "web"}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{
			Tolerations: tolerations, TerminationGracePeriodSeconds: ptr.To[int64](1),
			Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10.2"}},
		},
	}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	meta := metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: labels}
	switch kind {
	case "StatefulSet":
		return &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](2), Selector: selector, Template: template,
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType}}}
	case "DaemonSet":
		template.Spec.NodeSelector = map[string]string{"pool": "x"}
		return &appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template,
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType}}}
	}
	return &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](2), Selector: selector, Template: template,
		Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType}}}
}

// pool is a MachineSet with two machines and a taint that is not owned, and a Deployment
// that runs on a node beside them.
func pool(api *fakeapi.Server) {
	api.Add(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "machines"}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}},
		node("n1", nil), workload("Deployment"), setOf("ms", 2),
	)
}

// setOf is a MachineSet with taints in its template, the first of which is not owned.
func setOf(name string, replicas int64, taints ...any) *unstructured.Unstructured {
	labels := map[string]any{"machine.openshift.io/cluster-api-machineset": name}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
		"metadata": map[string]any{"namespace": "machines", "name": name, "annotations": map[string]any{"foreign": "kept"}},
		"spec": map[string]any{
			"replicas": replicas, "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec": map[string]any{
					"taints":       append([]any{map[string]any{"key": "foreign", "value": "kept", "effect": "NoSchedule"}}, taints...),
					"providerSpec": map[string]any{"value": map[string]any{"kind": "Invented"}},
				},
			},
		},
	}}
}
