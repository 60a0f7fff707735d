// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// openShiftNode is a label of every node that OpenShift's machine-config operator
// sets up: github.com/openshift/machine-config-operator
// templates/worker/01-worker-kubelet/_base/units/kubelet.service.yaml, and its
// sibling for masters.
const openShiftNode = "node.openshift.io/os_id"

// olmOwner is a label of every Deployment that OLM makes of a Subscription
// (github.com/operator-framework/operator-lifecycle-manager pkg/lib/ownerutil/util.go, OwnerKey).
const olmOwner = "olm.owner"

// openShiftNamespaces are the namespaces of OpenShift's operators in which workloads were seen. The
// empty one is that of workloads of which nothing is known, or that OLM has made anywhere.
type openShiftNamespaces map[string]bool

// unknownNamespaces is for kinds that may not be listed: any namespace may have some of them.
var unknownNamespaces = openShiftNamespaces{"": true}

// withoutOperators are namespaces of MicroShift as well: its nodes may have the label, and it serves no kind of
// OpenShift's operators (github.com/openshift/microshift assets/components). OpenShift has more than these.
var withoutOperators = []string{
	"openshift-c2cc", "openshift-dns", "openshift-gateway-api", "openshift-ingress", "openshift-multus", "openshift-ovn-kubernetes", "openshift-service-ca", "openshift-storage",
}

// with adds what an object shows.
func (n openShiftNamespaces) with(object metav1.Object) openShiftNamespaces {
	namespace := object.GetNamespace()
	if _, olm := object.GetLabels()[olmOwner]; olm {
		namespace = ""
	} else if !strings.HasPrefix(namespace, "openshift-") || slices.Contains(withoutOperators, namespace) {
		return n
	}
	if n == nil {
		n = openShiftNamespaces{}
	}
	n[namespace] = true
	return n
}

// monitoring reports whether OpenShift's monitoring may be there.
func (n openShiftNamespaces) monitoring() bool {
	return n[""] || slices.ContainsFunc(workload.Configs(), func(r workload.Ref) bool { return n[r.Namespace] })
}

// onOpenShift reports whether the cluster is one of OpenShift's, by what has been read: a node has its label, and
// the machine-config operator keeps a node, or what was listed of workloads shows other operators, or cannot show
// them. It returns the namespaces of these. So the cluster is asked what it serves only where it may serve OpenShift's kinds.
func (c *Cluster) onOpenShift(ctx context.Context, found []controllers) (openShiftNamespaces, bool, error) {
	nodes, err := c.Nodes(ctx)
	if err != nil || !slices.ContainsFunc(nodes, func(n *snapshot.Node) bool { _, is := n.Labels[openShiftNode]; return is }) {
		return nil, false, err
	}
	namespaces := openShiftNamespaces{}
	for _, some := range found {
		for namespace := range some.openShift {
			namespaces[namespace] = true
		}
	}
	return namespaces, len(namespaces) > 0 || slices.ContainsFunc(nodes, func(n *snapshot.Node) bool { return n.MachineConfig }), nil
}
