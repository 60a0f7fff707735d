// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"fmt"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
)

// hedges counts pods whose verdict depends on whether tolerations of the same
// plan come before the taints. No provider is told: that resources depend on each
// other is Terraform's own knowledge.
type hedges struct {
	// pods are all of them, unknown those that may leave, and spared those that
	// are stranded if the tolerations do not come first.
	pods, unknown, spared int
}

func countHedges(report *eviction.Report) hedges {
	var h hedges
	for _, v := range report.Pods {
		if !v.OrderDependent || v.Pod.Completed {
			continue
		}
		h.pods++
		if v.Verdict == eviction.Unknown {
			h.unknown++
		}
		if v.SavedByTolerations {
			h.spared++
		}
	}
	return h
}

// CountStranded counts the pods that are stranded whatever comes first.
func CountStranded(report *eviction.Report) int {
	n := 0
	for _, v := range report.Stranded() {
		if !v.SavedByTolerations {
			n++
		}
	}
	return n
}

// reservation ends a summary with what may come in between.
func (h hedges) reservation(refusesStranded bool, stranded, affected int) string {
	switch {
	case refusesStranded && stranded > 0:
		return "; apply will refuse this: " + CountVerb(stranded, "pod tolerates", "pods tolerate") + " the replaced taint but not the new one"
	case refusesStranded && h.spared > 0:
		return "; apply will refuse this unless the tolerations of this plan come first"
	case h.pods > 0 && h.unknown == affected:
		return ", unless the tolerations of this plan come first"
	}
	return ""
}

// advice reports what it depends on, and how to have the plan know.
func (h hedges) advice(refusesStranded bool) string {
	otherwise := "the pods count as they are"
	if h.spared > 0 && refusesStranded {
		otherwise = "apply writes no taint, because pods tolerate the replaced taint but not the new one"
	}
	return fmt.Sprintf("What happens to %d of these pods depends", h.pods) + " on whether the tolerations that this plan gives their workloads come before the taints. " +
		"The plan cannot see that, because Terraform does not show depends_on to providers. With depends_on from these taints to the tolerations, the tolerations come first; otherwise " + otherwise + ". " +
		"To make the plan exact, name the ids of these kubetaint_workload_tolerations in tolerated_by of this resource. The taints then wait for the pods."
}
