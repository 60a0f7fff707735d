// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package managed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

// identityModel is what an import block by identity names.
type identityModel struct {
	Target types.String `tfsdk:"target"`
	Taints types.List   `tfsdk:"taints"`
}

// WantedImport reads which taints of which nodes are to be imported, from an id
// or an identity; forms shows how an id is written.
func WantedImport(ctx context.Context, req resource.ImportStateRequest, forms string, diags *diag.Diagnostics) (planner.Target, []taint.ID, bool) {
	id := req.ID
	if id == "" && req.Identity != nil {
		var from identityModel
		diags.Append(req.Identity.Get(ctx, &from)...)
		var taints []string
		diags.Append(from.Taints.ElementsAs(ctx, &taints, false)...)
		if diags.HasError() {
			return planner.Target{}, nil, false
		}
		target, targetErr := parseTarget(from.Target.ValueString())
		ids, idsErr := parseIDs(strings.Join(taints, ","))
		if err := errors.Join(targetErr, idsErr); err != nil {
			diags.AddError(fmt.Sprintf("Unable to import taints of %q by this identity", from.Target.ValueString()), err.Error()+"\n\nThe identity is { target = \"node/NAME\", \"nodes/NAME,NAME\", \"selector/SELECTOR\" or \"machine_sets/NAMESPACE/NAME\", as the resource has it, taints = [\"KEY:EFFECT\", ...] }.")
			return planner.Target{}, nil, false
		}
		return target, ids, true
	}
	target, ids, err := parseImportID(id)
	if err != nil {
		diags.AddError("Unable to import taints by the id \""+id+"\"", err.Error()+"\n\n"+forms)
	}
	return target, ids, err == nil
}

// parseImportID splits an import id. Selectors and keys may hold slashes
// themselves, so that every split is tried; where two make sense the user must
// name the right one.
func parseImportID(id string) (planner.Target, []taint.ID, error) {
	type reading struct {
		target planner.Target
		ids    []taint.ID
	}
	var readings []reading
	var last error
	start := strings.Index(id, "/") + 1
	for at := start; at < len(id); at++ {
		if id[at] != '/' {
			continue
		}
		target, err := parseTarget(id[:at])
		if err == nil {
			ids, idsErr := parseIDs(id[at+1:])
			if err = idsErr; err == nil {
				readings = append(readings, reading{target, ids})
			}
		}
		if err != nil && last == nil {
			last = err
		}
	}
	switch len(readings) {
	case 0:
		return planner.Target{}, nil, cmp.Or(last, errors.New("it names no taint"))
	case 1:
		return readings[0].target, readings[0].ids, nil
	default:
		return planner.Target{}, nil, fmt.Errorf("it can be read in %d ways, such as %s with %s and %s with %s: use an import block with an identity instead (Terraform 1.12, OpenTofu 1.12)",
			len(readings), readings[0].target, readings[0].ids[0], readings[1].target, readings[1].ids[0])
	}
}

func parseTarget(s string) (planner.Target, error) {
	kind, rest, _ := strings.Cut(s, "/")
	names := strings.Split(rest, ",")
	slices.Sort(names)
	switch {
	case kind == "node" && rest != "" && !strings.Contains(rest, "/"):
		return planner.Target{Name: rest}, nil
	case kind == "nodes" && !strings.Contains(rest, "/") && !slices.Contains(names, "") && len(slices.Compact(slices.Clone(names))) == len(names):
		return planner.Target{Names: names}, nil
	case kind == "selector":
		selector, err := labels.Parse(rest)
		if err != nil {
			return planner.Target{}, fmt.Errorf("%q is not a selector: %w", rest, err)
		}
		if selector.Empty() {
			return planner.Target{}, errors.New("an empty selector would match every node")
		}
		return planner.Target{Selector: selector}, nil
	}
	if kind == "machine_sets" {
		sets, err := parseSets(rest)
		return planner.Target{MachineSets: &sets}, err
	}
	return planner.Target{}, fmt.Errorf("%q is neither node/NAME, nodes/NAME,NAME, selector/SELECTOR nor machine_sets/NAMESPACE/NAME", s)
}

// parseSets reads NAMESPACE/NAME or NAMESPACE/SELECTOR. What could be either is a name.
func parseSets(s string) (machineset.Target, error) {
	namespace, rest, _ := strings.Cut(s, "/")
	t := machineset.Target{Namespace: namespace, Name: rest}
	if namespace == "" || rest == "" {
		return t, errors.New("it is machine_sets/NAMESPACE/NAME or machine_sets/NAMESPACE/SELECTOR")
	}
	if len(validation.IsDNS1123Subdomain(rest)) == 0 {
		return t, nil
	}
	selector, err := labels.Parse(rest)
	if err == nil && (selector.Empty() || !strings.ContainsAny(rest, "=!, (")) {
		// An empty one would match every MachineSet of the namespace, and otherwise the name of a MachineSet with the
		// prefix of a taint's key would be one too.
		err = errors.New("a selector compares values")
	}
	if err != nil {
		return t, fmt.Errorf("%q is neither the name of a MachineSet nor a selector: %w", rest, err)
	}
	t.Name, t.Selector = "", selector
	return t, nil
}

func parseIDs(s string) ([]taint.ID, error) {
	var ids []taint.ID
	for part := range strings.SplitSeq(s, ",") {
		id, err := taint.ParseID(part)
		if err != nil {
			return nil, err
		}
		if slices.Contains(ids, id) {
			return nil, fmt.Errorf("%s is named twice", id)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// taintOwner matches the ids of resources that own taints: the owner that the provider block names,
// the type and what the taints are on. A user who may annotate an object may write another text there.
var taintOwner = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?/(node_taints|machine_set_taints|dedicated_nodes)/.+$`)

// FoundTaints is what an import found on the nodes.
type FoundTaints struct {
	Taints []corev1.Taint
	// Generations are those of the entries' marks, "" for none.
	Generations map[taint.ID][]string
	// Owner is the owner that all entries are marked with, "" where some are
	// not marked, the owners differ, or it is no id of a resource.
	Owner string
	// Marks are those of the entries.
	Marks []FoundMark
}

// FoundMark is what an import has found, and where: a mark, or an entry without one.
type FoundMark struct {
	Node *snapshot.Node
	Seen record.Sealed
}

// Held is what is remembered of the marks. See Ownership.See.
func (f FoundTaints) Held(seal record.Seal, target planner.Target) record.Held {
	held := record.Held{}
	for _, one := range f.Marks {
		held.Note(ImportedSeal(seal, target, one.Node), one.Seen)
	}
	return held
}

// ImportedSeal is that of the marks of a node. Of MachineSets, the caller gives what stands for them.
func ImportedSeal(seal record.Seal, target planner.Target, n *snapshot.Node) record.Seal {
	if target.MachineSets != nil {
		return seal.On("MachineSet/" + n.Name)
	}
	return seal.OnNode(n.Name, string(n.UID))
}

// TaintOwner returns the one owner of marks, "" where there are several, or it is no id of a resource that
// owns taints: others may have written it.
func TaintOwner(owners map[string]bool) string {
	for owner := range owners {
		if len(owners) == 1 && taintOwner.MatchString(owner) {
			return owner
		}
	}
	return ""
}

// InspectTaints looks for the taints on the nodes. Where nodes differ in the value,
// the first one by name counts; the next plan shows the others.
func InspectTaints(nodes []*snapshot.Node, target planner.Target, ids []taint.ID, diags *diag.Diagnostics) (FoundTaints, bool) {
	f := FoundTaints{Generations: map[taint.ID][]string{}}
	slices.SortFunc(nodes, func(a, b *snapshot.Node) int { return strings.Compare(a.Name, b.Name) })
	owners, matches := map[string]bool{}, target.Among
	for _, id := range ids {
		if why, reserved := taint.Reserved(id, ""); reserved {
			diags.AddError("Unable to import the reserved taint \""+id.String()+"\"", "A controller owns this taint: "+why+". Leave it out of the import.")
			continue
		}
		found := false
		for _, n := range nodes {
			at := taint.Find(n.Taints, id)
			if at < 0 || !matches(n) {
				continue
			}
			mark, marked := n.Record.Of(id)
			seen := mark.Sealed()
			if owners[mark.Owner] = true; !marked {
				seen = id.Unmarked()
			}
			f.Marks = append(f.Marks, FoundMark{n, seen})
			if !found {
				f.Taints, found = append(f.Taints, n.Taints[at]), true
			}
			if known := f.Generations[id]; !slices.Contains(known, mark.Generation) {
				f.Generations[id] = append(known, mark.Generation)
			}
			f.Owner = mark.Owner
		}
		if !found {
			diags.AddError("Unable to import taint \""+id.String()+"\" of "+message.Place(target), "The taint does not exist. List the existing taints: "+listTaints(target)+".")
		}
	}
	f.Owner = TaintOwner(owners)
	return f, !diags.HasError()
}

// listTaints is the command that lists the taints of what is imported.
func listTaints(target planner.Target) string {
	switch {
	case target.MachineSets != nil:
		return "kubectl get machinesets.machine.openshift.io -n " + target.MachineSets.Namespace + " -o yaml"
	case target.Selector != nil:
		return "kubectl describe nodes -l '" + target.Selector.String() + "'"
	}
	return "kubectl describe node " + strings.Join(target.Named(), " ")
}

// TaintIDs is the attribute taints of an identity.
func TaintIDs(ctx context.Context, taints []corev1.Taint, diags *diag.Diagnostics) types.List {
	ids := make([]string, len(taints))
	for i, t := range taints {
		ids[i] = taint.IDOf(t).String()
	}
	list, found := types.ListValueFrom(ctx, types.StringType, ids)
	diags.Append(found...)
	return list
}
