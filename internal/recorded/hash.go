// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// words are the labels, or beginnings of them, whose values are the same words in every cluster.
var words = []string{
	"topology.kubernetes.io/", "node.kubernetes.io/", "node-role.kubernetes.io/", "pod-security.kubernetes.io/", "failure-domain.beta.kubernetes.io/",
	"kubernetes.io/os", "kubernetes.io/arch", "beta.kubernetes.io/", "node.openshift.io/os_id",
	"machine.openshift.io/cluster-api-machine-role", "machine.openshift.io/cluster-api-machine-type",
}

// wellKnown reports whether values of a label are the same words in every cluster.
func wellKnown(label string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return label == w || strings.HasSuffix(w, "/") && strings.HasPrefix(label, w) })
}

// value returns the value of a label as it is recorded. Numbers are kept: selectors compare them.
func (h *hasher) value(label, value string) string {
	_, err := strconv.ParseInt(value, 10, 64)
	switch {
	case label == corev1.LabelHostname:
		return h.name(value)
	case err == nil, value == "", value == "true", value == "false":
		return value
	case wellKnown(label):
		return h.kept(value)
	case label == corev1.LabelMetadataName:
		return h.namespace(value)
	}
	return h.name(value)
}

// pod returns the protobuf form of a pod with hashed names.
func (h *hasher) pod(encoded []byte) ([]byte, error) {
	var pod corev1.Pod
	if err := pod.Unmarshal(encoded); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(&pod)
	if err != nil {
		return nil, err
	}
	var content map[string]any
	if err := json.Unmarshal(raw, &content); err != nil {
		return nil, err
	}
	h.object(podResource.GroupResource(), content)
	if raw, err = json.Marshal(content); err != nil {
		return nil, err
	}
	pod = corev1.Pod{}
	if err := json.Unmarshal(raw, &pod); err != nil {
		return nil, err
	}
	return pod.Marshal()
}

// object hashes the names in an object.
func (h *hasher) object(resource schema.GroupResource, object map[string]any) {
	metadata, _ := object["metadata"].(map[string]any)
	namespace := text(metadata["namespace"])
	keep := systemNamespace(namespace) && !namedAfterCluster(resource.Group)
	h.namesOf(resource, object)
	metadata["name"] = h.ofObject(resource, metadata, keep)
	if namespace != "" {
		metadata["namespace"] = h.namespace(namespace)
	}
	h.labels(metadata["labels"])
	h.annotations(metadata)
	delete(metadata, "managedFields")
	owners, _ := metadata["ownerReferences"].([]any)
	for _, one := range owners {
		owner, _ := one.(map[string]any)
		owner["name"] = h.ofOwner(owner, keep)
	}
	if custom(resource) {
		// The way to a placement has names of its own.
		h.withoutPlacements(object)
	}
	within := scope{namespace, keep}
	for part, value := range object {
		switch {
		case part == "metadata", part == "apiVersion", part == "kind":
		case value == nil:
			delete(object, part)
		default:
			h.field(object, part, value, within)
		}
	}
}

// scope is where a value is: the namespace of its object, and whether names of objects are kept in it.
type scope struct {
	namespace string
	keep      bool
}

// withoutPlacements leaves of a custom object what is kept of all of them.
func (h *hasher) withoutPlacements(object map[string]any) {
	for _, part := range []string{"spec", "status"} {
		object[part], _ = customFields[part].of(object[part])
	}
}

const machineGroup = "machine.openshift.io"

// namedAfterCluster reports whether names of a group begin with that of the cluster, as those of Machines,
// MachineSets and MachineAutoscalers do.
func namedAfterCluster(group string) bool { return group == machineGroup || group == autoscalingGroup }

// readable are the fields whose texts stay: words of the API that are the same in every cluster, numbers,
// times, and keys of labels. All other texts are hashed.
var readable = []string{
	"apiVersion", "kind", "type", "status", "phase", "startTime", "protocol", "restartPolicy", "preemptionPolicy", "podManagementPolicy",
	"unhealthyPodEvictionPolicy", "whenUnsatisfiable", "nodeAffinityPolicy", "nodeTaintsPolicy", "operator", "authoritativeAPI",
	"minAvailable", "maxUnavailable", "maxSurge", "partition", "observedGeneration", "duration",
	"scopes", "scopeName", "key", "topologyKey", "matchLabelKeys", "mismatchLabelKeys", "resourceName",
	"action", "failedIndexes", "podReplacementPolicy",
	"accessModes", "volumeMode", "volumeBindingMode", "reclaimPolicy",
	"operations", "apiGroups", "apiVersions", "resources", "scope", "maximumVolumeSize",
}

// untouched are the fields that stay whole: amounts by the names of resources.
var untouched = []string{"requests", "allocatable", "limits", "overhead", "allocatedResources", "hard", "used", "capacity", "resources"}

// reasons are those that verdicts read: of pauses of an Argo Rollout (internal/workload/argo.go), of a resize that its node
// has no room for (k8s.io/component-helpers v0.37.2 resource/helpers.go, IsPodResizeInfeasible), and of a PodDisruptionBudget.
var reasons = []string{"CanaryPauseStep", "BlueGreenPause", "InconclusiveAnalysisRun", corev1.PodReasonInfeasible, policyv1.SyncFailedReason}

// profiles are those of OpenShift's scheduler (openshift/api config/v1/types_scheduling.go).
var profiles = []string{"LowNodeUtilization", "HighNodeUtilization", "NoScoring"}

// wildcards are the addresses of host ports that name no machine.
var wildcards = []string{"0.0.0.0", "::", "127.0.0.1", "::1"}

// hashed returns a value of a field with hashed names. Names of objects are kept where the namespace is one
// of the system's.
func (h *hasher) hashed(field string, value any, in scope) any {
	switch {
	case field == "tolerations", field == "taints":
		h.taints(value)
		return value
	case slices.Contains(untouched, field):
		return value
	}
	switch v := value.(type) {
	case string:
		return h.text(field, v, in)
	case []any:
		for i := range v {
			v[i] = h.hashed(field, v[i], in)
		}
	case map[string]any:
		for name, inner := range v {
			h.field(v, name, inner, in)
		}
	}
	return value
}

// taints hashes the values of taints or tolerations that have the name of a node: the same in both.
func (h *hasher) taints(list any) {
	all, _ := list.([]any)
	for _, one := range all {
		if fields, is := one.(map[string]any); is && fields["value"] != nil {
			fields["value"] = h.kept(text(fields["value"]))
		}
	}
}

// ofInTree reports whether a text is the provisioner of volumes that were made before CSI, or the driver that attaches them.
func ofInTree(value string) bool {
	if snapshot.InTreeDrivers[value] != "" {
		return true
	}
	for _, driver := range snapshot.InTreeDrivers {
		if driver == value {
			return true
		}
	}
	return false
}

// text returns a text of a field as it is recorded.
func (h *hasher) text(field, value string, in scope) string {
	switch {
	case field == "claimName":
		return h.claim(in.namespace, value)
	case in.keep && field == "installedCSV":
		return h.kept(value)
	case slices.Contains(readable, field), snapshot.SystemClass(value),
		field == "reason" && slices.Contains(reasons, value), field == "profile" && slices.Contains(profiles, value),
		field == "provisioner" && value == noProvisioner, ofInTree(value),
		field == "schedulerName" && value == corev1.DefaultSchedulerName,
		field == "managedBy" && value == batchv1.JobControllerName,
		field == "hostIP" && slices.Contains(wildcards, value):
		return value
	case field == "namespaces":
		return h.namespace(value)
	}
	return h.name(value)
}

// field hashes a field of an object.
func (h *hasher) field(object map[string]any, name string, value any, in scope) {
	values, isList := value.([]any)
	switch {
	case name == "values" && isList && object["key"] != nil:
		h.requirement(text(object["key"]), values)
	case name == "labels", name == "matchLabels":
		h.labels(value)
	case name == "nodeSelector", name == "selector":
		h.selector(value, in)
	case name == "claimRef":
		if claim, is := value.(map[string]any); is {
			namespace := text(claim["namespace"])
			claim["namespace"], claim["name"] = h.namespace(namespace), h.claim(namespace, text(claim["name"]))
		}
	case name == "disruptedPods":
		// How many there are is read, and not which.
		pods, _ := value.(map[string]any)
		hashed := map[string]any{}
		for pod, at := range pods {
			hashed[h.name(pod)] = at
		}
		object[name] = hashed
	default:
		object[name] = h.hashed(name, value, in)
	}
}

// selector hashes a selector: a map of labels, or one of matchLabels and matchExpressions.
func (h *hasher) selector(selector any, in scope) {
	h.labels(selector)
	all, _ := selector.(map[string]any)
	for name, value := range all {
		if _, is := value.(string); !is {
			h.field(all, name, value, in)
		}
	}
}

// requirement hashes the values of a requirement of a selector of labels or of fields.
func (h *hasher) requirement(key string, values []any) {
	for i := range values {
		if key == metav1.ObjectNameField {
			values[i] = h.name(text(values[i]))
		} else {
			values[i] = h.value(key, text(values[i]))
		}
	}
}

// labels hashes the values of labels, and of a selector that is a map of labels.
func (h *hasher) labels(labels any) {
	all, _ := labels.(map[string]any)
	for label, value := range all {
		if s, is := value.(string); is {
			all[label] = h.value(label, s)
		}
	}
}

// annotations keeps those that verdicts read and that name no object; of the others that are read, that they
// are there. Those by which tools mark their objects are left out, and so are records of kubetaint.
func (h *hasher) annotations(metadata map[string]any) {
	all, _ := metadata["annotations"].(map[string]any)
	for name, value := range all {
		content := text(value)
		switch name {
		case "machine.openshift.io/machine":
			namespace, machine, _ := strings.Cut(content, "/")
			all[name] = h.namespace(namespace) + "/" + h.name(machine)
		case "machine.openshift.io/cluster-api-autoscaler-node-group-min-size", "machine.openshift.io/cluster-api-autoscaler-node-group-max-size":
			if _, err := strconv.Atoi(content); err != nil {
				all[name] = h.name(content)
			}
		case "scheduler.alpha.kubernetes.io/defaultTolerations", "scheduler.alpha.kubernetes.io/tolerationsWhitelist":
			all[name] = h.tolerations(content)
		case snapshot.LimitRangerAnnotation:
			all[name] = h.defaulted(content)
		case "capacity.cluster-autoscaler.kubernetes.io/taints":
			// Taints: they stay as those of objects do.
			all[name] = h.kept(content)
		case "machineconfiguration.openshift.io/currentConfig", corev1.MirrorPodAnnotationKey, "machine.openshift.io/delete-machine",
			"machine.openshift.io/cluster-api-delete-machine", "machine.openshift.io/exclude-node-draining":
			all[name] = h.name(content)
		default:
			if hashed, is := h.storageAnnotation(name, content); is {
				all[name] = hashed
			} else {
				delete(all, name)
			}
		}
	}
}

// defaulted returns what LimitRanges have added to a pod, by the hashed names of its containers.
func (h *hasher) defaulted(content string) string {
	all := snapshot.ParseDefaulted(content)
	for i := range all {
		all[i].Container = h.name(all[i].Container)
		for _, names := range [][]corev1.ResourceName{all[i].Requests, all[i].Limits} {
			for j, name := range names {
				if len(validation.IsQualifiedName(string(name))) > 0 {
					names[j] = corev1.ResourceName(h.name(string(name)))
				}
			}
		}
	}
	return snapshot.FormatDefaulted(all)
}

// tolerations returns a list of tolerations in JSON as those of pods are recorded, and the hash of a text that is none.
func (h *hasher) tolerations(content string) string {
	var list []corev1.Toleration
	if json.Unmarshal([]byte(content), &list) != nil {
		return h.name(content)
	}
	for i := range list {
		list[i].Value = h.kept(list[i].Value)
	}
	raw, err := json.Marshal(list)
	if err != nil {
		return h.name(content)
	}
	return string(raw)
}

func text(value any) string {
	s, _ := value.(string)
	return s
}
