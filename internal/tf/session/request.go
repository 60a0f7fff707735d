// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

// Connected returns the cluster's id where changes can be made. A cluster other
// than the expected one ("" for any) is an error, before anything else is read.
func (d *Data) Connected(ctx context.Context, expected string, diags *diag.Diagnostics) (id string, ok bool) {
	if d == nil || d.Cluster == nil {
		diags.AddError("Unable to connect to the cluster: the provider block is not known yet",
			"The provider block holds values that are known only after other resources are applied. Apply those first (-target), then apply again.")
		return "", false
	}
	cluster, err := d.Cluster.ID(ctx)
	if err != nil {
		diags.Append(message.UnableTo("identify the cluster", err))
		return "", false
	}
	return cluster, sameCluster(expected, cluster, diags)
}

// Identify returns the cluster's id for a look at it. The error is that of the
// request; a cluster other than the expected one is an error in the diagnostics.
func (d *Data) Identify(ctx context.Context, expected string, diags *diag.Diagnostics) (id string, err error) {
	if d == nil || d.Cluster == nil {
		return "", message.ErrNotConnected
	}
	id, err = d.Cluster.ID(ctx)
	if err == nil {
		sameCluster(expected, id, diags)
	}
	return id, err
}

func sameCluster(expected, found string, diags *diag.Diagnostics) bool {
	if expected == "" || expected == found {
		return true
	}
	diags.AddError("Unable to use this state with another cluster",
		fmt.Sprintf("The state was written for the cluster whose namespace kube-system has the UID %s; the provider block points to one with %s. "+
			"Nothing has been read or changed beyond that. Point the provider block at the right cluster. "+
			"If the old one is gone for good, remove the resource from the state with \"terraform state rm\" and apply again.", expected, found))
	return false
}

// Unreadable words why a stored state could not be compared with the cluster;
// what reports what was to be read.
func (d *Data) Unreadable(what string, err error, diags *diag.Diagnostics) {
	switch {
	case err == nil || d == nil:
	case kube.OutOfReach(err):
		d.Unreachable(err, diags)
	default:
		diags.Append(message.UnableTo("read "+what, err))
	}
}
