// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// hasher replaces names by hashes. The key is random for each file and in none, so that names cannot be
// found out by trying. Kept are the names of namespaces of Kubernetes and OpenShift, and of objects in them
// but for pods and what is named after the cluster; keys of labels, numbers, and values of labels that mean the
// same in every cluster; taints and tolerations; and the fields that are readable. Of these, texts that have the name of a node are
// hashed. Every other text is hashed. Annotations that name owners, and what kubetaint has recorded, are left out.
type hasher struct {
	key   []byte
	known map[string]string
	// nodes are the names of nodes, and naming caches which texts have one of them.
	nodes  map[string]bool
	naming map[string]bool
	// sets are the claim templates of StatefulSets.
	sets map[setKey]bool
}

func newHasher() (*hasher, error) {
	h := &hasher{key: make([]byte, 32), known: map[string]string{}, nodes: map[string]bool{}, naming: map[string]bool{}, sets: map[setKey]bool{}}
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

// ofObject returns the name of an object as it is recorded. Names of pods are hashed in every namespace: pods of the
// control plane are named after their nodes.
func (h *hasher) ofObject(resource schema.GroupResource, metadata map[string]any, keep bool) string {
	name := text(metadata["name"])
	switch {
	case resource == namespaceResource.GroupResource():
		return h.namespace(name)
	case resource == podResource.GroupResource():
		if prefix, ordinal, numbered := snapshot.Ordinal(name); numbered && ofStatefulSet(metadata) {
			// The pods of a StatefulSet are created in the order of these numbers.
			return h.name(prefix) + "-" + strconv.Itoa(ordinal)
		}
		return h.name(name)
	case resource == claimResource:
		return h.claim(text(metadata["namespace"]), name)
	case keep:
		return h.kept(name)
	}
	return h.name(name)
}

// ofOwner returns the name in an owner reference as it is recorded: that of the object that it references.
func (h *hasher) ofOwner(owner map[string]any, keep bool) string {
	group, _, _ := strings.Cut(text(owner["apiVersion"]), "/")
	if core := group == "v1"; !keep || namedAfterCluster(group) || core && (owner["kind"] == "Node" || owner["kind"] == "Pod") {
		return h.name(text(owner["name"]))
	}
	return h.kept(text(owner["name"]))
}

// ofStatefulSet reports whether a StatefulSet controls an object.
func ofStatefulSet(metadata map[string]any) bool {
	owners, _ := metadata["ownerReferences"].([]any)
	return slices.ContainsFunc(owners, func(one any) bool {
		owner, _ := one.(map[string]any)
		return owner["controller"] == true && snapshot.OwnerOf(text(owner["apiVersion"]), text(owner["kind"]), "").StatefulSet()
	})
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

// kept returns a text that stays readable, and the hash of one that has the name of a node.
func (h *hasher) kept(text string) string {
	is, known := h.naming[text]
	if !known {
		for node := range h.nodes {
			if is = hasWord(text, node); is {
				break
			}
		}
		h.naming[text] = is
	}
	if is {
		return h.name(text)
	}
	return text
}

// node remembers the name of a node, with and without its domain: names of objects have either.
func (h *hasher) node(name string) {
	short, _, _ := strings.Cut(name, ".")
	for _, one := range []string{name, short} {
		if one != "" && !h.nodes[one] {
			h.nodes[one] = true
			clear(h.naming)
		}
	}
}

// namesOf remembers the names of nodes and claim templates that an object has.
func (h *hasher) namesOf(resource schema.GroupResource, object map[string]any) {
	switch metadata, _ := object["metadata"].(map[string]any); resource {
	case nodeResource.GroupResource():
		labels, _ := metadata["labels"].(map[string]any)
		h.node(text(metadata["name"]))
		h.node(text(labels[corev1.LabelHostname]))
	case podResource.GroupResource():
		// The object of a node may be deleted before its pods.
		spec, _ := object["spec"].(map[string]any)
		status, _ := object["status"].(map[string]any)
		h.node(text(spec["nodeName"]))
		h.node(text(status["nominatedNodeName"]))
		h.setOf(metadata, spec)
	}
}

// hasWord reports whether a text has a word with neither a letter nor a digit beside it.
func hasWord(text, word string) bool {
	for at := 0; ; at++ {
		next := strings.Index(text[at:], word)
		if next < 0 {
			return false
		}
		at += next
		end := at + len(word)
		if (at == 0 || !alphanumeric(text[at-1])) && (end == len(text) || !alphanumeric(text[end])) {
			return true
		}
	}
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
