// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
)

const (
	// maxLines bounds the list of pods in a warning, namesPerLine its width.
	maxLines     = 20
	namesPerLine = 3
)

// podGroup is pods of one workload that there is the same to say about.
type podGroup struct {
	owner    string
	sentence string
	pods     []eviction.PodVerdict
	// lines is how many lines of names the group is given.
	lines int
}

// list writes what there is to say about pods, rolled up by workload and
// verdict, and indented so that no command line wraps it. Every workload is
// named before any has a second line of names, because one that is not named is
// one that is overlooked.
func list(b *strings.Builder, report *eviction.Report) {
	groups := groupPods(report)
	all := 0
	for _, g := range groups {
		all += len(g.pods)
	}
	told := 0
	for _, g := range share(groups) {
		told += g.write(b)
	}
	if all > told {
		fmt.Fprintf(b, "\n  … and %s", Count(all-told, "more pod"))
	}
}

// groupPods groups the pods that do not plainly stay, in the report's order of
// workloads.
func groupPods(report *eviction.Report) []*podGroup {
	var groups []*podGroup
	for _, w := range report.Workloads() {
		first := len(groups)
		for _, v := range w.Pods {
			if v.Plain() {
				continue
			}
			sentence := v.Reason
			at := slices.IndexFunc(groups[first:], func(g *podGroup) bool { return g.sentence == sentence })
			if at < 0 {
				at = len(groups) - first
				groups = append(groups, &podGroup{owner: fmt.Sprintf("%s %s/%s", w.Owner.Kind, w.Namespace, w.Owner.Name), sentence: sentence})
			}
			groups[first+at].pods = append(groups[first+at].pods, v)
		}
	}
	return groups
}

// share gives each group a line of its own and then lines of names in turn, as
// long as there are any.
func share(groups []*podGroup) []*podGroup {
	groups = groups[:min(len(groups), maxLines)]
	free := maxLines - len(groups)
	for given := true; given && free > 0; {
		given = false
		for _, g := range groups {
			if free > 0 && !g.single() && g.lines*namesPerLine < len(g.pods) {
				g.lines++
				free--
				given = true
			}
		}
	}
	return groups
}

// single reports whether the group is one pod, whose name is part of its first line.
func (g *podGroup) single() bool {
	return len(g.pods) == 1
}

// write writes the group and returns how many pods it has named.
func (g *podGroup) write(b *strings.Builder) int {
	if g.single() {
		name := ""
		if g.pods[0].Owner.Kind != "" {
			name = ", pod " + g.pods[0].Pod.Name
		}
		fmt.Fprintf(b, "\n  %s%s on %s: %s", g.owner, name, g.pods[0].Pod.Node, g.sentence)
		return 1
	}
	fmt.Fprintf(b, "\n  %s, %s: %s", g.owner, Count(len(g.pods), "pod"), g.sentence)
	named := g.pods[:min(len(g.pods), g.lines*namesPerLine)]
	for line := range slices.Chunk(named, namesPerLine) {
		names := make([]string, len(line))
		for i, v := range line {
			names[i] = v.Pod.Name + " on " + v.Pod.Node
		}
		b.WriteString("\n    " + strings.Join(names, ", "))
	}
	return len(named)
}
