// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// Holder is who claims for a resource of this generation; one that has none yet
// is a new holder at each call.
func Holder(generation string) string {
	if generation == "" {
		return string(uuid.NewUUID())
	}
	return generation
}

// ClaimTaints notes which taints a resource wants on which nodes, so that a
// second one in the same run that wants the same is told at plan rather than at
// apply.
func (d *Data) ClaimTaints(holder string, desired planner.NodeTaints, nodes []*snapshot.Node, diags *diag.Diagnostics) {
	for _, name := range meant(desired.Target, nodes) {
		for _, id := range desired.Claim.IDs() {
			if d.Claims.Take("node/"+name+"/"+id.String(), holder) {
				continue
			}
			attribute := path.Root("taints")
			if slices.Contains(desired.Claim.Absent, id) {
				attribute = path.Root("absent_taints")
			}
			diags.AddAttributeError(attribute, fmt.Sprintf("Unable to claim taint %q on node %q twice", id, name),
				"Another resource in this configuration claims the same taint of the same node. A taint has one owner: remove it from one of them.")
			return
		}
	}
}

// ClaimLabels does the same for labels.
func (d *Data) ClaimLabels(holder string, desired planner.NodeLabels, nodes []*snapshot.Node, diags *diag.Diagnostics) {
	for _, name := range meant(desired.Target, nodes) {
		for _, key := range slices.Sorted(maps.Keys(desired.Claim.Labels)) {
			if !d.Claims.Take("label/"+name+"/"+key, holder) {
				diags.AddAttributeError(path.Root("labels"), fmt.Sprintf("Unable to claim label %q on node %q twice", key, name),
					"Another resource in this configuration claims the same label of the same node. A label has one owner: remove it from one of them.")
				return
			}
		}
	}
}

// ClaimSets does the same for the templates of MachineSets: taints at the attribute
// taints, and labels at the attribute labels.
func (d *Data) ClaimSets(holder string, target machineset.Target, taints []taint.ID, labels map[string]string, sets []machineset.Observed, diags *diag.Diagnostics) {
	for _, o := range sets {
		if !target.Matches(o.Set) {
			continue
		}
		for _, id := range taints {
			if !d.Claims.Take("machineset/"+o.Set.Key()+"/"+id.String(), holder) {
				diags.AddAttributeError(path.Root("taints"), fmt.Sprintf("Unable to claim taint %q of %s twice", id, o.Set.Title()),
					"Another resource in this configuration claims the same taint of the same MachineSet. A taint has one owner: remove it from one of them.")
				return
			}
		}
		for _, key := range slices.Sorted(maps.Keys(labels)) {
			if !d.Claims.Take("machineset/"+o.Set.Key()+"/label/"+key, holder) {
				diags.AddAttributeError(path.Root("labels"), fmt.Sprintf("Unable to claim label %q of %s twice", key, o.Set.Title()),
					"Another resource in this configuration claims the same label of the same MachineSet. A label has one owner: remove it from one of them.")
				return
			}
		}
	}
}

// ClaimPins does the same for labels that the template of a workload must
// require, at an attribute; false means that one is claimed twice.
func (d *Data) ClaimPins(holder string, ref workload.Ref, labels map[string]string, at path.Path, diags *diag.Diagnostics) bool {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if d.Claims.Take("pin/"+ref.Grouped()+"/"+key, holder) {
			continue
		}
		diags.AddAttributeError(at, fmt.Sprintf("Unable to require label %q in %s twice", key, ref.Title()),
			"Another resource in this configuration requires the same label in the node selector of the same workload. Such an entry has one owner: choose another label, or leave out pin in one of them.")
		return false
	}
	return true
}

// ClaimPolicy does the same for a MutatingAdmissionPolicy, whose name is at an attribute. A name that
// is not known yet ("") claims nothing.
func (d *Data) ClaimPolicy(holder, name string, at path.Path, diags *diag.Diagnostics) {
	if name == "" || d.Claims.Take("policy/"+name, holder) {
		return
	}
	diags.AddAttributeError(at, fmt.Sprintf("Unable to claim toleration policy %q twice", name),
		"Another resource in this configuration claims the policy of the same name. A policy has one owner: choose another name for one of them.")
}

// ClaimNamespaceTolerations does the same for the tolerations in a list of a namespace, at an
// attribute.
func (d *Data) ClaimNamespaceTolerations(holder, namespace string, claim toleration.Claim, at path.Path, diags *diag.Diagnostics) {
	for _, t := range claim.Tolerations {
		t.TolerationSeconds = nil
		if d.Claims.Take("namespace/"+namespace+"#"+claim.Path+"/"+taint.FormatToleration(t), holder) {
			continue
		}
		diags.AddAttributeError(at, fmt.Sprintf("Unable to claim toleration %q of namespace %q twice", taint.FormatToleration(t), namespace),
			"Another resource in this configuration claims the same toleration of the same namespace. A toleration has one owner: remove it from one of them.")
		return
	}
}

// meant names the nodes that a target means, those included that do not exist, in
// the same order in every run.
func meant(target planner.Target, nodes []*snapshot.Node) []string {
	if target.Selector == nil {
		return target.Named()
	}
	var names []string
	for _, n := range nodes {
		if target.Matches(n) {
			names = append(names, n.Name)
		}
	}
	slices.Sort(names)
	return names
}

// ClaimTolerations does the same for tolerations of a workload, at an attribute;
// false means that one is claimed twice.
func (d *Data) ClaimTolerations(holder string, ref workload.Ref, claimPath string, tolerations []corev1.Toleration, at path.Path, diags *diag.Diagnostics) bool {
	for _, t := range tolerations {
		t.TolerationSeconds = nil
		entry := "tolerations/" + ref.Grouped() + "#" + claimPath + "/" + taint.FormatToleration(t)
		if d.Claims.Take(entry, holder) {
			continue
		}
		diags.AddAttributeError(at, fmt.Sprintf("Unable to claim toleration %q of %s twice", taint.FormatToleration(t), ref.Title()),
			"Another resource in this configuration claims the same toleration of the same workload. A toleration has one owner: remove it from one of them.")
		return false
	}
	return true
}
