// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// ValidateConfig refuses reserved taints and taints that are wanted both ways.
// Values that are not known yet are looked at again at plan and at apply.
func (r *nodeTaints) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	for _, e := range entries("taints", config.Taints) {
		e.refuseReserved(&resp.Diagnostics)
		if taint.SystemKey(e.id) {
			resp.Diagnostics.AddAttributeWarning(e.at, fmt.Sprintf("Taint %q lies in Kubernetes' own namespace", e.id),
				"Keys that begin with node.kubernetes.io/ are kept for Kubernetes. A later release may give this one a meaning; use a key of your own domain.")
		}
	}
	for _, e := range entries("absent_taints", config.AbsentTaints) {
		e.refuseReserved(&resp.Diagnostics)
	}
	fw.RefuseOverlap(config.Taints, config.AbsentTaints, path.Root("absent_taints"), &resp.Diagnostics)
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

func (e entry) refuseReserved(diags *diag.Diagnostics) {
	if why, reserved := taint.Reserved(e.id, e.value); reserved {
		diags.AddAttributeError(e.at.AtName("key"), fmt.Sprintf("Unable to manage the reserved taint %q", e.id),
			"This taint belongs to a controller: "+why+". It can be looked at in kubetaint_eviction_preview. Choose a key of your own.")
	}
}
