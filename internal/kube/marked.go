// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// Marked is an object that carries a record of owned tolerations.
type Marked struct {
	workload.Ref
	Record toleration.Record
}

// Marked returns the workloads that carry a record of owned tolerations. The
// metadata of the built-in kinds is listed once per process; what this process
// reads or writes itself, of any kind, is known without.
func (c *Cluster) Marked(ctx context.Context) ([]Marked, error) {
	listed, err := c.marked.get(ctx, func() ([]Marked, error) {
		kinds := workload.BuiltinKinds()
		found := make([][]Marked, len(kinds))
		lists := make([]func() error, len(kinds))
		for i, kind := range kinds {
			lists[i] = func() (err error) {
				found[i], err = c.markedOf(ctx, kind)
				return err
			}
		}
		if err := parallel(lists...); err != nil {
			return nil, err
		}
		var all []Marked
		for _, some := range found {
			all = append(all, some...)
		}
		return all, nil
	})
	if err != nil {
		return nil, err
	}
	c.workloads.mu.Lock()
	defer c.workloads.mu.Unlock()
	var out []Marked
	for _, m := range listed {
		if _, newer := c.workloads.known[m.Ref]; !newer {
			out = append(out, m)
		}
	}
	for ref, object := range c.workloads.known {
		if record := recordOf(object); len(record) > 0 {
			out = append(out, Marked{Ref: ref, Record: record})
		}
	}
	return out, nil
}

func (c *Cluster) markedOf(ctx context.Context, kind workload.Kind) ([]Marked, error) {
	var found []Marked
	err := each(ctx, kind.Plural, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return c.meta.Resource(kind.Resource()).List(ctx, o)
	}, func() { found = nil }, func(o runtime.Object) error {
		object, err := meta.Accessor(o)
		if err != nil {
			return err
		}
		if record := recordOf(object); len(record) > 0 {
			ref := workload.Ref{APIVersion: kind.APIVersion, Kind: kind.Kind, Namespace: object.GetNamespace(), Name: object.GetName()}
			found = append(found, Marked{Ref: ref, Record: record})
		}
		return nil
	})
	return found, err
}

// recordOf reads the record of an object; one that cannot be read is told where
// the object itself is looked at.
func recordOf(object metav1.Object) toleration.Record {
	record, _ := toleration.ParseRecord(object.GetAnnotations()[toleration.OwnedAnnotation])
	return record
}
