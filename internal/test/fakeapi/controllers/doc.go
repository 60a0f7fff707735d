// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package controllers has small controllers for package fakeapi: as much of the scheduler,
// of a kubelet, of the controllers of workloads, quotas, PodDisruptionBudgets, garbage and
// taint eviction, and of OpenShift's Machine API as faults in the middle of a rollout need,
// and tests of pods that follow a template. They go one step at a time, a moment after each
// change, so that a test sees what is in between.
package controllers

import (
	"time"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// moment is how long after a change the controllers take their next step.
const moment = 500 * time.Millisecond

// Start runs all controllers until the server is closed.
func Start(api *fakeapi.Server) {
	go api.Run(moment, func() {
		quotas(api)
		machines(api)
		workloads(api)
		kubelet(api)
		schedule(api)
		budgets(api)
		evict(api)
	})
}
