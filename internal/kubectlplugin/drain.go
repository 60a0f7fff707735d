// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubectlplugin

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/preview"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

const drainLong = `Preview which pods a drain of nodes evicts, and which PodDisruptionBudgets hold it up.

The rules are those of "kubectl drain", with these differences:

  * --ignore-daemonsets is on.
  * A pod that several PodDisruptionBudgets cover stops the drain before it begins.

The provider's action kubetaint_drain_nodes has the same rules, but no --force.

Exit codes: 0, 1 for an error and for pods that stop the drain, and 2 for a drain that gets stuck on
PodDisruptionBudgets or exceeds a limit.`

const drainExample = `  # Which pods does a drain of a node evict?
  kubectl kubetaint preview drain worker-1

  # Those of a pool, emptyDir data included
  kubectl kubetaint preview drain -l pool=gpu --delete-emptydir-data

  # Those of one application
  kubectl kubetaint preview drain worker-1 --pod-selector app=web`

func (p *plugin) drainCommand() *cobra.Command {
	var f previewFlags
	var at nodes
	var force bool
	var pods string
	rules := planner.DrainRules{}
	cmd := &cobra.Command{
		Use:               "drain (NAME ... | -l SELECTOR)",
		Short:             "Preview a drain of nodes",
		Long:              drainLong,
		Example:           drainExample,
		ValidArgsFunction: p.completeNodes,
	}
	f.add(cmd)
	at.flag(cmd, "nodes")
	cmd.Flags().BoolVar(&rules.IgnoreDaemonSets, "ignore-daemonsets", true, "Whether pods of DaemonSets stay; otherwise they stop the drain.")
	cmd.Flags().BoolVar(&rules.DeleteLocalData, "delete-emptydir-data", false, "Whether pods with emptyDir data are evicted; otherwise they stop the drain.")
	cmd.Flags().StringVar(&pods, "pod-selector", "", "Selector (label query) of the pods that are evicted; others stay, and stop no drain.")
	cmd.Flags().BoolVar(&rules.DisableEviction, "disable-eviction", false, "Whether pods are deleted in place of evictions, bypassing PodDisruptionBudgets.")
	cmd.Flags().BoolVar(&force, "force", false, "Whether pods without a controller are evicted, and lost; otherwise they stop the drain.")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		target, err := at.target(args)
		var invalid error
		if cmd.Flags().Changed("pod-selector") {
			rules.PodSelector, invalid = selectorOf(pods)
		}
		if err = firstOf(err, invalid, f.output.check(), f.limits.check()); err != nil {
			return usage(cmd, err.Error())
		}
		return p.run(cmd, &f, imagined{
			WhatIf: preview.WhatIf{Target: target, Drain: &rules, Force: force},
			resolve: func(_ *preview.WhatIf, s *snapshot.Snapshot, _ []machineset.Observed) error {
				return present(s, target)
			},
		})
	}
	return cmd
}

// errStuck is the error of a drain that gets stuck, after the answer that names what holds it.
var errStuck = errors.New("the drain gets stuck on PodDisruptionBudgets: scale the workloads up or relax the PodDisruptionBudgets before it")

// stuck returns errStuck for a drain that does not end by itself.
func stuck(answer preview.WhatIf) error {
	if len(answer.Stuck) > 0 {
		return errStuck
	}
	return nil
}

// drainFlags are the names of the drain's rules on a command line, by those of the action's attributes,
// and the way out that the action does not have.
var drainFlags = strings.NewReplacer("ignore_daemon_sets = true", "--ignore-daemonsets", "delete_local_data = true", "--delete-emptydir-data",
	"(kubectl delete pod) if it is not needed any more", "(kubectl delete pod) if it is not needed any more, or set --force to evict it")

// refused returns the error of a drain that pods stop before it begins.
func refused(answer preview.WhatIf) error {
	if len(answer.Refusals) == 0 {
		return nil
	}
	const most = 20
	var b strings.Builder
	b.WriteString("unable to drain " + answer.Where() + ": " + message.CountVerb(len(answer.Refusals), "pod stops the drain", "pods stop the drain"))
	wayOut := func(text string) string { return drainFlags.Replace(text) }
	if answer.Drain.DisableEviction {
		wayOut = func(text string) string {
			return strings.ReplaceAll(drainFlags.Replace(text), "to evict it", "to delete it")
		}
	}
	for _, r := range answer.Refusals[:min(len(answer.Refusals), most)] {
		fmt.Fprintf(&b, "\n  pod %s on node %s %s: %s", r.Pod.Key(), r.Pod.Node, r.Why, wayOut(r.WayOut))
	}
	if more := len(answer.Refusals) - most; more > 0 {
		fmt.Fprintf(&b, "\n  … and %d more", more)
	}
	return errors.New(b.String())
}
