// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package namespacetolerations

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// words lists for each set of tolerations the workloads that have it.
func words(by map[string][]string) string {
	var out []string
	for _, tolerations := range slices.Sorted(maps.Keys(by)) {
		owners := slices.Sorted(slices.Values(by[tolerations]))
		out = append(out, "  "+tolerations+": "+message.Some(slices.Compact(owners)))
	}
	return strings.Join(out, "\n")
}

// Read compares the annotations with the state. An entry that is not there any more leaves
// the state, and so the next plan adds it again; entries of others are never taken up.
// State is dropped where the namespace does not exist, and on nothing else.
func (r *namespaceTolerations) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, req.State) }()
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	tfschema.KeepIdentity(ctx, resp.Identity, identity{Namespace: state.Namespace}, &resp.Diagnostics)
	own, err := r.ownership(ctx, req.Private, state, &resp.Diagnostics)
	desired, known := state.desired(ctx, own, &resp.Diagnostics)
	if err == nil && known && !resp.Diagnostics.HasError() {
		own.Cluster, err = r.Data.Identify(ctx, own.Cluster, &resp.Diagnostics)
	}
	var seen *kube.NamespaceLists
	if err == nil && known && !resp.Diagnostics.HasError() {
		seen, err = r.Data.Cluster.NamespaceLists(ctx, desired.namespace)
	}
	switch {
	case errors.Is(err, kube.ErrNotFound):
		resp.State.RemoveResource(ctx)
		return
	case err != nil:
		// The stored state stays as it is.
		r.Data.Unreadable("the tolerations of namespace \""+state.Namespace.ValueString()+"\"", err, &resp.Diagnostics)
		return
	case seen == nil:
		return
	}
	if err := readable(seen); err != nil {
		resp.Diagnostics.Append(explain("read", desired.namespace, err))
		return
	}
	merged := desired.Merge(seen.Lists)
	state.Default = refreshed(ctx, state.Default, desired.Default, merged.DefaultMerged, &resp.Diagnostics)
	state.Allowed = refreshed(ctx, state.Allowed, desired.Allowed, merged.AllowedMerged, &resp.Diagnostics)
	r.save(ctx, state, own, &resp.State, resp.Identity, resp.Private, &resp.Diagnostics)
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

// ownership loads the private state of an existing instance. Where it is lost, because an
// update was killed, the marks with the state's id are owned. The error is that of reading
// the cluster for it.
func (r *namespaceTolerations) ownership(ctx context.Context, private session.PrivateReader, state model, diags *diag.Diagnostics) (ownership, error) {
	own := managed.LoadOwnership[entry](ctx, private, state.ID.ValueString(), diags)
	if own.Sealed() || diags.HasError() {
		return own, nil
	}
	if r.Data == nil || r.Data.Cluster == nil {
		return own, kube.ErrUnreachable
	}
	seen, err := r.Data.Cluster.NamespaceLists(ctx, state.Namespace.ValueString())
	if err != nil {
		return own, err
	}
	own = own.Recover(func() string { return recovered(ctx, state, seen.Lists, diags) })
	lists := own.Find(state.ID.ValueString(), own.ListSeal())
	lists.Lists(objectOf(state.Namespace.ValueString()), seen.Record, nil)
	return own.See(record.Held{}, lists.Held), nil
}

// recovered finds out again which generation an instance has whose private state is lost. A namespace
// that has all that the state says may have no record of it: what others have put there is left to
// them.
func recovered(ctx context.Context, state model, l admission.Lists, diags *diag.Diagnostics) string {
	found := managed.GenerationsOf(state.ID.ValueString())
	for _, mark := range l.Record {
		found.Note("namespace "+state.Namespace.ValueString(), mark.Owner, mark.Generation)
	}
	objects := ""
	for list, stored := range map[string]types.Set{admission.DefaultList: state.Default, admission.AllowedList: state.Allowed} {
		tolerations, _ := tfschema.Tolerations(ctx, stored, diags)
		if slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool { return !toleration.CoveredBy(l.Of(list), t) }) {
			objects = "No namespace"
		}
	}
	return found.One(objects, diags)
}

// ImportState takes entries of a namespace into the state: those that carry marks of this
// provider's owner, or where there are none, all unowned ones. It writes nothing to
// the cluster.
func (r *namespaceTolerations) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	name := req.ID
	if name == "" && req.Identity != nil {
		var id identity
		resp.Diagnostics.Append(req.Identity.Get(ctx, &id)...)
		name = id.Namespace.ValueString()
	}
	// An id chooses one of several resources that own some.
	chosen := ""
	if _, target, is := strings.Cut(name, "/namespace_tolerations/"); is {
		chosen = name
		name, _, _ = strings.Cut(target, "/")
	}
	cluster, ok := r.Data.Connected(ctx, "", &resp.Diagnostics)
	if !ok || resp.Diagnostics.HasError() {
		return
	}
	seen, err := r.Data.Cluster.NamespaceLists(ctx, name)
	if err == nil {
		err = readable(seen)
	}
	if err != nil {
		resp.Diagnostics.Append(explain("import", name, err))
		return
	}
	own, state := managed.NewOwnership[entry](cluster), model{Namespace: types.StringValue(name)}
	found := r.inspect(seen.Lists, name, chosen, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	if len(found.lists[admission.DefaultList])+len(found.lists[admission.AllowedList]) == 0 {
		resp.Diagnostics.AddError("Unable to import tolerations of namespace \""+name+"\"", "It has no tolerations, or other resources own all of them. Look at its annotations: kubectl get namespace "+name+" -o yaml.")
		return
	}
	own.Imported = found.generations
	own = own.See(record.Held{}, found.held(own.ListSeal().On(objectOf(name)), seen.Lists))
	state.Default, state.Allowed = setOf(ctx, found.lists[admission.DefaultList], &resp.Diagnostics), setOf(ctx, found.lists[admission.AllowedList], &resp.Diagnostics)
	desired, _ := state.desired(ctx, own, &resp.Diagnostics)
	if state.ID = types.StringValue(found.owner); found.owner == "" {
		state.ID = types.StringValue(newID(r.Data.Owner, desired))
	}
	if !resp.Diagnostics.HasError() {
		r.save(ctx, state, own, &resp.State, resp.Identity, resp.Private, &resp.Diagnostics)
	}
}

// setOf makes a set; an empty one is null.
func setOf(ctx context.Context, tolerations []corev1.Toleration, diags *diag.Diagnostics) types.Set {
	if len(tolerations) == 0 {
		return types.SetNull(tfschema.TolerationType)
	}
	return tfschema.TolerationSet(ctx, tolerations, diags)
}

// finding is what an import found.
type finding struct {
	lists       map[string][]corev1.Toleration
	generations map[entry][]string
	owner       string
	// unmarked are the entries without a mark, by list.
	unmarked map[string][]corev1.Toleration
}

// held is what is remembered of the marks of what was found.
func (f *finding) held(seal record.Seal, l admission.Lists) record.Held {
	held := record.Held{}
	for _, mark := range l.Record {
		if mark.Owner == f.owner && slices.Contains(f.generations[mark.ID()], mark.Generation) {
			held.Note(seal, mark.Sealed())
		}
	}
	for list, tolerations := range f.unmarked {
		for _, t := range tolerations {
			held.Note(seal, toleration.IDOf(t).Unmarked(list))
		}
	}
	return held
}

// objectOf names a namespace in the proofs of its marks.
func objectOf(namespace string) string { return "Namespace/" + namespace }

func (f *finding) take(list string, t corev1.Toleration, generation string) {
	if t.Operator == "" {
		t.Operator = corev1.TolerationOpEqual
	}
	f.lists[list] = append(f.lists[list], t)
	if id := toleration.IDOf(t); !slices.Contains(f.generations[id], generation) {
		f.generations[id] = append(f.generations[id], generation)
	}
}

// inspect looks for what can be taken: marked entries of this owner, or else entries
// without a mark.
func (r *namespaceTolerations) inspect(l admission.Lists, namespace, id string, diags *diag.Diagnostics) finding {
	f := finding{lists: map[string][]corev1.Toleration{}, generations: map[entry][]string{}}
	owners := map[string]bool{}
	prefix := strings.Join([]string{r.Data.Owner, "namespace_tolerations", namespace, ""}, "/")
	for _, mark := range l.Record {
		if !strings.HasPrefix(mark.Owner, prefix) {
			continue
		}
		owners[mark.Owner] = true
		if mark.Owner == cmp.Or(id, f.owner, mark.Owner) {
			f.owner = mark.Owner
			f.take(mark.Path, mark.Toleration(), mark.Generation)
		}
	}
	if id == "" && len(owners) > 1 {
		diags.AddError("Unable to import tolerations of namespace \""+namespace+"\": several resources own some of them",
			"Import those of one resource, by its id:\n\n  "+strings.Join(slices.Sorted(maps.Keys(owners)), "\n  "))
	}
	if f.owner != "" || id != "" {
		return f
	}
	f.unmarked = map[string][]corev1.Toleration{}
	for _, name := range []string{admission.DefaultList, admission.AllowedList} {
		f.unmarked[name] = l.Record.Unmarked(l.Of(name), name)
		for _, t := range f.unmarked[name] {
			f.take(name, t, "")
		}
	}
	return f
}
