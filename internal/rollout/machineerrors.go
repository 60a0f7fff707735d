// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"fmt"
	"strings"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// SetGoneError reports that the MachineSet is not there any more, or that another one
// of its name is.
type SetGoneError struct {
	Key       string
	Recreated bool
}

// Error reports which.
func (e *SetGoneError) Error() string {
	if e.Recreated {
		return "MachineSet " + e.Key + " has been deleted and recreated in the meantime"
	}
	return "MachineSet " + e.Key + " is not there"
}

// Is makes a MachineSet that is gone kube.ErrNotFound.
func (e *SetGoneError) Is(target error) bool {
	return target == kube.ErrNotFound
}

// SetConflictError reports that entries of the template are not owned to change.
type SetConflictError struct {
	Set       *machineset.Set
	Conflicts []taint.Conflict
}

// Error names the first.
func (e *SetConflictError) Error() string {
	return fmt.Sprintf("%s has %s already", e.Set.Title(), e.Conflicts[0].ID)
}

// StoppedError reports that a rollout cannot go on until a user has looked at it.
type StoppedError struct {
	Set *machineset.Set
	Why string
	// Thing is the title of the object of which an annotation cannot be read, and Err that
	// error; both are empty where it stops for another reason.
	Thing string
	Err   error
}

// Error reports why.
func (e *StoppedError) Error() string { return e.Why }

// Unwrap returns the error of reading an annotation, nil for none.
func (e *StoppedError) Unwrap() error { return e.Err }

// cannotRead stops for an annotation that cannot be read.
func cannotRead(s *machineset.Set, thing string, err error) *StoppedError {
	return &StoppedError{Set: s, Why: err.Error(), Thing: thing, Err: err}
}

// RestoredError is an error that ended a rollout whose count has been brought back then.
type RestoredError struct {
	// Replicas is what the count is again.
	Replicas int
	Err      error
}

// Error returns the original error.
func (e *RestoredError) Error() string { return e.Err.Error() }

// Unwrap returns the original error.
func (e *RestoredError) Unwrap() error { return e.Err }

// AtZeroError is an error that ended a rollout whose count could not be brought back: the
// MachineSet is left without machines.
type AtZeroError struct {
	Set *machineset.Set
	// Replicas is what the count was before the rollout.
	Replicas int
	Err      error
}

// Error returns the original error.
func (e *AtZeroError) Error() string { return e.Err.Error() }

// Unwrap returns the original error.
func (e *AtZeroError) Unwrap() error { return e.Err }

// MachinesError reports what a rollout waited for when it timed out or was interrupted.
type MachinesError struct {
	// Set is as it is left.
	Set *machineset.Set
	// Begun reports that this run has written something.
	Begun   bool
	Waiting []string
	// Controller reports that Waiting is about the MachineSet's controller: no machine that
	// exists is waited for.
	Controller bool
	// Holds report what holds a drain: pods, PDBs, hooks.
	Holds []string
	// Left is how many machines the rollout still must replace, or to change in place.
	Left int
	// Restored reports that the count has been brought back.
	Restored bool
	Err      error
}

// Error reports what is missing.
func (e *MachinesError) Error() string {
	if len(e.Waiting) == 0 {
		return e.Err.Error()
	}
	return "waiting for machines: " + strings.Join(append(e.Waiting, e.Holds...), "; ") + ": " + e.Err.Error()
}

// Unwrap returns the error of the context.
func (e *MachinesError) Unwrap() error { return e.Err }
