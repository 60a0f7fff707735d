// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

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
	// groupsFor bounds the reading of node groups: errors and warnings wait for it, and lack no more than names.
	groupsFor = 5 * time.Second
)

// NodeGroups returns the node groups of cluster-autoscaler and the NodePools of Karpenter that may grow, sorted. Where
// NodePools cannot be listed, they are those that nodes show. On OpenShift, where cluster-autoscaler reports
// nothing, they are the MachineSets that a MachineAutoscaler may scale up. It sends two or three requests, and
// none the second time. What is not there, or not permitted, names no groups. Errors: those of a cluster out of reach.
func (c *Cluster) NodeGroups(ctx context.Context) ([]string, error) {
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	return c.groups.get(ctx, func() ([]string, error) {
		short, cancel := context.WithTimeout(ctx, groupsFor)
		defer cancel()
		groups, err := c.groupsOf(short, nodes)
		if short.Err() != nil && ctx.Err() == nil {
			err = &Error{Class: ErrUnreachable, Doing: "read the node groups of autoscalers", Err: fmt.Errorf("no answer within %s", groupsFor)}
		}
		return groups, err
	})
}

// groupsOf reads the names for NodeGroups.
func (c *Cluster) groupsOf(ctx context.Context, nodes []*snapshot.Node) ([]string, error) {
	groups, err := c.reportedGroups(ctx, nodes)
	if err != nil {
		return nil, err
	}
	pools, err := c.growingPools(ctx, nodes)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(groups, pools)
	slices.Sort(all)
	return slices.Compact(all), nil
}

// Unmodelled returns what of the cluster a preview names and does not simulate: NodeGroups where a change leaves pods without a
// node, the webhooks that are called for the pods that are created in the place of others, and the profile of OpenShift's
// scheduler. For no such pods it sends nothing. A preview is as right without names. Errors: those of the API server.
func (c *Cluster) Unmodelled(ctx context.Context, leavesPending bool, replaced []*snapshot.Pod) (out snapshot.Unmodelled, err error) {
	if leavesPending {
		out.NodeGroups, err = c.NodeGroups(ctx)
	}
	if len(replaced) == 0 {
		return out, err
	}
	var unread error
	out.Webhooks, out.WebhooksUnread, unread = c.webhooksFor(ctx, replaced)
	scores, unknown := c.schedulerProfile(ctx)
	out.Profile, out.ProfileUnread = scores.name, scores.unread
	return out, errors.Join(err, unread, unknown)
}

// reportedGroups returns the node groups that cluster-autoscaler reports, or else the targets of MachineAutoscalers.
func (c *Cluster) reportedGroups(ctx context.Context, nodes []*snapshot.Node) ([]string, error) {
	namespace, openShift := metav1.NamespaceSystem, slices.ContainsFunc(nodes, func(n *snapshot.Node) bool { return n.MachineConfig })
	if openShift {
		namespace = machineAPINamespace
	}
	var found *corev1.ConfigMap
	err := reading.do(ctx, bounded(func(ctx context.Context) (err error) {
		found, err = c.client.core.ConfigMaps(namespace).Get(ctx, autoscalerStatus, metav1.GetOptions{})
		return err
	}))
	switch err := wrap("get ConfigMap "+namespace+"/"+autoscalerStatus, err); {
	case absent(err) && openShift:
		return c.scaledSets(ctx)
	case absent(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return growing(found.Data["status"]), nil
}

// absent reports an error that what is read for names alone is not there, or not permitted.
func absent(err error) bool { return errors.Is(err, ErrNotFound) || errors.Is(err, ErrForbidden) }

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
