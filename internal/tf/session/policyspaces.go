// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// CheckNamespaces looks at the namespaces matching a policy as they are now: a selector
// that matches those of the system is an error, and one that does not allow what the policy
// gives is warned of. Match and tolerations stand at these paths.
func (d *Data) CheckNamespaces(ctx context.Context, p admission.Policy, matchAt, tolerationsAt path.Path, diags *diag.Diagnostics) {
	selector := p.Match.NamespaceSelector
	matched, err := d.Cluster.Namespaces(ctx, selector)
	if err != nil {
		// Only a selector needs to know.
		if selector != "" {
			diags.Append(message.UnableTo("find out which namespaces match \""+selector+"\"", err))
		}
		return
	}
	if selector != "" {
		refuseSystem(selector, matched, matchAt.AtName("namespace_selector"), diags)
	}
	d.warnRefusing(ctx, p, matched, tolerationsAt, diags)
}

// refuseSystem adds an error for namespaces of the system: what keeps a cluster alive is
// named, or not changed.
func refuseSystem(selector string, matched []kube.Namespace, at path.Path, diags *diag.Diagnostics) {
	var system []string
	for _, ns := range matched {
		if admission.System(ns.Name) {
			system = append(system, ns.Name)
		}
	}
	if len(system) > 0 {
		diags.AddAttributeError(at, "Unable to match system namespaces by a selector",
			fmt.Sprintf("%q matches %s. The cluster depends on their pods, so a policy applies to them only if match.namespaces names the namespace. Narrow the selector, such as: %s,kubernetes.io/metadata.name notin (%s).",
				selector, message.Some(system), selector, strings.Join(system, ",")))
	}
}

// warnRefusing names the namespaces whose pods the admission plug-in
// PodTolerationRestriction would refuse for what the policy gives them: it checks pods once
// more after policies (k8s.io/kubernetes v1.37.1
// plugin/pkg/admission/podtolerationrestriction/admission.go, Validate).
func (d *Data) warnRefusing(ctx context.Context, p admission.Policy, matched []kube.Namespace, at path.Path, diags *diag.Diagnostics) {
	var names, forbidden []string
	for _, ns := range matched {
		not := admission.Forbidden(ns.Allowed, p.Tolerations)
		if len(not) == 0 || !p.Match.MeansIn(ns.Name, ns.Labels) {
			continue
		}
		names = append(names, ns.Name)
		forbidden = append(forbidden, ns.Name+" ("+toleration.Format(not)+")")
	}
	if len(names) == 0 {
		return
	}
	// The plug-in is on for all namespaces, or for none.
	on, err := d.Cluster.RestrictsTolerations(ctx, names[0])
	if err == nil && !on {
		return
	}
	rejects := "The admission plug-in PodTolerationRestriction is on: new pods there that match the policy are rejected."
	if err != nil {
		rejects = "Where the admission plug-in PodTolerationRestriction is on, as it is in OpenShift, new pods there that match the policy are rejected."
	}
	diags.AddAttributeWarning(at, "Policy \""+p.Name+"\" gives tolerations that "+message.CountVerb(len(names), "namespace does", "namespaces do")+" not allow",
		"The annotation "+admission.WhitelistAnnotation+" does not cover them in: "+message.Some(forbidden)+". "+rejects+" Add the tolerations to the annotation first (kubetaint_namespace_tolerations does it with allowed), or leave these namespaces out of match.")
}
