// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
)

// Connected returns the cluster's id where changes can be made. A cluster other
// than the expected one ("" for any) is an error, before anything else is read.
func (d *Data) Connected(ctx context.Context, expected string, diags *diag.Diagnostics) (id string, ok bool) {
	if d == nil || d.Cluster == nil {
		diags.AddError("Unable to reach the cluster", "The provider block holds values that are still unknown, so that there is no connection. "+
			"Create what they come from first, or apply again.")
		return "", false
	}
	cluster, err := d.Cluster.ID(ctx)
	if err != nil {
		diags.Append(UnableTo("identify the cluster", err))
		return "", false
	}
	return cluster, sameCluster(expected, cluster, diags)
}

// Identify returns the cluster's id for a look at it. The error is that of the
// request; a cluster other than the expected one is an error in the diagnostics.
func (d *Data) Identify(ctx context.Context, expected string, diags *diag.Diagnostics) (id string, err error) {
	if d == nil || d.Cluster == nil {
		return "", kube.ErrUnreachable
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
		fmt.Sprintf("The state was written for the cluster whose namespace kube-system has the UID %s; the provider block leads to one with %s. "+
			"Nothing has been read or changed beyond that. Point the provider block at the right cluster. "+
			"If the old one is gone for good, remove the resource from the state with \"terraform state rm\" and apply again.", expected, found))
	return false
}

// Unreadable words why a stored state could not be compared with the cluster;
// what says what was to be read.
func (d *Data) Unreadable(what string, err error, diags *diag.Diagnostics) {
	switch {
	case err == nil || d == nil:
	case kube.OutOfReach(err):
		d.Unreachable(err, diags)
	default:
		diags.Append(UnableTo("read "+what, err))
	}
}

// UnableTo words an error of a request.
func UnableTo(doing string, err error) diag.Diagnostic {
	detail := Advise(err)
	if detail != "" {
		detail += "\n\n"
	}
	return diag.NewErrorDiagnostic("Unable to "+doing, detail+"Original error: "+err.Error())
}

// Advise says what an error of a request means and what to do; nothing where
// the error has to speak for itself.
func Advise(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "The time that timeouts allows has run out, or the cluster took too long to answer."
	case errors.Is(err, kube.ErrForbidden):
		return "The credentials have no permission for this. The guide \"Permissions\" of the provider's documentation has the ClusterRole that is needed."
	case errors.Is(err, kube.ErrUnauthorized):
		return "The cluster does not accept the credentials: they may have expired. Renew them and apply again."
	case errors.Is(err, kube.ErrUnreachable):
		return "The cluster did not answer. Check the network and whether its API server runs."
	case errors.Is(err, kube.ErrInvalid):
		return "The API server refused the change. An admission policy of the cluster may forbid it."
	case errors.Is(err, rollout.ErrFight):
		return "Somebody else changes it back as soon as it is written. Find out who (kubectl get -o yaml --show-managed-fields) before applying again."
	case errors.Is(err, context.Canceled):
		return "The run was interrupted."
	}
	return ""
}
