// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package namespacetolerations

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// name is that of the resource.
const name = "namespace_tolerations"

type namespaceTolerations struct {
	managed.Skeleton[model, admission.ListClaim, *kube.NamespaceLists, toleration.ID]
}

// NewResource returns the resource.
func NewResource() resource.Resource {
	r := &namespaceTolerations{}
	r.Type, r.Name, r.IdentifiedBy, r.Identifies = r, name, "namespace", "Name of the namespace."
	return r
}

// Observe reads the annotations of the namespace.
func (r *namespaceTolerations) Observe(ctx context.Context, m model, _ ownership, _ *diag.Diagnostics) (*kube.NamespaceLists, error) {
	seen, err := r.Data.Cluster.NamespaceLists(ctx, m.Namespace.ValueString())
	if errors.Is(err, kube.ErrNotFound) {
		err = managed.Gone(err)
	}
	return seen, err
}

// Recover finds the marks with the state's id. A namespace that has all that the state says may have
// no record of it: what others have put there is left to them.
func (r *namespaceTolerations) Recover(ctx context.Context, own ownership, state model, seen *kube.NamespaceLists, diags *diag.Diagnostics) (ownership, error) {
	own = own.Recover(func() string {
		found := managed.GenerationsOf(state.ID.ValueString())
		for _, mark := range seen.Record {
			found.Note("namespace "+state.Namespace.ValueString(), mark.Owner, mark.Generation)
		}
		objects := ""
		for list, stored := range map[string]types.Set{admission.DefaultList: state.Default, admission.AllowedList: state.Allowed} {
			tolerations, _ := tfschema.Tolerations(ctx, stored, diags)
			if slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool { return !toleration.CoveredBy(seen.Of(list), t) }) {
				objects = "No namespace"
			}
		}
		return found.One(objects, diags)
	})
	lists := own.Find(state.ID.ValueString(), own.ListSeal())
	lists.Lists(objectOf(state), seen.Record, nil)
	return own.See(record.Held{}, lists.Held), nil
}

// Refresh compares the annotations with the state. An entry that is missing leaves the state, so that
// the next plan adds it again; entries of others are never taken up.
func (r *namespaceTolerations) Refresh(ctx context.Context, state model, own ownership, seen *kube.NamespaceLists, diags *diag.Diagnostics) (model, ownership, error) {
	switch desired, known := state.Desired(ctx, own, diags); {
	case !known:
	case seen.Err != nil:
		diags.Append(message.ExplainLists("read", desired.Namespace, &rollout.ListsError{Err: seen.Err}))
	default:
		merged := desired.Merge(seen.Lists)
		state.Default = refreshed(ctx, state.Default, desired.Default, merged.DefaultMerged, diags)
		state.Allowed = refreshed(ctx, state.Allowed, desired.Allowed, merged.AllowedMerged, diags)
	}
	return state, own, nil
}

// refreshed is a list of the state without what is missing, and with what an update that
// was killed has left.
func refreshed(ctx context.Context, state types.Set, claim toleration.Claim, merged toleration.Merged, diags *diag.Diagnostics) types.Set {
	if len(merged.Missing) == 0 && len(merged.Removed) == 0 {
		return state
	}
	there := slices.DeleteFunc(slices.Clone(claim.Tolerations), func(t corev1.Toleration) bool { return toleration.Contains(merged.Missing, t) })
	return tfschema.TolerationSet(ctx, append(there, merged.Removed...), diags)
}

// Claim notes what this resource wants: a second one that wants the same would adopt the entries.
func (r *namespaceTolerations) Claim(_ context.Context, c change, known bool, diags *diag.Diagnostics) {
	holder := session.Holder(c.Own.Generation)
	for _, claim := range c.Want.Claims() {
		if known {
			r.Data.ClaimNamespaceTolerations(holder, c.Want.Namespace, claim, path.Root(claim.Path), diags)
		}
	}
}

// Preview refuses what cannot be, and reports what the change does to pods.
func (r *namespaceTolerations) Preview(ctx context.Context, c change, diags *diag.Diagnostics) {
	if c.Verb == "delete" {
		r.previewRemoval(ctx, c.Want, diags)
		return
	}
	if r.Claim(ctx, c, true, diags); diags.HasError() {
		return
	}
	desired := c.Want
	r.Data.RefuseOperators(path.Root(admission.DefaultList), desired.Default.Tolerations, diags)
	seen, _, err := r.Inspect(ctx, c.Model, c.Own, diags)
	var merged admission.MergedLists
	if err == nil && !diags.HasError() {
		merged, err = rollout.MergeLists(desired, seen.Lists)
	}
	switch {
	case diags.HasError():
		return
	case kube.OutOfReach(err):
		r.Data.Unreachable(err, diags)
		return
	case err != nil:
		diags.Append(message.ExplainLists("change", desired.Namespace, err))
		return
	}
	if c.Own.Generation == "" {
		message.WarnAdopted("tolerations", "namespace \""+desired.Namespace+"\"", toleration.Texts(merged.TakenOver()), diags)
	}
	// Nothing is said while it cannot be found out whether the plug-in is on.
	if on, err := r.Data.Cluster.RestrictsTolerations(ctx, desired.Namespace); err == nil && !on {
		message.WarnNoPlugIn(desired.Namespace, diags)
	}
	r.Data.WarnRejected(ctx, desired.Namespace, seen.Lists, merged.Lists, diags)
}

// previewRemoval reports which pods the entries of others do not allow that stay. Errors are those of the apply.
func (r *namespaceTolerations) previewRemoval(ctx context.Context, owned admission.ListClaim, diags *diag.Diagnostics) {
	if r.Data.Cluster == nil {
		// The provider block is not known yet.
		return
	}
	seen, err := r.Data.Cluster.NamespaceLists(ctx, owned.Namespace)
	if err != nil {
		return
	}
	if merged, err := rollout.MergeLists(owned, seen.Lists); err == nil {
		r.Data.WarnRejected(ctx, owned.Namespace, seen.Lists, merged.Lists, diags)
	}
}

// Apply writes what is desired. A namespace that is gone has nothing to be removed.
func (r *namespaceTolerations) Apply(ctx context.Context, c change, diags *diag.Diagnostics) *applied {
	written, err := rollout.EnforceLists(ctx, r.Data.Cluster, c.Want)
	if err != nil && (c.Verb != "delete" || !errors.Is(err, kube.ErrNotFound)) {
		diags.Append(message.ExplainLists(c.Verb, c.Want.Namespace, err))
		return nil
	}
	return &applied{Model: c.Model, Held: record.Held{}, Lists: planner.HeldInLists(c.Want, written)}
}

// Import takes entries that carry marks of this provider's owner, or where there are none, all
// entries without an owner. An id chooses one of several resources that own some.
func (r *namespaceTolerations) Import(ctx context.Context, req resource.ImportStateRequest, diags *diag.Diagnostics) (model, ownership) {
	id, own, ok := r.Named(ctx, req, diags)
	if !ok {
		return model{}, own
	}
	namespace, chosen := id, ""
	if _, target, is := strings.Cut(id, "/"+name+"/"); is {
		chosen = id
		namespace, _, _ = strings.Cut(target, "/")
	}
	state := model{Namespace: types.StringValue(namespace)}
	seen, err := r.Observe(ctx, state, own, diags)
	if err == nil && seen.Err != nil {
		err = &rollout.ListsError{Err: seen.Err}
	}
	if err != nil {
		diags.Append(message.ExplainLists("import", namespace, err))
		return state, own
	}
	found := planner.FindInLists(seen.Lists, idPrefix(r.Data.Owner, namespace), chosen)
	switch {
	case chosen == "" && len(found.Owners) > 1:
		diags.Append(message.SeveralOwnLists(namespace, found.Owners))
	case len(found.Lists) == 0:
		diags.Append(message.NoListsToImport(namespace))
	}
	own.Imported = found.Generations
	own = own.See(record.Held{}, found.Held(own.ListSeal().On(objectOf(state))))
	state.Default, state.Allowed = tfschema.SomeTolerations(ctx, found.Lists[admission.DefaultList], diags), tfschema.SomeTolerations(ctx, found.Lists[admission.AllowedList], diags)
	return state.WithID(cmp.Or(found.Owner, state.NewID(ctx, r.Data.Owner))), own
}
