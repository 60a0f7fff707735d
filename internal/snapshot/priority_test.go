// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A new pod gets what its PriorityClass has by then, and not what the pod before it has.
func TestPrioritize(t *testing.T) {
	t.Parallel()
	high := Demand{PriorityClass: "high", Priority: 1000, Limits: Resources{MilliCPU: 1}}
	with := func(change func(*Demand)) Demand {
		d := high
		change(&d)
		return d
	}
	none := Demand{Limits: high.Limits}
	for name, tt := range map[string]struct {
		pod     Demand
		classes PriorityClasses
		want    Demand
		gone    bool
	}{
		"the class is as it was":                  {pod: high, classes: PriorityClasses{"high": {Value: 1000}}, want: high},
		"its value is another one":                {pod: high, classes: PriorityClasses{"high": {Value: 5}}, want: with(func(d *Demand) { d.Priority = 5 })},
		"its preemptionPolicy has become Never":   {pod: high, classes: PriorityClasses{"high": {Value: 1000, Patient: true}}, want: with(func(d *Demand) { d.Patient = true })},
		"its preemptionPolicy is Never no longer": {pod: with(func(d *Demand) { d.Patient = true }), classes: PriorityClasses{"high": {Value: 1000}}, want: high},
		"it is gone":                                   {pod: high, classes: PriorityClasses{"low": {}}, want: high, gone: true},
		"it is gone, and there is a default":           {pod: high, classes: PriorityClasses{"low": {Default: true}}, want: high, gone: true},
		"none were read":                               {pod: high, want: high},
		"a pod without a class":                        {pod: none, classes: PriorityClasses{"high": {Value: 1000}}, want: none},
		"a pod without a class where one is default":   {pod: none, classes: PriorityClasses{"high": {Value: 1000, Default: true}}, want: high},
		"a class of the system is there in any case":   {pod: with(func(d *Demand) { d.PriorityClass = "system-node-critical" }), classes: PriorityClasses{}, want: with(func(d *Demand) { d.PriorityClass = "system-node-critical" })},
		"the other class of the system, where of none": {pod: with(func(d *Demand) { d.PriorityClass = "system-cluster-critical" }), classes: PriorityClasses{}, want: with(func(d *Demand) { d.PriorityClass = "system-cluster-critical" })},
	} {
		before := tt.pod
		got, exists := tt.pod.Prioritize(tt.classes)
		if exists == tt.gone || !cmp.Equal(*got, tt.want) {
			t.Errorf("%s: exists %t: %s", name, exists, cmp.Diff(tt.want, *got))
		}
		if !cmp.Equal(before, tt.pod) {
			t.Errorf("%s: the demand is shared and has changed: %s", name, cmp.Diff(before, tt.pod))
		}
		if same := cmp.Equal(before, tt.want); same != (got == &tt.pod) {
			t.Errorf("%s: equal demands are shared: %t", name, got == &tt.pod)
		}
	}
}
