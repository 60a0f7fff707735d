// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Command controlplane is all that a test cluster runs in one binary: the first
// argument names the component to be. Five commands that share nearly all of
// their packages are linked once instead of five times, which is what a first
// run waits for.
package main

import (
	"fmt"
	"os"
	_ "time/tzdata" // The components' own main packages embed it as well.

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // Registers client metrics, as the real mains do.
	_ "k8s.io/component-base/metrics/prometheus/version"  // Registers the version metric, as the real mains do.
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	if len(os.Args) < 2 {
		fail("no component named")
	}
	component := os.Args[1]
	// Each component must believe that it was started under its own name.
	os.Args = append([]string{component}, os.Args[2:]...)
	switch component {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		run(apiserver.NewAPIServerCommand())
	case "kube-controller-manager":
		run(controllermanager.NewControllerManagerCommand())
	case "kube-scheduler":
		run(scheduler.NewSchedulerCommand())
	case "kwok":
		runKwok()
	case "kwok-stages":
		printStages()
	default:
		fail(fmt.Sprintf("unknown component %q", component))
	}
}

func run(command *cobra.Command) {
	os.Exit(cli.Run(command))
}

func fail(reason string) {
	fmt.Fprintln(os.Stderr, "controlplane: "+reason+
		": want etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok or kwok-stages as first argument")
	os.Exit(2)
}
