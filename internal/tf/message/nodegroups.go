// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
)

// NodeGroups returns the node groups and NodePools to which an autoscaler may add nodes for the Pending pods of a
// report. Without such pods nothing is read. What cannot be read is logged: the preview is as right without it.
func NodeGroups(ctx context.Context, cluster *kube.Cluster, report *eviction.Report) []string {
	if report == nil || report.Outcome().Unplaced.Max == 0 {
		return nil
	}
	groups, err := cluster.NodeGroups(ctx)
	if err != nil {
		tflog.Warn(ctx, "the node groups of an autoscaler cannot be read", map[string]any{"error": err.Error()})
	}
	return groups
}

// autoscaled names the nodes that an autoscaler may add, with their node groups where these are known.
func autoscaled(groups []string) []string {
	if len(groups) == 0 {
		return []string{"nodes of an autoscaler"}
	}
	return strings.Split("nodes of an autoscaler ("+Some(groups)+")", ", ")
}
