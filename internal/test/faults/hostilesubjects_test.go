// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	workloads "github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// placed is an object by which a controller places pods that the simulated controllers do not make.
type placed struct {
	workloads.Kind
	namespace string
	// path is where the tolerations are; a configuration must name it.
	path string
}

// createdStrategy is that of the world in which others have created an empty ConfigMap.
const createdStrategy = "an empty ConfigMap of others"

// placedKinds are a CronJob, objects of OpenShift's operators, and one of a kind that the provider does
// not know.
func placedKinds() []placed {
	out := []placed{{
		Kind: workloads.Kind{APIVersion: "example.com/v1", Kind: "Widget", Plural: "widgets", Path: []string{"spec", "placement", "tolerations"}}, namespace: "shop", path: "spec.placement.tolerations",
	}}
	cron, _ := workloads.Lookup("batch/v1", "CronJob")
	for _, known := range append([]workloads.Kind{cron}, workloads.OpenShiftKinds()...) {
		if known.Kind == "DeploymentConfig" {
			// Its controller is that of Deployments again.
			continue
		}
		one := placed{Kind: known, namespace: "shop"}
		if known.Cluster {
			one.namespace = ""
		}
		out = append(out, one)
	}
	return out
}

// hostileSubjects are those that records are attacked in: more kinds of objects than are killed and
// failed at every request.
func hostileSubjects() []subject {
	out := subjects()
	empty := object{"kind": "ConfigMap", "namespace": "openshift-monitoring", "name": "cluster-monitoring-config"}
	out = append(out, subject{
		typeName: "workload_tolerations", strategy: createdStrategy,
		world: func(api *fakeapi.Server) {
			monitoring("openshift-monitoring", "cluster-monitoring-config", "")(api)
			api.Add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-monitoring", Name: "cluster-monitoring-config"}})
		},
		first:  object{"workload": empty, "tolerations": []any{toleration("team", "a")}},
		second: object{"workload": empty, "tolerations": []any{toleration("team", "b")}},
	})
	for _, one := range placedKinds() {
		workload := object{"api_version": one.APIVersion, "kind": one.Kind.Kind, "name": "web"}
		if one.namespace != "" {
			workload["namespace"] = one.namespace
		}
		of := subject{
			typeName: "workload_tolerations", strategy: one.Kind.Kind, world: one.world,
			first:  object{"workload": workload, "tolerations": []any{toleration("team", "a")}},
			second: object{"workload": workload, "tolerations": []any{toleration("team", "b")}},
		}
		if !one.Builtin {
			of.kinds = []fakeapi.Kind{one.served()}
		}
		if one.path != "" {
			of.first["path"], of.second["path"] = one.path, one.path
		}
		out = append(out, of)
		if one.path != "" {
			// A pin needs a kind that is known.
			continue
		}
		dedicated := func(value string) object {
			pinned := object{"pin": true}
			maps.Copy(pinned, workload)
			return object{"node_selector": "pool=x", "taints": []any{taint("team", value, "NoExecute")}, "labels": object{"dedicated": value}, "workloads": []any{pinned}}
		}
		out = append(out, subject{
			typeName: "dedicated_nodes", strategy: dedicatedFor + one.Kind.Kind, kinds: of.kinds, world: one.world, first: dedicated("a"), second: dedicated("b"),
		})
	}
	return out
}

// dedicatedFor begins the strategies of dedicated nodes for an object by which a controller places pods.
const dedicatedFor = "placed pods of a "

func (p placed) served() fakeapi.Kind {
	kind := fakeapi.CustomKind(p.APIVersion, p.Kind.Kind, p.Plural)
	kind.Cluster = p.Cluster
	return kind
}

// world is a shop of OpenShift with the object.
func (p placed) world(api *fakeapi.Server) {
	shop("Deployment")(api)
	api.Add(withoutPods("openshift-ingress-operator"))
	for _, n := range fakeapi.Objects[*corev1.Node](api) {
		fakeapi.Edit(api, "", n.Name, func(n *corev1.Node) {
			if n.Labels == nil {
				n.Labels = map[string]string{}
			}
			n.Labels["node.openshift.io/os_id"] = "rhcos"
		})
	}
	if p.Builtin {
		api.Add(&batchv1.CronJob{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "web", Annotations: map[string]string{"foreign": "kept"}},
			Spec: batchv1.CronJobSpec{Schedule: "0 0 1 1 *", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10.2"}},
				Tolerations: []corev1.Toleration{{Key: "foreign", Operator: corev1.TolerationOpExists}, {Key: spare, Operator: corev1.TolerationOpExists}},
			}}}}},
		})
		return
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": p.APIVersion, "kind": p.Kind.Kind, "metadata": map[string]any{"name": "web", "annotations": map[string]any{"foreign": "kept"}},
		"spec": map[string]any{"size": int64(2)},
	}}
	if p.namespace != "" {
		u.SetNamespace(p.namespace)
	}
	entries := []any{map[string]any{"key": "foreign", "operator": "Exists"}, map[string]any{"key": spare, "operator": "Exists"}}
	if err := unstructured.SetNestedSlice(u.Object, entries, p.Path...); err != nil {
		panic(err)
	}
	api.Add(u)
}

// placedObjects are those of the kinds that a world serves.
func placedObjects(api *fakeapi.Server) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, one := range placedKinds() {
		if !one.Builtin {
			gv, _ := schema.ParseGroupVersion(one.APIVersion)
			out = append(out, api.Custom(gv.WithResource(one.Plural))...)
		}
	}
	return out
}

// isPlaced reports whether a kind is one of them.
func isPlaced(kind string) bool {
	return slices.ContainsFunc(placedKinds(), func(p placed) bool { return p.Kind.Kind == kind })
}

// forgeCreated has another writer write that the provider has created a ConfigMap, which is deleted with its
// last entry if that is believed.
func forgeCreated(api *fakeapi.Server, value string) {
	for _, o := range fakeapi.Objects[*corev1.ConfigMap](api) {
		fakeapi.Edit(api, o.Namespace, o.Name, func(o *corev1.ConfigMap) {
			if o.Annotations == nil {
				o.Annotations = map[string]string{}
			}
			o.Annotations[workloads.CreatedAnnotation] = value
		})
	}
}

// TestHostileMarks_ofAConfigMap has others create an empty ConfigMap, and another writer write that the provider
// has: a destroy leaves it, whatever it knows of its own marks.
func TestHostileMarks_ofAConfigMap(t *testing.T) {
	t.Parallel()
	for _, s := range hostileSubjects() {
		if s.strategy != createdStrategy {
			continue
		}
		start := settle(t, s)
		for _, value := range []string{"true", "", "1.made-up"} {
			for _, operation := range []string{"destroy", "destroy imported", "destroy recovered"} {
				t.Run(fmt.Sprintf("%q %s", value, operation), func(t *testing.T) {
					t.Parallel()
					bubble(t, start.moment, func(t *testing.T, api *fakeapi.Server) {
						forgeCreated(api, value)
						time.Sleep(time.Second)
						if d := start.operate(t, api, operation); d.Errors() != "" {
							t.Fatal(d.Errors())
						}
						left := fakeapi.Objects[*corev1.ConfigMap](api)
						if len(left) != 1 || strings.Contains(fmt.Sprint(left[0]), "team") {
							t.Errorf("there is %v", left)
						}
					})
				})
			}
		}
	}
}

// empty reports whether nothing is left of a value but maps and lists of nothing.
func empty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, one := range v {
			if !empty(one) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	}
	return v == nil
}
