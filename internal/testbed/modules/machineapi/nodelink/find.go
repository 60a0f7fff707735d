// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodelink

import (
	"context"
	"fmt"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Names of the indexes, which Machines and Nodes share.
const (
	byProviderID = "providerID"
	byInternalIP = "internalIP"
)

// index makes Machines and Nodes be found by what links them.
func index(ctx context.Context, indexer client.FieldIndexer) error {
	for name, keys := range map[string]client.IndexerFunc{
		byProviderID: func(o client.Object) []string { return orNone(providerID(o)) },
		byInternalIP: internalIPs,
	} {
		for _, o := range []client.Object{&corev1.Node{}, &machinev1beta1.Machine{}} {
			if err := indexer.IndexField(ctx, o, name, keys); err != nil {
				return fmt.Errorf("indexing %T by %s: %w", o, name, err)
			}
		}
	}
	return nil
}

func providerID(o client.Object) string {
	switch o := o.(type) {
	case *corev1.Node:
		return o.Spec.ProviderID
	case *machinev1beta1.Machine:
		return ptr.Deref(o.Spec.ProviderID, "")
	}
	return ""
}

func internalIPs(o client.Object) []string {
	var addresses []corev1.NodeAddress
	switch o := o.(type) {
	case *corev1.Node:
		addresses = o.Status.Addresses
	case *machinev1beta1.Machine:
		addresses = o.Status.Addresses
	}
	var ips []string
	for _, a := range addresses {
		if a.Type == corev1.NodeInternalIP {
			ips = append(ips, a.Address)
		}
	}
	return ips
}

func orNone(key string) []string {
	if key == "" {
		return nil
	}
	return []string{key}
}

// keysOf returns by what the other side of a Machine or Node is looked for, in
// this order: providerID, then the first internal address.
func keysOf(o client.Object) []client.MatchingFields {
	var keys []client.MatchingFields
	if id := providerID(o); id != "" {
		keys = append(keys, client.MatchingFields{byProviderID: id})
	}
	if ips := internalIPs(o); len(ips) > 0 {
		keys = append(keys, client.MatchingFields{byInternalIP: ips[0]})
	}
	return keys
}

// machineOf returns the Machine of a Node, or nil. More than one is an error.
func (r *reconciler) machineOf(ctx context.Context, node *corev1.Node) (*machinev1beta1.Machine, error) {
	for _, key := range keysOf(node) {
		found := &machinev1beta1.MachineList{}
		if err := r.client.List(ctx, found, key); err != nil {
			return nil, err
		}
		if len(found.Items) > 1 {
			return nil, fmt.Errorf("expected 1 machine of node %q, got %d", node.Name, len(found.Items))
		}
		if len(found.Items) == 1 {
			return found.Items[0].DeepCopy(), nil
		}
	}
	return nil, nil
}

// nodeOf returns the Node of a Machine, or nil. More than one is an error.
func (r *reconciler) nodeOf(ctx context.Context, m *machinev1beta1.Machine) (*corev1.Node, error) {
	for _, key := range keysOf(m) {
		found := &corev1.NodeList{}
		if err := r.client.List(ctx, found, key); err != nil {
			return nil, err
		}
		if len(found.Items) > 1 {
			return nil, fmt.Errorf("expected 1 node of machine %q, got %d", m.Name, len(found.Items))
		}
		if len(found.Items) == 1 {
			return &found.Items[0], nil
		}
	}
	return nil, nil
}
