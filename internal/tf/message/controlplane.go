// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// WarnControlPlane points out control-plane nodes that get a NoSchedule taint and lack the
// taint of control-plane nodes. Others are what the resources do that were planned before.
func WarnControlPlane(plan planner.NodePlan, others *snapshot.Others, diags *diag.Diagnostics) {
	nodes := plan.MissingControlPlaneTaint(others)
	if len(nodes) == 0 {
		return
	}
	diags.AddAttributeWarning(path.Root("taints"), CountVerb(len(nodes), "control-plane node gets NoSchedule and lacks", "control-plane nodes get NoSchedule and lack")+" the control-plane taint: "+Some(nodes),
		"OpenShift documents that a control-plane node with a NoSchedule taint must have node-role.kubernetes.io/master:NoSchedule as well: pods of the platform tolerate that one, and might not tolerate this one. "+
			"Let the Scheduler named \"cluster\" set it (mastersSchedulable: false), or use this taint on worker nodes only.")
}
