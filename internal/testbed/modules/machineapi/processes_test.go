// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// TestProcesses_faithfulOnesHaveCachesOfTheirOwn, which is why they conflict.
func TestProcesses_faithfulOnesHaveCachesOfTheirOwn(t *testing.T) {
	t.Parallel()
	for _, faithful := range []bool{false, true} {
		cfg := &rest.Config{Host: "https://127.0.0.1:1", UserAgent: "machineapi"}
		main, err := manager.New(cfg, manager.Options{Scheme: runtime.NewScheme(), Metrics: server.Options{BindAddress: "0"}})
		if err != nil {
			t.Fatal(err)
		}
		p := &processes{main: main, cfg: cfg, faithful: faithful}
		one, err := p.of("machine", nil)
		if err != nil {
			t.Fatal(err)
		}
		other, err := p.of("nodelink", nil)
		if err != nil {
			t.Fatal(err)
		}
		if own := one.GetCache() != other.GetCache(); own != faithful {
			t.Errorf("faithful %t: caches of their own: %t", faithful, own)
		}
		if faithful && other.GetConfig().UserAgent != "machineapi/nodelink" {
			t.Errorf("the API server knows it as %q", other.GetConfig().UserAgent)
		}
	}
}

func TestDefinitions_healthChecksAreThereWhereTheyAreChecked(t *testing.T) {
	t.Parallel()
	for _, faithful := range []bool{false, true} {
		if _, there := (options{faithful: faithful}).definitions()["MachineHealthCheck"]; there != faithful {
			t.Errorf("faithful %t: MachineHealthChecks are served: %t", faithful, there)
		}
	}
}
