// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// ExplainLists words an error of a change of the tolerations of a namespace, or of looking at the
// namespace for it. Its attributes are named as the lists are.
func ExplainLists(verb, namespace string, err error) diag.Diagnostic {
	thing, at := "namespace \""+namespace+"\"", path.Root("namespace")
	summary, original := "Unable to "+verb+" tolerations of "+thing, "\n\nOriginal error: "+err.Error()
	if said := ExplainRecord(err, thing, "", at); said != nil {
		return said
	}
	taken := new(rollout.ListConflictError)
	switch {
	case errors.As(err, &taken):
		return diag.NewAttributeErrorDiagnostic(path.Root(taken.List), summary+": "+taint.FormatToleration(taken.Toleration)+" is owned by another resource",
			fmt.Sprintf("The entry is owned by %q. ", taken.Owner)+"Nothing has been written. Remove it from one of the two configurations. "+MadeUp(toleration.OwnedAnnotation, thing, ""))
	case errors.As(err, new(*rollout.ListsSizeError)):
		return diag.NewAttributeErrorDiagnostic(at, summary+": its annotations would be too large",
			"Nothing has been written: "+err.Error()+". Give the namespace fewer tolerations, or remove annotations (kubectl edit namespace "+namespace+").")
	case errors.As(err, new(*rollout.ListsError)):
		return diag.NewAttributeErrorDiagnostic(at, summary+": an annotation of the namespace cannot be read",
			"The annotation is not a list of tolerations as Kubernetes reads it. Nothing has been written. Correct it (kubectl edit namespace "+namespace+"), or remove it (kubectl annotate namespace "+namespace+" ANNOTATION-), and run again."+original)
	case errors.Is(err, kube.ErrNotFound):
		return diag.NewAttributeErrorDiagnostic(at, summary+": there is no such namespace",
			"Nothing has been written. Check the name (kubectl get namespaces), or create the namespace first. If this configuration creates it, refer to its name, so that it comes before."+original)
	}
	detail := "Nothing has been written."
	if slices.Contains([]string{"create", "update", "delete"}, verb) {
		detail = "A change of a namespace is one request, which is carried out as a whole or not at all. Apply again."
	}
	if advice := Advise(err); advice != "" {
		detail = advice + "\n\n" + detail
	}
	return diag.NewErrorDiagnostic(summary, detail+original)
}
