// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/testbed/modules/machineapi/drain"
)

// options is what the flags say.
type options struct {
	kubeconfig string
	crds       string
	health     string
	// faithful adds the habits of OpenShift that most tests are spared.
	faithful bool

	// sync is how often all objects are looked at again, which cuts through every
	// back-off.
	sync time.Duration
	// again is the Machine controller's pause while something is unfinished.
	again time.Duration
	// retryMax bounds the back-off of failures other than those of a drain.
	retryMax time.Duration
	drain    drain.Options

	// controlPlane and workers are the containers of a kind cluster whose kubelets
	// serve the Nodes, none where kwok does.
	controlPlane string
	workers      []string
}

// parse reads the command line. Its defaults are OpenShift's.
func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("machineapi", flag.ContinueOnError)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "`file` that leads to the cluster; needed")
	flags.StringVar(&o.crds, "crds", "", "`folder` of the custom resource definitions; by default the go command is asked for that of github.com/openshift/api")
	flags.StringVar(&o.health, "health-address", "0", "`address` that answers /readyz once all controllers run; 0 for none")
	flags.BoolVar(&o.faithful, "faithful", false, "be as awkward as OpenShift: a cache for each controller, one drain at a time, the namespace "+home+" alone, validating webhooks, health checks, and nodes that a cloud controller initializes late; no pause can be cut short then")
	flags.DurationVar(&o.sync, "sync-period", 10*time.Minute, "how often everything is looked at again")
	flags.DurationVar(&o.again, "requeue-after", 30*time.Second, "when an unfinished Machine is looked at again")
	flags.DurationVar(&o.retryMax, "retry-max", 1000*time.Second, "longest pause after failures, those of the cloud included")
	flags.DurationVar(&o.drain.Timeout, "drain-timeout", 20*time.Second, "how long one attempt to drain lasts")
	flags.DurationVar(&o.drain.BackoffBase, "drain-backoff", 5*time.Second, "pause after the first failed attempt; it doubles with each one")
	flags.DurationVar(&o.drain.BackoffMax, "drain-backoff-max", 1000*time.Second, "longest pause between attempts")
	flags.DurationVar(&o.drain.EvictionRetry, "eviction-retry", 0, "pause before a refused eviction is tried again within an attempt")
	kubelets := flags.String("kubelets", "", "`containers` of a kind cluster, its control plane first and then the workers, separated by blanks: their kubelets serve the Nodes that kwok serves elsewhere")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.kubeconfig == "" {
		return options{}, errors.New("--kubeconfig is needed: no cluster is guessed")
	}
	if cut := pauses(flags); o.faithful && len(cut) > 0 {
		return options{}, fmt.Errorf("--faithful keeps OpenShift's pauses: leave out --%s", strings.Join(cut, ", --"))
	}
	if containers := strings.Fields(*kubelets); len(containers) > 1 {
		o.controlPlane, o.workers = containers[0], containers[1:]
	} else if *kubelets != "" {
		return options{}, errors.New("--kubelets needs the control plane and at least one worker")
	}
	return o, nil
}

// pauses returns the flags that were given a pause other than OpenShift's.
func pauses(flags *flag.FlagSet) (cut []string) {
	flags.Visit(func(f *flag.Flag) {
		if _, pause := f.Value.(flag.Getter).Get().(time.Duration); pause && f.Value.String() != f.DefValue {
			cut = append(cut, f.Name)
		}
	})
	return cut
}
