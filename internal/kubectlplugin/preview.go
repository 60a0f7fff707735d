// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubectlplugin

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/preview"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

const previewLong = `Preview which pods a change evicts, when and why, and which of them cannot be recreated.

The change is simulated on the cluster as it is now. Nothing is written, so read permissions are
enough: the ClusterRole kubetaint-plan of the provider's documentation.

Exit codes: 0, 1 for an error, and 2 for a preview that exceeds a limit or for a drain that gets stuck.`

func (p *plugin) previewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "preview",
		Short: "Preview which pods a change evicts",
		Long:  previewLong,
		RunE:  group,
	}
	cmd.AddCommand(p.nodesCommand(), p.drainCommand(), p.machineSetCommand())
	return cmd
}

// previewFlags are the flags that all previews have.
type previewFlags struct {
	output output
	limits limits
	all    bool
}

func (f *previewFlags) add(cmd *cobra.Command) {
	f.output.flag(cmd, formatTable, formatWide, formatMarkdown)
	f.limits.flags(cmd)
	cmd.Flags().BoolVar(&f.all, "include-unaffected", false, "Whether unaffected pods are included, in all formats but table and markdown.")
}

// imagined is a change that is not evaluated yet.
type imagined struct {
	preview.WhatIf
	// resolve completes the change by what the cluster has. Errors: the cluster has no such object.
	resolve func(*preview.WhatIf, *snapshot.Snapshot, []machineset.Observed) error
	// atOnce is how many MachineSets roll out at the same time.
	atOnce int
}

// run evaluates a change, and writes the answer. Errors: errStuck and *eviction.LimitsError after the
// answer, and those of the connection and of names that the cluster does not have.
func (p *plugin) run(cmd *cobra.Command, f *previewFlags, change imagined) error {
	ctx := cmd.Context()
	cluster, s, err := p.observe(ctx)
	if err != nil {
		return err
	}
	sets, err := machineSets(ctx, cluster, change.WhatIf)
	if err != nil {
		return err
	}
	if err := change.resolve(&change.WhatIf, s, sets); err != nil {
		return err
	}
	answer, err := change.Judge(ctx, cluster, s, sets, p.gate(cmd.Flags().Changed(comparisonFlag)), change.atOnce)
	if err != nil {
		return err
	}
	if err := refused(answer); err != nil {
		return err
	}
	// There is no log for an error, and the answer is as right without names.
	answer.Unmodelled, _ = cluster.Unmodelled(ctx, answer.Report.LeavesPending(), answer.Report.Replaced())
	if err := p.write(f, answer); err != nil {
		return err
	}
	return errors.Join(stuck(answer), f.limits.of(cmd).Check(answer.Report))
}

// machineSets reads the MachineSets where the change is one of MachineSets.
func machineSets(ctx context.Context, cluster *kube.Cluster, change preview.WhatIf) ([]machineset.Observed, error) {
	if change.MachineSets == nil {
		return nil, nil
	}
	sets, err := cluster.FreshMachineSets(ctx)
	if errors.Is(err, kube.ErrNoMachineAPI) {
		err = errors.New("the cluster has no Machine API: it does not serve machinesets.machine.openshift.io")
	}
	return sets, err
}

// limits are the flags that limit evictions.
type limits struct {
	pods, pending, lost int64
	only                []string
	approved            []eviction.Approval
}

func (l *limits) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Int64Var(&l.pods, "max-pods", 0, "Maximum number of pods that may be evicted. Without the flag: no limit.")
	f.Int64Var(&l.pending, "max-pending", 0, "Maximum number of replacement pods that may stay Pending. Without the flag: no limit.")
	f.Int64Var(&l.lost, "max-lost", 0, "Maximum number of pods that may be lost: bare, or of failing Jobs or runs. Without the flag: no limit.")
	f.StringSliceVar(&l.only, "only", nil, "Workloads whose pods may be evicted, such as shop/Deployment/web or ml/*. Without the flag: all; --only='': none.")
}

// check returns what is wrong with the values.
func (l *limits) check() error {
	if l.pods < 0 || l.pending < 0 || l.lost < 0 {
		return errors.New("--max-pods, --max-pending and --max-lost must not be negative")
	}
	l.approved = []eviction.Approval{}
	for _, entry := range l.only {
		a, err := eviction.ParseApproval(entry)
		if err != nil {
			return fmt.Errorf("invalid entry %q of --only: %w", entry, err)
		}
		l.approved = append(l.approved, a)
	}
	return nil
}

// of returns the limits whose flags are set.
func (l *limits) of(cmd *cobra.Command) eviction.Limits {
	var out eviction.Limits
	for name, limit := range map[string]struct {
		to    **int64
		value *int64
	}{"max-pods": {&out.MaxPods, &l.pods}, "max-pending": {&out.MaxPending, &l.pending}, "max-lost": {&out.MaxLost, &l.lost}} {
		if cmd.Flags().Changed(name) {
			*limit.to = limit.value
		}
	}
	if cmd.Flags().Changed("only") {
		out.Only = l.approved
	}
	return out
}
