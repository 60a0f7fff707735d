// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package bigcluster_test

import (
	"encoding/pem"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/bigcluster"
)

// BenchmarkAccResident is how much memory the provider has at most in a plan that taints 500 nodes of a cluster of 5,000
// nodes and 150,000 pods: less than 200 MiB, or it fails. The lists of the cluster are served from files: an API server with so
// many pods needs more memory than most machines have.
func BenchmarkAccResident(b *testing.B) {
	server := bigcluster.Serve(b, httptest.NewTLSServer, 5_000, 150_000, 10_000, 2_000)
	b.Cleanup(server.CloseClientConnections)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	var most, cpu float64
	for b.Loop() {
		cli := acctest.NewCLI(b)
		cli.Write(map[string]any{"host": server.URL, "token": "t", "cluster_ca_certificate": string(ca)}, tainting("NoExecute", 500))
		used, said := planned(b, cli, "")
		if !strings.Contains(said, "evicts 15000 pods") {
			b.Fatal("the plan does not evict the 15,000 pods of 500 nodes:\n" + said)
		}
		most, cpu = max(most, float64(used.Resident)/1024), cpu+used.CPU.Seconds()
	}
	b.ReportMetric(most, "resident-MiB")
	b.ReportMetric(cpu/float64(b.N), "cpu-s")
	if most >= 200 {
		b.Errorf("the provider had %.0f MiB", most)
	}
}
