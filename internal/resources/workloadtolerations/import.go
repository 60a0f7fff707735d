// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

const importForms = "Write KIND/NAMESPACE/NAME, such as Deployment/shop/web, or KIND/NAME for kinds without a namespace. " +
	"For selectors, and for kinds that are not built in, use an import block with an identity (Terraform 1.12, OpenTofu 1.12)."

// ownedBy is in the ids of resources of this type.
const ownedBy = "/" + name + "/"

var (
	workloadType = map[string]attr.Type{
		"api_version": types.StringType, "kind": types.StringType, "namespace": types.StringType, "name": types.StringType, "selector": types.StringType,
	}
)

// Import takes tolerations of workloads into the state: those that carry
// marks of this provider's owner, or where there are none, all unowned
// ones.
func (r *workloadTolerations) Import(ctx context.Context, req resource.ImportStateRequest, diags *diag.Diagnostics) (model, ownership) {
	state, ok := wantedImport(ctx, req, diags)
	if !ok {
		return state, ownership{}
	}
	desired, known := state.Desired(ctx, ownership{}, diags)
	if !known {
		return state, ownership{}
	}
	observed, err := r.observe(ctx, desired, "", diags)
	if err != nil {
		diags.Append(explain("import", desired, err))
		return state, ownership{}
	}
	for _, w := range observed.workloads {
		message.Readable(w.Title(), w.APIVersion, diags, w.RecordErr)
	}
	if diags.HasError() {
		return state, ownership{}
	}
	found := r.inspect(desired.target, observed.workloads, state.ID.ValueString(), diags)
	if len(found.tolerations) == 0 && !diags.HasError() {
		diags.AddError("Unable to import tolerations of "+desired.target.title(),
			"It has no tolerations, or other resources own all of them. Look at the list and at the annotation "+toleration.OwnedAnnotation+": "+desired.target.show()+".")
	}
	if diags.HasError() {
		return state, ownership{}
	}
	own := managed.NewOwnership[toleration.ID](observed.cluster)
	own.Imported = found.generations
	own = own.See(record.Held{}, found.held(own.ListSeal()))
	state.Tolerations = tfschema.TolerationSet(ctx, found.tolerations, diags)
	state.ID = types.StringValue(found.owner)
	if found.owner == "" {
		state.ID = types.StringValue(newID(r.Data.Owner, desired.target, found.tolerations))
	}
	return state, own
}

// wantedImport is the state of what is to be imported, without tolerations.
func wantedImport(ctx context.Context, req resource.ImportStateRequest, diags *diag.Diagnostics) (model, bool) {
	m := model{
		Tolerations: types.SetNull(tfschema.TolerationType), WaitForRollout: types.BoolValue(true), Retire: types.StringValue(retireWhenUnneeded),
		Timeouts: timeouts.Value{Object: types.ObjectNull(tfschema.TimeoutsType)},
	}
	var id identity
	if req.ID == "" && req.Identity != nil {
		diags.Append(req.Identity.Get(ctx, &id)...)
		if !diags.HasError() && id.Name.IsNull() == id.Selector.IsNull() {
			diags.AddError(fmt.Sprintf("Unable to import tolerations of kind %q in namespace %q", id.Kind.ValueString(), id.Namespace.ValueString()), "Exactly one of name and selector must be set.")
		}
	} else {
		id = parseImportID(req.ID, diags)
	}
	if diags.HasError() {
		return m, false
	}
	w, found := types.ObjectValueFrom(ctx, workloadType, workloadModel{APIVersion: id.APIVersion, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name, Selector: id.Selector})
	diags.Append(found...)
	m.Workload, m.Path = w, id.Path
	if strings.Contains(req.ID, ownedBy) {
		m.ID = types.StringValue(req.ID)
	}
	return m, !diags.HasError()
}

func parseImportID(s string, diags *diag.Diagnostics) identity {
	if ref, _, named := rollout.Named(s); named {
		kind, _ := workload.Lookup(ref.APIVersion, ref.Kind)
		id := identity{Kind: types.StringValue(ref.Kind), Namespace: types.StringValue(ref.Namespace), Name: types.StringValue(ref.Name)}
		if kind.Cluster {
			id.Namespace = types.StringNull()
		}
		return id
	}
	parts := strings.Split(s, "/")
	kind, known := workload.Lookup("", parts[0])
	switch {
	case !known:
		diags.AddError("Unable to import tolerations by the id \""+s+"\"", "The kind \""+parts[0]+"\" is not built in.\n\n"+importForms)
	case kind.Cluster && len(parts) == 2 && parts[1] != "":
		return identity{Kind: types.StringValue(parts[0]), Name: types.StringValue(parts[1])}
	case !kind.Cluster && len(parts) == 3 && parts[1] != "" && parts[2] != "":
		return identity{Kind: types.StringValue(parts[0]), Namespace: types.StringValue(parts[1]), Name: types.StringValue(parts[2])}
	default:
		diags.AddError("Unable to import tolerations by the id \""+s+"\"", "It does not name one workload of kind "+parts[0]+".\n\n"+importForms)
	}
	return identity{}
}

// finding is what an import found on the workloads.
type finding struct {
	tolerations []corev1.Toleration
	generations map[toleration.ID][]string
	owner       string
	// marks are those of the entries, by object, and those without one.
	marks    map[string]toleration.Record
	unmarked map[string][]toleration.ID
	path     string
}

// held is what is remembered of the marks.
func (f finding) held(seal record.Seal) record.Held {
	held := record.Held{}
	for object, marks := range f.marks {
		for _, mark := range marks {
			held.Note(seal.On(object), mark.Sealed())
		}
	}
	for object, ids := range f.unmarked {
		for _, id := range ids {
			held.Note(seal.On(object), id.Unmarked(f.path))
		}
	}
	return held
}

// inspect looks for what can be taken: marked entries of this owner, or else
// entries without a mark. An id chooses one of several resources that own some.
func (r *workloadTolerations) inspect(t target, workloads []*workload.Workload, id string, diags *diag.Diagnostics) finding {
	f := finding{generations: map[toleration.ID][]string{}, marks: map[string]toleration.Record{}, unmarked: map[string][]toleration.ID{}, path: t.claimPath}
	// Builds before there were groups in ids left them out.
	prefix, former := r.Data.Owner+ownedBy+t.String()+"/", r.Data.Owner+ownedBy+t.written(t.Kind)+"/"
	owners := map[string]bool{}
	for _, w := range workloads {
		for _, mark := range w.Record {
			if mark.Path != t.claimPath || mark.Retiring || !strings.HasPrefix(mark.Owner, prefix) && !strings.HasPrefix(mark.Owner, former) {
				continue
			}
			owners[mark.Owner] = true
			if mark.Owner == cmp.Or(id, f.owner, mark.Owner) {
				f.owner = mark.Owner
				f.take(mark.Toleration(), mark.Generation)
				f.marks[w.Grouped()] = append(f.marks[w.Grouped()], mark)
			}
		}
	}
	if _, _, named := rollout.Named(f.owner); named && id == "" && len(owners) > 1 {
		diags.AddError("Unable to import tolerations of "+t.title()+": several resources own some of them",
			"Import those of one resource, by its id:\n\n  "+strings.Join(slices.Sorted(maps.Keys(owners)), "\n  "))
	}
	if f.owner != "" || id != "" {
		return f
	}
	for _, w := range workloads {
		for _, one := range toleration.Unmarked(w.Record, w.Tolerations, t.claimPath) {
			f.take(one, "")
			f.unmarked[w.Grouped()] = append(f.unmarked[w.Grouped()], toleration.IDOf(one))
		}
	}
	return f
}

func (f *finding) take(t corev1.Toleration, generation string) {
	id := toleration.IDOf(t)
	if _, known := f.generations[id]; !known {
		if t.Operator == "" {
			t.Operator = corev1.TolerationOpEqual
		}
		f.tolerations = append(f.tolerations, t)
	}
	f.generations[id] = append(f.generations[id], generation)
}
