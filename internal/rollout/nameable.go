// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// dedicatedNodes is in the ids of the resources of that type.
const dedicatedNodes = "/dedicated_nodes/"

// nameable reports whether the id of a resource can name a workload: by its name, or by a
// selector that matches it. An id can be guessed, and a mark with it on any other object would
// hold up the taints. A selector that asks for a label alone reads like a name: it counts as
// both, since a taint that does not wait evicts pods.
func nameable(id string, m kube.Marked) bool {
	_, target, found := strings.Cut(id, "/workload_tolerations/")
	if !found {
		// No other type but this one gives tolerations to workloads, and its id names nodes.
		return strings.Contains(id, dedicatedNodes)
	}
	if nameableAs(m.GroupedKind(), target, m, "/#") {
		return true
	}
	// Builds before there were groups in ids left them out. Where the kind is not known, a path is
	// there: the id of a known kind of the same name has none.
	return m.GroupedKind() != m.Kind && nameableAs(m.Kind, target, m, "#")
}

// Named returns the workload that the id of kubetaint_workload_tolerations names, and where its
// tolerations are. It returns false for a selector, another type, a path that is written out, and kinds
// that are not known.
func Named(id string) (ref workload.Ref, path []string, named bool) {
	_, target, _ := strings.Cut(id, "/workload_tolerations/")
	name, rest, _ := strings.Cut(target, "/")
	kind, known := workload.Lookup("", name)
	if !known || kind.Components {
		return ref, nil, false
	}
	ref = workload.Ref{APIVersion: kind.APIVersion, Kind: kind.Kind}
	if !kind.Cluster {
		ref.Namespace, rest, _ = strings.Cut(rest, "/")
	}
	ref.Name, _, _ = strings.Cut(rest, "/")
	return ref, kind.Path, len(validation.IsDNS1123Subdomain(ref.Name)) == 0
}

// nameableAs is the same with the kind in these words, where one of these signs ends the name.
func nameableAs(kind, target string, m kube.Marked, ends string) bool {
	target, same := strings.CutPrefix(target, strings.TrimSuffix(workload.Ref{Kind: kind, Namespace: m.Namespace}.String(), "/")+"/")
	if !same {
		return false
	}
	// A path or the entries follow. Keys of labels and of entries have slashes as well.
	for at, sign := range target {
		if !strings.ContainsRune(ends, sign) {
			continue
		}
		if target[:at] == m.Name {
			return true
		}
		if selector, err := labels.Parse(target[:at]); err == nil && !selector.Empty() && selector.Matches(labels.Set(m.Labels)) {
			return true
		}
	}
	return false
}
