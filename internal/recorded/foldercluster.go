// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

var configRefs = workload.Configs()

const admissionGroup = "admissionregistration.k8s.io"

// policyKinds are those of policies and their bindings.
func policyKinds(version string) []kindRecord {
	return []kindRecord{
		{Group: admissionGroup, Version: version, Resource: policies, Kind: "MutatingAdmissionPolicy"},
		{Group: admissionGroup, Version: version, Resource: bindings, Kind: "MutatingAdmissionPolicyBinding"},
	}
}

// kindNamed returns the kind of an object of a folder, and false for one of which nothing is recorded: those
// of Kubernetes that verdicts do not read.
func kindNamed(apiVersion, kind string) (kindRecord, bool) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || kind == "" || gv.Version == "" {
		return kindRecord{}, false
	}
	known := slices.Concat(builtin, optional(), webhooks, []kindRecord{{Version: "v1", Resource: configMaps.Resource, Kind: "ConfigMap"}})
	for _, version := range policyVersions {
		known = append(known, policyKinds(version)...)
	}
	for _, k := range known {
		if k.Kind == kind && k.Group == gv.Group && k.Version == gv.Version {
			return k, true
		}
	}
	if ofKubernetes(gv.Group) {
		return kindRecord{}, false
	}
	plural, _ := meta.UnsafeGuessKindToResource(gv.WithKind(kind))
	return kindRecord{Group: gv.Group, Version: gv.Version, Resource: plural.Resource, Kind: kind}, true
}

// cluster puts the objects together. A kind of which no file has an object is missing, but for those that
// the cluster need not serve.
func (f *folder) cluster() (*Cluster, error) {
	if len(f.objects[podResource]) == 0 && len(f.objects[nodeResource]) == 0 {
		return nil, ErrNoObjects
	}
	c := &Cluster{header: f.header, kinds: map[schema.GroupVersionResource]*recordedKind{}, folder: true, skipped: f.skipped}
	c.header.Storage = true
	if !f.reported.IsZero() {
		c.header.Taken, c.dated = f.reported, true
	}
	f.withoutReports()
	for gvr, k := range f.kinds {
		one, err := encoded(k, f.objects[gvr])
		if err != nil {
			return nil, err
		}
		// A must-gather has some namespaces alone. Objects of all others are not known.
		one.partial, one.spaces = gvr == namespaceResource || one.namespaced(), map[string]bool{}
		for at := range f.objects[gvr] {
			if at.namespace != "" {
				one.spaces[at.namespace] = true
			}
			if gvr == (schema.GroupVersionResource{Version: "v1", Resource: configMaps.Resource}) {
				one.Some = append(one.Some, at.namespace+"/"+at.name)
			}
		}
		c.kinds[gvr] = one
	}
	if slices.ContainsFunc(webhooks, func(k kindRecord) bool { return c.kinds[k.gvr()] != nil }) {
		// A folder has both kinds or none.
		for _, k := range webhooks {
			c.kinds[k.gvr()] = cmp.Or(c.kinds[k.gvr()], &recordedKind{kindRecord: k})
		}
	}
	for _, k := range f.expected() {
		if c.kinds[k.gvr()] == nil {
			k.State = stateForbidden
			c.kinds[k.gvr()] = &recordedKind{kindRecord: k}
		}
	}
	c.spaces = f.spaces()
	f.serve(c)
	return c, c.index()
}

// withoutReports drops the reports of cluster-autoscaler where the ConfigMaps of OpenShift's monitoring are missing: the kind
// is named as missing then.
func (f *folder) withoutReports() {
	gvr := configMaps.WithVersion("v1")
	for at := range f.objects[gvr] {
		if at.name != reportName {
			return
		}
	}
	if f.openshift {
		delete(f.objects, gvr)
		delete(f.kinds, gvr)
	}
}

// expected are the kinds that the cluster serves, as far as the folder shows it.
func (f *folder) expected() []kindRecord {
	out := slices.Clone(builtin)
	if _, old := f.kinds[policyKinds("v1beta1")[0].gvr()]; !old {
		out = append(out, policyKinds("v1")...)
	}
	if f.openshift {
		out = append(out, optional()...)
		out = append(out, kindRecord{Version: "v1", Resource: configMaps.Resource, Kind: "ConfigMap"})
	}
	return out
}

// spaces counts the namespaces with pods.
func (f *folder) spaces() int {
	all := map[string]bool{}
	for at := range f.objects[podResource] {
		all[at.namespace] = true
	}
	return len(all)
}

// serve fills in what the cluster serves: the kinds of the recording. Custom kinds count as those that the
// credentials may change, so that their records are looked for.
func (f *folder) serve(c *Cluster) {
	kinds := slices.SortedFunc(maps.Values(c.kinds), func(a, b *recordedKind) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Version, b.Version), strings.Compare(a.Resource, b.Resource))
	})
	for _, k := range kinds {
		// Kinds of a version follow each other.
		at := len(c.header.Serves) - 1
		if at < 0 || c.header.Serves[at].Group != k.Group || c.header.Serves[at].Version != k.Version {
			at++
			c.header.Serves = append(c.header.Serves, Served{Group: k.Group, Version: k.Version})
		}
		c.header.Serves[at].Resources = append(c.header.Serves[at].Resources, ServedResource{Name: k.Resource, Kind: k.Kind, Namespaced: k.namespaced()})
		if _, known := workload.Lookup(k.apiVersion(), k.Kind); !known && !ofKubernetes(k.Group) && k.Group != machineGroup {
			c.header.Custom = append(c.header.Custom, k.gvr().GroupResource())
		}
	}
}

// clusterScoped are the kinds of a folder whose objects have no namespace, where it has none of them.
var clusterScoped = []string{"nodes", "namespaces", "persistentvolumes", "priorityclasses", "storageclasses", "csidrivers", "csinodes", policies, bindings, "mutatingwebhookconfigurations", "validatingwebhookconfigurations"}

func (k *recordedKind) namespaced() bool {
	if len(k.objects) > 0 {
		meta, err := k.metadata(k.objects[0].content)
		return err == nil && meta.Namespace != ""
	}
	known, is := workload.Lookup(k.apiVersion(), k.Kind)
	return !slices.Contains(clusterScoped, k.Resource) && (!is || !known.Cluster)
}

// encoded returns the objects of a kind as a file has them, sorted by namespace and name.
func encoded(k kindRecord, objects map[key]*unstructured.Unstructured) (*recordedKind, error) {
	out := &recordedKind{kindRecord: k}
	for _, at := range slices.SortedFunc(maps.Keys(objects), func(a, b key) int {
		return cmp.Or(strings.Compare(a.namespace, b.namespace), strings.Compare(a.name, b.name))
	}) {
		content, err := encode(k, objects[at])
		if err != nil {
			return nil, damaged("%s %s/%s: %s", k.Kind, at.namespace, at.name, err)
		}
		one, err := out.object(content)
		if err != nil {
			return nil, err
		}
		out.objects = append(out.objects, one)
	}
	return out, nil
}

// encode returns an object as a file has it: pods in protobuf, with the fields that package kube keeps.
func encode(k kindRecord, object *unstructured.Unstructured) ([]byte, error) {
	if !k.protobuf() {
		return json.Marshal(object.Object)
	}
	var pod corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &pod); err != nil {
		return nil, err
	}
	raw, err := pod.Marshal()
	if err != nil {
		return nil, err
	}
	return kube.ReducedPod(raw)
}
