// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// WorkloadTarget is one workload and where its tolerations stand.
type WorkloadTarget struct {
	workload.Ref
	// Path is resolved, ClaimPath is as marks have it.
	Path      []string
	ClaimPath string
}

// ResolveWorkload finds out about a workload's kind, and checks what follows from
// it. The path is as it is written, empty for the one that is known for the kind.
func ResolveWorkload(ref workload.Ref, written string, at message.WorkloadAt, diags *diag.Diagnostics) (WorkloadTarget, bool) {
	t := WorkloadTarget{Ref: ref}
	kind, known := workload.Lookup(t.APIVersion, t.Kind)
	switch {
	case known:
		t.APIVersion, t.Path = kind.APIVersion, kind.Path
		if kind.Components {
			return t.component(written, at, diags)
		}
		if kind.Cluster && t.Namespace != "" {
			diags.AddAttributeError(at.Workload.AtName("namespace"), "Unable to find "+t.Title(), "Objects of kind "+t.Kind+" have no namespace: leave it out.")
			return t, false
		}
		if !kind.Cluster && t.Namespace == "" {
			diags.AddAttributeError(at.Workload.AtName("namespace"), "Unable to find "+t.Title(), "Objects of kind "+t.Kind+" have a namespace: name it.")
			return t, false
		}
	case t.APIVersion == "":
		diags.AddAttributeError(at.Workload.AtName("kind"), "Unable to find the kind \""+t.Kind+"\"",
			"Built in are "+strings.Join(workload.Names(), ", ")+". For any other kind, set "+at.Workload.AtName("api_version").String()+" and "+at.Path.String()+".")
		return t, false
	case written == "":
		diags.AddAttributeError(at.Path, "Unable to find the tolerations of "+t.Title(),
			"The path of the list is not built in for this kind: set "+at.Path.String()+", such as \"spec.nodePlacement.tolerations\".")
		return t, false
	}
	if written == "" || known && written == kind.Tolerations() {
		return t, true
	}
	fields, err := workload.SplitPath(written)
	if err != nil {
		diags.AddAttributeError(at.Path, fmt.Sprintf("Unable to read the path %q", written), err.Error()+".")
		return t, false
	}
	t.Path, t.ClaimPath = fields, written
	return t, true
}

// component finds out which component a path names: all of them where there is none.
func (t WorkloadTarget) component(written string, at message.WorkloadAt, diags *diag.Diagnostics) (WorkloadTarget, bool) {
	all := workload.Components(t.Ref)
	if len(all) == 0 {
		var known []string
		for _, ref := range workload.Configs() {
			known = append(known, ref.Namespace+"/"+ref.Name)
		}
		diags.AddAttributeError(at.Workload, "Unable to find tolerations in "+t.Title(),
			"Of all ConfigMaps, the provider supports those of OpenShift's monitoring alone: "+strings.Join(known, ", ")+".")
		return t, false
	}
	if written == "" {
		return t, true
	}
	t.Component = strings.TrimSuffix(written, "."+ComponentList)
	if _, found := workload.ComponentOf(t.Ref); found && t.Component != written {
		return t, true
	}
	t.Component = ""
	var paths []string
	for _, one := range all {
		paths = append(paths, one.Name+"."+ComponentList)
	}
	diags.AddAttributeError(at.Path, fmt.Sprintf("Unable to find the component %q of %s", written, t.Title()),
		"Leave the path out for all components, or name one of them: "+strings.Join(paths, ", ")+".")
	return t, false
}

// ComponentList ends a path that names a component.
const ComponentList = "tolerations"

// Each returns the workloads that are meant: several where an object has components.
func (t WorkloadTarget) Each() []WorkloadTarget {
	var out []WorkloadTarget
	for _, ref := range t.Ref.Each() {
		one := t
		one.Ref = ref
		out = append(out, one)
	}
	return out
}

// TryWorkload asks the API server whether it would take the first write of a
// workload; false means that it would not. With a snapshot there is no API server to ask.
func (d *Data) TryWorkload(ctx context.Context, step planner.Step, at message.WorkloadAt, diags *diag.Diagnostics) bool {
	if step.Kind != planner.Expand {
		return true
	}
	if why := step.TooLarge(); why != "" {
		diags.AddAttributeError(at.Tolerations, "Unable to change the tolerations of "+step.Workload.Title()+": its annotations would be too large",
			"Nothing has been written: "+why+". Give the object fewer tolerations, or remove annotations.")
		return false
	}
	if !step.Template() || d.Recorded != "" {
		return true
	}
	edit := &kube.WorkloadEdit{Tolerations: step.Merged.Tolerations, Record: step.Merged.Record, Template: step.Merged.Template}
	if step.Pins.Changed {
		edit.Pins = &kube.LabelEdit{Changes: step.Pins.Changes, Record: step.Pins.Record}
	}
	err := d.Cluster.TryWorkload(ctx, step.Workload, edit)
	wrongPath, config := new(workload.PathError), new(workload.ConfigError)
	// Nothing but a namespace can be missing here.
	if errors.As(err, &wrongPath) || errors.As(err, &config) || step.Workload.Component != "" && errors.Is(err, kube.ErrNotFound) {
		diags.Append(message.ExplainWorkload("change", step.Workload.Title(), at, err))
		return false
	}
	if !errors.Is(err, kube.ErrInvalid) {
		return true
	}
	detail := "A dry run of the change was refused, by the rules of the API server or by an admission policy. Nothing has been written. See the original error: change the configuration, or have the policy allow it."
	if slices.ContainsFunc(step.Merged.Missing, taint.Compares) {
		detail += " Lt and Gt need a cluster whose feature gate TaintTolerationComparisonOperators is on."
	}
	diags.AddAttributeError(at.Tolerations, "Unable to change the tolerations of "+step.Workload.Title()+": the API server would refuse it", detail+"\n\nOriginal error: "+err.Error())
	return false
}

// WarnWriters reports who else writes a template that is about to change.
func (d *Data) WarnWriters(ctx context.Context, t planner.Tolerations, at message.WorkloadAt, diags *diag.Diagnostics) {
	w := t.Workload
	switch {
	case w.Reverter != "":
		diags.AddAttributeWarning(at.Workload, w.Title()+" is owned by "+w.Reverter,
			"Its owner is likely to restore its own template, without the tolerations. Set them in the owner: in its custom resource, or in the workload that creates this one.")
	case len(w.Writers) > 0:
		diags.AddAttributeWarning(at.Workload, w.Title()+" is also written by "+strings.Join(w.Writers, " and "),
			"Its next run may restore its own list of tolerations, and the next plan here adds them again. Add the tolerations there instead, or make it ignore the field "+w.Field()+": see the guide \"Use with Helm, Argo CD and Flux\".")
	}
	d.warnWhitelist(ctx, t, at, diags)
}
