// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
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
	return Failed(summary, detail, err)
}

// WarnNoPlugIn warns that no admission plug-in reads the tolerations of a namespace.
func WarnNoPlugIn(namespace string, diags *diag.Diagnostics) {
	diags.AddWarning(fmt.Sprintf("The tolerations of namespace %q have no effect: the admission plug-in PodTolerationRestriction is off", namespace),
		"A dry run of a pod shows it: the API server did not treat the pod as the plug-in does. The annotations are written all the same. "+
			"Enable the plug-in (kube-apiserver --enable-admission-plugins=PodTolerationRestriction), or use kubetaint_toleration_policy, which needs no plug-in.")
}

// WarnRejecting warns that every new pod of a namespace would be rejected, because the lists do not
// allow what admission itself adds to pods. It returns these tolerations.
func WarnRejecting(namespace string, after admission.Lists, diags *diag.Diagnostics) []corev1.Toleration {
	which, all := "Every new pod of namespace %q", after.Rejecting(false)
	if len(after.Rejecting(true)) == 0 {
		which += " with requests or limits"
	}
	var missing []string
	for _, t := range all {
		missing = append(missing, "\n  "+taint.FormatToleration(t))
	}
	if len(missing) > 0 {
		diags.AddAttributeWarning(path.Root(admission.AllowedList), fmt.Sprintf(which+" would be rejected", namespace),
			"The API server adds tolerations to new pods, and the admission plug-in PodTolerationRestriction rejects pods with tolerations that allowed does not cover. Add to allowed:\n"+strings.Join(missing, ""))
	}
	return all
}

// WarnForbidden warns of running pods that could not be recreated. It names their workloads, by the
// tolerations that the namespace does not allow.
func WarnForbidden(namespace string, pods int, owners map[string][]string, diags *diag.Diagnostics) {
	if pods == 0 {
		return
	}
	var rows []string
	for _, tolerations := range slices.Sorted(maps.Keys(owners)) {
		rows = append(rows, "  "+tolerations+": "+Some(slices.Compact(slices.Sorted(slices.Values(owners[tolerations])))))
	}
	diags.AddAttributeWarning(path.Root(admission.AllowedList), fmt.Sprintf("%s of namespace %q could not be recreated", Count(pods, "running pod"), namespace),
		"Their tolerations are not in allowed, and the admission plug-in PodTolerationRestriction rejects such pods. They run until something deletes them, and are not recreated then. "+
			"Add these tolerations to allowed:\n\n"+strings.Join(rows, "\n"))
}

// WarnForbiddenUnknown warns that it is not known which running pods could not be recreated.
func WarnForbiddenUnknown(namespace string, err error, diags *diag.Diagnostics) {
	diags.AddAttributeWarning(path.Root(admission.AllowedList), "Unable to determine which pods of namespace \""+namespace+"\" could not be recreated",
		strings.TrimSpace("The change is planned, but which running pods the namespace would reject when they are recreated is not known. "+Advise(err))+"\n\nOriginal error: "+err.Error())
}

// SeveralOwnLists reports an import of a namespace that does not choose one of its owners.
func SeveralOwnLists(namespace string, owners []string) diag.Diagnostic {
	return diag.NewErrorDiagnostic("Unable to import tolerations of namespace \""+namespace+"\": several resources own some of them",
		"Import those of one resource, by its id:\n\n  "+strings.Join(owners, "\n  "))
}

// NoListsToImport reports an import of a namespace that has nothing to take.
func NoListsToImport(namespace string) diag.Diagnostic {
	return diag.NewErrorDiagnostic("Unable to import tolerations of namespace \""+namespace+"\"",
		"It has no tolerations, or other resources own all of them. Look at its annotations: kubectl get namespace "+namespace+" -o yaml.")
}
