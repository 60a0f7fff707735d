// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// NewLinks returns the known ids in the first of these values of tolerated_by that the others do not have. Workloads of
// the others may have been deleted since.
func NewLinks(toleratedBy []types.Set) []string {
	var out []string
	for _, id := range toleratedBy[0].Elements() {
		had := slices.ContainsFunc(toleratedBy[1:], func(before types.Set) bool { return slices.ContainsFunc(before.Elements(), id.Equal) })
		if s, is := id.(types.String); is && !s.IsUnknown() && !s.IsNull() && !had {
			out = append(out, s.ValueString())
		}
	}
	return out
}

// Linking is what WarnLinks is asked about: the ids that a resource names for the first time, what it
// remembers of resources, and which taints it writes to which place.
type Linking struct {
	IDs    []string
	Known  []record.Seal
	Place  string
	Taints []corev1.Taint
}

// WarnLinks warns of ids that neither a resource of this run has nor a record of the cluster, such as
// after a typing error: taints that are linked to them wait for no pod. Where the cluster cannot be
// asked, nothing is said.
func (d *Data) WarnLinks(ctx context.Context, l Linking, diags *diag.Diagnostics) {
	for _, id := range l.IDs {
		if d.walked(id) || slices.ContainsFunc(l.Known, func(seal record.Seal) bool { return seal.Resource == id }) || d.recorded(ctx, id, l.Taints) {
			continue
		}
		diags.AddAttributeWarning(path.Root("tolerated_by"), fmt.Sprintf("Taints of %s wait for no pod that %q is to protect: no resource has this id", l.Place, id),
			"tolerated_by has the id, but no resource of this plan does, and nothing in the cluster has an ownership record of it. "+
				"Taints with the effect NoExecute evict the pods that do not tolerate them yet. If the id is misspelled, correct it. "+tfschema.LinkForm+
				"\n\nIf another configuration or provider block manages the tolerations, apply them before these taints.")
	}
}

// walked reports whether a resource of this process has told of the id. Linked ones are walked before.
func (d *Data) walked(id string) bool {
	if _, told := d.Planned.Of(id); told || d.Policies.Has(id) || d.Keys.has(id) {
		return true
	}
	_, created := d.renames.planned.Load(planned{id, false})
	return created
}

// recorded reports whether the cluster has a record of the id, or may have one. Resources that do not
// change are not walked by an apply, and those whose tolerations foreign ones cover have no record: a
// workload that tolerates the taints so is taken for one of these. What records dedicated nodes and
// namespaces have is not asked.
func (d *Data) recorded(ctx context.Context, id string, taints []corev1.Taint) bool {
	if !tfschema.LinkIDs.MatchString(id) {
		return false
	}
	if name, is := admission.NameOf(id); is {
		seen, err := d.Cluster.Policy(ctx, name)
		return err != nil || seen != nil && (seen.Err != nil || seen.Owner == id)
	}
	ref, list, named := rollout.Named(id)
	if !named {
		return true
	}
	marked, err := d.Cluster.MarkedAnywhere(ctx)
	if err != nil || slices.ContainsFunc(marked, func(m kube.Marked) bool {
		return slices.ContainsFunc(m.Record, func(mark toleration.Mark) bool { return mark.Owner == id })
	}) {
		return true
	}
	w, err := d.Cluster.Workload(ctx, ref, list)
	if err != nil {
		return !kube.Gone(err)
	}
	foreign := toleration.Unmarked(w.Record, w.Tolerations, w.ClaimPath())
	return len(taints) > 0 && !slices.ContainsFunc(taints, func(t corev1.Taint) bool { return taint.FirstMatch(foreign, t, true) < 0 })
}
