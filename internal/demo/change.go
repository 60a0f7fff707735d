// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
)

// change shows that taints and tolerations that are linked change together
// without evicting a pod.
func change(ctx context.Context, cluster *sample, tf *terraform) error {
	headline("Now with tolerations: five workloads of the pool, linked to the taint for them")
	if err := cluster.settled(ctx, ""); err != nil {
		return err
	}
	if err := tf.use(changing, linked); err != nil {
		return err
	}
	tf.headline("plan -var team=a -compact-warnings: adds the tolerations, and the taint for them")
	if err := tf.summarize(ctx, "plan", "-var=team=a", "-out=plan"); err != nil {
		return err
	}
	tf.headline("apply")
	if err := tf.summarize(ctx, "apply", "plan"); err != nil {
		return err
	}
	if err := cluster.settled(ctx, "a"); err != nil {
		return err
	}
	tf.headline("plan -var team=b -compact-warnings: changes the value of both")
	if err := tf.summarize(ctx, "plan", "-var=team=b", "-out=plan"); err != nil {
		return err
	}
	watch, err := cluster.watchReplacements(ctx)
	if err != nil {
		return err
	}
	tf.headline("apply: the tolerations of team=b beside those of team=a, then the taint")
	if err := tf.summarize(ctx, "apply", "plan"); err != nil {
		return err
	}
	headline("Waiting for the second rollout, which removes the tolerations of team=a")
	if err := cluster.settled(ctx, "b"); err != nil {
		return err
	}
	became, err := watch()
	if err != nil {
		return err
	}
	evicted := report(os.Stdout, became)
	tf.headline("destroy")
	if err := tf.summarize(ctx, "destroy", "-auto-approve", "-var=team=b"); err != nil {
		return err
	}
	if evicted > 0 {
		return fmt.Errorf("the taint-eviction controller deleted %d pods", evicted)
	}
	return nil
}

// replacement is what became of the pods of a workload meanwhile.
type replacement struct {
	name string
	// want is how many run when nothing changes, least how few ever did.
	want, least int
	// replaced were deleted, evicted those of them that a taint deleted.
	replaced, evicted int
}

// report writes what became of the pods and returns how many were evicted.
func report(out io.Writer, workloads []*replacement) (evicted int) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(cells ...any) { _, _ = fmt.Fprintf(table, "%v\t%v\t%v\t%v\t%v\t\n", cells...) }
	row("WORKLOAD", "PODS", "REPLACED BY ROLLOUTS", "FEWEST RUNNING", "EVICTED BY THE TAINT")
	replaced := 0
	for _, w := range workloads {
		row(w.name, w.want, w.replaced-w.evicted, w.least, w.evicted)
		replaced += w.replaced - w.evicted
		evicted += w.evicted
	}
	_ = table.Flush()
	_, _ = fmt.Fprintf(out, "\nThe value of the taint and of all tolerations for it has changed. %d pods were replaced by rollouts, %d evicted.\n", replaced, evicted)
	return evicted
}
