// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

const (
	// autoscalerStatus is the ConfigMap in which cluster-autoscaler reports about its node groups
	// (kubernetes/autoscaler cluster-autoscaler/config/autoscaling_options.go, StatusConfigMapName).
	autoscalerStatus = "cluster-autoscaler-status"
	// machineAPINamespace is where it is on OpenShift (openshift/cluster-autoscaler-operator).
	machineAPINamespace = "openshift-machine-api"
	// nodePoolLabel names the NodePool of a node that Karpenter has added
	// (kubernetes-sigs/karpenter pkg/apis/v1/labels.go, NodePoolLabelKey).
	nodePoolLabel = "karpenter.sh/nodepool"
)

// NodeGroups returns the node groups of cluster-autoscaler that may grow and the NodePools of Karpenter that nodes
// show, sorted. It sends one request, and none the second time. Without the ConfigMap, or the right to get it, there
// are no node groups. Errors: those of a cluster out of reach.
func (c *Cluster) NodeGroups(ctx context.Context) ([]string, error) {
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	groups, err := c.groups.get(ctx, func() ([]string, error) { return c.readNodeGroups(ctx, nodes) })
	return autoscaled(groups, nodes), err
}

func (c *Cluster) readNodeGroups(ctx context.Context, nodes []*snapshot.Node) ([]string, error) {
	namespace := metav1.NamespaceSystem
	if slices.ContainsFunc(nodes, func(n *snapshot.Node) bool { return n.MachineConfig }) {
		namespace = machineAPINamespace
	}
	var found *corev1.ConfigMap
	err := reading.do(ctx, bounded(func(ctx context.Context) (err error) {
		found, err = c.client.core.ConfigMaps(namespace).Get(ctx, autoscalerStatus, metav1.GetOptions{})
		return err
	}))
	switch err := wrap("get ConfigMap "+namespace+"/"+autoscalerStatus, err); {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrForbidden):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return growing(found.Data["status"]), nil
}

// growing returns the node groups that have not reached their largest size, by their names without what a cloud
// puts before them. A status in another form names none
// (kubernetes/autoscaler cluster-autoscaler/clusterstate/api/types.go, NodeGroupStatus).
func growing(status string) []string {
	var read struct {
		NodeGroups []struct {
			Name   string
			Health struct{ CloudProviderTarget, MaxSize int }
		}
	}
	if yaml.Unmarshal([]byte(status), &read) != nil {
		return nil
	}
	var out []string
	for _, g := range read.NodeGroups {
		if g.Name != "" && g.Health.CloudProviderTarget < g.Health.MaxSize {
			out = append(out, printable.Line(path.Base(g.Name)))
		}
	}
	return out
}

// autoscaled adds Karpenter's NodePools, as far as nodes show them, to node groups. It sorts them.
func autoscaled(groups []string, nodes []*snapshot.Node) []string {
	all := map[string]bool{}
	for _, group := range groups {
		all[group] = true
	}
	for _, n := range nodes {
		if pool := n.Labels[nodePoolLabel]; pool != "" {
			all["NodePool "+printable.Line(pool)] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
