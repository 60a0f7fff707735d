// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubectlplugin

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// completionTime bounds how long a shell waits for the names of nodes.
const completionTime = 3 * time.Second

const noFiles = cobra.ShellCompDirectiveNoFileComp

// completeNodes completes the names of nodes that are not on the command line yet. It opens the snapshot
// itself: cobra runs no PersistentPreRun of the command whose arguments it completes.
func (p *plugin) completeNodes(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if _, err := p.openSnapshot(cmd); err != nil {
		return nil, noFiles
	}
	cluster, err := p.connect()
	if err != nil {
		return nil, noFiles
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	all, err := cluster.Nodes(ctx)
	if err != nil {
		return nil, noFiles
	}
	var names []string
	for _, n := range all {
		if strings.HasPrefix(n.Name, begun) && !slices.Contains(args, n.Name) {
			names = append(names, n.Name)
		}
	}
	slices.Sort(names)
	return names, noFiles
}

// completeTaints completes the effect of a taint.
func (*plugin) completeTaints(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	head, effect, found := strings.Cut(begun, ":")
	if !found {
		return nil, noFiles
	}
	var out []string
	for _, e := range taint.Effects() {
		if strings.HasPrefix(e, effect) {
			out = append(out, head+":"+e)
		}
	}
	return out, noFiles
}

// completeNodesAndTaints completes names before taints.
func (p *plugin) completeNodesAndTaints(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if isTaint(begun) || slices.ContainsFunc(args, isTaint) {
		return p.completeTaints(cmd, args, begun)
	}
	return p.completeNodes(cmd, args, begun)
}

// completeNodesAfterFirst completes the names of nodes after a pod or workload.
func (p *plugin) completeNodesAfterFirst(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, noFiles
	}
	return p.completeNodes(cmd, args, begun)
}
