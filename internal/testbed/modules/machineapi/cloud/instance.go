// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package cloud

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// Namespace holds the cloud's books: a ConfigMap for each instance. A test that
	// deletes one plays an instance that vanishes.
	Namespace = "invented-cloud"
	// poolLabel tells instances of one MachineSet from others.
	poolLabel = "cloud.kubetaint.io/pool"
	// recordKey is the key of an instance in its ConfigMap.
	recordKey = "instance"
)

// instance is what the cloud knows of one.
type instance struct {
	// Machine is namespace/name, for people.
	Machine    string
	ProviderID string
	Address    string
	NodeName   string
	Node       NodeSpec
	// ReadyAt is when it can be seen, BootsAt when its Node joins.
	ReadyAt, BootsAt time.Time
	// Joined reports that the Node has been made. It is made once: no controller brings back
	// one that was deleted.
	Joined bool
	// GoneAt is when it ends; zero while no end is requested.
	GoneAt time.Time
}

// ends reports whether it has ended at a time.
func (i *instance) ends(now time.Time) bool {
	return !i.GoneAt.IsZero() && !now.Before(i.GoneAt)
}

// InstanceName returns the name of the ConfigMap of a Machine's instance.
func InstanceName(m *machinev1beta1.Machine) string { return "instance-" + string(m.UID) }

// pool is what quotas and ordinal numbers are counted by: the MachineSet, or the
// Machine itself where it has none.
func pool(m *machinev1beta1.Machine) string {
	if owner := metav1.GetControllerOf(m); owner != nil {
		return string(owner.UID)
	}
	return string(m.UID)
}

// describe invents an instance for a Machine. The Node is not called like the
// Machine, as on most clouds. Its address is a private one of IPv6: the bits of IPv4 are
// so few that a run of all tests may give two Machines the same address, and nodelink
// links by the address until the Machine has a provider ID.
func describe(m *machinev1beta1.Machine, spec *Spec, now time.Time) *instance {
	sum := sha256.Sum256([]byte(m.UID))
	address := [16]byte(sum[:16])
	address[0] = 0xfd
	ready := now.Add(spec.ProvisionDelay.Duration)
	return &instance{
		Machine:    m.Namespace + "/" + m.Name,
		ProviderID: "invented:///" + string(m.UID),
		Address:    netip.AddrFrom16(address).String(),
		NodeName:   fmt.Sprintf("node-%x", sum[:8]),
		Node:       spec.Node,
		ReadyAt:    ready,
		BootsAt:    ready.Add(spec.BootDelay.Duration),
	}
}

// addresses are those of the Machine and of its Node.
func (i *instance) addresses() []corev1.NodeAddress {
	return []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: i.Address},
		{Type: corev1.NodeHostName, Address: i.NodeName},
	}
}

func (i *instance) write(into *corev1.ConfigMap) error {
	raw, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return err
	}
	into.Data = map[string]string{recordKey: string(raw)}
	return nil
}

func read(from *corev1.ConfigMap) (*instance, error) {
	found := &instance{}
	if err := json.Unmarshal([]byte(from.Data[recordKey]), found); err != nil {
		return nil, fmt.Errorf("reading instance %s: %w", from.Name, err)
	}
	return found, nil
}

// lookUp returns the instance of a Machine with the ConfigMap that it is in, or
// nil. It asks the server itself, since a cache would have the Machine
// controller ask for a second instance, or take the first one for lost.
func (c *Cloud) lookUp(ctx context.Context, m *machinev1beta1.Machine) (*instance, *corev1.ConfigMap, error) {
	record := &corev1.ConfigMap{}
	err := c.direct.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: InstanceName(m)}, record)
	if apierrors.IsNotFound(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	found, err := read(record)
	return found, record, err
}

// ordinal returns the number of a Machine in its pool, counted from 1. It is
// written down, so that a Machine that is asked for again keeps it.
func (c *Cloud) ordinal(ctx context.Context, m *machinev1beta1.Machine) (int, error) {
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: "pool-" + pool(m)}}
	err := c.direct.Get(ctx, client.ObjectKeyFromObject(record), record)
	if client.IgnoreNotFound(err) != nil {
		return 0, err
	}
	if known, ok := record.Data[string(m.UID)]; ok {
		return strconv.Atoi(known)
	}
	if record.Data == nil {
		record.Data = map[string]string{}
	}
	n := len(record.Data) + 1
	record.Data[string(m.UID)] = strconv.Itoa(n)
	if err != nil {
		return n, c.client.Create(ctx, record)
	}
	return n, c.client.Update(ctx, record)
}
