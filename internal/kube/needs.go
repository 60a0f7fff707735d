// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Needs are the pods of a change about which more of the cluster decides than a first snapshot has.
type Needs struct {
	// Evicted are those that are evicted, Bound those with claims that rollouts replace.
	Evicted, Bound []*snapshot.Pod
	// Recreates is set where pods are replaced beside the evicted ones, such as by rollouts: ResourceQuotas and LimitRanges
	// decide about the new pods.
	Recreates bool
	// Places is set where it was asked which nodes take new pods: LimitRanges decide what these request.
	Places bool
}

// Judge calls judge with a snapshot, and again with newer ones that have what the pods that it returns, and those
// that wait for a node, need: the limits of CSI volumes, where they have such volumes, and storage, where they have
// claims that no volume is bound to. A waiting pod that no node can attach the volumes of preempts no other. Of evicted pods
// of StatefulSets it needs the podManagementPolicy, of those of Jobs the Job, and of those that name a PriorityClass
// all of these. Of bound pods, it reads what their volumes need alone. For new pods, it reads ResourceQuotas and LimitRanges.
// It does so three times at most: in a cluster that changes, other pods may need more each time. It returns
// the last snapshot. Snapshots of this process have all of this from then on.
// Errors: those of the API server.
func (c *Cluster) Judge(ctx context.Context, s *snapshot.Snapshot, judge func(*snapshot.Snapshot) Needs) (*snapshot.Snapshot, error) {
	for range 3 {
		learned, err := c.learnNeeds(ctx, s, judge(s))
		if err != nil || !learned {
			return s, err
		}
		if s, err = c.Snapshot(ctx); err != nil {
			return s, err
		}
	}
	judge(s)
	return s, nil
}

// learnNeeds reads what these pods need, and reports whether snapshots have more from now on.
func (c *Cluster) learnNeeds(ctx context.Context, s *snapshot.Snapshot, needs Needs) (learned bool, err error) {
	for _, learn := range []func() (bool, error){
		func() (bool, error) { return c.learnAllowances(ctx, s, needs) },
		func() (bool, error) { return c.learnVolumes(ctx, s, slices.Concat(needs.Evicted, needs.Bound)) },
		func() (bool, error) { return c.learnPolicies(ctx, s, needs.Evicted) },
		func() (bool, error) { return c.learnPriorities(ctx, s, needs.Evicted) },
		func() (bool, error) { return c.learnJobs(ctx, s, needs.Evicted) },
	} {
		more, err := learn()
		if err != nil {
			return false, err
		}
		learned = learned || more
	}
	return learned, nil
}
