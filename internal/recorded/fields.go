// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

var (
	tolerationFields = values("key", "operator", "value", "effect", "tolerationSeconds")
	taintFields      = values("key", "value", "effect", "timeAdded")
	requestFields    = tree{"requests": amounts}
	containerFields  = values("name", "restartPolicy").with(tree{"ports": values("containerPort", "hostPort", "hostIP", "protocol"), "resources": {"requests": amounts, "limits": amounts}})
	volumeFields     = tree{"emptyDir": presence, "ephemeral": presence, "persistentVolumeClaim": values("claimName")}
	statusesOf       = values("name").with(tree{"allocatedResources": amounts, "resources": requestFields})
	conditionFields  = values("type", "status")

	requirementFields = values("key", "operator", "values")
	labelSelector     = tree{"matchLabels": texts, "matchExpressions": requirementFields}
	// selectorFields are those of a map of labels, or of a label selector.
	selectorFields = texts.with(labelSelector)
	nodeTerm       = tree{"matchExpressions": requirementFields, "matchFields": requirementFields}
	nodeTerms      = tree{"nodeSelectorTerms": nodeTerm}
	podTerms       = values("namespaces", "topologyKey", "matchLabelKeys", "mismatchLabelKeys").with(tree{"labelSelector": labelSelector, "namespaceSelector": labelSelector})
	requiredTerms  = "requiredDuringSchedulingIgnoredDuringExecution"
	preferredTerms = "preferredDuringSchedulingIgnoredDuringExecution"
	relatedFields  = tree{requiredTerms: podTerms, preferredTerms: values("weight").with(tree{"podAffinityTerm": podTerms})}
	affinityFields = tree{"nodeAffinity": {requiredTerms: nodeTerms, preferredTerms: values("weight").with(tree{"preference": nodeTerm})}, "podAffinity": relatedFields, "podAntiAffinity": relatedFields}
	spreadFields   = values("maxSkew", "topologyKey", "whenUnsatisfiable", "minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy", "matchLabelKeys").
			with(tree{"labelSelector": labelSelector})

	podSpecFields = values("nodeName", "schedulerName", "priority", "priorityClassName", "activeDeadlineSeconds", "terminationGracePeriodSeconds", "preemptionPolicy", "hostNetwork").with(tree{
		"nodeSelector": texts, "affinity": affinityFields, "overhead": amounts, "topologySpreadConstraints": spreadFields, "schedulingGates": values("name"),
		"tolerations": tolerationFields, "containers": containerFields, "initContainers": containerFields, "volumes": volumeFields,
		"resources": {"requests": amounts, "limits": amounts}, "resourceClaims": values("name"),
	})
	templateFields = tree{"metadata": {"labels": texts}, "spec": podSpecFields}
	// placementFields are where OpenShift's operators take tolerations and node selectors.
	placementFields = tree{"nodeSelector": selectorFields, "tolerations": tolerationFields}
	rollingFields   = values("maxUnavailable", "maxSurge", "partition", "paused")
	strategyFields  = values("type", "partition", "paused").with(tree{
		"rollingUpdate": rollingFields, "canary": {"steps": {"pause": values("duration")}}, "blueGreen": values("autoPromotionEnabled"),
	})
	// failureFields are what decides whether a Job goes on when its pods fail.
	failureFields = values("backoffLimit", "backoffLimitPerIndex", "maxFailedIndexes", "managedBy", "podReplacementPolicy").with(tree{
		"podFailurePolicy": {"rules": values("action").with(tree{"onExitCodes": values("operator", "values"), "onPodConditions": conditionFields})},
	})
	jobFields = values("parallelism", "completions", "suspend").with(tree{"selector": selectorFields, "template": templateFields})
	refFields = values("apiVersion", "kind", "name")

	// workloadFields are those of kinds with a pod template, whose names mean the same in each.
	workloadFields = tree{
		"spec": values("replicas", "paused", "podManagementPolicy", "test", "parallelism", "completions", "suspend", "minReadySeconds").with(tree{
			"selector": selectorFields, "strategy": strategyFields, "updateStrategy": strategyFields, "template": templateFields,
			"jobTemplate": {"spec": jobFields}, "workloadRef": refFields, "triggers": values("type"),
			"volumeClaimTemplates": claimTemplateFields,
		}).with(failureFields),
		"status": values(
			"observedGeneration", "replicas", "readyReplicas", "availableReplicas", "updatedReplicas", "currentReplicas", "currentRevision", "updateRevision",
			"desiredNumberScheduled", "currentNumberScheduled", "numberMisscheduled", "numberReady", "updatedNumberScheduled",
			"succeeded", "failed", "failedIndexes", "startTime", "abort", "currentStepIndex",
		).with(tree{"active": number, "conditions": conditionFields, "pauseConditions": values("reason"), "uncountedTerminatedPods": values("succeeded", "failed")}),
	}
	// operatorFields are those of the kinds by which OpenShift's operators take placements.
	operatorFields = tree{
		"spec":   values("replicas").with(placementFields).with(tree{"config": placementFields, "nodePlacement": placementFields}),
		"status": values("observedGeneration", "installedCSV"),
	}
	// customFields are those that package kube reads of objects of any kind (internal/workload/workload.go, Direct, and
	// observe.go, elsewhere). A user who defines a kind chooses what its fields hold, so that no other is kept.
	customFields = tree{
		"spec":   {"replicas": number, "template": presence, "workloadRef": refFields},
		"status": {"observedGeneration": number},
	}

	hookFields        = values("name", "owner")
	machineSpecFields = tree{"taints": taintFields, "metadata": {"labels": texts}, "lifecycleHooks": {"preDrain": hookFields, "preTerminate": hookFields}}
)

// reductions are what is kept of an object beside its metadata, by kind. Of pods package kube keeps its own
// fields; those here serve folders. Of kinds that are not here, workloadFieldsOf and placements are kept.
var reductions = map[schema.GroupResource]tree{
	{Resource: "nodes"}: {
		"spec":   values("unschedulable").with(tree{"taints": taintFields}),
		"status": {"allocatable": amounts, "conditions": conditionFields},
	},
	{Resource: "pods"}: {
		"spec": podSpecFields,
		"status": values("phase", "startTime", "nominatedNodeName").with(tree{
			"conditions": values("type", "status", "reason"), "containerStatuses": statusesOf, "initContainerStatuses": statusesOf, "resources": requestFields, "allocatedResources": amounts,
			"extendedResourceClaimStatus": values("resourceClaimName").with(tree{"requestMappings": values("containerName", "requestName", "resourceName")}),
		}),
	},
	{Resource: "namespaces"}:                                  {},
	{Resource: "persistentvolumes"}:                           persistentVolumeFields,
	{Resource: "persistentvolumeclaims"}:                      claimFields,
	{Group: storageGroup, Resource: "storageclasses"}:         classFields,
	{Group: storageGroup, Resource: "csidrivers"}:             driverFields,
	{Group: storageGroup, Resource: "csinodes"}:               driversOfNode,
	{Group: storageGroup, Resource: "csistoragecapacities"}:   capacityFields,
	{Group: "scheduling.k8s.io", Resource: "priorityclasses"}: values("value", "globalDefault", "preemptionPolicy"),
	{Group: "policy", Resource: "poddisruptionbudgets"}: {
		"spec":   values("minAvailable", "maxUnavailable", "unhealthyPodEvictionPolicy").with(tree{"selector": labelSelector}),
		"status": values("observedGeneration", "disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods").with(tree{"disruptedPods": texts, "conditions": values("type", "status", "reason")}),
	},
	{Resource: "resourcequotas"}: {
		"spec":   values("scopes").with(tree{"scopeSelector": {"matchExpressions": values("scopeName", "operator", "values")}}),
		"status": {"hard": amounts, "used": amounts},
	},
	{Resource: "limitranges"}:                                            {"spec": {"limits": values("type").with(tree{"min": amounts, "max": amounts, "default": amounts, "defaultRequest": amounts, "maxLimitRequestRatio": amounts})}},
	{Group: karpenterGroup, Resource: "nodepools"}:                       poolFields,
	{Group: autoscalingGroup, Resource: "machineautoscalers"}:            autoscalerFields,
	{Group: configGroup, Resource: "schedulers"}:                         schedulerFields,
	{Group: admissionGroup, Resource: "mutatingwebhookconfigurations"}:   webhookFields,
	{Group: admissionGroup, Resource: "validatingwebhookconfigurations"}: webhookFields,
	{Group: machineGroup, Resource: "machinesets"}: {
		"spec":   values("replicas").with(tree{"selector": labelSelector, "template": {"metadata": {"labels": texts}, "spec": machineSpecFields}}),
		"status": values("observedGeneration", "replicas", "readyReplicas", "availableReplicas", "authoritativeAPI"),
	},
	{Group: machineGroup, Resource: "machines"}: {
		"spec":   machineSpecFields,
		"status": values("phase", "errorMessage", "errorReason").with(tree{"nodeRef": values("name")}),
	},
	// Those that kubetaint has written, of which everything is its own.
	{Group: admissionGroup, Resource: policies}: {"spec": whole},
	{Group: admissionGroup, Resource: bindings}: {"spec": whole},
}

const (
	policies = "mutatingadmissionpolicies"
	bindings = "mutatingadmissionpolicybindings"
)

// templated are the groups of kinds with a pod template whose fields are known, with the kinds of each; none for all.
var templated = map[string][]string{
	"apps": nil, "batch": nil, "": {"replicationcontrollers"}, "apps.openshift.io": nil, "argoproj.io": {"rollouts"}, "apps.kruise.io": nil,
}

// workloadFieldsOf returns what is kept of a kind that has no reduction of its own, and false for one of which
// no more is known than of all objects.
func workloadFieldsOf(r schema.GroupResource) (fields tree, known bool) {
	if kinds, is := templated[r.Group]; is && (kinds == nil || slices.Contains(kinds, r.Resource)) {
		return workloadFields, true
	}
	for _, k := range workload.OpenShiftKinds() {
		if k.Resource().GroupResource() == r {
			return operatorFields, true
		}
	}
	return customFields, false
}

// custom reports whether no more is known of a kind than of all objects.
func custom(r schema.GroupResource) bool {
	_, reduced := reductions[r]
	_, known := workloadFieldsOf(r)
	return !reduced && !known && r != configMaps
}
