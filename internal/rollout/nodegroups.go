// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
)

// NodeGroups returns the node groups to which an autoscaler may add nodes for the Pending pods of a report. Without such
// pods nothing is read. What cannot be read is logged: plans and errors are as right without it.
func NodeGroups(ctx context.Context, cluster *kube.Cluster, report *eviction.Report) []string {
	groups, err := cluster.NodeGroupsFor(ctx, report.LeavesPending())
	if err != nil {
		logger(ctx).WarnContext(ctx, "the node groups of an autoscaler cannot be read", "error", err.Error())
	}
	return groups
}
