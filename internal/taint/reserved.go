// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

const systemPrefix = "node.kubernetes.io/"

// reserved maps the keys that belong to a controller to what that controller
// does with them. Writing or removing one of them starts a conflict that the
// controller wins, or starts an unwanted fail-over.
var reserved = map[string]string{
	corev1.TaintNodeNotReady:                         "the node lifecycle controller sets and removes it by the node's Ready condition",
	corev1.TaintNodeUnreachable:                      "the node lifecycle controller sets and removes it by the node's Ready condition",
	corev1.TaintNodeUnschedulable:                    "it follows spec.unschedulable: use kubectl cordon and uncordon",
	corev1.TaintNodeMemoryPressure:                   "the node lifecycle controller sets and removes it by the node's conditions",
	corev1.TaintNodeDiskPressure:                     "the node lifecycle controller sets and removes it by the node's conditions",
	corev1.TaintNodePIDPressure:                      "the node lifecycle controller sets and removes it by the node's conditions",
	corev1.TaintNodeNetworkUnavailable:               "the node lifecycle controller sets and removes it by the node's conditions",
	corev1.TaintNodeOutOfService:                     "it force-deletes the pods of the node and detaches their volumes",
	"node.cloudprovider.kubernetes.io/uninitialized": "the cloud controller manager removes it when the node is initialized",
	"node.cloudprovider.kubernetes.io/shutdown":      "the cloud controller manager sets it while the instance is shut down",
	"ToBeDeletedByClusterAutoscaler":                 "the cluster autoscaler sets it on a node that it removes",
	"DeletionCandidateOfClusterAutoscaler":           "the cluster autoscaler sets it on a node that it may remove",
	"UpdateInProgress":                               "OpenShift's machine-config operator sets it while it updates a node",
	"node.cluster.x-k8s.io/uninitialized":            "Cluster API removes it when the node is initialized",
	"node.cluster.x-k8s.io/outdated-revision":        "Cluster API sets it on nodes of an outdated revision",
}

// Joining reports whether a taint keeps pods away from a node that has not joined the
// cluster wholly: it goes by itself when the node has.
func Joining(t corev1.Taint) bool {
	switch t.Key {
	case corev1.TaintNodeNotReady, "node.cloudprovider.kubernetes.io/uninitialized", "node.cluster.x-k8s.io/uninitialized":
		return true
	}
	return false
}

// Reserved reports whether a taint belongs to a controller and must be neither
// written nor removed, and why. Looking at one in a preview is always allowed.
func Reserved(id ID, value string) (string, bool) {
	if why, ok := reserved[id.Key]; ok {
		return why, true
	}
	if id.Key == "os" && id.Effect == corev1.TaintEffectNoSchedule && (value == "" || value == "Windows") {
		return "OpenShift's Windows machine-config operator puts os=Windows:NoSchedule on every Windows node", true
	}
	return "", false
}

// Ownable reports whether a resource can own a taint of this identity: the API server accepts
// it, and no controller sets or removes it.
func Ownable(id ID) bool {
	_, taken := reserved[id.Key]
	return !taken && len(Validate(corev1.Taint{Key: id.Key, Effect: id.Effect})) == 0
}

// SystemKey reports whether a key lies in the namespace that Kubernetes keeps for
// itself without being one of the reserved keys: such a taint is written, with
// a warning.
func SystemKey(id ID) bool {
	_, taken := reserved[id.Key]
	return !taken && strings.HasPrefix(id.Key, systemPrefix)
}
