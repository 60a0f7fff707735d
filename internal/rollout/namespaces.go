// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"fmt"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// ListsError is the error where an annotation that Kubernetes reads cannot be read.
type ListsError struct {
	Err error
}

// Error is that of reading it.
func (e *ListsError) Error() string { return e.Err.Error() }

// Unwrap returns the error of reading it.
func (e *ListsError) Unwrap() error { return e.Err }

// ListConflictError is the error where an entry of a list is owned by another resource.
type ListConflictError struct {
	toleration.Conflict
	// List is the name of the list.
	List string
}

// Error names the owner.
func (e *ListConflictError) Error() string {
	return taint.FormatToleration(e.Toleration) + fmt.Sprintf(" is owned by %q", e.Owner)
}

// ListsSizeError is the error where the annotations of a namespace would be too large.
type ListsSizeError struct {
	why string
}

// Error reports how large.
func (e *ListsSizeError) Error() string { return e.why }

// MergeLists merges a claim with the lists of a namespace. Errors: *ListsError, *ListConflictError,
// *ListsSizeError; then nothing must be written.
func MergeLists(claim admission.ListClaim, seen admission.Lists) (admission.MergedLists, error) {
	if seen.Err != nil {
		return admission.MergedLists{}, &ListsError{seen.Err}
	}
	merged := claim.Merge(seen)
	switch {
	case len(merged.DefaultMerged.Conflicts) > 0:
		return merged, &ListConflictError{merged.DefaultMerged.Conflicts[0], admission.DefaultList}
	case len(merged.AllowedMerged.Conflicts) > 0:
		return merged, &ListConflictError{merged.AllowedMerged.Conflicts[0], admission.AllowedList}
	case merged.Changed && merged.TooLarge() != "":
		return merged, &ListsSizeError{merged.TooLarge()}
	}
	return merged, nil
}

// EnforceLists makes the lists of a namespace as a claim wants them, merged from the namespace as it
// is read for the write, and returns them. Errors: those of MergeLists and of
// kube.Cluster.EditNamespaceLists.
func EnforceLists(ctx context.Context, cluster *kube.Cluster, claim admission.ListClaim) (admission.Lists, error) {
	written, err := cluster.EditNamespaceLists(ctx, claim.Namespace, func(seen *kube.NamespaceLists) (*admission.Lists, error) {
		merged, err := MergeLists(claim, seen.Lists)
		if err != nil || !merged.Changed {
			return nil, err
		}
		return &merged.Lists, nil
	})
	if err != nil {
		return admission.Lists{}, err
	}
	return written.Lists, nil
}
