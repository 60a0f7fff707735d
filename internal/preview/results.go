// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package preview

import (
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// Results are the answer: the computed attributes of kubetaint_eviction_preview, which are the fields
// of the plugin's JSON and YAML, and what the plugin alone has of drains.
type Results struct {
	Pods      []Pod      `json:"pods"`
	Workloads []Workload `json:"workloads"`
	Summary   *Summary   `json:"summary"`
	// Stuck is nil for other changes than drains, which have no such field.
	Stuck    []string `json:"stuck,omitzero"`
	Markdown string   `json:"markdown"`
}

// Pod is what becomes of one pod.
type Pod struct {
	Namespace     string  `json:"namespace"     tfsdk:"namespace"`
	Name          string  `json:"name"          tfsdk:"name"`
	Node          string  `json:"node"          tfsdk:"node"`
	Owner         *string `json:"owner"         tfsdk:"owner"`
	Verdict       string  `json:"verdict"       tfsdk:"verdict"`
	AfterSeconds  *int64  `json:"after_seconds" tfsdk:"after_seconds"`
	Taint         *string `json:"taint"         tfsdk:"taint"`
	Toleration    *string `json:"toleration"    tfsdk:"toleration"`
	Reason        string  `json:"reason"        tfsdk:"reason"`
	Lost          bool    `json:"lost"          tfsdk:"lost"`
	Placement     *string `json:"placement"     tfsdk:"placement"`
	Reschedulable bool    `json:"reschedulable" tfsdk:"reschedulable"`
	Budget        *string `json:"budget"        tfsdk:"budget"`
	LocalData     bool    `json:"local_data"    tfsdk:"local_data"`
}

// Workload counts the pods of one workload.
type Workload struct {
	Namespace    string `json:"namespace"     tfsdk:"namespace"`
	Kind         string `json:"kind"          tfsdk:"kind"`
	Name         string `json:"name"          tfsdk:"name"`
	EvictedNow   int    `json:"evicted_now"   tfsdk:"evicted_now"`
	EvictedAfter int    `json:"evicted_after" tfsdk:"evicted_after"`
	Drained      int    `json:"drained"       tfsdk:"drained"`
	Stays        int    `json:"stays"         tfsdk:"stays"`
	Unknown      int    `json:"unknown"       tfsdk:"unknown"`
	Fits         int    `json:"fits"          tfsdk:"fits"`
	Pending      int    `json:"pending"       tfsdk:"pending"`
	PendingMax   int    `json:"pending_max"   tfsdk:"pending_max"`
	Preempted    int    `json:"preempted"     tfsdk:"preempted"`
	EvictedAgain int    `json:"evicted_again" tfsdk:"evicted_again"`
}

// Summary counts all pods on the nodes that change.
type Summary struct {
	Stays            int `json:"stays"             tfsdk:"stays"`
	EvictedNow       int `json:"evicted_now"       tfsdk:"evicted_now"`
	EvictedAfter     int `json:"evicted_after"     tfsdk:"evicted_after"`
	Drained          int `json:"drained"           tfsdk:"drained"`
	Unknown          int `json:"unknown"           tfsdk:"unknown"`
	Completed        int `json:"completed"         tfsdk:"completed"`
	Lost             int `json:"lost"              tfsdk:"lost"`
	LostMax          int `json:"lost_max"          tfsdk:"lost_max"`
	Pending          int `json:"pending"           tfsdk:"pending"`
	PendingMax       int `json:"pending_max"       tfsdk:"pending_max"`
	Preempted        int `json:"preempted"         tfsdk:"preempted"`
	EvictedAgain     int `json:"evicted_again"     tfsdk:"evicted_again"`
	NotReschedulable int `json:"not_reschedulable" tfsdk:"not_reschedulable"`
}

// Results returns the answer of an evaluated change. Pods and workloads about which there is nothing to
// tell are left out unless all are asked for. Both lists are empty rather than nil where none is left.
func (w WhatIf) Results(all bool) Results {
	out := Results{Pods: []Pod{}, Workloads: []Workload{}, Markdown: w.Markdown()}
	if w.Drain != nil {
		out.Stuck = append([]string{}, w.Stuck...)
	}
	homeless := 0
	for _, v := range w.Report.Pods {
		p := fromVerdict(w.Report, v)
		if v.Leaves() && !p.Reschedulable {
			homeless++
		}
		if all || !v.Plain() {
			out.Pods = append(out.Pods, p)
		}
	}
	for _, one := range w.Report.Workloads() {
		if all || notable(one) {
			out.Workloads = append(out.Workloads, fromWorkload(one))
		}
	}
	out.Summary = fromSummary(w.Report.Summary(), homeless)
	return out
}

// notable reports whether there is something to tell about a workload.
func notable(w eviction.Workload) bool {
	return w.Summary.Preempted.Max+w.Summary.Deleted.Max+w.Summary.Pending.Max > 0 || slices.ContainsFunc(w.Pods, func(v eviction.PodVerdict) bool { return !v.Plain() })
}

func fromVerdict(report *eviction.Report, v eviction.PodVerdict) Pod {
	p := Pod{
		Namespace: v.Pod.Namespace, Name: v.Pod.Name, Node: v.Pod.Node,
		Owner: orNull(v.Owner.String()), Verdict: string(v.Verdict),
		Reason: report.Why(v), Lost: v.Lost, Placement: orNull(report.Placement(v)),
		Reschedulable: !v.NoPlace && (report.Placement(v) == "" || report.Placement(v) == "fits" || report.Arrives(v)),
		Budget:        orNull(v.Budget), LocalData: v.Pod.LocalData,
	}
	if v.Verdict == eviction.EvictedAfter {
		p.AfterSeconds = &v.AfterSeconds
	}
	if v.Taint != nil {
		p.Taint = orNull(taint.Format(*v.Taint))
	}
	if v.Toleration != nil {
		p.Toleration = orNull(taint.FormatToleration(*v.Toleration))
	}
	return p
}

func fromWorkload(w eviction.Workload) Workload {
	s := w.Summary
	return Workload{
		Namespace: w.Namespace, Kind: w.Owner.Kind, Name: w.Owner.Name,
		EvictedNow: s.EvictedNow, EvictedAfter: s.EvictedAfter, Drained: s.Drained, Stays: s.Stays, Unknown: s.Unknown,
		Fits: w.Outcome.Placed.Min, Pending: s.Staying.Min, PendingMax: s.Staying.Max, Preempted: s.Preempted.Max,
		EvictedAgain: s.Again.Max,
	}
}

func fromSummary(s eviction.Summary, homeless int) *Summary {
	return &Summary{
		Stays: s.Stays, EvictedNow: s.EvictedNow, EvictedAfter: s.EvictedAfter, Drained: s.Drained, Unknown: s.Unknown, Completed: s.Completed,
		Lost: s.LostPods().Min, LostMax: s.LostPods().Max, Pending: s.Staying.Min, PendingMax: s.Staying.Max, Preempted: s.Preempted.Max, EvictedAgain: s.Again.Max, NotReschedulable: homeless,
	}
}

// orNull returns nil for an empty text.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
