// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// linkedTo returns the workloads to which the resources of these ids give tolerations, as
// waits: those that this run plans, and those that their marks tell of. Errors: those of
// MarkedBy. known knows the seals of resources, by which marks are proved.
func linkedTo(ctx context.Context, cluster *kube.Cluster, shared *planner.Shared, ids []string, known toleration.Claim) ([]Tolerations, error) {
	var waits []Tolerations
	for _, id := range ids {
		if admission.IsID(id) {
			continue
		}
		planned, told := shared.Of(id)
		for _, p := range planned {
			d := Tolerations{Ref: p.Ref, Path: p.Path}
			d.Claim.Tolerations = p.Wanted
			waits = append(waits, d)
		}
		if !told {
			marked, err := MarkedBy(ctx, cluster, id, known)
			if err != nil {
				return nil, err
			}
			waits = append(waits, marked...)
		}
	}
	for i := range waits {
		waits[i].Linked = true
	}
	return waits, nil
}

// MarkedBy finds the workloads that carry tolerations of the resource of this id,
// and which these are. It serves for a resource that has nothing to do in this
// run, and so has told nothing. An id can be guessed, and a mark counts only on an object that the id
// can name:
//
//   - where seals of this resource are known that prove any mark, only those that one proves;
//   - otherwise those of a generation that is known, such as one that a rollback has brought back;
//   - where none is known, all of them, since a taint that does not wait evicts pods. A resource of
//     another state has planned nothing here, and a create knows no seal but those of its process.
//
// The id of dedicated nodes can name any workload. So the generations of its marks on nodes are known
// as well: no tenant can write these.
//
// Errors: *UnseenError where it finds none and some may not be looked for, those of kube.
func MarkedBy(ctx context.Context, cluster *kube.Cluster, id string, known toleration.Claim) ([]Tolerations, error) {
	marked, unseen := cluster.MarkedAnywhere(ctx)
	forbidden := errors.Is(unseen, kube.ErrForbidden)
	if unseen != nil && !forbidden {
		return nil, unseen
	}
	generations, complete, err := generationsOf(ctx, cluster, id, known)
	if err != nil {
		return nil, err
	}
	var all, current, proved []Tolerations
	for _, m := range marked {
		if !nameable(id, m) {
			continue
		}
		named := func(mark toleration.Mark) bool { return mark.Owner == id && !mark.Retiring }
		all = append(all, claimed(m, id, named)...)
		current = append(current, claimed(m, id, func(mark toleration.Mark) bool { return named(mark) && generations[mark.Generation] })...)
		proved = append(proved, claimed(m, id, func(mark toleration.Mark) bool { return named(mark) && known.Proves(id, m.Grouped(), mark) })...)
	}
	out := all
	switch {
	case len(proved) > 0:
		out = proved
	case complete || len(current) > 0:
		out = current
	}
	if forbidden && len(out) == 0 {
		return nil, &UnseenError{ID: id, Err: unseen}
	}
	return out, nil
}

// generationsOf returns the generations that are known of the marks with an id, and whether marks of
// other generations are made up.
func generationsOf(ctx context.Context, cluster *kube.Cluster, id string, known toleration.Claim) (generations map[string]bool, complete bool, err error) {
	generations, complete = known.Current(id)
	if !strings.Contains(id, dedicatedNodes) {
		return generations, complete, nil
	}
	nodes, err := cluster.Nodes(ctx)
	for _, n := range nodes {
		for _, mark := range n.Record {
			if mark.Owner == id {
				generations[mark.Generation], complete = true, true
			}
		}
		for _, mark := range n.LabelRecord {
			if mark.Owner == id {
				generations[mark.Generation], complete = true, true
			}
		}
	}
	return generations, complete, err
}

// claimed returns the tolerations of some marks of an object, by the list that they are in. The marks
// have the id.
func claimed(m kube.Marked, id string, counts func(toleration.Mark) bool) []Tolerations {
	paths := map[string]*Tolerations{}
	for _, mark := range m.Record {
		fields, known := pathOf(m, mark.Path)
		if !known || !counts(mark) {
			continue
		}
		if paths[mark.Path] == nil {
			paths[mark.Path] = &Tolerations{Ref: m.Ref, Path: fields, MarkedBy: id}
		}
		paths[mark.Path].Claim.Tolerations = append(paths[mark.Path].Claim.Tolerations, mark.Toleration())
	}
	out := make([]Tolerations, 0, len(paths))
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		out = append(out, *paths[path])
	}
	return out
}

// UnseenError reports that it is not known which workloads a linked resource gives
// tolerations to.
type UnseenError struct {
	ID  string
	Err error
}

// Error names the resource.
func (e *UnseenError) Error() string {
	return "find the workloads of \"" + e.ID + "\" by their ownership records: " + e.Err.Error()
}

// Unwrap returns the API server's errors.
func (e *UnseenError) Unwrap() error { return e.Err }

// pathOf resolves the path of a mark.
func pathOf(m kube.Marked, path string) ([]string, bool) {
	if kind, known := workload.Lookup(m.APIVersion, m.Kind); path == "" {
		return kind.Path, known
	}
	fields, err := workload.SplitPath(path)
	return fields, err == nil
}
