// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Unmodelled returns what of the cluster a message about a report names: the node groups to which an autoscaler may add nodes
// for its Pending pods, and the webhooks that are called for new pods. Without such pods nothing is read. What cannot be
// read is logged: plans and errors are as right without it.
func Unmodelled(ctx context.Context, cluster *kube.Cluster, report *eviction.Report) snapshot.Unmodelled {
	out, err := cluster.Unmodelled(ctx, report.LeavesPending(), report.Replaced())
	if err != nil {
		logger(ctx).WarnContext(ctx, "the node groups of an autoscaler or the admission webhooks cannot be read", "error", err.Error())
	}
	return out
}
