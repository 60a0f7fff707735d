// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"errors"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

// NoPreview reports that a preview could not be made: of what, such as evictions on a
// node, and what the change does to pods, such as evicts. It never passes in silence,
// which would read as "no evictions", and fails the plan only where a limit
// depends on it. A cluster that the same apply makes cannot be read at plan at all: its
// limit is checked at apply, which plans again with the cluster before the first write.
func NoPreview(of, does string, err error, strict bool, data *Data, diags *diag.Diagnostics) {
	why, original := message.Advise(err), "\n\nOriginal error: "+err.Error()
	switch {
	case data.Cluster == nil:
		why, original = message.NotConnected, ""
	case errors.Is(err, kube.ErrForbidden):
		why = "The credentials have no permission to read what the preview needs. The guide \"Permissions\" of the provider's documentation lists it."
	}
	switch {
	case strict && data.Cluster == nil:
		diags.AddWarning("Unable to check the eviction limits for "+of+" before apply: the provider block is not known yet",
			message.NotConnected+" The change is planned, and which pods it "+does+" is not known. Apply checks the limits before its first write, and ends with an error if one is exceeded.")
	case strict:
		diags.Append(unchecked(of, why, original, data))
	case kube.OutOfReach(err):
		data.Unreachable(err, diags)
	default:
		diags.AddWarning("Unable to preview "+of, strings.TrimSpace("The change is planned, but which pods it "+does+" is not known. "+why)+original)
	}
}

// unchecked reports that a limit cannot be checked. Where the provider block has one, it
// may be that one, and no attribute of the resource is to blame.
func unchecked(of, why, original string, data *Data) diag.Diagnostic {
	summary := "Unable to check the eviction limits for " + of + ": the cluster could not be read"
	where := "in evictions"
	if data.Evictions.Set() {
		where += ", here or in the provider block"
	}
	detail := strings.TrimSpace("A limit is set "+where+". It cannot be checked, so this is an error. "+why) + " To skip this check, remove the limit for this run." + original
	if data.Evictions.Set() {
		return diag.NewErrorDiagnostic(summary, detail)
	}
	return diag.NewAttributeErrorDiagnostic(path.Root("evictions"), summary, detail)
}
