// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubectlplugin

import (
	"context"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// connect returns the cluster that the flags and the kubeconfig name, to read alone. It is the only
// place where a connection is made, discovery for the names of resources apart.
func (p *plugin) connect() (*kube.Cluster, error) {
	rc, err := p.config.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	return kube.NewReader(rc, "kubectl-kubetaint/"+p.version)
}

// observe returns the cluster and a snapshot of it.
func (p *plugin) observe(ctx context.Context) (*kube.Cluster, *snapshot.Snapshot, error) {
	cluster, err := p.connect()
	if err != nil {
		return nil, nil, err
	}
	s, err := cluster.Snapshot(ctx)
	return cluster, s, err
}

// gate returns what is known of the cluster's gate for Lt and Gt.
func (p *plugin) gate(set bool) eviction.Comparison {
	switch {
	case !set:
		return eviction.ComparisonUnknown
	case *p.comparison:
		return eviction.ComparisonOn
	}
	return eviction.ComparisonOff
}
