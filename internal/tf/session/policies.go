// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"context"
	"errors"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
)

// TryPolicy has the API server check a policy that is claimed, without making it. What
// retires is decided at apply, by the taints that stand then. Errors: *admission.Conflict,
// those of kube.Cluster.TryPolicy.
func (d *Data) TryPolicy(ctx context.Context, seen *admission.Observed, claim admission.Claim) error {
	plan, err := claim.Plan(seen, nil, true)
	if err != nil {
		return err
	}
	if claim.Generation == "" {
		claim.Generation = "planned"
	}
	objects, err := plan.Policy.Objects(claim.Mark)
	if err != nil {
		return err
	}
	if d.Recorded != "" {
		return nil
	}
	if err := d.Cluster.TryPolicy(ctx, seen, objects); err != nil && !errors.Is(err, kube.ErrConflict) {
		return err
	}
	return nil
}
