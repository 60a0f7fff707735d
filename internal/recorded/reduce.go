// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Of every kind these fields of the metadata are kept: they name objects, their owners and
// when they were written. Labels are what selectors match.
var metadataFields = values("name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp").with(tree{
	"labels": texts, "ownerReferences": values("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"),
})

// annotationsKept are the annotations that verdicts read, beside those of kubetaint.io: of nodes and
// pods (internal/kube/slim.go), claims, volumes and StorageClasses (internal/kube/openstorage.go), Machines and MachineSets (internal/kube/machineslim.go), namespaces
// (internal/admission/rules.go), and those by which other tools mark their objects
// (internal/workload/writers.go).
var annotationsKept = values(
	"machine.openshift.io/machine", "machineconfiguration.openshift.io/currentConfig", "kubernetes.io/config.mirror", "kubernetes.io/limit-ranger",
	"machine.openshift.io/delete-machine", "machine.openshift.io/cluster-api-delete-machine", "machine.openshift.io/exclude-node-draining",
	"autoscaling.openshift.io/machineautoscaler", "machine.openshift.io/cluster-api-autoscaler-node-group-min-size",
	"machine.openshift.io/cluster-api-autoscaler-node-group-max-size", "capacity.cluster-autoscaler.kubernetes.io/taints",
	"scheduler.alpha.kubernetes.io/defaultTolerations", "scheduler.alpha.kubernetes.io/tolerationsWhitelist",
	bindCompleted, selectedNode, corev1.BetaStorageClassAnnotation, "storageclass.kubernetes.io"+isDefaultClass, "storageclass.beta.kubernetes.io"+isDefaultClass,
	"meta.helm.sh/release-name", "argocd.argoproj.io/tracking-id", "argocd.argoproj.io/instance",
	"kustomize.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/name", "olm.owner",
)

const ownAnnotations = "kubetaint.io/"

// writersRead reports whether verdicts read who writes the fields of a kind: of all that carry tolerations, and
// of MachineSets.
func writersRead(r schema.GroupResource) bool {
	_, known := reductions[r]
	return !known || r.Group == "machine.openshift.io" && r.Resource == "machinesets"
}

// reduce returns what is recorded of an object of a kind.
func reduce(r schema.GroupResource, object *unstructured.Unstructured) *unstructured.Unstructured {
	kept, known := reductions[r]
	switch {
	case r == configMaps:
		kept = tree{}
	case !known:
		kept, _ = workloadFieldsOf(r)
	}
	out := &unstructured.Unstructured{Object: map[string]any{}}
	if content, is := kept.of(object.Object); is {
		out.Object, _ = content.(map[string]any)
	}
	if !known && r != configMaps {
		addPlacements(out.Object, object.Object)
	}
	metadata, _ := object.Object["metadata"].(map[string]any)
	meta, _ := metadataFields.of(metadata)
	keptMeta, _ := meta.(map[string]any)
	out.Object["metadata"] = keptMeta
	if annotations, is := metadata["annotations"].(map[string]any); is {
		if some := keptAnnotations(annotations); len(some) > 0 {
			keptMeta["annotations"] = some
		}
	}
	if writersRead(r) {
		paths := kept
		if r == configMaps {
			paths = tree{"data": values(configKey)}
		}
		if some := keptManagers(metadata, paths, out.Object); len(some) > 0 {
			keptMeta["managedFields"] = some
		}
	}
	out.SetAPIVersion(object.GetAPIVersion())
	out.SetKind(object.GetKind())
	return out
}

func keptAnnotations(all map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range all {
		if _, listed := annotationsKept[name]; listed || strings.HasPrefix(name, ownAnnotations) {
			out[name] = value
		}
	}
	return out
}

// keptManagers returns who has written which of the fields that are kept, by the tree of the kind and by
// what was found in the object beside that.
func keptManagers(metadata map[string]any, paths tree, kept map[string]any) []any {
	entries, _ := metadata["managedFields"].([]any)
	paths = paths.with(tree{"metadata": {"labels": texts}})
	addPaths(paths, kept)
	var out []any
	for _, one := range entries {
		entry, is := one.(map[string]any)
		if !is {
			continue
		}
		content, _ := values("manager", "operation", "apiVersion", "time", "fieldsType", "subresource").of(entry)
		some, _ := content.(map[string]any)
		if owned, is := entry["fieldsV1"].(map[string]any); is {
			some["fieldsV1"] = paths.managed(owned)
		}
		out = append(out, some)
	}
	return out
}

// addPaths adds the objects that are kept to the paths whose writers are kept.
func addPaths(paths tree, kept map[string]any) {
	for name, value := range kept {
		inner, is := value.(map[string]any)
		below, there := paths[name]
		switch {
		case there && below == nil, name == "metadata":
		case !is && !there:
			paths[name] = nil
		case is:
			// Trees of kinds are shared: this one is the object's own.
			own := below.with(tree{})
			if below == nil {
				own = tree{}
			}
			addPaths(own, inner)
			paths[name] = own
		}
	}
}
