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
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// EnforcePolicy makes a policy as a claim wants it, or deletes it. It returns the policy as
// it is then, nil where it is gone. Errors: *admission.Conflict, those of
// kube.Cluster.EditPolicy.
func EnforcePolicy(ctx context.Context, cluster *kube.Cluster, claim admission.Claim, comparison eviction.Comparison) (*admission.Observed, error) {
	return enforce(ctx, cluster, claim.Name, func(*admission.Observed) *admission.Claim { return &claim }, comparison)
}

// asItIs is the claim on a policy in which something retires, as it is. Those that another writer
// has changed are left to the resource that they belong to.
func asItIs(seen *admission.Observed) *admission.Claim {
	if seen == nil || !seen.InForce() || len(seen.Retiring) == 0 {
		return nil
	}
	return &admission.Claim{Policy: seen.Policy, Mark: seen.Mark}
}

// enforce makes a policy as it is claimed, by how it is then; a nil claim leaves it alone.
func enforce(ctx context.Context, cluster *kube.Cluster, name string, claimed func(*admission.Observed) *admission.Claim, comparison eviction.Comparison) (*admission.Observed, error) {
	return cluster.EditPolicy(ctx, name, func(seen *admission.Observed) (*admission.Objects, error) {
		claim := claimed(seen)
		if claim == nil {
			return nil, nil
		}
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
func Taints(nodes []*snapshot.Node) []corev1.Taint {
	var out []corev1.Taint
	for _, n := range nodes {
		out = append(out, n.Taints...)
	}
	return out
}
