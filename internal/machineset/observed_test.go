// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"testing"
	"time"
)

// TestNext_waitsForMachinesOfTheTemplateBeforeWithoutAMarker: a template that no
// machine differed from was written without a marker.
func TestNext_waitsForMachinesOfTheTemplateBeforeWithoutAMarker(t *testing.T) {
	t.Parallel()
	for _, strategy := range []Strategy{InPlace, Rolling, Surge, ScaleToZero, TemplateOnly} {
		for name, tt := range map[string]struct {
			change func(*Observed)
			waits  bool
		}{
			"a machine is to come":                    {func(*Observed) {}, strategy != TemplateOnly},
			"the controller has seen the template":    {func(o *Observed) { o.Set.Observed = true }, false},
			"no machine is to come":                   {func(o *Observed) { o.Set.Replicas = 0 }, false},
			"no controller has ever acted on the set": {func(o *Observed) { o.Unattended, o.Set.Reconciled = true, false }, false},
			"another machine is there and in sync":    {func(o *Observed) { *o = *withoutMarker(t, strategy, 2, "a") }, strategy != TemplateOnly},
			"all machines are there":                  {func(o *Observed) { *o = *withoutMarker(t, strategy, 1, "a") }, false},
			"the replacement of a machine is to come": {func(o *Observed) { *o = *withoutMarker(t, strategy, 1, "a deleting") }, strategy != TemplateOnly},
		} {
			o := withoutMarker(t, strategy, 1)
			tt.change(o)
			d := Next(*o, desire(t, strategy, wantedTaint), time.Unix(0, 0))
			if len(d.Intents) > 0 || d.Stop != "" || d.Done == tt.waits {
				t.Errorf("%s, %s: done is %v, it stops with %q and writes %d times", strategy, name, d.Done, d.Stop, len(d.Intents))
			}
		}
	}
}

// withoutMarker is a MachineSet whose template was written without a marker, and which its
// controller has not seen since.
func withoutMarker(t *testing.T, strategy Strategy, replicas int, machines ...string) *Observed {
	t.Helper()
	o := scene(t, strategy, replicas, 0, 0, machines...)
	o.Set.Marker, o.Set.Observed = nil, false
	return &o
}
