// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
)

// EnforcePolicy makes a policy as a claim wants it, or deletes it. It returns the policy as
// it is then, nil where it is gone. Errors: *admission.Conflict, those of
// kube.Cluster.EditPolicy.
func EnforcePolicy(ctx context.Context, cluster *kube.Cluster, claim admission.Claim, comparison eviction.Comparison) (*admission.Observed, error) {
	return cluster.EditPolicy(ctx, claim.Name, func(seen *admission.Observed) (*admission.Objects, error) {
		live, err := liveTaints(ctx, cluster, seen)
		if err != nil {
			return nil, err
		}
		plan, err := claim.Plan(seen, live, comparison != eviction.ComparisonOff)
		if err != nil || !plan.Changed {
			return nil, err
		}
		if plan.Delete {
			return &admission.Objects{}, nil
		}
		objects, err := plan.Policy.Objects(claim.Mark)
		return &objects, err
	})
}

// liveTaints are those of all nodes, where there is a policy that may give something for
// their sake. Without the right to list nodes nothing is kept.
func liveTaints(ctx context.Context, cluster *kube.Cluster, seen *admission.Observed) ([]corev1.Taint, error) {
	if seen == nil {
		return nil, nil
	}
	nodes, err := cluster.Nodes(ctx)
	if errors.Is(err, kube.ErrForbidden) {
		return nil, nil
	}
	return Taints(nodes), err
}

// Taints are those of all these nodes.
func Taints(nodes []*eviction.Node) []corev1.Taint {
	var out []corev1.Taint
	for _, n := range nodes {
		out = append(out, n.Taints...)
	}
	return out
}
