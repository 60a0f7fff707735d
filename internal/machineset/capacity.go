// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Gap is how much of a MachineSet is missing at most while a change rolls out.
type Gap struct {
	// Strategy is the one that is followed; Removed is set where scale_to_zero waits
	// until all old machines are gone.
	Strategy Strategy
	Removed  bool
	// Machines are missing at the same time at most, of All that there are to be.
	Machines, All int
	// Turns is how often in turn as many are missing.
	Turns int
	// Extra machines are there meanwhile.
	Extra int
	// Missing is the most cpu and memory that pods can have of the nodes of as many
	// machines, Whole what they can have of all. Untold is set where a node does not
	// tell, or where machines have gone already: there is more than is counted.
	Missing, Whole snapshot.Resources
	Untold         bool
}

// gap reports how much is missing at most.
func (v *view) gap() Gap {
	g := Gap{Strategy: v.strategy(), Removed: v.desired.Rollout.Removed, All: v.goal()}
	switch g.Strategy {
	case Rolling:
		g.Machines = min(v.desired.Rollout.MaxUnavailable, len(v.old), g.All)
		if g.Machines > 0 {
			g.Turns = (len(v.old) + g.Machines - 1) / g.Machines
		}
	case Surge:
		if g.Extra = min(v.desired.Rollout.MaxSurge, len(v.old)); v.marker != nil {
			g.Extra = v.marker.Surge
		}
	case ScaleToZero:
		if len(v.leaving()) > 0 || v.marker != nil {
			g.Machines, g.Turns = g.All, 1
		}
	case TemplateOnly, InPlace:
	}
	g.Missing, g.Whole, g.Untold = v.allocatable(g.Machines)
	return g
}

// allocatable adds up what the nodes of a number of machines have at most, and what
// all have.
func (v *view) allocatable(machines int) (missing, whole snapshot.Resources, untold bool) {
	var cpu, memory []int64
	for _, m := range slices.Concat(v.old, v.fresh) {
		if n := v.Nodes[m.Node]; n != nil && n.Allocatable != nil {
			cpu, memory = append(cpu, n.Allocatable.MilliCPU), append(memory, n.Allocatable.Memory)
		}
	}
	untold = len(cpu) < v.goal()
	missing.MilliCPU, whole.MilliCPU = most(cpu, machines)
	missing.Memory, whole.Memory = most(memory, machines)
	return missing, whole, untold
}

// most adds up the largest few, and all.
func most(all []int64, few int) (some, whole int64) {
	slices.SortFunc(all, func(a, b int64) int { return cmp.Compare(b, a) })
	for i, n := range all {
		if whole += n; i < few {
			some += n
		}
	}
	return some, whole
}

// Words reports how much is missing at most and until when, as what follows the name of
// the MachineSet and a colon.
func (g Gap) Words() string {
	switch g.Strategy {
	case Rolling:
		return fmt.Sprintf("at most %s missing at a time, %s: each from its drain until its replacement is ready", g.share(), times(g.Turns))
	case Surge:
		return fmt.Sprintf("none of %s is missing; up to %d machines exist during the rollout", count(g.All), g.All+g.Extra)
	case ScaleToZero:
		gone := ""
		if g.Removed {
			gone = "every one is gone and then "
		}
		return fmt.Sprintf("%s missing at the same time, from when they are marked as deleted until %s%s ready", g.share(), gone, areNew(g.All))
	case TemplateOnly, InPlace:
	}
	return fmt.Sprintf("none of %s is missing", count(g.All))
}

// share reports which part of the machines it is.
func (g Gap) share() string {
	out := fmt.Sprintf("%d of %s", g.Machines, count(g.All))
	if g.Machines == g.All && g.All > 1 {
		out = "all " + count(g.All)
	}
	if g.Missing.MilliCPU > 0 || g.Missing.Memory > 0 {
		least := ""
		if g.Untold {
			least = "at least "
		}
		of := " of " + g.Whole.Words()
		if g.Machines == g.All {
			of = ""
		}
		out += " (" + least + g.Missing.Words() + of + ")"
	}
	if g.Machines == 1 {
		return out + " is"
	}
	return out + " are"
}

func count(machines int) string {
	if machines == 1 {
		return "1 machine"
	}
	return fmt.Sprintf("%d machines", machines)
}

func areNew(machines int) string {
	if machines == 1 {
		return "a new one is"
	}
	return fmt.Sprintf("%d new ones are", machines)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times in turn", n)
}
