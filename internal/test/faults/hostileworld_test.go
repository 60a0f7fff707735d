// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	taints "github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	tolerations "github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// reads returns the annotations of an object by which a resource decides, none for an object
// that its configuration does not name.
func (s subject) reads(o annotated) []string {
	nodes := s.first["node_selector"] != nil && o.labels["pool"] == "x" || s.first["node_name"] == o.name
	sets := strings.Contains(s.name(), "machine_set")
	switch o.kind {
	case "Node":
		switch {
		case nodes && s.typeName == "node_taints":
			return []string{taints.OwnedAnnotation}
		case nodes && s.typeName == "drain_nodes":
			return []string{snapshot.AwaitedAnnotation}
		case nodes && s.typeName == "dedicated_nodes":
			return []string{taints.OwnedAnnotation, label.OwnedAnnotation}
		}
	case "Deployment", "StatefulSet", "DaemonSet":
		switch {
		case s.typeName == "workload_tolerations" && s.strategy == o.kind, s.typeName == "dedicated_nodes" && sets:
			return []string{tolerations.OwnedAnnotation}
		case s.typeName == "dedicated_nodes" && s.first["workloads"] != nil && !strings.HasPrefix(s.strategy, dedicatedFor):
			return []string{tolerations.OwnedAnnotation, label.OwnedAnnotation}
		}
	case s.strategy, strings.TrimPrefix(s.strategy, dedicatedFor):
		switch {
		case isPlaced(o.kind) && s.typeName == "dedicated_nodes":
			return []string{tolerations.OwnedAnnotation, label.OwnedAnnotation}
		case isPlaced(o.kind):
			return []string{tolerations.OwnedAnnotation}
		}
	case componentKind:
		return []string{tolerations.OwnedAnnotation}
	case "Namespace":
		if s.typeName == "namespace_tolerations" && o.name == "shop" {
			return []string{tolerations.OwnedAnnotation}
		}
	case "MachineSet":
		switch {
		case o.name == other:
		case s.typeName == "dedicated_nodes" && sets:
			return []string{taints.OwnedAnnotation, label.OwnedAnnotation, machineset.MarkerAnnotation, machineset.RemnantsAnnotation}
		case s.typeName == "machine_set_taints":
			return []string{taints.OwnedAnnotation, machineset.MarkerAnnotation, machineset.RemnantsAnnotation}
		case sets:
			return []string{machineset.MarkerAnnotation}
		}
	case admission.PolicyKind:
		if s.typeName == "toleration_policy" || s.strategy == "admission" {
			return []string{admission.PolicyAnnotation}
		}
	}
	return nil
}

// follows reports whether controllers change an object for the resource, or the resource does: a MachineSet's
// machines and their nodes, Machines that a taint is adopted from, a policy's binding, and nodes that are uncordoned.
func (s subject) follows(o annotated) bool {
	if s.typeName == "uncordon_nodes" && o.kind == "Node" && o.labels["pool"] == "x" {
		// A record of a drain goes, whether it can be read or not.
		return true
	}
	return s.strategy == fromMachines && o.kind == "Machine" || strings.Contains(s.name(), "machine_set") && o.ofMachine() || o.kind == admission.BindingKind && (s.typeName == "toleration_policy" || s.strategy == "admission")
}

// The keys that the configurations name, by what they are keys of.
var named = map[string][]string{
	"taints": {"team", "extra"}, "tolerations": {"team", "spot"}, "labels": {"dedicated"}, "nodeSelector": {"dedicated"}, "matchLabels": {"dedicated"},
}

// entries are annotations that a namespace holds tolerations in.
var namespaceLists = []string{admission.DefaultsAnnotation, admission.WhitelistAnnotation}

// beside returns all objects without what state and configuration name, by what they are
// called: machines, which are replaced by others with other names, by their MachineSet.
func (s subject) beside(api *fakeapi.Server) []string {
	var out []string
	for _, o := range annotatedObjects(api) {
		content := content(o.json())
		meta, _ := content["metadata"].(map[string]any)
		for _, volatile := range []string{"resourceVersion", "generation", "uid", "creationTimestamp", "managedFields", "deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences", "finalizers"} {
			delete(meta, volatile)
		}
		ours := len(s.reads(o)) > 0 || s.follows(o)
		if ours && strings.HasPrefix(o.kind, "MutatingAdmission") {
			// All of it is the resource's.
			continue
		}
		if ours {
			s.strip(o, content)
		}
		if strings.HasSuffix(o.kind, componentKind) && empty(content) {
			// The ConfigMap may have been made for it, and be deleted with it.
			continue
		}
		title := o.title()
		if o.ofMachine() {
			title = o.kind + " of a machine"
			delete(meta, "name")
			if annotations, _ := meta["annotations"].(map[string]any); annotations != nil {
				delete(annotations, "machine.openshift.io/machine")
			}
		}
		raw, err := json.Marshal(content)
		if err != nil {
			panic(err)
		}
		out = append(out, title+" "+string(raw))
	}
	if s.strategy == createdStrategy {
		for _, o := range fakeapi.Objects[*corev1.ConfigMap](api) {
			out = append(out, "ConfigMap "+o.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// strip takes out of the content of an object what the configurations name.
func (s subject) strip(o annotated, content map[string]any) {
	meta, _ := content["metadata"].(map[string]any)
	if annotations, _ := meta["annotations"].(map[string]any); annotations != nil {
		maps.DeleteFunc(annotations, func(name string, _ any) bool {
			return strings.HasPrefix(name, "kubetaint.io/") || strings.HasPrefix(name, "machine.openshift.io/")
		})
		for _, name := range namespaceLists {
			stripList(annotations, name)
		}
		if len(annotations) == 0 {
			delete(meta, "annotations")
		}
	}
	keys := named
	if s.strategy == "absent_taints" {
		keys = map[string][]string{"taints": {"foreign"}}
	}
	without(content, keys)
	if spec, _ := content["spec"].(map[string]any); spec != nil {
		if o.kind == "MachineSet" {
			delete(spec, "replicas")
		}
		delete(spec, "unschedulable")
		delete(spec, "providerID")
		if len(spec) == 0 {
			delete(content, "spec")
		}
	}
}

// stripList takes the named tolerations out of a list that an annotation holds.
func stripList(annotations map[string]any, name string) {
	value, _ := annotations[name].(string)
	var list []any
	if json.Unmarshal([]byte(value), &list) != nil {
		return
	}
	holder := map[string]any{"tolerations": list}
	without(holder, named)
	raw, err := json.Marshal(holder["tolerations"])
	if err != nil {
		panic(err)
	}
	if annotations[name] = string(raw); holder["tolerations"] == nil {
		delete(annotations, name)
	}
}

// without takes entries with some keys out of the lists and maps of these names, wherever they
// stand; an empty one goes.
func without(v any, keys map[string][]string) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			without(one, keys)
		}
	case map[string]any:
		for name, held := range v {
			// From the inside: what holds nothing any more goes.
			without(held, keys)
			switch inner := held.(type) {
			case []any:
				v[name] = slices.DeleteFunc(inner, func(entry any) bool {
					fields, _ := entry.(map[string]any)
					delete(fields, "timeAdded")
					key, _ := fields["key"].(string)
					return slices.Contains(keys[name], key)
				})
				if left, _ := v[name].([]any); len(left) == 0 {
					delete(v, name)
				}
			case map[string]any:
				maps.DeleteFunc(inner, func(key string, _ any) bool { return slices.Contains(keys[name], key) })
				if len(inner) == 0 {
					delete(v, name)
				}
			}
		}
	}
}

// spare is the key of a toleration that is not owned, and that no taint needs: if a forged mark is
// believed, it is removed immediately.
const spare = "spare"

// addSpare adds the toleration to all workloads, and where the resource writes only taints also one
// for a taint that it names, which others own: a record with a retiring mark for it has it removed
// with the taint, if the record is believed.
func (s subject) addSpare(api *fakeapi.Server) {
	keys := []string{spare}
	switch s.typeName {
	case "node_taints", "machine_set_taints":
		keys = append(keys, "team", "foreign")
	}
	add := func(template *corev1.PodTemplateSpec) {
		for _, key := range keys {
			template.Spec.Tolerations = append(template.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
		}
	}
	for _, o := range fakeapi.Objects[*appsv1.Deployment](api) {
		fakeapi.Edit(api, o.Namespace, o.Name, func(d *appsv1.Deployment) { add(&d.Spec.Template) })
	}
	for _, o := range fakeapi.Objects[*appsv1.StatefulSet](api) {
		fakeapi.Edit(api, o.Namespace, o.Name, func(s *appsv1.StatefulSet) { add(&s.Spec.Template) })
	}
	for _, o := range fakeapi.Objects[*appsv1.DaemonSet](api) {
		fakeapi.Edit(api, o.Namespace, o.Name, func(d *appsv1.DaemonSet) { add(&d.Spec.Template) })
	}
}

// rack is the key of a taint of Machines that is not owned, and not in their template: if a forged
// record of kept taints is believed, it is removed immediately.
const rack = "rack"

// addRack adds the taint to all Machines, where none of them is replaced.
func (s subject) addRack(api *fakeapi.Server) {
	if !strings.Contains(s.strategy, "in_place") && !strings.Contains(s.strategy, "template_only") {
		return
	}
	for _, o := range api.Custom(machinev1beta1.GroupVersion.WithResource("machines")) {
		taints, _, _ := unstructured.NestedSlice(o.Object, "spec", "taints")
		if err := unstructured.SetNestedSlice(o.Object, append(taints, any(map[string]any{"key": rack, "value": "kept", "effect": "NoSchedule"})), "spec", "taints"); err != nil {
			panic(err)
		}
		api.Put(o)
	}
}

// other is a MachineSet that is not meant, with the taint of the configurations on its machines.
const other = "other"

// addOther adds it beside the one that is meant.
func (s subject) addOther(api *fakeapi.Server) {
	if !strings.Contains(s.name(), "machine_set") {
		return
	}
	set := setOf(other, 1)
	if err := unstructured.SetNestedSlice(set.Object, []any{
		map[string]any{"key": "foreign", "value": "kept", "effect": "NoSchedule"}, map[string]any{"key": "team", "value": "a", "effect": "NoSchedule"},
	}, "spec", "template", "spec", "taints"); err != nil {
		panic(err)
	}
	api.Add(set)
}

// evilEntries returns the entries of objects that have a value which no configuration has.
func evilEntries(api *fakeapi.Server) []string {
	var out []string
	for _, o := range annotatedObjects(api) {
		raw := o.json()
		if !bytes.Contains(raw, []byte(evil)) {
			continue
		}
		content := content(raw)
		delete(content["metadata"].(map[string]any), "annotations")
		delete(content["metadata"].(map[string]any), "managedFields")
		if text := fmt.Sprint(content); strings.Contains(text, evil) {
			out = append(out, o.title()+": "+text)
		}
	}
	return out
}
