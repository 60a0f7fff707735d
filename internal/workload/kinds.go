// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workload

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Kind is a kind of object whose path of tolerations is known.
type Kind struct {
	APIVersion string
	Kind       string
	// Plural is the resource's name in the API.
	Plural string
	// Path leads to the tolerations.
	Path []string
	// Selector leads to the labels that the pods require of nodes, nil where the
	// provider knows of no such place.
	Selector []string
	// Cluster is set for objects without a namespace.
	Cluster bool
	// Builtin is set for kinds that every cluster serves and that the
	// provider lists; the others may not exist.
	Builtin bool
	// Components is set where only certain objects of the kind carry tolerations, each for
	// several workloads, in text. The paths lead through a component. See Components.
	Components bool
	// Default is what the kind's operator uses where the list is empty, and what
	// goes with the first entry.
	Default string
	// Operand returns the workload that the kind's operator makes of an
	// object, nil where the pods follow from owner references.
	Operand func(name string) snapshot.WorkloadKey
}

var (
	podTemplate   = []string{"spec", "template", "spec", "tolerations"}
	podSelector   = []string{"spec", "template", "spec", "nodeSelector"}
	nodePlacement = []string{"spec", "nodePlacement", "tolerations"}
)

// kinds are the built-in workloads and the objects by which OpenShift's
// operators take tolerations and node selectors for the workloads that they own. An
// IngressController alone has a label selector, of which its operator takes matchLabels
// (github.com/openshift/cluster-ingress-operator
// pkg/operator/controller/ingress/deployment.go, desiredRouterDeployment). The paths are
// those of k8s.io/api v0.37.2 and of the CRDs in github.com/openshift/api, which
// tests hold them against; Subscription's is that of
// github.com/operator-framework/api v0.30.0
// pkg/operators/v1alpha1/subscription_types.go, SubscriptionConfig.Tolerations and
// NodeSelector, and of crds/operators.coreos.com_subscriptions.yaml there, which is namespaced.
var kinds = []Kind{
	{APIVersion: "apps/v1", Kind: "Deployment", Plural: "deployments", Path: podTemplate, Selector: podSelector, Builtin: true},
	{APIVersion: "apps/v1", Kind: "StatefulSet", Plural: "statefulsets", Path: podTemplate, Selector: podSelector, Builtin: true},
	{APIVersion: "apps/v1", Kind: "DaemonSet", Plural: "daemonsets", Path: podTemplate, Selector: podSelector, Builtin: true},
	{APIVersion: "apps/v1", Kind: "ReplicaSet", Plural: "replicasets", Path: podTemplate, Selector: podSelector, Builtin: true},
	{
		APIVersion: "batch/v1", Kind: "CronJob", Plural: "cronjobs", Builtin: true,
		Path:     []string{"spec", "jobTemplate", "spec", "template", "spec", "tolerations"},
		Selector: []string{"spec", "jobTemplate", "spec", "template", "spec", "nodeSelector"},
	},
	{APIVersion: "batch/v1", Kind: "Job", Plural: "jobs", Path: podTemplate, Selector: podSelector, Builtin: true},
	{APIVersion: "apps.openshift.io/v1", Kind: "DeploymentConfig", Plural: "deploymentconfigs", Path: podTemplate, Selector: podSelector},
	{
		APIVersion: "operator.openshift.io/v1", Kind: "IngressController", Plural: "ingresscontrollers", Path: nodePlacement,
		Selector: []string{"spec", "nodePlacement", "nodeSelector", "matchLabels"},
		Operand: func(name string) snapshot.WorkloadKey {
			return operand("openshift-ingress", "Deployment", "router-"+name)
		},
	},
	{
		APIVersion: "operator.openshift.io/v1", Kind: "DNS", Plural: "dnses", Path: nodePlacement, Cluster: true,
		Selector: []string{"spec", "nodePlacement", "nodeSelector"},
		// github.com/openshift/api operator/v1/types_dns.go, DNSNodePlacement.
		Default: "node-role.kubernetes.io/master",
		Operand: func(name string) snapshot.WorkloadKey { return operand("openshift-dns", "DaemonSet", "dns-"+name) },
	},
	{
		APIVersion: "imageregistry.operator.openshift.io/v1", Kind: "Config", Plural: "configs", Path: []string{"spec", "tolerations"}, Cluster: true,
		Selector: []string{"spec", "nodeSelector"},
		Operand: func(string) snapshot.WorkloadKey {
			return operand("openshift-image-registry", "Deployment", "image-registry")
		},
	},
	{
		APIVersion: "v1", Kind: configMap, Plural: "configmaps", Components: true,
		Path: []string{component, "tolerations"}, Selector: []string{component, "nodeSelector"},
	},
	{
		APIVersion: "operators.coreos.com/v1alpha1", Kind: "Subscription", Plural: "subscriptions",
		Path: []string{"spec", "config", "tolerations"}, Selector: []string{"spec", "config", "nodeSelector"},
	},
}

func operand(namespace, kind, name string) snapshot.WorkloadKey {
	return snapshot.WorkloadKey{Namespace: namespace, Owner: snapshot.Owner{Group: appsv1.GroupName, Kind: kind, Name: name}}
}

// Lookup finds a known kind; an empty version means the one that is known. A
// version is compared by its group: an object's path does not change from one
// version to the next in any kind that is known.
func Lookup(apiVersion, kind string) (Kind, bool) {
	at := slices.IndexFunc(kinds, func(k Kind) bool {
		return k.Kind == kind && (apiVersion == "" || group(apiVersion) == group(k.APIVersion))
	})
	if at < 0 {
		return Kind{}, false
	}
	found := kinds[at]
	if apiVersion != "" {
		found.APIVersion = apiVersion
	}
	return found, true
}

// Names lists the known kinds.
func Names() []string {
	out := make([]string, len(kinds))
	for i, k := range kinds {
		out[i] = k.Kind
	}
	return out
}

// BuiltinKinds returns the kinds that every cluster serves.
func BuiltinKinds() []Kind {
	return slices.DeleteFunc(slices.Clone(kinds), func(k Kind) bool { return !k.Builtin })
}

// OpenShiftKinds returns those that OpenShift and its operators serve.
func OpenShiftKinds() []Kind {
	return slices.DeleteFunc(slices.Clone(kinds), func(k Kind) bool { return k.Builtin || k.Components })
}

// Resource returns the kind's resource in the API.
func (k Kind) Resource() schema.GroupVersionResource {
	gv, _ := schema.ParseGroupVersion(k.APIVersion)
	return gv.WithResource(k.Plural)
}

// Tolerations returns the path as it is written in a configuration.
func (k Kind) Tolerations() string {
	return JoinPath(k.Path)
}

func group(apiVersion string) string {
	gv, _ := schema.ParseGroupVersion(apiVersion)
	return gv.Group
}
