// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/recorded"
)

// Snapshot records the cluster with the documented rights, and returns a Terraform that plans from
// the recording.
func (c *Cluster) Snapshot(t testing.TB) *Terraform {
	t.Helper()
	block := c.Provider(t)
	config := kube.Config{Host: c.REST.Host, Token: c.Token(t), Transport: transportTo(c.REST.Host)}
	config.ClusterCACertificate, _ = block["cluster_ca_certificate"].(string)
	return snapshotOf(t, config)
}

// SnapshotOf does so of what a transport leads to.
func SnapshotOf(t testing.TB, host string, transport http.RoundTripper) *Terraform {
	t.Helper()
	return snapshotOf(t, kube.Config{Host: host, Transport: transport})
}

func snapshotOf(t testing.TB, config kube.Config) *Terraform {
	t.Helper()
	source, err := kube.New(config)
	must(t, err)
	path := filepath.Join(t.TempDir(), "cluster.kts")
	_, err = recorded.WriteFile(t.Context(), path, source, recorded.Options{Version: "test"})
	must(t, err)
	return &Terraform{Provider: map[string]any{"snapshot": path}}
}
