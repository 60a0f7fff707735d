// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// RevertedError reports that another writer keeps reverting what is written, or lets nothing be written.
type RevertedError struct {
	// Thing is the object of the last write, the zero value where none is known.
	Thing workload.Ref
	// Busy is set where another client changed the object before each write, so that none was made.
	Busy bool
}

// Error names the object.
func (e *RevertedError) Error() string {
	if e.Busy {
		return "another client changes " + e.Thing.Title() + " before each write"
	}
	out := "another controller keeps reverting what is written"
	if e.Thing.Name != "" {
		out += " to " + e.Thing.Title()
	}
	return out
}

// Is makes conflicts about the same object the same error.
func (e *RevertedError) Is(target error) bool {
	other, ok := target.(*RevertedError)
	return ok && *e == *other
}

// revertedAbout is the error of a write of a rollout of machines that is made repeatedly.
func revertedAbout(s *machineset.Set, intent machineset.Intent) error {
	return &RevertedError{Thing: thingOf(s, intent)}
}

// busyAbout is the error of a write of a rollout of machines that always meets one of another client.
func busyAbout(s *machineset.Set, intent machineset.Intent) error {
	return &RevertedError{Thing: thingOf(s, intent), Busy: true}
}

// thingOf is the object that an intent writes.
func thingOf(s *machineset.Set, intent machineset.Intent) workload.Ref {
	switch {
	case intent.Node != nil:
		return workload.Ref{Kind: "Node", Name: intent.Node.Name}
	case intent.Machine != nil:
		return workload.Ref{APIVersion: machineset.APIVersion, Kind: "Machine", Namespace: intent.Machine.Namespace, Name: intent.Machine.Name}
	}
	return workload.Ref{APIVersion: machineset.APIVersion, Kind: "MachineSet", Namespace: s.Namespace, Name: s.Name}
}
