// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// ErrNoMachineAPI reports that the cluster serves no MachineSets: it is not
// OpenShift, or one without the capability MachineAPI.
var ErrNoMachineAPI = errors.New("the cluster does not serve OpenShift's Machine API")

// machineKind is how a kind of the Machine API is read.
func machineKind[T any](client dynamic.Interface, plural string, slim func(*unstructured.Unstructured) T, key, version func(T) string) kind[T] {
	resource := client.Resource(machinev1beta1.GroupVersion.WithResource(plural))
	return kind[T]{
		plural: plural,
		list: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return resource.List(ctx, o)
		},
		watch: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return resource.Watch(ctx, o)
		},
		slim:        slimOf(slim),
		key:         key,
		itemVersion: version,
	}
}

// noMachineAPI turns the answer that a resource is not served into what it means.
func noMachineAPI(err error) error {
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w: %w", ErrNoMachineAPI, err)
	}
	return err
}

// Machines returns OpenShift's Machines, by namespace/name. They are listed once per process; a
// cluster without the Machine API has none.
func (c *Cluster) Machines(ctx context.Context) (map[string]*machineset.Machine, error) {
	err := c.machines.load(ctx)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	machines, _ := c.machines.all()
	out := make(map[string]*machineset.Machine, len(machines))
	for _, m := range machines {
		out[m.Key()] = m
	}
	return out, err
}

// MachineSets returns all MachineSets with their Machines and nodes. They are
// listed once per process, and current while they are followed. Errors:
// ErrNoMachineAPI, those of the API server.
func (c *Cluster) MachineSets(ctx context.Context) ([]machineset.Observed, error) {
	if err := parallel(
		func() error { return c.sets.load(ctx) },
		func() error { return c.machines.load(ctx) },
		func() error { return c.nodes.load(ctx) },
	); err != nil {
		return nil, noMachineAPI(err)
	}
	sets, _ := c.sets.all()
	machines, _ := c.machines.all()
	out := make([]machineset.Observed, len(sets))
	for i, s := range sets {
		out[i] = c.observed(s, machines)
	}
	return out, nil
}

// MachineSet returns one MachineSet as it is known now; false where there is
// none. MachineSets must have been read before.
func (c *Cluster) MachineSet(key string) (machineset.Observed, bool) {
	s, ok := c.sets.get(key)
	if !ok {
		return machineset.Observed{}, false
	}
	machines, _ := c.machines.all()
	return c.observed(s, machines), true
}

func (c *Cluster) observed(s *machineset.Set, machines []*machineset.Machine) machineset.Observed {
	o := machineset.Observed{Set: s, Unattended: s.Unattended(time.Now()), Nodes: map[string]*snapshot.Node{}}
	for _, m := range machines {
		if !s.Counts(m) {
			continue
		}
		o.Machines = append(o.Machines, m)
		if n, ok := c.nodes.get(m.Node); ok {
			o.Nodes[m.Node] = n
		}
	}
	return o
}
