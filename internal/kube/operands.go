// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// readWorkload is how a workload is read: as it is known, or as it is now.
type readWorkload func(context.Context, workload.Ref, []string) (*workload.Workload, error)

// operands reads the workloads that an operator makes of an object and takes from
// them what the object does not tell. Without that, a moment at which no pod of
// theirs is there would look like one at which all of them follow. What may not be
// read stays unknown.
func (c *Cluster) operands(ctx context.Context, w *workload.Workload, read readWorkload) error {
	var operands []*workload.Workload
	for _, key := range w.Pods {
		if w.Itself(key) {
			return nil
		}
		operand, err := c.operand(ctx, key, read)
		switch {
		case errors.Is(err, ErrNotFound):
			continue
		case errors.Is(err, ErrForbidden):
			return nil
		case err != nil:
			return err
		}
		operands = append(operands, operand)
	}
	if len(operands) > 0 {
		w.Operated(operands)
	}
	return nil
}

func (c *Cluster) operand(ctx context.Context, key snapshot.WorkloadKey, read readWorkload) (*workload.Workload, error) {
	kind, known := workload.Lookup("apps/v1", key.Kind)
	if !known || key.Group != kind.Resource().Group {
		return nil, ErrNotFound
	}
	return read(ctx, workload.Ref{APIVersion: kind.APIVersion, Kind: kind.Kind, Namespace: key.Namespace, Name: key.Name}, kind.Path)
}
