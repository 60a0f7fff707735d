// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/resourcevalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
)

var (
	_ resource.ResourceWithConfigure        = (*nodeTaints)(nil)
	_ resource.ResourceWithConfigValidators = (*nodeTaints)(nil)
	_ resource.ResourceWithValidateConfig   = (*nodeTaints)(nil)
	_ resource.ResourceWithModifyPlan       = (*nodeTaints)(nil)
	_ resource.ResourceWithImportState      = (*nodeTaints)(nil)
	_ resource.ResourceWithIdentity         = (*nodeTaints)(nil)
	_ resource.ResourceWithMoveState        = (*nodeTaints)(nil)
)

// name is that of the resource.
const name = "node_taints"

type nodeTaints struct {
	managed.Skeleton[model, planner.NodeTaints, []*snapshot.Node, taint.ID]
}

// NewResource returns the resource.
func NewResource() resource.Resource { return newNodeTaints() }

// newNodeTaints returns the resource, which is the list resource as well. Its identity changes with its taints.
func newNodeTaints() *nodeTaints {
	r := &nodeTaints{}
	r.Type, r.Name, r.IdentityChanges = r, name, true
	return r
}

// ConfigValidators reports which attributes go together.
func (r *nodeTaints) ConfigValidators(context.Context) []resource.ConfigValidator {
	return []resource.ConfigValidator{
		resourcevalidator.ExactlyOneOf(path.MatchRoot("node_name"), path.MatchRoot("node_selector")),
		resourcevalidator.AtLeastOneOf(path.MatchRoot("taints"), path.MatchRoot("absent_taints")),
	}
}
