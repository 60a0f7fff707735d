// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Command demo shows the provider's main jobs on the cluster that KUBE_CONFIG_PATH
// names, which must be an empty one: it loads a sample cluster, plans a taint,
// applies it, puts the pods that really left beside those that were predicted,
// and destroys everything again. Then it links taints and tolerations, changes
// the value of both in one apply, and counts whom the taint-eviction controller
// deletes. "make demo" starts a cluster for it.
//
// "demo openshift" shows MachineSets instead, on a cluster that serves OpenShift's
// Machine API: "make demo-openshift" plays it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"time"
)

// settled is how long after the apply the pods are watched: longer than the
// longest toleration of the sample cluster that runs out at all.
const settled = 14 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	what := ""
	if len(os.Args) > 1 {
		what = os.Args[1]
	}
	show, ok := map[string]func(context.Context) error{
		"":             run,
		"openshift":    openshift,
		"readme":       func(ctx context.Context) error { return readme(ctx, false) },
		"readme-check": func(ctx context.Context) error { return readme(ctx, true) },
		// On a cluster that serves OpenShift's Machine API.
		"readme-rollout":       func(ctx context.Context) error { return readmeRollout(ctx, false) },
		"readme-rollout-check": func(ctx context.Context) error { return readmeRollout(ctx, true) },
	}[what]
	if !ok {
		show = func(context.Context) error { return fmt.Errorf("there is nothing to show of %q", what) }
	}
	if err := show(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	return withSample(ctx, func(cluster *sample, tf *terraform) error {
		if err := preview(ctx, cluster, tf); err != nil {
			return err
		}
		return change(ctx, cluster, tf)
	})
}

// withSample shows something on the sample cluster.
func withSample(ctx context.Context, show func(*sample, *terraform) error) error {
	cluster, err := connect()
	if err != nil {
		return err
	}
	headline("Loading a sample cluster: 12 nodes, 7 workloads, and bare pods, one of them completed")
	if err := cluster.load(ctx); err != nil {
		return err
	}
	tf, err := newTerraform(ctx)
	if err != nil {
		return err
	}
	defer tf.cleanUp()
	return show(cluster, tf)
}

// preview shows that what the plan says comes true.
func preview(ctx context.Context, cluster *sample, tf *terraform) error {
	if err := tf.use(predicting, previewed); err != nil {
		return err
	}
	tf.headline("plan")
	if err := tf.show(ctx, "plan", "-out=plan"); err != nil {
		return err
	}
	predicted, err := tf.predictions(ctx)
	if err != nil {
		return err
	}
	watch, err := cluster.watchDeletions(ctx)
	if err != nil {
		return err
	}
	tf.headline("apply")
	start := time.Now()
	if err := tf.show(ctx, "apply", "plan"); err != nil {
		return err
	}
	headline(fmt.Sprintf("Watching the pods for %s", settled))
	left := watch(start.Add(settled))
	wrong := compare(os.Stdout, predicted, left, start)
	tf.headline("destroy")
	if err := tf.show(ctx, "destroy", "-auto-approve"); err != nil {
		return err
	}
	if wrong > 0 {
		return fmt.Errorf("%d pods did not do what was predicted", wrong)
	}
	return nil
}

func headline(text string) {
	fmt.Printf("\n\033[1m==> %s\033[0m\n", text)
}
