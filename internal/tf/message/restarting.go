// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
)

// andRestarting ends a summary with how many pods a change may evict because the same run restarts them.
func andRestarting(summary string, affected int, report *eviction.Report) string {
	n := countRestarting(report.Restarting)
	restart := Agree(n, "that restarts", "that restart") + " in the same run"
	switch {
	case n == 0:
		return summary
	case affected > 0:
		return fmt.Sprintf("%s, and may evict %d more %s", summary, n, restart)
	case strings.HasSuffix(summary, " no pods"):
		return fmt.Sprintf("%s, but may evict %s %s", summary, Count(n, "pod"), restart)
	}
	return fmt.Sprintf("%s, and may evict %s %s", summary, Count(n, "pod"), restart)
}

func countRestarting(all []eviction.Restarting) (n int) {
	for _, r := range all {
		n += r.Pods
	}
	return n
}

// restartsFirst lists these workloads after a sentence, and reports what to do, "" for none.
func restartsFirst(lead string, all []eviction.Restarting) string {
	if len(all) == 0 {
		return ""
	}
	out := lead + ":\n"
	for i, r := range all {
		if i == maxPods {
			out += fmt.Sprintf("\n  and %s", Count(len(all)-i, "other workload"))
			break
		}
		out += fmt.Sprintf("\n  %s %s/%s: up to %s", r.Kind, r.Namespace, r.Name, Count(r.Pods, "pod"))
	}
	return out + "\n\nTo restart them once only, change the taints in an earlier run."
}

// WarnRestartedOnto reports that changes of other resources may evict the pods that a change of tolerations restarts. The subject
// begins the sentence, and nodes are those of the changes.
func WarnRestartedOnto(subject string, all []eviction.Restarting, nodes []string, diags *diag.Diagnostics) {
	if n := countRestarting(all); n > 0 {
		diags.AddWarning(subject+" restarts pods: other resources of this plan may evict "+Count(n, "new pod"), restartsFirst("New pods are evicted if they are placed on nodes before other resources taint or drain these: "+Some(nodes)+". This is about", all))
	}
}
