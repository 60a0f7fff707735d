// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// RefuseReserved adds an error for each taint of a set that belongs to a
// controller. Values that are not known yet are left out.
func RefuseReserved(attribute string, set types.Set, diags *diag.Diagnostics) {
	for _, e := range entries(attribute, set) {
		if why, reserved := taint.Reserved(e.id, e.value); reserved {
			diags.AddAttributeError(e.at.AtName("key"), fmt.Sprintf("Unable to manage the reserved taint %q", e.id),
				"A controller owns this taint: "+why+". Choose a key of your own. To see what it would do, use data.kubetaint_eviction_preview.")
		}
	}
}

// WarnSystemKeys adds a warning for each taint of a set whose key Kubernetes
// keeps for itself. The place of the taints is in the summary, such as: node "a".
func WarnSystemKeys(attribute, where string, set types.Set, diags *diag.Diagnostics) {
	for _, e := range entries(attribute, set) {
		if taint.SystemKey(e.id) {
			diags.AddAttributeWarning(e.at, fmt.Sprintf("Taint %q of %s uses a key reserved for Kubernetes", e.id, where),
				"Keys that begin with node.kubernetes.io/ are reserved for Kubernetes. A later release may give this one a meaning: use a key of your own domain.")
		}
	}
}

// entry is one object of a set, with its place.
type entry struct {
	id    taint.ID
	value string
	at    path.Path
}

// entries returns the objects of a set whose identity is known.
func entries(attribute string, set types.Set) []entry {
	var out []entry
	for _, element := range set.Elements() {
		object, ok := element.(types.Object)
		if !ok || object.IsUnknown() || object.IsNull() {
			continue
		}
		key, keyKnown := text(object.Attributes()["key"])
		effect, effectKnown := text(object.Attributes()["effect"])
		if !keyKnown || !effectKnown {
			continue
		}
		value, valueKnown := text(object.Attributes()["value"])
		if _, absent := object.Attributes()["value"]; absent && !valueKnown {
			// Whether os:NoSchedule is the reserved one is decided by the value.
			value = "unknown"
		}
		out = append(out, entry{
			id: taint.ID{Key: key, Effect: corev1.TaintEffect(effect)}, value: value,
			at: path.Root(attribute).AtSetValue(element),
		})
	}
	return out
}

func text(v attr.Value) (string, bool) {
	s, ok := v.(types.String)
	return s.ValueString(), ok && !s.IsUnknown()
}
