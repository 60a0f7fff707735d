// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machine

import (
	"context"
	"errors"
	"fmt"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
)

// Cloud makes and removes the instances behind Machines. What real providers
// call an actuator.
type Cloud interface {
	// Exists reports whether there is an instance for a Machine.
	Exists(ctx context.Context, m *machinev1beta1.Machine) (bool, error)
	// Create asks for an instance, and may be called again until it exists. An
	// InvalidError fails the Machine for good, any other error is tried again.
	Create(ctx context.Context, m *machinev1beta1.Machine) error
	// Update writes into the Machine what is known of its instance.
	Update(ctx context.Context, m *machinev1beta1.Machine) error
	// Delete asks for the end of an instance, and may be called again until it
	// does not exist any more.
	Delete(ctx context.Context, m *machinev1beta1.Machine) error
}

// InvalidError reports that no instance can ever be made of a Machine.
type InvalidError struct {
	Message string
}

// Error is what is wrong with the Machine, which shows in its status.
func (e *InvalidError) Error() string { return e.Message }

// LaterError asks to be called again after a while, without the back-off of a
// failure.
type LaterError struct {
	After time.Duration
}

// Error shows in logs alone: the wait is no failure.
func (e *LaterError) Error() string { return fmt.Sprintf("requeue in: %s", e.After) }

func isInvalid(err error) bool {
	invalid := new(InvalidError)
	return errors.As(err, &invalid)
}
