// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubectlplugin

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/preview"
)

const toleratesLong = `Report whether a pod or a workload tolerates taints, for how long, and by which toleration.

Of a workload, the least tolerant pod counts; without pods, the pod template. The result is that of
the data source kubetaint_workloads.

Exit codes: 0 where all taints are tolerated, even if for a limited time, and 1 otherwise.`

const toleratesExample = `  # Does a pod tolerate a taint?
  kubectl kubetaint tolerates web-7d4b9c-x2x7m dedicated=gpu:NoExecute

  # Do the pods of a Deployment tolerate two?
  kubectl kubetaint tolerates deployment/web dedicated=gpu:NoExecute maintenance:NoSchedule -n shop`

func (p *plugin) toleratesCommand() *cobra.Command {
	var o output
	cmd := &cobra.Command{
		Use:               "tolerates (POD | TYPE/NAME) KEY=VALUE:EFFECT ...",
		Short:             "Report whether a pod or workload tolerates taints",
		Long:              toleratesLong,
		Example:           toleratesExample,
		ValidArgsFunction: p.completeTaints,
	}
	o.flag(cmd, formatTable)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		names, specs, err := split(args)
		var c change
		if err == nil {
			c, err = parse(specs)
		}
		if err == nil && (len(names) != 1 || len(c.taints) == 0 || len(c.absent)+len(c.keys) > 0) {
			err = errors.New("one pod or TYPE/NAME and at least one taint KEY=VALUE:EFFECT are required")
		}
		if err = firstOf(err, o.check()); err != nil {
			return usage(cmd, err.Error())
		}
		about, err := p.subject(names[0])
		if err != nil {
			return err
		}
		cluster, s, err := p.observe(cmd.Context())
		if err != nil {
			return err
		}
		answer, err := about.answer(cmd.Context(), cluster, s, c.taints, p.gate(cmd.Flags().Changed(comparisonFlag)))
		if err != nil {
			return err
		}
		return p.writeTolerance(&o, preview.ToleranceOf(answer))
	}
	return cmd
}

// writeTolerance writes whether taints are tolerated. Errors: errNo where one is not.
func (p *plugin) writeTolerance(o *output, answer preview.Tolerance) error {
	if answer.PodsDiffer {
		fmt.Fprintf(p.ErrOut, "Warning: the pods of %s/%s differ, and the least tolerant one counts\n", answer.Kind, answer.Name)
	}
	done, err := o.print(p.Out, "WorkloadTolerance", &struct {
		Workload preview.Tolerance `json:"workload"`
	}{answer})
	if !done {
		rows := [][]string{{"TAINT", "TOLERATED", "TOLERATION"}}
		for _, t := range answer.Taints {
			rows = append(rows, []string{t.Taint, tolerated(t), text(t.Toleration)})
		}
		err = writeRows(p.Out, rows)
	}
	if err == nil && !answer.Tolerates {
		err = errNo
	}
	return err
}

// tolerated is the column that answers for one taint.
func tolerated(t preview.TaintTolerance) string {
	switch {
	case !t.Tolerates && t.Uncertain:
		return "maybe"
	case !t.Tolerates:
		return "no"
	case t.ForSeconds != nil:
		return strconv.FormatInt(*t.ForSeconds, 10) + "s"
	}
	return "yes"
}
