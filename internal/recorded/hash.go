// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// hasher replaces names by hashes. The key is random for each file and in none, so that names cannot be
// found out by trying. Kept are the names of namespaces of Kubernetes and OpenShift, and of objects in them
// but for Machines; keys of labels, numbers, and values of labels that mean the same in every cluster; taints
// and tolerations. Annotations that name owners, and what kubetaint has recorded, are left out.
type hasher struct {
	key   []byte
	known map[string]string
}

func newHasher() (*hasher, error) {
	h := &hasher{key: make([]byte, 32), known: map[string]string{}}
	_, err := rand.Read(h.key)
	return h, err
}

// name returns the hash of a name: letters and digits, as names and values of labels are.
func (h *hasher) name(text string) string {
	if text == "" {
		return ""
	}
	if kept, is := h.known[text]; is {
		return kept
	}
	mac := hmac.New(sha256.New, h.key)
	_, _ = mac.Write([]byte(text)) // It returns no error.
	const letters = "abcdefghijklmnopqrstuvwxyz234567"
	out := []byte("h")
	for _, b := range mac.Sum(nil)[:15] {
		out = append(out, letters[b&31])
	}
	h.known[text] = string(out)
	return string(out)
}

// systemNamespace reports whether a namespace is one of Kubernetes or of OpenShift.
func systemNamespace(name string) bool {
	return strings.HasPrefix(name, "kube-") || strings.HasPrefix(name, "openshift-") || name == "openshift"
}

func (h *hasher) namespace(name string) string {
	if systemNamespace(name) || name == "default" {
		return name
	}
	return h.name(name)
}

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
	if _, err := strconv.ParseInt(value, 10, 64); err == nil || value == "" || value == "true" || value == "false" || wellKnown(label) {
		return value
	}
	if label == corev1.LabelMetadataName {
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
	// Names of Machines begin with that of the cluster.
	keep := systemNamespace(namespace) && resource.Group != machineGroup
	switch {
	case resource == (schema.GroupResource{Resource: "namespaces"}):
		metadata["name"] = h.namespace(text(metadata["name"]))
	case !keep:
		metadata["name"] = h.name(text(metadata["name"]))
	}
	if namespace != "" {
		metadata["namespace"] = h.namespace(namespace)
	}
	h.labels(metadata["labels"])
	h.annotations(metadata)
	delete(metadata, "managedFields")
	owners, _ := metadata["ownerReferences"].([]any)
	for _, one := range owners {
		owner, _ := one.(map[string]any)
		if !keep || owner["kind"] == "Node" {
			owner["name"] = h.name(text(owner["name"]))
		}
	}
	for _, part := range []string{"spec", "status"} {
		h.walk(object[part], keep)
	}
}

const machineGroup = "machine.openshift.io"

// walk hashes the names in a part of an object. Those of objects of its namespace are kept where the
// namespace is one of the system's.
func (h *hasher) walk(part any, keep bool) {
	switch v := part.(type) {
	case []any:
		for _, one := range v {
			h.walk(one, keep)
		}
	case map[string]any:
		if values, is := v["values"].([]any); is && v["key"] != nil {
			h.requirement(text(v["key"]), values)
		}
		for name, value := range v {
			h.field(v, name, value, keep)
		}
	}
}

func (h *hasher) field(object map[string]any, name string, value any, keep bool) {
	switch name {
	case "nodeName", "volumeName":
		object[name] = h.name(text(value))
	case "claimName":
		if !keep {
			object[name] = h.name(text(value))
		}
	case "labels", "matchLabels":
		h.labels(value)
	case "nodeSelector", "selector":
		h.labels(value)
		h.walk(value, keep)
	case "namespaces":
		list, _ := value.([]any)
		for i := range list {
			list[i] = h.namespace(text(list[i]))
		}
	case "nodeRef", "workloadRef":
		if ref, is := value.(map[string]any); is {
			ref["name"] = h.name(text(ref["name"]))
		}
	case "disruptedPods":
		// How many there are is read, and not which.
		pods, _ := value.(map[string]any)
		hashed := map[string]any{}
		for pod, at := range pods {
			hashed[h.name(pod)] = at
		}
		object[name] = hashed
	case "errorMessage", "lifecycleHooks":
		delete(object, name)
	case "tolerations", "taints":
	default:
		h.walk(value, keep)
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

// annotations keeps those that name no object.
func (h *hasher) annotations(metadata map[string]any) {
	all, _ := metadata["annotations"].(map[string]any)
	for name := range all {
		switch {
		case name == "machine.openshift.io/machine":
			namespace, machine, _ := strings.Cut(text(all[name]), "/")
			all[name] = h.namespace(namespace) + "/" + h.name(machine)
		case strings.HasPrefix(name, ownAnnotations), strings.HasPrefix(name, "argocd"), strings.HasPrefix(name, "meta.helm"), strings.Contains(name, "fluxcd"),
			name == "autoscaling.openshift.io/machineautoscaler":
			delete(all, name)
		}
	}
}

func text(value any) string {
	s, _ := value.(string)
	return s
}
