// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// confirmEvery and confirmWithin bound the wait until the cache shows what
	// was just done, without which the next turn would do it again.
	confirmEvery  = 100 * time.Millisecond
	confirmWithin = 10 * time.Second
)

// sync makes all missing Machines, or deletes all that are too many.
func (r *reconciler) sync(ctx context.Context, ms *machinev1beta1.MachineSet, machines []*machinev1beta1.Machine) error {
	if ms.Spec.Replicas == nil {
		return fmt.Errorf("the Replicas field in Spec for machineset %v is nil, this should not be allowed", ms.Name)
	}
	diff := len(machines) - int(*ms.Spec.Replicas)
	switch {
	case diff < 0:
		klog.Infof("%s: %d of %d machines are there, creating %d", ms.Name, len(machines), *ms.Spec.Replicas, -diff)
		return r.create(ctx, ms, -diff)
	case diff > 0:
		klog.Infof("%s: %d machines are there, %d wanted, deleting %d", ms.Name, len(machines), *ms.Spec.Replicas, diff)
		by, err := policyOf(ms)
		if err != nil {
			return err
		}
		return r.delete(ctx, surplus(machines, diff, by, time.Now()))
	default:
		return nil
	}
}

// fromTemplate makes a Machine of the template as it is now. No later change of
// the template reaches it.
func fromTemplate(ms *machinev1beta1.MachineSet) *machinev1beta1.Machine {
	template := ms.Spec.Template.DeepCopy()
	return &machinev1beta1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName:    ms.Name + "-",
			Namespace:       ms.Namespace,
			Labels:          template.Labels,
			Annotations:     template.Annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(ms, kind)},
		},
		Spec: template.Spec,
	}
}

// create makes Machines, one after the other.
func (r *reconciler) create(ctx context.Context, ms *machinev1beta1.MachineSet, count int) error {
	var made []*machinev1beta1.Machine
	var failures []error
	for range count {
		m := fromTemplate(ms)
		if err := r.client.Create(ctx, m); err != nil {
			failures = append(failures, err)
			continue
		}
		made = append(made, m)
	}
	if err := errors.Join(failures...); err != nil {
		return err
	}
	return r.confirm(ctx, made, "created", func(err error, _ *machinev1beta1.Machine) bool { return err == nil })
}

// delete deletes Machines all together: there is no cap, and no regard for what
// their nodes carry.
func (r *reconciler) delete(ctx context.Context, machines []*machinev1beta1.Machine) error {
	failures := make([]error, len(machines))
	var wg sync.WaitGroup
	for i, m := range machines {
		wg.Go(func() { failures[i] = r.client.Delete(ctx, m) })
	}
	wg.Wait()
	for _, err := range failures {
		if err != nil {
			return err
		}
	}
	return r.confirm(ctx, machines, "deleted", func(err error, m *machinev1beta1.Machine) bool {
		return apierrors.IsNotFound(err) || err == nil && m.DeletionTimestamp != nil
	})
}

// confirm waits until the cache shows what was done to some Machines.
func (r *reconciler) confirm(ctx context.Context, machines []*machinev1beta1.Machine, what string, seen func(error, *machinev1beta1.Machine) bool) error {
	for _, m := range machines {
		err := wait.PollUntilContextTimeout(ctx, confirmEvery, confirmWithin, true, func(ctx context.Context) (bool, error) {
			current := &machinev1beta1.Machine{}
			err := r.client.Get(ctx, client.ObjectKeyFromObject(m), current)
			if seen(err, current) {
				return true, nil
			}
			return false, client.IgnoreNotFound(err)
		})
		if err != nil {
			return fmt.Errorf("failed waiting for machine object to be %s: %w", what, err)
		}
	}
	return nil
}
