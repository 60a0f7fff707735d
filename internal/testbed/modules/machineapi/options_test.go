// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"reflect"
	"testing"
	"time"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/testbed/modules/machineapi/drain"
)

func TestParse_defaultsAreThoseOfOpenShift(t *testing.T) {
	t.Parallel()
	got, err := parse([]string{"--kubeconfig=k"})
	if err != nil {
		t.Fatal(err)
	}
	want := options{
		kubeconfig: "k", health: "0", sync: 10 * time.Minute, again: 30 * time.Second, retryMax: 1000 * time.Second,
		drain: drain.Options{Timeout: 20 * time.Second, BackoffBase: 5 * time.Second, BackoffMax: 1000 * time.Second},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the defaults are\n%+v, want\n%+v", got, want)
	}
}

func TestParse_guessesNoCluster(t *testing.T) {
	t.Setenv("KUBECONFIG", "/real")
	if _, err := parse(nil); err == nil {
		t.Error("it takes a cluster that no test has named")
	}
}

func TestParse_kubelets(t *testing.T) {
	t.Parallel()
	got, err := parse([]string{"--kubeconfig=k", "--kubelets=plane one two"})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"one", "two"}; got.controlPlane != "plane" || !reflect.DeepEqual(got.workers, want) {
		t.Errorf("the containers are %q and %q", got.controlPlane, got.workers)
	}
	if _, err := parse([]string{"--kubeconfig=k", "--kubelets=plane"}); err == nil {
		t.Error("it takes a control plane without workers")
	}
}

func TestParse_faithfulKeepsEveryPause(t *testing.T) {
	t.Parallel()
	got, err := parse([]string{"--kubeconfig=k", "--faithful", "--drain-timeout=20s"})
	if err != nil || !got.faithful {
		t.Fatalf("it is faithful: %t, %v", got.faithful, err)
	}
	if got.again != 30*time.Second || got.drain.Timeout != 20*time.Second {
		t.Errorf("the pauses are %+v", got)
	}
	for _, flag := range []string{"--requeue-after=1s", "--drain-timeout=2s", "--drain-backoff=1s", "--drain-backoff-max=1s", "--retry-max=1s", "--eviction-retry=1s", "--sync-period=1s"} {
		if _, err := parse([]string{"--kubeconfig=k", "--faithful", flag}); err == nil {
			t.Errorf("it is called faithful with %s", flag)
		}
	}
}
