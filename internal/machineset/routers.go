// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// The namespace in which OpenShift's ingress operator runs routers, and the label that
// names their owner (openshift/cluster-ingress-operator
// pkg/operator/controller/names.go, ControllerDeploymentLabel).
const (
	routerNamespace = "openshift-ingress"
	routerLabel     = "ingresscontroller.operator.openshift.io/deployment-ingresscontroller"
)

// refuseRouters refuses to scale sets to zero together on whose machines all routers of an
// IngressController run: the applications behind it, the console and the logins are
// out of reach then until new machines are ready ("do not scale the worker compute
// machine set to 0 unless you first relocate the router pods", openshift-docs
// modules/machineset-delete-policy.adoc). A rollout that has begun is not refused.
func refuseRouters(group []Affected, s *snapshot.Snapshot) []Refusal {
	leaving := map[string]bool{}
	for _, a := range group {
		if a.Effect.Strategy != ScaleToZero || a.Set.Marker != nil {
			continue
		}
		for _, m := range a.Effect.Leaving {
			leaving[m.Node] = m.Node != ""
		}
	}
	if len(leaving) == 0 {
		return nil
	}
	// here counts the routers that go, elsewhere those that do not.
	here, elsewhere := map[string]int{}, map[string]int{}
	for node, pods := range s.Pods {
		for _, p := range pods {
			name := p.Labels[routerLabel]
			if p.Namespace != routerNamespace || name == "" || p.Terminating || p.Completed {
				continue
			}
			if leaving[node] {
				here[name]++
			} else {
				elsewhere[name]++
			}
		}
	}
	var out []Refusal
	for _, name := range slices.Sorted(maps.Keys(here)) {
		if elsewhere[name] > 0 {
			continue
		}
		out = append(out, Refusal{
			Why:       fmt.Sprintf("all %d router pods of IngressController %q run on its machines, and their routes are unreachable until new machines are ready", here[name], name),
			Attribute: attributeStrategy, Instead: "Use surge or rolling, or have routers run elsewhere first (spec.nodePlacement of the IngressController)",
		})
	}
	return out
}
