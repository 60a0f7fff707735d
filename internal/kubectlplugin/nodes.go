// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubectlplugin

import (
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/preview"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

const nodesLong = `Preview which pods a change of the taints of nodes evicts.

Taints are written as in "kubectl taint": key=value:Effect and key:Effect add a taint, key:Effect-
removes one, and key- removes those of every effect.

Taints that Kubernetes' own controllers write can be previewed as well, such as
node.kubernetes.io/unreachable:NoExecute.`

const nodesExample = `  # Which pods of a pool does a taint evict?
  kubectl kubetaint preview nodes -l pool=gpu dedicated=gpu:NoExecute

  # Fail where more than 5 pods are evicted, or pods of another workload than one
  kubectl kubetaint preview nodes worker-1 worker-2 dedicated=gpu:NoExecute --max-pods=5 --only=shop/Deployment/web

  # A comment for a pull request
  kubectl kubetaint preview nodes -l pool=gpu dedicated=gpu:NoExecute old:NoSchedule- -o markdown`

func (p *plugin) nodesCommand() *cobra.Command {
	var f previewFlags
	var at nodes
	cmd := &cobra.Command{
		Use:               "nodes (NAME ... | -l SELECTOR) KEY=VALUE:EFFECT ...",
		Aliases:           []string{"node", "no"},
		Short:             "Preview a change of the taints of nodes",
		Long:              nodesLong,
		Example:           nodesExample,
		ValidArgsFunction: p.completeNodesAndTaints,
	}
	f.add(cmd)
	at.flag(cmd, "nodes")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		names, specs, err := split(args)
		var c change
		var w imagined
		if err == nil {
			c, err = parse(specs)
		}
		if err == nil {
			w.Target, err = at.target(names)
		}
		if err = firstOf(err, atLeastOne(specs), f.output.check(), f.limits.check()); err != nil {
			return usage(cmd, err.Error())
		}
		w.Taints = c.taints
		w.resolve = c.amongNodes
		return p.run(cmd, &f, w)
	}
	return cmd
}

// amongNodes fills in which taints are removed from the nodes that are meant. Errors: the cluster does
// not have a node that is named, or none of the nodes has a taint of a key.
func (c change) amongNodes(into *preview.WhatIf, s *snapshot.Snapshot, _ []machineset.Observed) (err error) {
	if err := present(s, into.Target); err != nil {
		return err
	}
	var lists [][]corev1.Taint
	for _, n := range s.SortedNodes() {
		if into.Target.Matches(n) {
			lists = append(lists, n.Taints)
		}
	}
	into.Absent, err = c.removes(lists...)
	return err
}
