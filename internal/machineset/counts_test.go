// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"
)

// TestCounts_asTheControllerCountsMachines, beside which those count that still drain.
func TestCounts_asTheControllerCountsMachines(t *testing.T) {
	t.Parallel()
	selected := labels.Set{"machineset": "gpu"}
	set := &Set{UID: "u", Selector: labels.SelectorFromSet(selected)}
	for name, tt := range map[string]struct {
		machine Machine
		want    bool
	}{
		"selected":                        {Machine{Set: "u", ObjectLabels: selected}, true},
		"of another MachineSet":           {Machine{Set: "v", ObjectLabels: selected}, false},
		"taken out by other labels":       {Machine{Set: "u", ObjectLabels: labels.Set{"machineset": "broken"}}, false},
		"selected, and is being deleted":  {Machine{Set: "u", Deleting: true, ObjectLabels: selected}, true},
		"taken out, and is being deleted": {Machine{Set: "u", Deleting: true}, false},
	} {
		if got := set.Counts(&tt.machine); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if !(&Set{UID: "u"}).Counts(&Machine{Set: "u"}) {
		t.Error("a MachineSet without a selector does not count its Machines")
	}
}
