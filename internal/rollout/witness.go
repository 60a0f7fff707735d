// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
)

// Witness sees the plans that previews word, and each step that a run takes, right before it does. Tests alone have
// one: they compare the two.
type Witness interface {
	// Worded has the plan as the preview words it.
	Worded(plan planner.Plan)
	// Takes has in followed whether the run has read pods: without them, the report of a step is empty.
	Takes(step planner.Step, followed bool)
}

type witnessKey struct{}

// WithWitness returns a context whose previews and runs a witness sees.
func WithWitness(ctx context.Context, w Witness) context.Context {
	return context.WithValue(ctx, witnessKey{}, w)
}

// Worded shows the plan of a preview to the witness of the context.
func Worded(ctx context.Context, plan planner.Plan) {
	if w, has := ctx.Value(witnessKey{}).(Witness); has {
		w.Worded(plan)
	}
}

func takes(ctx context.Context, step planner.Step, followed bool) {
	if w, has := ctx.Value(witnessKey{}).(Witness); has {
		w.Takes(step, followed)
	}
}
