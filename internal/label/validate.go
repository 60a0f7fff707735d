// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package label

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// ValidateKey returns what is wrong with a key by the rules of the API server
// (k8s.io/apimachinery v0.37.2 pkg/apis/meta/v1/validation, ValidateLabelName).
func ValidateKey(key string) []string {
	var out []string
	for _, msg := range validation.IsQualifiedName(key) {
		out = append(out, fmt.Sprintf("%q is not a qualified name: %s", key, msg))
	}
	return out
}

// ValidateValue returns what is wrong with a value.
func ValidateValue(value string) []string {
	var out []string
	for _, msg := range validation.IsValidLabelValue(value) {
		out = append(out, fmt.Sprintf("%q is not a label value: %s", value, msg))
	}
	return out
}

// controlPlane are the keys by which Kubernetes and OpenShift know the nodes of
// the control plane.
var controlPlane = []string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}

// Reserved reports whether a key belongs to a component of the cluster and must not
// be written, and why. Keys under kubernetes.io and k8s.io are Kubernetes' own:
// the kubelet and the cloud controller set hostname, zone, instance type and the
// like, and put them back. Free among them are those that are there for
// administrators: node-restriction.kubernetes.io and what ends with it, which the
// kubelet may not set (k8s.io/kubernetes v1.37.1
// plugin/pkg/admission/noderestriction/admission.go, getForbiddenLabels), the
// roles that kubectl shows, and the one key of load balancers.
func Reserved(key string) (string, bool) {
	if slices.Contains(controlPlane, key) {
		return "it makes the node one of the control plane, and the installer of the cluster sets it", true
	}
	prefix, _, found := strings.Cut(key, "/")
	free := !found || key == "node.kubernetes.io/exclude-from-external-load-balancers" || within(prefix, "node-restriction.kubernetes.io") || prefix == "node-role.kubernetes.io"
	if !free && (within(prefix, "kubernetes.io") || within(prefix, "k8s.io")) {
		return "keys under kubernetes.io and k8s.io are reserved for Kubernetes: its components set and restore them", true
	}
	return "", false
}

// Ownable reports whether a resource can own a label with this key: the API server accepts it, and no
// component of the cluster sets it.
func Ownable(key string) bool {
	_, taken := Reserved(key)
	return !taken && len(ValidateKey(key)) == 0
}

// within reports whether a prefix is a domain or lies below it.
func within(prefix, domain string) bool {
	return prefix == domain || strings.HasSuffix(prefix, "."+domain)
}
