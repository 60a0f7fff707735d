// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Ordered returns the plan of a snapshot, and the snapshot that it is made of: a newer one where evicted pods need more
// of the cluster than the snapshot has. Errors: those of the API server.
func Ordered(ctx context.Context, cluster *kube.Cluster, s *snapshot.Snapshot, order func(*snapshot.Snapshot) planner.Plan) (planner.Plan, *snapshot.Snapshot, error) {
	var plan planner.Plan
	s, err := cluster.Judge(ctx, s, func(s *snapshot.Snapshot) kube.Needs {
		plan = order(s)
		_, report := plan.Impact()
		return kube.Needs{Evicted: report.Judged(), Bound: plan.Bound(), Recreates: plan.Recreates(), Places: plan.Places()}
	})
	return plan, s, err
}
