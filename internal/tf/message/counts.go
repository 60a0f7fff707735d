// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"fmt"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
)

// Count writes a number with its noun: "1 pod", "2 pods".
func Count(n int, noun string) string { return printable.Count(n, noun) }

// CountVerb writes a number with the verb that agrees with it.
func CountVerb(n int, one, many string) string {
	return fmt.Sprintf("%d %s", n, Agree(n, one, many))
}

// Agree chooses the word that agrees with a number.
func Agree(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// beyond counts the pods that taints evict, or a drain deletes, beyond what their PodDisruptionBudgets
// allow.
func beyond(report *eviction.Report) int {
	type budget struct{ namespace, name string }
	n, seen := 0, map[budget]bool{}
	for _, v := range report.Pods {
		if v.Beyond == nil || v.Beyond.Obeyed {
			continue
		}
		n++
		if b := (budget{v.Pod.Namespace, v.Beyond.Name}); !seen[b] {
			seen[b] = true
			n -= v.Beyond.Allowed
		}
	}
	return n
}

// notable counts pods that stay and that there is yet something to say about.
func notable(report *eviction.Report) (stuck, misscheduled int) {
	for _, v := range report.Pods {
		switch {
		case v.Verdict != eviction.Stays:
		case v.Misscheduled:
			misscheduled++
		case v.NoPlace:
			stuck++
		}
	}
	return stuck, misscheduled
}
