// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	taints "github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	tolerations "github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// TestHostileMarks has a writer who may write annotations copy owner, generation and proof of
// each mark onto entries that are not the resource's. An update and a destroy remove and
// restore none of these.
func TestHostileMarks(t *testing.T) {
	t.Parallel()
	acctest.TooLong(t)
	for _, s := range hostileSubjects() {
		if s.action || s.typeName == "toleration_policy" || s.strategy == "admission" || !due(s) {
			continue
		}
		for _, to := range []map[string]any{s.second, nil} {
			t.Run(fmt.Sprintf("%s destroy=%t", s.name(), to == nil), func(t *testing.T) {
				t.Parallel()
				bubble(t, moment{api: fakeapi.New(s.kinds...)}, func(t *testing.T, api *fakeapi.Server) {
					s.world(api)
					time.Sleep(calm)
					s.addRack(api)
					s.addSpare(api)
					time.Sleep(calm)
					before := foreignEntries(api)
					i := acctest.Instance{Type: "kubetaint_" + s.typeName}
					if d := through(api.Client()).Apply(t, &i, s.first); d.Errors() != "" {
						t.Fatal(d.Errors())
					}
					time.Sleep(calm)
					if forge(t, api) == 0 {
						t.Fatal("no object has marks")
					}
					forgeRetiring(t, api)
					forgeCreated(api, "true")
					if to == nil {
						through(api.Client()).Destroy(t, &i)
					} else if d := through(api.Client()).Apply(t, &i, to); d.Errors() != "" {
						t.Fatal(d.Errors())
					}
					time.Sleep(calm)
					after := foreignEntries(api)
					for _, entry := range before {
						// The configuration adopts this one, so that it is the resource's.
						adopted := s.strategy == fromMachines && strings.HasPrefix(entry, "taint of ") && strings.HasSuffix(entry, `"team"`)
						if !adopted && !slices.Contains(after, entry) {
							t.Errorf("%s is gone: %v", entry, after)
						}
					}
					for _, entry := range after {
						if strings.Contains(entry, "quarantine") || strings.Contains(entry, "out-of-service") {
							t.Errorf("%s is written", entry)
						}
					}
				})
			})
		}
	}
}

// foreignEntries are the taints, labels and tolerations of objects that are not the
// resources' in these worlds.
func foreignEntries(api *fakeapi.Server) []string {
	var out []string
	note := func(where string, o any) {
		raw, err := json.Marshal(o)
		if err != nil {
			panic(err)
		}
		for _, key := range []string{`"foreign"`, `"rack"`, `"spare"`, `"team"`, `"pool"`, `"quarantine"`, `"node.kubernetes.io/out-of-service"`} {
			if strings.Contains(string(raw), key) {
				out = append(out, where+" "+key)
			}
		}
	}
	for _, o := range fakeapi.Objects[*corev1.Node](api) {
		name := o.Name
		if strings.HasPrefix(name, "ms-") {
			// Machines are replaced, by others with other names.
			name = "a machine"
		}
		note("taint of "+name, o.Spec.Taints)
		note("label of "+name, o.Labels)
	}
	for _, o := range fakeapi.Objects[*appsv1.Deployment](api) {
		note("Deployment", o.Spec.Template.Spec)
	}
	for _, o := range fakeapi.Objects[*appsv1.StatefulSet](api) {
		note("StatefulSet", o.Spec.Template.Spec)
	}
	for _, o := range fakeapi.Objects[*appsv1.DaemonSet](api) {
		note("DaemonSet", o.Spec.Template.Spec)
	}
	for _, o := range fakeapi.Objects[*corev1.ConfigMap](api) {
		out = append(out, "ConfigMap "+o.Name)
		note("ConfigMap", configOf(o))
	}
	for _, o := range fakeapi.Objects[*batchv1.CronJob](api) {
		note("CronJob", o.Spec.JobTemplate.Spec.Template.Spec)
	}
	for _, o := range placedObjects(api) {
		note(o.GetKind(), o.Object["spec"])
	}
	for _, o := range api.Custom(machinev1beta1.GroupVersion.WithResource("machinesets")) {
		list, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "taints")
		note("template", list)
	}
	return out
}

// forgeRetiring gives workloads without a record one that says, with what another object's record
// has, that tolerations of the resource's taints retire.
func forgeRetiring(t *testing.T, api *fakeapi.Server) {
	t.Helper()
	objects := annotatedObjects(api)
	var copied []map[string]any
	for _, o := range objects {
		if value := o.annotations[taints.OwnedAnnotation]; value != "" && copied == nil {
			if err := json.Unmarshal([]byte(value), &copied); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(copied) == 0 {
		return
	}
	var marks []map[string]any
	for _, key := range []string{"team", "foreign", spare} {
		marks = append(marks, map[string]any{"key": key, "operator": "Exists", "retiring": true, "owner": copied[0]["owner"], "generation": copied[0]["generation"], "proof": copied[0]["proof"]})
	}
	raw, err := json.Marshal(marks)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if o.kind == "Deployment" && o.annotations[tolerations.OwnedAnnotation] == "" {
			o.annotations[tolerations.OwnedAnnotation] = string(raw)
			o.put(o.annotations)
		}
	}
}

// forge adds marks to each record, and returns how many records there are.
func forge(t *testing.T, api *fakeapi.Server) int {
	t.Helper()
	records := 0
	var machines []any
	for _, o := range api.Custom(machinev1beta1.GroupVersion.WithResource("machines")) {
		machines = append(machines, string(o.GetUID()))
	}
	forged := func(annotations map[string]string) {
		for name, value := range annotations {
			if strings.HasPrefix(name, "kubetaint.io/owned-") {
				annotations[name] = forgeRecord(t, name, value, machines)
				records++
			}
		}
	}
	for _, o := range fakeapi.Objects[*corev1.Node](api) {
		fakeapi.Edit(api, "", o.Name, func(n *corev1.Node) { forged(n.Annotations) })
	}
	for _, o := range fakeapi.Objects[*corev1.Namespace](api) {
		fakeapi.Edit(api, "", o.Name, func(n *corev1.Namespace) { forged(n.Annotations) })
	}
	for _, o := range fakeapi.Objects[*appsv1.Deployment](api) {
		fakeapi.Edit(api, o.Namespace, o.Name, func(d *appsv1.Deployment) { forged(d.Annotations) })
	}
	for _, o := range fakeapi.Objects[*appsv1.StatefulSet](api) {
		fakeapi.Edit(api, o.Namespace, o.Name, func(d *appsv1.StatefulSet) { forged(d.Annotations) })
	}
	for _, o := range fakeapi.Objects[*appsv1.DaemonSet](api) {
		fakeapi.Edit(api, o.Namespace, o.Name, func(d *appsv1.DaemonSet) { forged(d.Annotations) })
	}
	for _, o := range fakeapi.Objects[*corev1.ConfigMap](api) {
		fakeapi.Edit(api, o.Namespace, o.Name, func(m *corev1.ConfigMap) { forged(m.Annotations) })
	}
	for _, o := range fakeapi.Objects[*batchv1.CronJob](api) {
		fakeapi.Edit(api, o.Namespace, o.Name, func(c *batchv1.CronJob) { forged(c.Annotations) })
	}
	for _, o := range placedObjects(api) {
		annotations := o.GetAnnotations()
		forged(annotations)
		o.SetAnnotations(annotations)
		api.Put(runtime.Object(o))
	}
	for _, o := range api.Custom(machinev1beta1.GroupVersion.WithResource("machinesets")) {
		annotations := o.GetAnnotations()
		forged(annotations)
		if owned := annotations["kubetaint.io/owned-taints"]; owned != "" {
			// As if machines had kept what is not the resource's.
			annotations["kubetaint.io/remaining-taints"] = owned
		}
		o.SetAnnotations(annotations)
		api.Put(runtime.Object(o))
	}
	return records
}

// forgeRecord adds marks that copy all but the entry from the first one. Those of taints name
// these machines as well.
func forgeRecord(t *testing.T, annotation, value string, machines []any) string {
	t.Helper()
	var items []map[string]any
	if err := json.Unmarshal([]byte(value), &items); err != nil || len(items) == 0 {
		t.Fatalf("%s: %v", value, err)
	}
	first := items[0]
	copied := map[string]any{"owner": first["owner"], "generation": first["generation"], "proof": first["proof"]}
	if entries, group := first["entries"].([]any); group {
		copied["proof"] = entries[0].(map[string]any)["proof"]
	}
	mark := func(entry map[string]any) {
		for name, value := range copied {
			entry[name] = value
		}
		items = append(items, entry)
	}
	// Records of a component have its name behind theirs.
	switch record, _, _ := strings.Cut(strings.TrimPrefix(annotation, "kubetaint.io/"), "."); record {
	case "owned-taints":
		mark(map[string]any{"key": "foreign", "effect": "NoSchedule"})
		mark(map[string]any{"key": rack, "effect": "NoSchedule", "value": "kept", "machines": machines})
		mark(map[string]any{"key": "foreign", "effect": "PreferNoSchedule", "previous": "evil"})
		mark(map[string]any{"key": "quarantine", "effect": "NoExecute", "absent": true, "previous": "x"})
		mark(map[string]any{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute", "absent": true, "previous": ""})
	case "owned-tolerations":
		mark(map[string]any{"key": "foreign", "operator": "Exists"})
		mark(map[string]any{"operator": "Exists"})
	case "owned-labels":
		mark(map[string]any{"key": "pool"})
	}
	out, err := json.Marshal(items)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
