// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package namespacetolerations

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

var (
	_ resource.ResourceWithConfigure      = (*namespaceTolerations)(nil)
	_ resource.ResourceWithValidateConfig = (*namespaceTolerations)(nil)
	_ resource.ResourceWithModifyPlan     = (*namespaceTolerations)(nil)
	_ resource.ResourceWithImportState    = (*namespaceTolerations)(nil)
	_ resource.ResourceWithIdentity       = (*namespaceTolerations)(nil)
)

type namespaceTolerations struct {
	managed.Resource
}

// NewResource returns the resource.
func NewResource() resource.Resource {
	return &namespaceTolerations{}
}

// Metadata names the resource.
func (r *namespaceTolerations) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_namespace_tolerations"
}

// ValidateConfig checks what can be told without a cluster.
func (r *namespaceTolerations) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if !resp.Diagnostics.HasError() {
		tfschema.WarnKeyless(ctx, tfschema.Named("namespace", config.Namespace), config.Default, defaultAt, &resp.Diagnostics)
	}
}

// Create adds the entries. An error saves no state: the marks stay, and the next create
// adopts them.
func (r *namespaceTolerations) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, req.Plan) }()
	var plan model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	cluster, ok := r.Data.ConnectedToWrite(ctx, "", &resp.Diagnostics)
	if !ok {
		return
	}
	own := managed.NewOwnership[entry](cluster)
	desired, known := plan.desired(ctx, own, &resp.Diagnostics)
	if !known {
		return
	}
	if plan.ID.IsUnknown() {
		// The parts of the id were unknown at plan.
		plan.ID = types.StringValue(newID(r.Data.Owner, desired))
	}
	r.Data.Created.Store(plan.ID.ValueString(), true)
	if lists := r.apply(ctx, "create", desired.as(plan.ID.ValueString()), &resp.Diagnostics); lists != nil {
		r.save(ctx, plan, own.Hold(record.Held{}, lists), &resp.State, resp.Identity, resp.Private, &resp.Diagnostics)
	}
}

// Update makes the entries as planned.
func (r *namespaceTolerations) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, req.State) }()
	var state, plan model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	own, ok := r.owned(ctx, req.Private, state, &resp.Diagnostics)
	if !ok {
		return
	}
	plan.ID = state.ID
	desired, known := plan.desired(ctx, own, &resp.Diagnostics)
	if !known {
		return
	}
	if lists := r.apply(ctx, "update", desired, &resp.Diagnostics); lists != nil {
		wanted := append(toleration.IDs(desired.Default.Tolerations), toleration.IDs(desired.Allowed.Tolerations)...)
		r.save(ctx, plan, own.Keep(wanted).Hold(record.Held{}, lists), &resp.State, resp.Identity, resp.Private, &resp.Diagnostics)
	}
}

// Delete takes away every entry of this generation. A namespace that is gone has none.
func (r *namespaceTolerations) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, req.State) }()
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	own, ok := r.owned(ctx, req.Private, state, &resp.Diagnostics)
	if !ok {
		return
	}
	if desired, known := state.desired(ctx, own, &resp.Diagnostics); known {
		r.apply(ctx, "delete", desired.released(), &resp.Diagnostics)
	}
}

// owned returns what an existing instance owns, on the cluster that it is on.
func (r *namespaceTolerations) owned(ctx context.Context, private session.PrivateReader, state model, diags *diag.Diagnostics) (ownership, bool) {
	if diags.HasError() {
		return ownership{}, false
	}
	own, err := r.ownership(ctx, private, state, diags)
	return managed.Connect(ctx, r.Data, own, state.ID.ValueString(), err, diags)
}

// conflictError is the error where an entry is owned by another resource.
type conflictError struct {
	toleration.Conflict
	at path.Path
}

// Error names the owner.
func (e *conflictError) Error() string {
	return taint.FormatToleration(e.Toleration) + fmt.Sprintf(" is owned by %q", e.Owner)
}

// conflict returns the first entry of a merge that is owned by another resource.
func conflict(m admission.MergedLists) error {
	if len(m.DefaultMerged.Conflicts) > 0 {
		return &conflictError{m.DefaultMerged.Conflicts[0], defaultAt}
	}
	if len(m.AllowedMerged.Conflicts) > 0 {
		return &conflictError{m.AllowedMerged.Conflicts[0], allowedAt}
	}
	return nil
}

// sizeError is the error where the annotations of a namespace would be too large.
type sizeError struct {
	why string
}

// Error reports how large.
func (e *sizeError) Error() string { return e.why }

// refuse returns the error where a merge must not be written: an entry is owned by another resource,
// or the annotations would be too large.
func refuse(m admission.MergedLists) error {
	if err := conflict(m); err != nil || !m.Changed {
		return err
	}
	if why := m.TooLarge(); why != "" {
		return &sizeError{why}
	}
	return nil
}

// apply writes what is desired, merged from the namespace as it is read for the write. It returns
// the marks that the resource has then; nil where it has failed.
func (r *namespaceTolerations) apply(ctx context.Context, verb string, desired wanted, diags *diag.Diagnostics) record.Held {
	held := record.Held{}
	written, err := r.Data.Cluster.EditNamespaceLists(ctx, desired.namespace, func(seen *kube.NamespaceLists) (*admission.Lists, error) {
		if err := readable(seen); err != nil {
			return nil, err
		}
		merged := desired.Merge(seen.Lists)
		if err := refuse(merged); err != nil || !merged.Changed {
			return nil, err
		}
		return &merged.Lists, nil
	})
	if verb == "delete" && errors.Is(err, kube.ErrNotFound) {
		return held
	}
	if err != nil {
		diags.Append(explain(verb, desired.namespace, err))
		return nil
	}
	for _, claim := range desired.Claims() {
		for _, mark := range written.Record {
			claim.Hold(mark, held)
		}
		claim.HoldUnmarked(written.Of(claim.Path), written.Record, held)
	}
	return held
}

func (r *namespaceTolerations) save(ctx context.Context, m model, own ownership, state *tfsdk.State, to *tfsdk.ResourceIdentity, private session.PrivateWriter, diags *diag.Diagnostics) {
	own.Save(ctx, private, diags)
	diags.Append(state.Set(ctx, m)...)
	if to != nil {
		diags.Append(to.Set(ctx, identity{Namespace: m.Namespace})...)
	}
}

// listsError is the error where an annotation that Kubernetes reads cannot be read.
type listsError struct {
	err error
}

// Error is that of reading it.
func (e *listsError) Error() string { return e.err.Error() }

// Unwrap returns the error of reading it.
func (e *listsError) Unwrap() error { return e.err }

// readable is the error where an annotation of a namespace cannot be read.
func readable(seen *kube.NamespaceLists) error {
	if seen.Err == nil {
		return nil
	}
	return &listsError{seen.Err}
}

// explain words an error of a change, or of looking at a namespace for it.
func explain(verb, namespace string, err error) diag.Diagnostic {
	thing, at := "namespace \""+namespace+"\"", path.Root("namespace")
	summary, original := "Unable to "+verb+" tolerations of "+thing, "\n\nOriginal error: "+err.Error()
	if said := message.ExplainRecord(err, thing, "", at); said != nil {
		return said
	}
	taken := new(conflictError)
	switch {
	case errors.As(err, &taken):
		return diag.NewAttributeErrorDiagnostic(taken.at, summary+": "+taint.FormatToleration(taken.Toleration)+" is owned by another resource",
			fmt.Sprintf("The entry is owned by %q. ", taken.Owner)+"Nothing has been written. Remove it from one of the two configurations. "+message.MadeUp(toleration.OwnedAnnotation, thing, ""))
	case errors.As(err, new(*sizeError)):
		return diag.NewAttributeErrorDiagnostic(at, summary+": its annotations would be too large",
			"Nothing has been written: "+err.Error()+". Give the namespace fewer tolerations, or remove annotations (kubectl edit namespace "+namespace+").")
	case errors.As(err, new(*listsError)):
		return diag.NewAttributeErrorDiagnostic(at, summary+": an annotation of the namespace cannot be read",
			"The annotation is not a list of tolerations as Kubernetes reads it. Nothing has been written. Correct it (kubectl edit namespace "+namespace+"), or remove it (kubectl annotate namespace "+namespace+" ANNOTATION-), and run again."+original)
	case errors.Is(err, kube.ErrNotFound):
		return diag.NewAttributeErrorDiagnostic(at, summary+": there is no such namespace",
			"Nothing has been written. Check the name (kubectl get namespaces), or create the namespace first. If this configuration creates it, refer to its name, so that it comes before."+original)
	}
	detail := "Nothing has been written."
	if slices.Contains([]string{"create", "update", "delete"}, verb) {
		detail = "A change of a namespace is one request, which is carried out as a whole or not at all. Apply again."
	}
	if advice := message.Advise(err); advice != "" {
		detail = advice + "\n\n" + detail
	}
	return diag.NewErrorDiagnostic(summary, detail+original)
}
