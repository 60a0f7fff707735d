// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// renames finds resources that one plan destroys and creates again with the same id, because
// they were renamed without a moved block.
//
// Terraform applies the destroy and the create in any order, and the apply of the one does
// not know of the other: entries would be missing in between, and workloads restart twice.
// Terraform plans both in one process, in any order as well, so that each is noted, and the
// one that comes second refuses.
//
// A replacement is no such case: Terraform plans no destroy for it together with the create.
type renames struct {
	// planned are creates and destroys, and kept the ids of resources that are not destroyed.
	planned, kept sync.Map
}

type planned struct {
	id      string
	destroy bool
}

// NoteCreate notes that the plan creates a resource with this id. The kind is that of the
// resource, such as node_taints.
func (d *Data) NoteCreate(kind, id string, diags *diag.Diagnostics) {
	d.renames.note(kind, id, false, diags)
}

// NoteDestroy notes the destroy of a resource where that is what is planned. The id is that
// which a create of the same configuration would get with the provider's owner, and none where
// that is not known.
func (d *Data) NoteDestroy(ctx context.Context, plan tfsdk.Plan, kind string, freshID func(ctx context.Context, owner string) string, diags *diag.Diagnostics) {
	id := freshID(ctx, d.Owner)
	if !plan.Raw.IsNull() {
		// Terraform plans a change before it plans a replacement. Beside that, the plan can
		// destroy an object with the same id that an earlier replacement has left deposed.
		d.renames.kept.Store(id, nil)
		return
	}
	if _, created := d.Created.Load(id); created {
		// With create_before_destroy, Terraform plans the destroy of the old object while it
		// applies, when the new one is there (internal/terraform/node_resource_destroy_deposed.go).
		return
	}
	d.renames.note(kind, id, true, diags)
}

func (r *renames) note(kind, id string, destroy bool, diags *diag.Diagnostics) {
	if _, kept := r.kept.Load(id); kept && !destroy || id == "" {
		return
	}
	r.planned.Store(planned{id, destroy}, nil)
	if _, both := r.planned.Load(planned{id, !destroy}); !both {
		return
	}
	diags.AddError(fmt.Sprintf("kubetaint_%s %q would be destroyed and created again: its entries would be missing in between", kind, id),
		"This plan destroys a resource and creates another one with the same id: the resource was renamed, or moved to another module or another key of for_each. "+
			"Add a moved block, and nothing is destroyed. Use the addresses of the two resources:\n\n"+
			strings.Join([]string{"moved {", "  from = " + "kubetaint_" + kind + ".OLD", "  to   = " + "kubetaint_" + kind + ".NEW", "}"}, "\n")+
			"\n\nIf count has shifted the resources, use for_each with names as keys, and a moved block for each.\n\n"+
			"To have the entries removed and added again, apply the removal alone first.")
}

// HandOver hands over the record of what machines of MachineSets kept, from an object that is
// destroyed to its replacement, which this process has created before: only the first can prove
// what it has written. A destroy that reaches machines removes from them what they kept, and
// hands over nothing.
func (d *Data) HandOver(ctx context.Context, target machineset.Target, desired machineset.Desired) error {
	created, _ := d.Created.Load(desired.Claim.Owner)
	to, replaced := created.(taint.Claim)
	if !replaced || !desired.Claim.Release || desired.Rollout.Strategy != machineset.TemplateOnly {
		return nil
	}
	return rollout.HandOver(ctx, d.Cluster, target, desired.Claim, to)
}
