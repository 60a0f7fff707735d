// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// infra is the example that the demo runs: nodes that are kept for infrastructure, as
// OpenShift's documentation has it.
const infra = "examples/scenarios/infra-machines/main.tf"

// edits are what a person changes in it for the second apply.
var edits = strings.NewReplacer(`"in_place"`, `"surge"`, `"NoSchedule"`, `"NoExecute"`, "tainted in place: no machine is replaced, and NoSchedule evicts no pod", "replaced by tainted ones")

const infraMachines, workerMachines = 3, 3

// openshift shows how taints of a MachineSet's template reach its machines, and that
// an apply that is killed in the middle of a rollout loses nothing.
func openshift(ctx context.Context) error {
	return withMachines(ctx, func(cluster *sample, api *machines, tf *terraform, config string) error {
		if err := tf.use("", config); err != nil {
			return err
		}
		if err := inPlace(ctx, tf); err != nil {
			return err
		}
		headline("Now with NoExecute, and on new machines: strategy = \"surge\", effect = \"NoExecute\"")
		if err := tf.write("configuration.tf", edits.Replace(config)); err != nil {
			return err
		}
		if err := interrupted(ctx, cluster, api, tf); err != nil {
			return err
		}
		tf.headline("destroy: removes the taints as they were added, by a surge")
		return tf.summarize(ctx, "destroy", "-auto-approve")
	})
}

// withMachines shows something on a sample cluster with MachineSets, and the example for it.
func withMachines(ctx context.Context, show func(cluster *sample, api *machines, tf *terraform, config string) error) error {
	cluster, err := connect()
	if err != nil {
		return err
	}
	api, err := connectMachines()
	if err != nil {
		return err
	}
	headline(fmt.Sprintf("Loading a sample cluster: a MachineSet of %d infra machines, one of %d workers, and pods on both", infraMachines, workerMachines))
	if err := cluster.loadOpenShift(ctx, api); err != nil {
		return err
	}
	tf, err := newTerraform(ctx)
	if err != nil {
		return err
	}
	defer tf.cleanUp()
	example, err := os.ReadFile(infra)
	if err != nil {
		return err
	}
	// Which cluster it is, the demo says itself.
	_, config, _ := strings.Cut(string(example), "~/.kube/config\"\n}\n\n")
	return show(cluster, api, tf, config)
}

// inPlace taints the machines that there are.
func inPlace(ctx context.Context, tf *terraform) error {
	tf.headline("plan -compact-warnings")
	if err := tf.summarize(ctx, "plan", "-out=plan"); err != nil {
		return err
	}
	tf.headline("apply: template, machines and nodes, none of which is replaced")
	return tf.summarize(ctx, "apply", "plan")
}

// interrupted replaces the machines, is killed in between, and goes on.
func interrupted(ctx context.Context, cluster *sample, api *machines, tf *terraform) error {
	tf.headline("plan")
	if err := tf.show(ctx, "plan", "-out=plan"); err != nil {
		return err
	}
	first := make(chan struct{})
	watch, err := watchFleet(ctx, cluster, api, "infra", sync.OnceFunc(func() { close(first) }))
	if err != nil {
		return err
	}
	tf.headline("apply, and kill -9 when the first new machine is in service")
	if err := tf.kill(ctx, first, "apply", "plan"); err != nil {
		return err
	}
	tf.headline("plan")
	if err := tf.show(ctx, "plan", "-out=plan"); err != nil {
		return err
	}
	tf.headline("apply: continues where it stopped")
	if err := tf.summarize(ctx, "apply", "plan"); err != nil {
		return err
	}
	seen, err := watch()
	if err != nil {
		return err
	}
	fmt.Println()
	return seen.report(ctx, os.Stdout, api, "infra")
}

// loadOpenShift makes machines and workloads, and waits until all pods run.
func (s *sample) loadOpenShift(ctx context.Context, api *machines) error {
	for _, ns := range []string{machineNamespace, "logging", "artifacts", "platform", "shop"} {
		if err := s.namespace(ctx, ns); err != nil {
			return err
		}
	}
	for name, count := range map[string]int{"infra": infraMachines, "worker": workerMachines} {
		if err := api.makeSet(ctx, name, int64(count)); err != nil {
			return err
		}
		if err := s.serve(ctx, name, count); err != nil {
			return err
		}
	}
	onInfra := map[string]string{"node-role.kubernetes.io/infra": ""}
	for _, do := range []func() error{
		func() error { return s.statefulSet(ctx, "logging", "loki", 2, pod(onInfra)) },
		func() error { return s.deployment(ctx, "artifacts", "registry", 2, pod(onInfra)) },
		func() error { return s.deployment(ctx, "shop", "web", 12, spread("web")) },
		func() error {
			return s.daemonSet(ctx, "platform", "node-agent", pod(nil, corev1.Toleration{Operator: corev1.TolerationOpExists}))
		},
		func() error { return s.budget(ctx, "shop", "web", 2) },
	} {
		if err := do(); err != nil {
			return err
		}
	}
	return s.runs(ctx, 2+2+12+infraMachines+workerMachines)
}
