// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// controllers is what is taken from the metadata of the controllers of one kind:
// a snapshot needs to know who controls them, and Marked what they are marked with.
// They are many, so that each kind is listed once for both.
type controllers struct {
	listed  map[types.UID]bool
	parents map[types.UID]eviction.Owner
	marked  []Marked
}

// listedControllers remembers the kinds of which both is needed.
type listedControllers struct {
	replicaSets, jobs once[controllers]
}

// of returns where a kind is remembered, nil for one that is not.
func (l *listedControllers) of(kind string) *once[controllers] {
	switch kind {
	case "ReplicaSet":
		return &l.replicaSets
	case "Job":
		return &l.jobs
	}
	return nil
}

// controllersOf lists the metadata of a kind of controllers; those of a snapshot
// once per process.
func (c *Cluster) controllersOf(ctx context.Context, kind workload.Kind) (controllers, error) {
	list := func() (controllers, error) { return c.listControllers(ctx, kind) }
	if remembered := c.controllers.of(kind.Kind); remembered != nil {
		return remembered.get(ctx, list)
	}
	return list()
}

func (c *Cluster) listControllers(ctx context.Context, kind workload.Kind) (controllers, error) {
	var out controllers
	err := each(ctx, kind.Plural, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return c.meta.Resource(kind.Resource()).List(ctx, o)
	}, func() {
		out = controllers{listed: map[types.UID]bool{}, parents: map[types.UID]eviction.Owner{}}
	}, func(o runtime.Object) error {
		object, err := meta.Accessor(o)
		if err != nil {
			return err
		}
		out.listed[object.GetUID()] = true
		if ref := metav1.GetControllerOfNoCopy(object); ref != nil {
			out.parents[object.GetUID()] = eviction.Owner{Kind: ref.Kind, Name: ref.Name}
		}
		ref := workload.Ref{APIVersion: kind.APIVersion, Kind: kind.Kind, Namespace: object.GetNamespace(), Name: object.GetName()}
		if m, marked := markedOf(ref, object); marked {
			out.marked = append(out.marked, m)
		}
		return nil
	})
	return out, err
}
