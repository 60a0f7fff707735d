// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// controllers is what is taken from the controllers of one kind: a snapshot needs to know
// who controls them, and Marked what they are marked with.
// They are many, so that each kind is listed once for both.
type controllers struct {
	listed  map[types.UID]bool
	parents map[types.UID]snapshot.Owner
	marked  []Marked
	// openShift are the namespaces of OpenShift's operators that have some.
	openShift openShiftNamespaces
}

// listedControllers remembers the kinds that have been listed.
type listedControllers struct {
	mu    sync.Mutex
	known map[schema.GroupVersionResource]*once[controllers]
}

// of returns where a kind is remembered.
func (l *listedControllers) of(kind workload.Kind) *once[controllers] {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = map[schema.GroupVersionResource]*once[controllers]{}
	}
	if l.known[kind.Resource()] == nil {
		l.known[kind.Resource()] = &once[controllers]{}
	}
	return l.known[kind.Resource()]
}

// controllersOf lists a kind of controllers, once per process.
func (c *Cluster) controllersOf(ctx context.Context, kind workload.Kind) (controllers, error) {
	return c.controllers.of(kind).get(ctx, func() (controllers, error) {
		found, err := c.listControllers(ctx, kind)
		if !kind.Builtin && (errors.Is(err, ErrNotFound) || errors.Is(err, ErrForbidden)) {
			// Not every cluster serves them, and who has no rights to them has given
			// them no tolerations.
			err = nil
		}
		return found, err
	})
}

func (c *Cluster) listControllers(ctx context.Context, kind workload.Kind) (controllers, error) {
	var out controllers
	var daemons map[types.UID]listedDaemon
	err := c.each(ctx, kind.Plural, c.listsOf(kind), func() {
		out = controllers{listed: map[types.UID]bool{}, parents: map[types.UID]snapshot.Owner{}}
		daemons = map[types.UID]listedDaemon{}
	}, func(o runtime.Object) error {
		object, err := meta.Accessor(o)
		if err != nil {
			return err
		}
		out.listed[object.GetUID()] = true
		if uid, d, is := daemonOf(o); is {
			daemons[uid] = d
		}
		if ref := metav1.GetControllerOfNoCopy(object); ref != nil {
			out.parents[object.GetUID()] = snapshot.OwnerOf(ref.APIVersion, ref.Kind, ref.Name)
		}
		out.openShift = out.openShift.with(object)
		ref := workload.Ref{APIVersion: kind.APIVersion, Kind: kind.Kind, Namespace: object.GetNamespace(), Name: object.GetName()}
		if m, marked := recordsOn(ref, object); marked {
			out.marked = append(out.marked, m)
		}
		return nil
	})
	if err == nil && isDaemonSet(kind) {
		c.noteTemplates(daemons)
	}
	return out, err
}
