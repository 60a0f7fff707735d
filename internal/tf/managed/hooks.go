// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package managed

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

// Model is a resource as it is in configuration, plan and state. It may be Timed and Linked as well.
type Model[M, W any, ID comparable] interface {
	// Title names what is managed, such as: the tolerations of namespace "a".
	Title(ctx context.Context) string
	// Identity is what an import block by identity names.
	Identity(ctx context.Context, diags *diag.Diagnostics) any
	// NewID returns the id of a create, "" while it is not known. A create that was killed
	// finds its own marks by it.
	NewID(ctx context.Context, owner string) string
	// WithID returns the model with this id.
	WithID(id string) M
	// Planned returns the model as it is planned: with what an apply leaves, and in the words of
	// the state where these mean the same. A create has no state.
	Planned(ctx context.Context, state *M, own Ownership[ID], diags *diag.Diagnostics) M
	// Desired returns what the model wants, and what it may call its own; false while any of it
	// is not known, or something is wrong.
	Desired(ctx context.Context, own Ownership[ID], diags *diag.Diagnostics) (W, bool)
	// Released returns what a destroy gives up; false with an error where that is not known.
	Released(ctx context.Context, own Ownership[ID], diags *diag.Diagnostics) (W, bool)
}

// Timed is a model with timeouts.
type Timed interface {
	// Timeout returns how long a create, an update or a delete may take.
	Timeout(ctx context.Context, verb string, diags *diag.Diagnostics) time.Duration
}

// Linked is the model of a type that writes taints: others leave tolerations behind until no taint
// needs them, and an apply that removes such a taint removes these. See session.Memory.
type Linked interface {
	// Links is the value of tolerated_by, null where the type has none.
	Links() types.Set
}

// Desired is what a model wants.
type Desired[W any, ID comparable] interface {
	// TakingOver is the same of a create, which adopts what carries its id.
	TakingOver() W
	// Entries are those that are wanted.
	Entries() []ID
}

// Operation is what a type previews and applies.
type Operation[M, W any, ID comparable] struct {
	// Verb is create, update or delete.
	Verb string
	// Model is what is planned, and of a destroy the state. Former is the state of an update alone.
	Model  M
	Former *M
	// Want is what the model wants, or what a destroy gives up.
	Want W
	// Own is what the resource owns. The plan of a replacement has that of what is replaced, for it
	// claims the same a second time.
	Own Ownership[ID]
	// Memory is what the plan has left. A plan knows the proofs alone.
	session.Memory
	// Private is the private state to write to.
	Private session.Private
}

// Links are those of the model and of the state before it, nil for a type that writes no taints.
func (c Operation[M, W, ID]) Links() []types.Set {
	var out []types.Set
	for _, m := range []*M{&c.Model, c.Former} {
		if m == nil {
			continue
		}
		if linked, is := any(*m).(Linked); is {
			out = append(out, linked.Links())
		}
	}
	return out
}

// Type is what a resource has of its own: S is what it observes, and W what it wants.
type Type[M, W, S any, ID comparable] interface {
	// Observe reads what the model is about.
	Observe(ctx context.Context, m M, own Ownership[ID], diags *diag.Diagnostics) (S, error)
	// Recover finds out again what a private state held that is lost.
	Recover(ctx context.Context, own Ownership[ID], state M, seen S, diags *diag.Diagnostics) (Ownership[ID], error)
	// Refresh returns the state with what is observed of it. These three drop the state by the error
	// Gone, and by nothing else.
	Refresh(ctx context.Context, state M, own Ownership[ID], seen S, diags *diag.Diagnostics) (M, Ownership[ID], error)
	// Claim notes what is planned where that changes nothing, or is not known yet, so that a second
	// resource that wants the same is told at plan.
	Claim(ctx context.Context, c Operation[M, W, ID], known bool, diags *diag.Diagnostics)
	// Preview claims what is planned, refuses a change that cannot be, and reports what it does.
	Preview(ctx context.Context, c Operation[M, W, ID], diags *diag.Diagnostics)
	// Apply makes the change, and returns what is to be saved then; nil where it has failed. A destroy
	// leaves nothing to save.
	Apply(ctx context.Context, c Operation[M, W, ID], diags *diag.Diagnostics) *Applied[M]
	// Import returns the state of what exists, and writes nothing to the cluster.
	Import(ctx context.Context, req resource.ImportStateRequest, diags *diag.Diagnostics) (M, Ownership[ID])
}

// Applied is what an apply has left.
type Applied[M any] struct {
	// Model is what is saved.
	Model M
	// Held are the marks on nodes and MachineSets, and Lists those on workloads and namespaces. nil means
	// that they are not known, or that the type has no proofs. See Ownership.Hold.
	Held, Lists record.Held
}

// gone is the error where what a state is about does not exist.
type gone struct{ error }

// Gone returns the error as one that drops the state.
func Gone(err error) error { return gone{err} }

// Unwrap returns the error.
func (g gone) Unwrap() error { return g.error }
