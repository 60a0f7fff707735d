// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubectlplugin

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/preview"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

const machineSetLong = `Preview what a change of the taints of OpenShift MachineSets evicts, and what it costs in machines.

Strategies are those of the provider's kubetaint_machine_set_taints. The namespace is that of
--namespace, and otherwise openshift-machine-api.`

const machineSetExample = `  # What does it cost to replace the machines one after the other?
  kubectl kubetaint preview machineset gpu-a --strategy rolling dedicated=gpu:NoExecute

  # Two more machines at a time, for all MachineSets with a label
  kubectl kubetaint preview machineset -l role=gpu --strategy surge --max-surge=2 dedicated=gpu:NoExecute`

// rolloutFlags are how machines get the taints.
type rolloutFlags struct {
	strategy, waitFor        string
	maxUnavailable, maxSurge int
	atOnce                   int
}

func (p *plugin) machineSetCommand() *cobra.Command {
	var f previewFlags
	var at nodes
	var r rolloutFlags
	cmd := &cobra.Command{
		Use:               "machineset (NAME | -l SELECTOR) --strategy STRATEGY KEY=VALUE:EFFECT ...",
		Aliases:           []string{"machinesets"},
		Short:             "Preview a change of the taints of OpenShift MachineSets",
		Long:              machineSetLong,
		Example:           machineSetExample,
		ValidArgsFunction: p.completeTaints,
	}
	f.add(cmd)
	at.flag(cmd, "MachineSets")
	r.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		names, specs, err := split(args)
		var c change
		if err == nil {
			c, err = parse(specs)
		}
		sets := &preview.MachineSets{Target: machineset.Target{Namespace: cmp.Or(*p.config.Namespace, message.MachineAPINamespace)}}
		if err == nil {
			sets.Target.Selector, err = at.choose("MachineSet", names)
		}
		if err = firstOf(err, atMostOne(names), atLeastOne(specs), f.output.check(), f.limits.check(), r.check(cmd)); err != nil {
			return usage(cmd, err.Error())
		}
		if len(names) > 0 {
			sets.Target.Name = names[0]
		}
		sets.Rollout = r.rollout()
		return p.run(cmd, &f, imagined{WhatIf: preview.WhatIf{MachineSets: sets, Taints: c.taints}, resolve: c.amongMachineSets, atOnce: r.atOnce})
	}
	return cmd
}

func (r *rolloutFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.strategy, "strategy", "", "How existing machines get the taints. One of: ("+strings.Join(tfschema.Strategies, ", ")+"). Required.")
	f.IntVar(&r.maxUnavailable, "max-unavailable", 1, "How many machines may be missing at a time with the strategy rolling.")
	f.IntVar(&r.maxSurge, "max-surge", 1, "How many machines are added with the strategy surge.")
	f.StringVar(&r.waitFor, "wait-for", tfschema.WaitMarkedDeleted, "When scale_to_zero scales up again: old machines "+tfschema.WaitMarkedDeleted+" or "+tfschema.WaitRemoved+".")
	f.IntVar(&r.atOnce, "max-concurrent-rollouts", 1, "How many MachineSets roll out at the same time.")
	_ = cmd.RegisterFlagCompletionFunc("strategy", cobra.FixedCompletions(tfschema.Strategies, cobra.ShellCompDirectiveNoFileComp))
}

// check returns what is wrong with the values, and flags that the strategy does not look at.
func (r *rolloutFlags) check(cmd *cobra.Command) error {
	switch {
	case r.strategy == "":
		return errors.New("--strategy must be specified, one of: " + strings.Join(tfschema.Strategies, ", "))
	case !slices.Contains(tfschema.Strategies, r.strategy):
		return fmt.Errorf("invalid --strategy %q, allowed values are: %s", r.strategy, strings.Join(tfschema.Strategies, ", "))
	case r.waitFor != tfschema.WaitMarkedDeleted && r.waitFor != tfschema.WaitRemoved:
		return fmt.Errorf("invalid --wait-for %q, allowed values are: %s, %s", r.waitFor, tfschema.WaitMarkedDeleted, tfschema.WaitRemoved)
	case r.maxUnavailable < 1 || r.maxSurge < 1 || r.atOnce < 1:
		return errors.New("--max-unavailable, --max-surge and --max-concurrent-rollouts must be at least 1")
	}
	for name, strategy := range map[string]machineset.Strategy{"max-unavailable": machineset.Rolling, "max-surge": machineset.Surge, "wait-for": machineset.ScaleToZero} {
		if cmd.Flags().Changed(name) && r.strategy != string(strategy) {
			return fmt.Errorf("--%s is only for the strategy %s", name, strategy)
		}
	}
	return nil
}

func (r *rolloutFlags) rollout() machineset.Rollout {
	return machineset.Rollout{Strategy: machineset.Strategy(r.strategy), MaxUnavailable: r.maxUnavailable, MaxSurge: r.maxSurge, Removed: r.waitFor == tfschema.WaitRemoved}
}

// amongMachineSets fills in which taints are removed from the templates of the MachineSets that are meant. Errors:
// none of them has the name that is asked for.
func (c change) amongMachineSets(into *preview.WhatIf, _ *snapshot.Snapshot, all []machineset.Observed) (err error) {
	var lists [][]corev1.Taint
	for _, o := range all {
		if into.MachineSets.Target.Matches(o.Set) {
			lists = append(lists, o.Set.Taints)
		}
	}
	if len(lists) == 0 && into.MachineSets.Target.Selector == nil {
		return apierrors.NewNotFound(schema.GroupResource{Group: "machine.openshift.io", Resource: "machinesets"}, into.MachineSets.Target.Name)
	}
	into.Absent, err = c.removes(lists...)
	return err
}
