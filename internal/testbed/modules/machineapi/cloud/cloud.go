// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package cloud is the one thing that is invented: a cloud whose instances are
// Nodes that kwok plays the kubelet of. What it does for a Machine, how slowly
// and with which failures, is in the Machine's own providerSpec, so that the
// MachineSets of different tests do not disturb each other.
package cloud

import (
	"context"
	"errors"
	"fmt"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/testbed/modules/machineapi/machine"
)

// Cloud makes and removes instances.
type Cloud struct {
	client client.Client
	// direct reads past the cache.
	direct   client.Reader
	recorder events.EventRecorder
}

var _ machine.Cloud = (*Cloud)(nil)

// Exists reports whether the instance of a Machine can be seen. One that is not
// ready yet cannot, so that the Machine stays Provisioning.
func (c *Cloud) Exists(ctx context.Context, m *machinev1beta1.Machine) (bool, error) {
	found, _, err := c.lookUp(ctx, m)
	if err != nil || found == nil {
		return false, err
	}
	now := time.Now()
	return !now.Before(found.ReadyAt) && !found.ends(now), nil
}

// Create makes an instance, unless the Machine's spec forbids it.
func (c *Cloud) Create(ctx context.Context, m *machinev1beta1.Machine) error {
	err := c.create(ctx, m)
	if later := new(machine.LaterError); err != nil && !errors.As(err, &later) {
		c.recorder.Eventf(m, nil, corev1.EventTypeWarning, "FailedCreate", "Create", "%v", err)
	}
	return err
}

func (c *Cloud) create(ctx context.Context, m *machinev1beta1.Machine) error {
	spec, err := c.specOf(ctx, m)
	if err != nil {
		return err
	}
	found, _, err := c.lookUp(ctx, m)
	if err != nil {
		return err
	}
	if found == nil {
		if err := c.permit(ctx, m, spec); err != nil {
			return err
		}
		found = describe(m, spec, time.Now())
		record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: Namespace, Name: InstanceName(m), Labels: map[string]string{poolLabel: pool(m)},
		}}
		if err := found.write(record); err != nil {
			return err
		}
		if err := c.client.Create(ctx, record); err != nil {
			return err
		}
		c.recorder.Eventf(m, nil, corev1.EventTypeNormal, "Create", "Create", "Created Machine %v", m.Name)
	}
	if left := time.Until(found.ReadyAt); left > 0 {
		return &machine.LaterError{After: left}
	}
	return c.show(ctx, m, found)
}

// specOf reads what a Machine's spec says, chance included.
func (c *Cloud) specOf(ctx context.Context, m *machinev1beta1.Machine) (*Spec, error) {
	spec, err := specOf(m)
	if err != nil {
		return nil, &machine.InvalidError{Message: err.Error()}
	}
	if spec.Jitter.Duration > 0 {
		n, err := c.ordinal(ctx, m)
		if err != nil {
			return nil, err
		}
		spec.delay(n)
	}
	return spec, nil
}

// permit lets a Machine have an instance, or fail.
func (c *Cloud) permit(ctx context.Context, m *machinev1beta1.Machine, spec *Spec) error {
	n := 0
	if len(spec.FailMachines) > 0 {
		var err error
		if n, err = c.ordinal(ctx, m); err != nil {
			return err
		}
	}
	if spec.fails(n) {
		return &machine.InvalidError{Message: "the invented cloud was told to refuse this machine"}
	}
	if spec.Quota == nil {
		return nil
	}
	existing := &corev1.ConfigMapList{}
	if err := c.direct.List(ctx, existing, client.InNamespace(Namespace), client.MatchingLabels{poolLabel: pool(m)}); err != nil {
		return err
	}
	if len(existing.Items) >= *spec.Quota {
		return fmt.Errorf("quota exceeded: %d of %d instances exist", len(existing.Items), *spec.Quota)
	}
	return nil
}

// Update shows the instance in the Machine.
func (c *Cloud) Update(ctx context.Context, m *machinev1beta1.Machine) error {
	found, _, err := c.lookUp(ctx, m)
	if err != nil {
		return err
	}
	if found == nil {
		return errors.New("the instance has vanished")
	}
	return c.show(ctx, m, found)
}

// show writes providerID and addresses, if they are not there yet.
func (c *Cloud) show(ctx context.Context, m *machinev1beta1.Machine, found *instance) error {
	if ptr.Deref(m.Spec.ProviderID, "") != found.ProviderID {
		base := m.DeepCopy()
		m.Spec.ProviderID = &found.ProviderID
		if err := c.client.Patch(ctx, m, client.MergeFrom(base)); err != nil {
			return err
		}
	}
	if len(m.Status.Addresses) == 0 {
		base := m.DeepCopy()
		m.Status.Addresses = found.addresses()
		return c.client.Status().Patch(ctx, m, client.MergeFrom(base))
	}
	return nil
}

// Delete asks for the end of an instance.
func (c *Cloud) Delete(ctx context.Context, m *machinev1beta1.Machine) error {
	spec, err := c.specOf(ctx, m)
	if err != nil {
		return err
	}
	if spec.DeleteError != "" {
		c.recorder.Eventf(m, nil, corev1.EventTypeWarning, "FailedDelete", "Delete", "%v", spec.DeleteError)
		return errors.New(spec.DeleteError)
	}
	found, record, err := c.lookUp(ctx, m)
	if err != nil || found == nil {
		return err
	}
	if m.Status.NodeRef == nil {
		// The Machine controller does not know of the Node that has just joined.
		if err := c.removeNode(ctx, found); err != nil {
			return err
		}
	}
	if found.GoneAt.IsZero() {
		c.recorder.Eventf(m, nil, corev1.EventTypeNormal, "Delete", "Delete", "Deleted machine %v", m.Name)
		found.GoneAt = time.Now().Add(spec.DeleteDelay.Duration)
	}
	if found.ends(time.Now()) {
		return client.IgnoreNotFound(c.client.Delete(ctx, record))
	}
	if err := found.write(record); err != nil {
		return err
	}
	return c.client.Update(ctx, record)
}

func (c *Cloud) removeNode(ctx context.Context, found *instance) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: found.NodeName}}
	return client.IgnoreNotFound(c.client.Delete(ctx, node))
}
