// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package preview

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

// moment is when pods are evicted.
type moment struct {
	// rank orders moments before their seconds do.
	rank    int
	seconds int64
}

func momentOf(v eviction.PodVerdict) moment {
	switch v.Verdict {
	case eviction.EvictedNow:
		return moment{rank: 0}
	case eviction.EvictedAfter:
		return moment{rank: 1, seconds: v.AfterSeconds}
	case eviction.Drained:
		return moment{rank: 2}
	case eviction.Unknown:
		return moment{rank: 3}
	default:
		return moment{rank: 4}
	}
}

func (m moment) compare(n moment) int {
	return cmp.Or(cmp.Compare(m.rank, n.rank), cmp.Compare(m.seconds, n.seconds))
}

// String is the heading of its pods.
func (m moment) String() string {
	return [...]string{"Evicted immediately", fmt.Sprintf("Evicted after %ds", m.seconds), "Drained", "Maybe evicted", "Not evicted"}[m.rank]
}

// column is what the table calls the moment.
func (m moment) column() string {
	return [...]string{"0s", fmt.Sprintf("%ds", m.seconds), "drain", "?", "-"}[m.rank]
}

// timeline draws what is evicted at which moment, where there are several.
func (w WhatIf) timeline(b *strings.Builder) {
	at := map[moment]map[string]int{}
	for _, l := range w.Report.Workloads() {
		for _, v := range l.Pods {
			if !v.Leaves() || v.Pod.Completed || v.Pod.Terminating {
				continue
			}
			m := momentOf(v)
			if at[m] == nil {
				at[m] = map[string]int{}
			}
			at[m][l.Owner.Kind+" "+l.Namespace+"/"+l.Owner.Name]++
		}
	}
	if len(at) < 2 {
		return
	}
	moments := slices.SortedFunc(maps.Keys(at), moment.compare)
	b.WriteString("\n```mermaid\ntimeline\n")
	for _, m := range moments[:min(len(moments), maxMoments)] {
		b.WriteString("    " + m.column())
		names := slices.SortedFunc(maps.Keys(at[m]), func(x, y string) int {
			return cmp.Or(cmp.Compare(at[m][y], at[m][x]), cmp.Compare(x, y))
		})
		for _, name := range names[:min(len(names), maxEvents)] {
			fmt.Fprintf(b, " : %d %s", at[m][name], message.DiagramText(name))
		}
		if more := len(names) - maxEvents; more > 0 {
			fmt.Fprintf(b, " : … %s", message.Count(more, "more workload"))
		}
		b.WriteString("\n")
	}
	if more := len(moments) - maxMoments; more > 0 {
		fmt.Fprintf(b, "    later : … %s\n", message.Count(more, "more moment"))
	}
	b.WriteString("```\n")
}

// pods lists the pods by the moment at which they are evicted, folded.
func (w WhatIf) pods(b *strings.Builder) {
	pods := slices.DeleteFunc(slices.Clone(w.Report.Pods), eviction.PodVerdict.Plain)
	if len(pods) == 0 {
		return
	}
	counts := map[moment]int{}
	for _, v := range pods {
		counts[momentOf(v)]++
	}
	// The sort is stable, so that the report's order remains within a moment.
	slices.SortStableFunc(pods, func(x, y eviction.PodVerdict) int { return momentOf(x).compare(momentOf(y)) })
	node := shortNames(pods)
	fmt.Fprintf(b, "\n<details>\n<summary>%s, with reasons</summary>\n", message.Count(len(pods), "pod"))
	var last *moment
	for _, v := range pods[:min(len(pods), maxPods)] {
		if m := momentOf(v); last == nil || *last != m {
			fmt.Fprintf(b, "\n**%s**: %s\n\n", m, message.Count(counts[m], "pod"))
			last = &m
		}
		fmt.Fprintf(b, "- %s on %s: %s\n", message.MarkdownCode(v.Pod.Key()), message.MarkdownCode(node[v.Pod.Node]), message.MarkdownText(w.sentence(v)))
	}
	if more := len(pods) - maxPods; more > 0 {
		fmt.Fprintf(b, "\n… and %s\n", message.Count(more, "more pod"))
	}
	b.WriteString("\n</details>\n")
}

// sentence is the reason of a verdict whose moment is told.
func (w WhatIf) sentence(v eviction.PodVerdict) string {
	if v.Leaves() && v.Pod.LocalData && !v.Pod.Completed {
		return w.Report.Why(v) + "; its emptyDir data is deleted"
	}
	return w.Report.Why(v)
}

// shortNames returns the names of the pods' nodes without the domain that clouds give them, where
// that leaves one name for each node. An address has no domain.
func shortNames(pods []eviction.PodVerdict) map[string]string {
	out, of := map[string]string{}, map[string]string{}
	for _, v := range pods {
		out[v.Pod.Node] = v.Pod.Node
	}
	for name := range out {
		host, _, _ := strings.Cut(name, ".")
		if other, taken := of[host]; taken && other != name || strings.Trim(host, "0123456789") == "" {
			return out
		}
		of[host] = name
	}
	for host, name := range of {
		out[name] = host
	}
	return out
}
