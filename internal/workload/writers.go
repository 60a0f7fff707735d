// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workload

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
)

// FieldManager is the name under which the API server records the writes of
// this provider: the part of its user agent before the slash (k8s.io/apiserver
// v0.37.1 pkg/endpoints/handlers/create.go, managerOrUserAgent).
const FieldManager = "terraform-provider-kubetaint"

// tools maps a label or annotation to the tool that sets it on what it manages.
var tools = []struct{ key, value, tool string }{
	{"app.kubernetes.io/managed-by", "Helm", "Helm"},
	{"meta.helm.sh/release-name", "", "Helm"},
	{"argocd.argoproj.io/tracking-id", "", "Argo CD"},
	{"argocd.argoproj.io/instance", "", "Argo CD"},
	{"kustomize.toolkit.fluxcd.io/name", "", "Flux"},
	{"helm.toolkit.fluxcd.io/name", "", "Flux"},
	{"olm.owner", "", "the Operator Lifecycle Manager"},
}

// managers names field managers as a reader knows them. Helm calls itself by the
// name of its binary (pkg/kube/client.go, getManagedFieldsManager), and so does
// what it is built into; Argo CD by a name of its own, or by its user agent in
// old releases and where it replaces; hashicorp/kubernetes by its user agent, and
// Terraform where it applies; kubectl by k8s.io/kubectl v0.37.1
// pkg/cmd/apply/apply.go.
var managers = map[string]string{
	"helm":                          "Helm",
	"argocd-controller":             "Argo CD",
	"argocd-application-controller": "Argo CD",
	"kustomize-controller":          "Flux",
	"helm-controller":               "Flux",
	"HashiCorp":                     "hashicorp/kubernetes",
	"Terraform":                     "hashicorp/kubernetes",
	"kubectl-client-side-apply":     "kubectl apply",
	"kubectl":                       "kubectl apply --server-side",
}

// byHand are field managers of commands that a person gives once: nothing of
// theirs is written again by itself.
var byHand = []string{"kubectl-create", "kubectl-edit", "kubectl-patch"}

// writers names who else writes the list at the path, and what keeps the whole
// object as it wants it: by labels and annotations, and by managedFields.
func writers(object *unstructured.Unstructured, path []string) []string {
	out := Tools(object, path)
	for _, entry := range object.GetManagedFields() {
		if _, known := toolOf(entry); known || entry.Manager == FieldManager || hand(entry) || !owns(entry.FieldsV1, path) || slices.Contains(out, entry.Manager) {
			continue
		}
		out = append(out, printable.Line(entry.Manager))
	}
	slices.Sort(out)
	return out
}

// Tools names the known tools that write the field at a path, or that keep the
// whole object as they want it.
func Tools(object *unstructured.Unstructured, path []string) []string {
	var out []string
	add := func(name string) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	labels, annotations := object.GetLabels(), object.GetAnnotations()
	for _, t := range tools {
		for _, set := range []map[string]string{labels, annotations} {
			if value, there := set[t.key]; there && (t.value == "" || value == t.value) {
				add(t.tool)
			}
		}
	}
	for _, entry := range object.GetManagedFields() {
		if name, known := toolOf(entry); known && !hand(entry) && owns(entry.FieldsV1, path) {
			add(name)
		}
	}
	slices.Sort(out)
	return out
}

// toolOf names the tool behind a field manager.
func toolOf(entry metav1.ManagedFieldsEntry) (string, bool) {
	if strings.HasPrefix(entry.Manager, "terraform-provider-helm_") {
		return "Helm", true
	}
	name, known := managers[entry.Manager]
	return name, known
}

// hand reports that a person wrote by a command that is given once: kubectl scale
// among them, which has no name of its own.
func hand(entry metav1.ManagedFieldsEntry) bool {
	return slices.Contains(byHand, entry.Manager) || entry.Manager == "kubectl" && entry.Subresource == "scale"
}

// owns reports whether managed fields hold the field at a path, an object on the
// way to it alone excepted. An empty name at the end means that object itself.
func owns(fields *metav1.FieldsV1, path []string) bool {
	if fields == nil {
		return false
	}
	var tree map[string]json.RawMessage
	raw := fields.GetRawBytes()
	for _, name := range path {
		if json.Unmarshal(raw, &tree) != nil {
			return false
		}
		key := "f:" + name
		if name == "" {
			key = "."
		}
		next, there := tree[key]
		if !there {
			return false
		}
		raw, tree = next, nil
	}
	return true
}

// ownsWhole reports whether managed fields hold an object as a whole: one of which the API server
// does not tell the fields apart, as it is of label selectors.
func ownsWhole(fields *metav1.FieldsV1, path []string) bool {
	if fields == nil {
		return false
	}
	raw := json.RawMessage(fields.GetRawBytes())
	for i, name := range path {
		var tree map[string]json.RawMessage
		if json.Unmarshal(raw, &tree) != nil {
			return false
		}
		next, there := tree["f:"+name]
		if !there {
			return i > 0 && len(tree) == 0
		}
		raw = next
	}
	return string(raw) == "{}"
}

// JoinPath writes a path with dots.
func JoinPath(path []string) string {
	return strings.Join(path, ".")
}
