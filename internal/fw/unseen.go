// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
)

// NoPreview says that a preview could not be made: of what, such as evictions on a
// node, and what the change does to pods, such as evicts. It never passes in silence,
// which would read as "no evictions", and fails the plan only where a budget
// depends on it.
func NoPreview(of, does string, err error, strict bool, data *Data, diags *diag.Diagnostics) {
	summary := "Unable to preview " + of
	detail := "The change itself is planned. Which pods it " + does + " is not known, because the cluster could not be read for it."
	switch {
	case errors.Is(err, kube.ErrForbidden):
		detail = "The change itself is planned. Which pods it " + does + " is not known, because the credentials have no permission to read what the preview needs. The guide \"Permissions\" of the provider's documentation lists it."
	case kube.OutOfReach(err) && data.Cluster != nil:
		detail += " " + Advise(err)
	}
	detail += "\n\nOriginal error: " + err.Error()
	switch {
	case strict:
		diags.AddAttributeError(path.Root("evictions"), summary, "The budget in evictions cannot be checked without it, so that this is an error. "+detail)
	case kube.OutOfReach(err):
		data.Unreachable(err, diags)
	default:
		diags.AddWarning(summary, detail)
	}
}

// NotContracted says that tolerations which pods lived by under taints that have gone
// could not be taken away. The taints are gone already, so that it fails nothing.
func NotContracted(place string, err error) diag.Diagnostic {
	return diag.NewWarningDiagnostic("Unable to take away tolerations that "+place+" does not need any more",
		"Everything of this resource is as wanted. Tolerations that retire stay on their workloads and in their policies, where they do no harm; the next apply that changes taints or these tolerations takes them away.\n\nOriginal error: "+err.Error())
}
