// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package preview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

// MachineSets are MachineSets whose templates change in an imagined way.
type MachineSets struct {
	Target  machineset.Target
	Rollout machineset.Rollout

	// sets are the matching ones, of which so many may roll out at the same time.
	sets   []machineset.Affected
	atOnce int
}

// where names the MachineSets.
func (f *MachineSets) where() string {
	if f.Target.Selector != nil {
		return fmt.Sprintf("%s matching %q", message.Count(len(f.sets), "MachineSet"), f.Target.Selector)
	}
	return f.Target.Place()
}

// imagine fills in what the change would do to MachineSets: with the same judgement as the plan of
// kubetaint_machine_set_taints.
func (w WhatIf) imagine(s *snapshot.Snapshot, all []machineset.Observed, comparison eviction.Comparison, atOnce int) WhatIf {
	f := *w.MachineSets
	for _, o := range slices.SortedFunc(slices.Values(all), func(a, b machineset.Observed) int { return strings.Compare(a.Set.Key(), b.Set.Key()) }) {
		if !f.Target.Matches(o.Set) {
			continue
		}
		a, d := machineset.Imagine(o, w.Taints, w.Absent, f.Rollout)
		f.sets = append(f.sets, a)
		for _, r := range machineset.Refuse(a.Observed, d) {
			w.Doubts = append(w.Doubts, o.Set.Title()+" is refused: "+r.Why)
		}
		for _, warning := range machineset.Warnings(a.Observed, d) {
			w.Doubts = append(w.Doubts, o.Set.Title()+": "+warning)
		}
	}
	impact := machineset.Evaluate(s, f.sets, w.Added, comparison, atOnce)
	for _, r := range impact.Refusals {
		w.Doubts = append(w.Doubts, impact.Refused.Title()+" is refused: "+r.Why)
	}
	for _, d := range impact.Deadlocks {
		if !slices.ContainsFunc(impact.Refusals, func(r machineset.Refusal) bool { return r.Why == d.Why }) {
			w.Doubts = append(w.Doubts, d.Why)
		}
	}
	f.atOnce = atOnce
	w.MachineSets, w.Matched, w.Report = &f, len(f.sets), impact.Report
	return w
}
