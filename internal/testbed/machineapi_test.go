// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"flag"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
)

// machineSets is where the API server serves MachineSets.
const machineSets = "/apis/machine.openshift.io/v1beta1/machinesets"

func TestMachineAPIRunsWhereItIsAskedFor(t *testing.T) {
	needCluster(t, machineAPIComponent)
	t.Parallel()
	_, dir := startWaiting(t, "--machine-api", "--machine-api-flags", "--drain-timeout=2s --drain-backoff=1s")
	if got := ask(t, dir, machineSets); got != "ok" {
		t.Errorf("asked for MachineSets, the cluster answers %s", got)
	}
	before := pids(t, dir, machineAPIName)[machineAPIName]
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Machine API to be started again", func() bool { return pids(t, dir, machineAPIName)[machineAPIName] != before })
}

func TestClusterWithoutItHasNoMachineAPI(t *testing.T) {
	needCluster(t)
	t.Parallel()
	_, dir := startWaiting(t)
	if got := ask(t, dir, machineSets); !strings.HasPrefix(got, "404") {
		t.Errorf("asked for MachineSets, the cluster answers %s, want 404", got)
	}
	if fileExists(filepath.Join(dir, "pids", machineAPIName+".pid")) {
		t.Error("a Machine API runs that no test has asked for")
	}
}

func TestMachineAPIFlagsNeedTheMachineAPI(t *testing.T) {
	t.Parallel()
	flags := newFlags("run")
	o := addClusterFlags(flags)
	if err := flags.Parse([]string{"--machine-api-flags", "--drain-timeout=2s"}); err != nil {
		t.Fatal(err)
	}
	if _, err := o.programs(t.Context(), &builder{}); err == nil {
		t.Error("flags of a Machine API are taken without one")
	}
}

func TestSupervisorRunsWhatUpHasBuilt(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]programs{
		"a control plane alone":   {controlPlane: "/c"},
		"one with a Machine API":  {controlPlane: "/c", machineAPI: &machineAPI{binary: "/m", crds: "/d", flags: []string{"--a=1", "--b=2"}}},
		"more of the API server":  {controlPlane: "/c", apiServerFlags: []string{"--a=1", "--b=2"}},
		"more of the controllers": {controlPlane: "/c", controllerManagerFlags: []string{"--c=1"}},
		"one without more flags":  {controlPlane: "/c", machineAPI: &machineAPI{binary: "/m", crds: "/d", flags: []string{}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flags := flag.NewFlagSet("supervise", flag.ContinueOnError)
			read := addPrograms(flags)
			if err := flags.Parse(want.arguments()); err != nil {
				t.Fatal(err)
			}
			if got := read(); !reflect.DeepEqual(got, want) {
				t.Errorf("it runs %+v, want %+v", got, want)
			}
		})
	}
}
