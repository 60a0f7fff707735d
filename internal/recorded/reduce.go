// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Of every kind these fields of the metadata are kept: they name objects, their owners and
// when they were written. Labels are what selectors match.
var metadataFields = whole("name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "labels", "ownerReferences")

// annotationsKept are the annotations that verdicts read, beside those of kubetaint.io: of nodes and
// pods (internal/kube/slim.go), Machines and MachineSets (internal/kube/machineslim.go), namespaces
// (internal/admission/rules.go), and those by which other tools mark their objects
// (internal/workload/writers.go).
var annotationsKept = whole(
	"machine.openshift.io/machine", "machineconfiguration.openshift.io/currentConfig", "kubernetes.io/config.mirror",
	"machine.openshift.io/delete-machine", "machine.openshift.io/cluster-api-delete-machine", "machine.openshift.io/exclude-node-draining",
	"autoscaling.openshift.io/machineautoscaler", "machine.openshift.io/cluster-api-autoscaler-node-group-min-size",
	"machine.openshift.io/cluster-api-autoscaler-node-group-max-size", "capacity.cluster-autoscaler.kubernetes.io/taints",
	"scheduler.alpha.kubernetes.io/defaultTolerations", "scheduler.alpha.kubernetes.io/tolerationsWhitelist",
	"meta.helm.sh/release-name", "argocd.argoproj.io/tracking-id", "argocd.argoproj.io/instance",
	"kustomize.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/name", "olm.owner",
)

const ownAnnotations = "kubetaint.io/"

var (
	tolerationFields = whole("key", "operator", "value", "effect", "tolerationSeconds")
	taintFields      = whole("key", "value", "effect", "timeAdded")
	requestFields    = whole("requests")
	containerFields  = whole("name", "restartPolicy").with(tree{"ports": whole("containerPort", "hostPort", "hostIP", "protocol"), "resources": requestFields})
	volumeFields     = tree{"emptyDir": presence, "persistentVolumeClaim": whole("claimName")}
	statusesOf       = whole("name", "allocatedResources").with(tree{"resources": requestFields})
	conditionFields  = whole("type", "status")

	podSpecFields = whole("nodeName", "nodeSelector", "affinity", "schedulerName", "priority", "preemptionPolicy", "overhead", "topologySpreadConstraints", "schedulingGates", "hostNetwork").
			with(tree{
			"tolerations": tolerationFields, "containers": containerFields, "initContainers": containerFields, "volumes": volumeFields,
			"resources": requestFields, "resourceClaims": whole("name"),
		})
	templateFields = tree{"metadata": whole("labels"), "spec": podSpecFields}
	// placementFields are where OpenShift's operators take tolerations and node selectors.
	placementFields = whole("nodeSelector").with(tree{"tolerations": tolerationFields})
	strategyFields  = whole("type", "rollingUpdate", "partition", "paused").with(tree{
		"canary": {"steps": {"pause": whole("duration")}}, "blueGreen": whole("autoPromotionEnabled"),
	})
	jobFields = whole("parallelism", "completions", "suspend", "selector").with(tree{"template": templateFields})

	// workloadSpecFields are those of all kinds with a pod template or a placement, whose names mean the same in each.
	workloadSpecFields = whole("replicas", "selector", "paused", "podManagementPolicy", "test", "parallelism", "completions", "suspend", "minReadySeconds").
				with(placementFields).with(tree{
		"strategy": strategyFields, "updateStrategy": strategyFields, "template": templateFields, "jobTemplate": {"spec": jobFields},
		"workloadRef": whole("apiVersion", "kind", "name"), "triggers": whole("type"), "config": placementFields, "nodePlacement": placementFields,
	})
	workloadStatusFields = whole(
		"observedGeneration", "replicas", "readyReplicas", "availableReplicas", "updatedReplicas", "currentReplicas", "currentRevision", "updateRevision",
		"desiredNumberScheduled", "currentNumberScheduled", "numberMisscheduled", "numberReady", "updatedNumberScheduled",
		"active", "succeeded", "failed", "startTime", "abort", "currentStepIndex", "installedCSV",
	).with(tree{"conditions": conditionFields, "pauseConditions": whole("reason")})
	workloadFields = tree{"spec": workloadSpecFields, "status": workloadStatusFields}

	// inTree are the kinds of volumes whose affinity the scheduler may not read (internal/kube/volumes.go, migrated).
	inTree = tree{
		"awsElasticBlockStore": presence, "gcePersistentDisk": presence, "azureDisk": presence, "azureFile": presence,
		"cinder": presence, "vsphereVolume": presence, "portworxVolume": presence,
	}
	machineSpecFields = tree{"taints": taintFields, "metadata": whole("labels"), "lifecycleHooks": nil}
)

// reductions are what is kept of an object beside its metadata, by kind. Of pods package kube keeps its own
// fields; those here serve folders. Of kinds that are not here, workloadFields and placements are kept.
var reductions = map[schema.GroupResource]tree{
	{Resource: "nodes"}: {
		"spec":   whole("unschedulable").with(tree{"taints": taintFields}),
		"status": whole("allocatable").with(tree{"conditions": conditionFields}),
	},
	{Resource: "pods"}: {
		"spec": podSpecFields,
		"status": whole("phase", "startTime", "extendedResourceClaimStatus", "allocatedResources").with(tree{
			"conditions": conditionFields, "containerStatuses": statusesOf, "initContainerStatuses": statusesOf, "resources": requestFields,
		}),
	},
	{Resource: "namespaces"}:             {},
	{Resource: "persistentvolumes"}:      {"spec": inTree.with(tree{"nodeAffinity": whole("required")})},
	{Resource: "persistentvolumeclaims"}: {"spec": whole("volumeName")},
	{Group: "policy", Resource: "poddisruptionbudgets"}: {
		"spec":   whole("selector", "minAvailable", "maxUnavailable", "unhealthyPodEvictionPolicy"),
		"status": whole("observedGeneration", "disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods", "disruptedPods"),
	},
	{Resource: "resourcequotas"}: {"spec": whole("scopes", "scopeSelector"), "status": whole("hard", "used")},
	{Group: "machine.openshift.io", Resource: "machinesets"}: {
		"spec":   whole("replicas", "selector").with(tree{"template": {"metadata": whole("labels"), "spec": machineSpecFields}}),
		"status": whole("observedGeneration", "replicas", "readyReplicas", "availableReplicas", "authoritativeAPI"),
	},
	{Group: "machine.openshift.io", Resource: "machines"}: {
		"spec":   machineSpecFields,
		"status": whole("phase", "errorMessage", "errorReason").with(tree{"nodeRef": whole("name")}),
	},
	// Those that kubetaint has written, of which everything is its own.
	{Group: "admissionregistration.k8s.io", Resource: policies}: whole("spec"),
	{Group: "admissionregistration.k8s.io", Resource: bindings}: whole("spec"),
}

const (
	policies = "mutatingadmissionpolicies"
	bindings = "mutatingadmissionpolicybindings"
)

// managedKinds are the kinds of whose objects verdicts read who writes a field: all that carry tolerations,
// and MachineSets.
func writersRead(r schema.GroupResource) bool {
	_, known := reductions[r]
	return !known || r.Group == "machine.openshift.io" && r.Resource == "machinesets"
}

// reduce returns what is recorded of an object of a kind.
func reduce(r schema.GroupResource, object *unstructured.Unstructured) *unstructured.Unstructured {
	kept, known := reductions[r]
	if !known {
		kept = workloadFields
	}
	if r == configMaps {
		kept = tree{}
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
			paths = tree{"data": whole(configKey)}
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
	paths = paths.with(tree{"metadata": whole("labels")})
	addPaths(paths, kept)
	var out []any
	for _, one := range entries {
		entry, is := one.(map[string]any)
		if !is {
			continue
		}
		content, _ := whole("manager", "operation", "apiVersion", "time", "fieldsType", "subresource").of(entry)
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
