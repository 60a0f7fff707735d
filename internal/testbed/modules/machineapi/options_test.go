// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
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
	if got != want {
		t.Errorf("the defaults are\n%+v, want\n%+v", got, want)
	}
}

func TestParse_guessesNoCluster(t *testing.T) {
	t.Setenv("KUBECONFIG", "/real")
	if _, err := parse(nil); err == nil {
		t.Error("it takes a cluster that nobody has named")
	}
}
