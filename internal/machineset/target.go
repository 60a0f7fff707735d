// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"strings"

	"k8s.io/apimachinery/pkg/labels"
)

// Target reports which MachineSets are meant: one by name, or those of a namespace that a
// selector selects.
type Target struct {
	Namespace string
	Name      string
	// Selector is set in place of a name.
	Selector labels.Selector
}

// Matches reports whether a MachineSet is meant.
func (t Target) Matches(s *Set) bool {
	if s.Namespace != t.Namespace {
		return false
	}
	if t.Selector != nil {
		return t.Selector.Matches(labels.Set(s.Labels))
	}
	return s.Name == t.Name
}

// String returns the form that ids use: NAMESPACE/NAME or NAMESPACE/SELECTOR.
func (t Target) String() string {
	if t.Selector != nil {
		// The parser sorts; the two ways to write equality are left to us.
		return t.Namespace + "/" + strings.ReplaceAll(t.Selector.String(), "==", "=")
	}
	return t.Namespace + "/" + t.Name
}

// Place names the MachineSets in messages.
func (t Target) Place() string {
	if t.Selector != nil {
		return `MachineSets matching "` + t.Selector.String() + `"`
	}
	return `MachineSet "` + t.Namespace + "/" + t.Name + `"`
}
