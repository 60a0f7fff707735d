// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
)

// ExplainPolicy words what is wrong with a policy of admission, whose name stands at a
// path; nil where the error is of another kind.
func ExplainPolicy(verb, name string, at path.Path, err error) diag.Diagnostic {
	conflict := new(admission.Conflict)
	summary := "Unable to " + verb + " toleration policy \"" + name + "\""
	remove := "kubectl delete mutatingadmissionpolicy,mutatingadmissionpolicybinding " + name
	switch {
	case errors.As(err, &conflict) && conflict.Owner == "":
		return diag.NewAttributeErrorDiagnostic(at, summary+": the name is taken",
			"The cluster has a "+admission.PolicyKind+" or "+admission.BindingKind+" of this name. This provider did not create it, or its annotation "+admission.PolicyAnnotation+" cannot be read. It is not changed. Choose another name, or delete it if it is not needed ("+remove+").\n\nOriginal error: "+err.Error())
	case errors.As(err, &conflict):
		return diag.NewAttributeErrorDiagnostic(at, summary+": it is owned by another resource",
			fmt.Sprintf("The policy is owned by %q. ", conflict.Owner)+"It is not changed. Choose another name, or import the policy and remove it from that resource's configuration. If there is no such resource, its ownership record is forged, or its state is lost: delete the policy ("+remove+").\n\nOriginal error: "+err.Error())
	case errors.Is(err, kube.ErrNoPolicies):
		return diag.NewErrorDiagnostic(summary+": the cluster does not serve "+admission.PolicyKind,
			"The API server changes pods by policies from Kubernetes 1.36 on. From 1.34 on, admissionregistration.k8s.io/v1beta1 and the feature gate MutatingAdmissionPolicy must be enabled for it. "+
				"On an older cluster, add the tolerations to workloads with kubetaint_workload_tolerations. Where the admission plug-in PodTolerationRestriction is on, as on OpenShift, kubetaint_namespace_tolerations adds them to namespaces.\n\nOriginal error: "+err.Error())
	case errors.Is(err, kube.ErrInvalid):
		return refusedPolicy(verb, summary, err)
	}
	return nil
}

// refusedPolicy words that the API server refuses a policy: as a dry run while Terraform
// plans, and otherwise when it was written.
func refusedPolicy(verb, summary string, err error) diag.Diagnostic {
	const because = "See the original error. Usually an admission policy of the cluster forbids it, or this version of Kubernetes lacks something that it needs. "
	if !slices.Contains([]string{"create", "update", "delete"}, verb) {
		return diag.NewErrorDiagnostic(summary+": the API server would refuse it",
			"A dry run of the policy was refused; nothing has been written. "+because+"Change the policy, or ask the owner of that admission policy.\n\nOriginal error: "+err.Error())
	}
	return diag.NewErrorDiagnostic(summary+": the API server refused it",
		"The policy or its binding was refused. What had been written before stays; a policy without its binding changes no pods. "+because+"Fix what the original error names, and apply again.\n\nOriginal error: "+err.Error())
}
