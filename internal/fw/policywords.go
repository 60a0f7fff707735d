// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"errors"

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
	switch {
	case errors.As(err, &conflict) && conflict.Owner == "":
		return diag.NewAttributeErrorDiagnostic(at, summary+": the name is taken",
			"The cluster has a "+admission.PolicyKind+" or "+admission.BindingKind+" of this name that this provider did not make, or whose annotation "+admission.PolicyAnnotation+" cannot be read. It is left alone. Choose another name, or delete it if nobody needs it (kubectl delete mutatingadmissionpolicy,mutatingadmissionpolicybinding "+name+").\n\nOriginal error: "+err.Error())
	case errors.As(err, &conflict):
		return diag.NewAttributeErrorDiagnostic(at, summary+": it belongs to another resource",
			"The policy belongs to \""+conflict.Owner+"\". It is left alone. Choose another name, or import the policy and remove it from that resource's configuration.\n\nOriginal error: "+err.Error())
	case errors.Is(err, kube.ErrNoPolicies):
		return diag.NewErrorDiagnostic(summary+": the cluster does not serve "+admission.PolicyKind,
			"The API server changes pods by policies from Kubernetes 1.36 on, and from 1.34 on where admissionregistration.k8s.io/v1beta1 and the feature gate MutatingAdmissionPolicy are switched on. "+
				"On an older cluster, give the tolerations to workloads with kubetaint_workload_tolerations, or to namespaces with kubetaint_namespace_tolerations where the admission plug-in PodTolerationRestriction is on, as it is on OpenShift.\n\nOriginal error: "+err.Error())
	case errors.Is(err, kube.ErrInvalid):
		return diag.NewErrorDiagnostic(summary+": the API server would refuse it",
			"The policy was tried without being made (a dry run), and the API server refused it. An admission policy of the cluster may forbid it, or the cluster is of a version that does not know what the policy needs.\n\nOriginal error: "+err.Error())
	}
	return nil
}
