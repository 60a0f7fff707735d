// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Command machineapi plays OpenShift's Machine API on a cluster that has none:
// the MachineSet, Machine, drain and nodelink controllers, which behave as
// OpenShift's do, and an invented cloud whose machines are Nodes of kwok. The
// real controllers cannot be had as Go modules.
//
//	machineapi --kubeconfig FILE
//
// installs the custom resource definitions of MachineSets and Machines and runs
// until it is told to stop. They come from github.com/openshift/api, in the
// version of this module; the go command finds them from this folder, and --crds
// names another place.
//
// The cluster needs kwok for Nodes with the annotation kwok.x-k8s.io/node: fake,
// as every cluster of the test bed has it. On a kind cluster, --kubelets lets real
// kubelets serve them: see package kubelet. On OpenShift it refuses to run.
//
// A MachineSet needs the label machine.openshift.io/cluster-api-cluster in its
// template, which OpenShift's admission webhooks would add, and a providerSpec of
// the invented cloud, all of whose fields package cloud describes:
//
//	providerSpec:
//	  value:
//	    apiVersion: cloud.kubetaint.io/v1
//	    kind: InventedMachineSpec
//	    provisionDelay: 1s   # Provisioning, then Provisioned
//	    bootDelay: 1s        # Provisioned, then Running
//	    jitter: 500ms        # each delay is up to so much longer
//	    seed: 7              # by chance, which goes by this
//	    failMachines: [2]    # the second machine is Failed
//	    quota: 3             # a fourth stays Provisioning
//
// Nothing else is invented: each package names the files whose habits it has.
// The times that are fixed in OpenShift are flags here, with its values as their
// defaults.
//
// Some habits would have tests that share a cluster wait for each other, so that
// only --faithful has them:
//
//   - Each controller has a manager and a cache of its own, as a process has. Their
//     writes conflict.
//   - One node is drained at a time in the whole cluster, not in each namespace.
//   - The controllers watch the namespace openshift-machine-api alone.
//   - Nodes join with the taint uninitialized, and without provider ID and addresses,
//     which follow a second later. They have the label node.openshift.io/os_id.
//   - Webhooks validate Machines and MachineSets: see package validation.
//   - MachineHealthChecks delete Machines: see package healthcheck.
//   - No pause can be cut short, such as the 30s after which an unfinished Machine is
//     looked at again.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	ctrl.SetLogger(klog.NewKlogr())
	err := run(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "machineapi:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return fmt.Errorf("reading --kubeconfig: %w", err)
	}
	ctx := ctrl.SetupSignalHandler()
	mgr, err := build(ctx, cfg, o)
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}
