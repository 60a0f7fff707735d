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
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
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
		diags.Append(UnableTo("identify the cluster", err))
		return "", false
	}
	return cluster, sameCluster(expected, cluster, diags)
}

// Identify returns the cluster's id for a look at it. The error is that of the
// request; a cluster other than the expected one is an error in the diagnostics.
func (d *Data) Identify(ctx context.Context, expected string, diags *diag.Diagnostics) (id string, err error) {
	if d == nil || d.Cluster == nil {
		return "", errNotConnected
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

// Advise reports what an error of a request means and what to do; nothing where
// the error must speak for itself.
func Advise(err error) string {
	fight := new(rollout.FightError)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "The operation timed out, or the cluster answered too slowly. Run it again, with a longer timeout in the configuration if it has one."
	case errors.Is(err, kube.ErrForbidden):
		return "The credentials have no permission for this request. Grant it: the guide \"Permissions\" of the provider's documentation has the ClusterRole."
	case errors.Is(err, kube.ErrUnauthorized):
		return "The cluster refused the credentials; they may have expired. Renew them and run again."
	case kube.Unusable(err):
		return "Could not establish a trusted connection: the server's certificate is not trusted, or the command that prints the credentials failed. Check the provider block and the original error."
	case errors.Is(err, errNotConnected):
		return notConnected
	case errors.Is(err, kube.ErrUnreachable):
		return "The cluster did not answer, or answered with a server error. Check that its API server runs, and the network to it."
	case errors.Is(err, kube.ErrInvalid):
		return "The API server rejected the request; see the original error. If an admission policy or a webhook rejected it, have it allow this change, or change the configuration. A webhook checks the whole object: correct first what else the error names in it."
	case errors.Is(err, kube.ErrNoEvictions):
		return "The API server, or a proxy in front of it, does not serve evictions, and the provider deletes no pods in their place: that would bypass PodDisruptionBudgets. Check the address of the server, and the proxy: Kubernetes serves them in policy/v1 since 1.22."
	case errors.As(err, &fight):
		return "Another controller keeps reverting this change, so this run has given up. Find out who" + whoWrote(fight.Thing) + ". Make that tool ignore these entries, or remove them from this configuration. Then run again."
	case errors.Is(err, context.Canceled):
		return "The run was interrupted. Run it again."
	}
	return ""
}

// whoWrote is the command that shows who has written an object, for the end of a
// sentence; nothing where the object is not known.
func whoWrote(thing workload.Ref) string {
	if thing.Name == "" {
		return ""
	}
	return " by its managedFields (kubectl get " + thing.Kubectl(thing.Name) + " -o yaml --show-managed-fields)"
}
