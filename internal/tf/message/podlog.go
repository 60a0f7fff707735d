// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
)

// LogPods logs what a report shows of each pod: a warning has a row for a workload, and names
// no pod that is recreated.
func LogPods(ctx context.Context, s Subject, report *eviction.Report) {
	for _, v := range report.Pods {
		if v.Plain() {
			continue
		}
		fields := map[string]any{"pod": v.Pod.Key(), "node": v.Pod.Node, "owner": v.Owner.String(), "verdict": string(v.Verdict), "reason": report.Why(v)}
		if v.Verdict == eviction.EvictedAfter {
			fields["after_seconds"] = v.AfterSeconds
		}
		for name, value := range map[string]string{"budget": v.Budget, "placement": report.Placement(v)} {
			if value != "" {
				fields[name] = value
			}
		}
		for name, is := range map[string]bool{"lost": v.Lost, "local_data": v.Pod.LocalData} {
			if is {
				fields[name] = true
			}
		}
		tflog.Info(ctx, s.String(), fields)
	}
	outcome := report.Outcome()
	for _, victim := range outcome.Victims {
		tflog.Info(ctx, s.String(), map[string]any{
			"pod": victim.Pod.Key(), "node": victim.Pod.Node, "verdict": "preempted", "reason": fmt.Sprintf("is preempted in %d of %d orders", victim.Orders, victim.Of),
		})
	}
}
