// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// NotConnected reports why there is no cluster.
const NotConnected = "The provider block holds values that are known only after apply, so there is no cluster to read yet."

// ErrNotConnected is the error where there is no cluster yet. It counts as a cluster out
// of reach.
var ErrNotConnected = fmt.Errorf("%w: the connection is not known yet", kube.ErrUnreachable)

// LaterAdvice is the way out for a data source that is read too early. A data
// source cannot return values that are not known yet.
const LaterAdvice = "If this apply creates the cluster, add depends_on to the data source, so that it is read afterwards. To continue without a result, put the data source into a check block: its errors are then warnings."

// UnableToRead adds the error of a data source whose request failed. The name
// is the data source's type.
func UnableToRead(name string, err error, diags *diag.Diagnostics) {
	if errors.Is(err, kube.ErrNoMachineAPI) {
		diags.Append(NoMachineAPI(err))
		return
	}
	detail := cmp.Or(Advise(err), "The request failed. Run again; if it keeps failing, see the original error.")
	if errors.Is(err, kube.ErrUnreachable) {
		detail += " " + LaterAdvice
	}
	diags.AddError("Unable to read data."+name, fmt.Sprintf("%s\n\nOriginal error: %s", detail, err))
}

// UnableTo words an error of a request.
func UnableTo(doing string, err error) diag.Diagnostic {
	return Failed("Unable to "+doing, "", err)
}

// Failed words an error by what it means, how it goes on from there, and the original error.
func Failed(summary, goesOn string, err error) diag.Diagnostic {
	return diag.NewErrorDiagnostic(summary, Paragraphs(Advise(err), goesOn, "Original error: "+err.Error()))
}

// Advise reports what an error of a request means and what to do; nothing where
// the error must speak for itself.
func Advise(err error) string {
	reverted := new(rollout.RevertedError)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "The operation timed out, or the cluster answered too slowly. Run it again, with a longer timeout in the configuration if it has one."
	case errors.Is(err, kube.ErrMayNotDelete):
		return "With disable_eviction, a drain deletes pods, and the credentials have no permission for that, or an admission policy forbids it. The role of the guide \"Permissions\" leaves this right out, and the guide has it as a rule of its own. Add that rule, or drain without disable_eviction."
	case errors.Is(err, kube.ErrForbidden):
		return "The credentials have no permission for this request. Grant it: the guide \"Permissions\" of the provider's documentation has the ClusterRole."
	case errors.Is(err, kube.ErrUnauthorized):
		return "The cluster refused the credentials; they may have expired. Renew them and run again."
	case kube.Unusable(err):
		return "Could not establish a trusted connection: the server's certificate is not trusted, or the command that prints the credentials failed. Check the provider block and the original error."
	case errors.Is(err, ErrNotConnected):
		return NotConnected
	case errors.Is(err, kube.ErrUnreachable):
		return "The cluster did not answer, or answered with a server error. Check that its API server runs, and the network to it."
	case errors.Is(err, kube.ErrInvalid):
		return "The API server rejected the request; see the original error. If an admission policy or a webhook rejected it, have it allow this change, or change the configuration. A webhook checks the whole object: correct first what else the error names in it."
	case errors.Is(err, kube.ErrNoEvictions):
		return "The API server, or a proxy in front of it, does not serve evictions. A drain deletes no pods in their place: that would bypass PodDisruptionBudgets. Check the address of the server, and the proxy: Kubernetes serves them in policy/v1 since 1.22. To delete the pods all the same, set disable_eviction = true."
	case errors.As(err, &reverted) && reverted.Busy:
		return "Another client changed this object before each write, so this run has given up. Find out who" + whoWrote(reverted.Thing) + ". Pause that tool, then run again."
	case errors.Is(err, kube.ErrConflict):
		return "Another client changed the object at the same time. Run again. If that fails too, find out by its managedFields who keeps writing it, and pause that tool."
	case errors.As(err, &reverted):
		return "Another controller keeps reverting this change, so this run has given up. Find out who" + whoWrote(reverted.Thing) + ". Make that tool ignore these entries, or remove them from this configuration. Then run again."
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

// NodeDidNotJoin words that a node that an attribute names did not come in time, with another way out than a longer timeout, or that the wait was
// interrupted.
func NodeDidNotJoin(attribute path.Path, name, wayOut string, err error) diag.Diagnostic {
	if errors.Is(err, context.DeadlineExceeded) {
		return diag.NewAttributeErrorDiagnostic(attribute, "Unable to find node \""+name+"\"",
			"No node of this name joined the cluster before the operation timed out. Nothing has been written. "+wayOut+"\n\nOriginal error: "+err.Error())
	}
	return diag.NewAttributeErrorDiagnostic(attribute, "Unable to wait for node \""+name+"\"", "The wait was interrupted. Nothing has been written; apply again.\n\nOriginal error: "+err.Error())
}
