// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

// Data is what the provider block gives to every resource, data source, action
// and list resource.
type Data struct {
	// Cluster is nil where the provider block holds values that are not known
	// yet; it is then treated like a cluster out of reach.
	Cluster *kube.Cluster
	// Recorded is the path of the snapshot that the cluster is read from, "" for a live one. It
	// can be read only.
	Recorded string
	// Owner stands at the head of every id.
	Owner string
	// Label distinguishes this provider block from others of the configuration, by what it names of its
	// cluster and by its owner; "" where the environment names the cluster.
	Label string
	// Evictions are the limits of resources that set none.
	Evictions message.Limits
	// Comparison is what is known of the cluster's gate for Lt and Gt.
	Comparison eviction.Comparison
	// FailUnreachable makes a cluster out of reach at plan an error.
	FailUnreachable bool
	// MaxConcurrentRollouts is how many rollouts of machines run at the same
	// time, at least 1.
	MaxConcurrentRollouts int64
	// Rollouts are those that run now.
	Rollouts rollout.Slots
	// Created holds the objects that this process has created or tried to, by id. Values of
	// objects with MachineSets are their claims.
	Created sync.Map
	// Claims are the entries that resources of this run want.
	Claims *Claims
	// Keys prove what its resources leave to each other.
	Keys Keys
	// Planned are the tolerations that resources of this run plan, and Switching
	// the changes of taints.
	Planned   planner.Shared
	Switching planner.Switching
	// Effects are what plans of resources of this run do to nodes and pods.
	Effects planner.Effects
	// Policies are what resources of this run give to new pods.
	Policies planner.Policies

	renames       renames
	deferred      deferred
	importedTwice importedTwice
	unreachable   sync.Once
	// warned holds the usedBy of each summary.
	warned sync.Map
}

// DataFrom takes the provider's data out of a Configure request. It is nil
// before the provider is configured, as during validation.
func DataFrom(providerData any, diags *diag.Diagnostics) *Data {
	if providerData == nil {
		return nil
	}
	data, ok := providerData.(*Data)
	if !ok {
		diags.AddError("Unexpected Provider Data",
			fmt.Sprintf("Expected *session.Data, got %T. This is a bug in the provider: please report it.", providerData))
	}
	return data
}

// Unreachable reports once per run that the cluster cannot be read while
// Terraform plans: as a warning, or as an error for every resource where the
// provider block says so.
func (d *Data) Unreachable(err error, diags *diag.Diagnostics) {
	summary, detail := d.unread(err)
	detail += " The plan shows the last stored state, and cannot preview evictions. Applying needs the cluster."
	if err != nil && d.Cluster != nil {
		detail += "\n\nOriginal error: " + err.Error()
	}
	if d.FailUnreachable {
		diags.AddError(summary, detail+"\n\nThis is an error because the provider block sets unreachable = \"fail\".")
		return
	}
	// Command lines fold warnings with equal summaries: the host tells apart the
	// clusters of several provider blocks.
	d.unreachable.Do(func() { diags.AddWarning(summary+", so the plan is made without it", detail) })
}

// unread says of which cluster nothing could be read, and why.
func (d *Data) unread(err error) (summary, why string) {
	if d.Cluster == nil {
		return "Unable to read the cluster: the provider block is not known yet", message.NotConnected
	}
	summary = "Unable to read the cluster"
	if host := d.Cluster.Host(); host != "" {
		summary += " at " + host
	}
	switch {
	case errors.Is(err, kube.ErrUnauthorized):
		return summary + ": the credentials were refused", message.Advise(err)
	case kube.Unusable(err):
		return summary + ": no trusted connection", message.Advise(err)
	}
	return summary, message.Advise(kube.ErrUnreachable)
}

// Claims remembers which resource of a run wants which entry of which object,
// so that two that want the same one are told at plan.
type Claims struct {
	mu    sync.Mutex
	taken map[string]string
}

// Take claims an entry for a holder; false means that another one has it.
func (c *Claims) Take(entry, holder string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken == nil {
		c.taken = map[string]string{}
	}
	if other, ok := c.taken[entry]; ok {
		return other == holder
	}
	c.taken[entry] = holder
	return true
}
