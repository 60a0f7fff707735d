// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubectlplugin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

const untoleratedLong = `List the taints of nodes that a pod or a workload does not tolerate.

Without a node and a selector, all nodes with such a taint are listed. Taints of every effect count,
those with PreferNoSchedule too.`

const untoleratedExample = `  # Why does no pod of a Deployment fit on a node?
  kubectl kubetaint untolerated deployment/web worker-1 -n shop

  # Which nodes of a pool have taints that a pod does not tolerate?
  kubectl kubetaint untolerated web-7d4b9c-x2x7m -l pool=gpu`

// nodeTaints are the taints of a node that are not tolerated.
type nodeTaints struct {
	Node   string         `json:"node"`
	Taints []corev1.Taint `json:"-"`
	// Untolerated are the same, as the provider's function untolerated returns them.
	Untolerated []taintObject `json:"untolerated"`
}

type nodeTaintsList struct {
	Items []nodeTaints `json:"items"`
}

type taintObject struct {
	Key    string  `json:"key"`
	Value  *string `json:"value"`
	Effect string  `json:"effect"`
}

func (p *plugin) untoleratedCommand() *cobra.Command {
	var o output
	var at nodes
	cmd := &cobra.Command{
		Use:               "untolerated (POD | TYPE/NAME) [NODE ... | -l SELECTOR]",
		Short:             "List the taints that a pod or workload does not tolerate",
		Long:              untoleratedLong,
		Example:           untoleratedExample,
		ValidArgsFunction: p.completeNodesAfterFirst,
	}
	o.flag(cmd, formatTable)
	at.flag(cmd, "nodes")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var target *planner.Target
		var err error
		switch {
		case len(args) == 0:
			err = errors.New("a pod or TYPE/NAME is required")
		case len(args) > 1 || at.selector != "":
			var named planner.Target
			named, err = at.target(slices.Clone(args[1:]))
			target = &named
		}
		if err = firstOf(err, o.check()); err != nil {
			return usage(cmd, err.Error())
		}
		return p.listUntolerated(cmd, &o, args[0], target)
	}
	return cmd
}

// listUntolerated writes the taints of the nodes of a target, of all nodes for nil.
func (p *plugin) listUntolerated(cmd *cobra.Command, o *output, arg string, target *planner.Target) error {
	about, err := p.subject(arg)
	if err != nil {
		return err
	}
	cluster, s, err := p.observe(cmd.Context())
	if err != nil {
		return err
	}
	if target != nil {
		if err := present(s, *target); err != nil {
			return err
		}
	}
	meant := slices.DeleteFunc(s.SortedNodes(), func(n *snapshot.Node) bool { return target != nil && !target.Matches(n) })
	var asked []corev1.Taint
	for _, n := range meant {
		for _, t := range n.Taints {
			if !slices.ContainsFunc(asked, func(other corev1.Taint) bool { return same(t, other) }) {
				asked = append(asked, t)
			}
		}
	}
	answer, err := about.answer(cmd.Context(), cluster, s, asked, p.gate(cmd.Flags().Changed(comparisonFlag)))
	if err != nil {
		return err
	}
	found := []nodeTaints{}
	for _, n := range meant {
		one := nodeTaints{Node: n.Name}
		for _, a := range answer.Taints {
			if a.Lasts == toleration.Untolerated && slices.ContainsFunc(n.Taints, func(t corev1.Taint) bool { return same(t, a.Taint) }) {
				one.Taints = append(one.Taints, a.Taint)
				one.Untolerated = append(one.Untolerated, objectOf(a.Taint))
			}
		}
		if len(one.Taints) > 0 {
			found = append(found, one)
		}
	}
	return p.writeUntolerated(o, found)
}

func same(a, b corev1.Taint) bool { return taint.IDOf(a) == taint.IDOf(b) && a.Value == b.Value }

func objectOf(t corev1.Taint) taintObject {
	out := taintObject{Key: t.Key, Effect: string(t.Effect)}
	if t.Value != "" {
		out.Value = &t.Value
	}
	return out
}

func (p *plugin) writeUntolerated(o *output, found []nodeTaints) error {
	if done, err := o.print(p.Out, "UntoleratedTaintsList", &nodeTaintsList{found}); done {
		return err
	}
	if len(found) == 0 {
		fmt.Fprintln(p.ErrOut, "Every taint is tolerated.")
		return nil
	}
	rows := [][]string{{"NODE", "UNTOLERATED TAINTS"}}
	for _, one := range found {
		taints := make([]string, len(one.Taints))
		for i, t := range one.Taints {
			taints[i] = taint.Format(t)
		}
		rows = append(rows, []string{one.Node, strings.Join(taints, ",")})
	}
	return writeRows(p.Out, rows)
}
