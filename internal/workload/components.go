// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workload

import (
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

const (
	configMap = "ConfigMap"
	// component is the name in paths of the component that a Ref names.
	component = "component"

	monitoring             = "openshift-monitoring"
	userWorkloadMonitoring = "openshift-user-workload-monitoring"
)

// Component is a part of an object from which an operator makes workloads.
type Component struct {
	Name string
	// Pods are these workloads.
	Pods []snapshot.WorkloadKey
	// Default is what the operator uses where the list is empty, and what goes with the
	// first entry.
	Default string
	// Former is set for one that newer versions of the operator ignore: it is meant only
	// where it is named.
	Former bool
}

type configured struct {
	namespace, name string
	components      []Component
}

// configs are the ConfigMaps of OpenShift's monitoring. Components and their fields are those of
// github.com/openshift/cluster-monitoring-operator f581865b pkg/manifests/types.go,
// ClusterMonitoringConfiguration and UserWorkloadConfiguration; which workloads are made of them, and
// what these tolerate by themselves, follows its pkg/manifests/manifests.go and assets. Node exporters
// run on every node and have neither list. From release 4.17 on, pkg/manifests/config.go, UnmarshalStrict,
// refuses a text with unknown fields, and knows all of these; older releases ignore unknown ones.
var configs = []configured{
	{monitoring, "cluster-monitoring-config", []Component{
		{Name: "alertmanagerMain", Pods: pods("StatefulSet", monitoring, "alertmanager-main")},
		{Name: "k8sPrometheusAdapter", Pods: pods("Deployment", monitoring, "prometheus-adapter"), Former: true},
		{Name: "kubeStateMetrics", Pods: pods("Deployment", monitoring, "kube-state-metrics")},
		{Name: "metricsServer", Pods: pods("Deployment", monitoring, "metrics-server"), Default: master},
		{Name: "monitoringPlugin", Pods: pods("Deployment", monitoring, "monitoring-plugin")},
		{Name: "openshiftStateMetrics", Pods: pods("Deployment", monitoring, "openshift-state-metrics")},
		{Name: "prometheusK8s", Pods: pods("StatefulSet", monitoring, "prometheus-k8s")},
		{Name: "prometheusOperator", Pods: pods("Deployment", monitoring, "prometheus-operator", "prometheus-operator-admission-webhook"), Default: master},
		{Name: "telemeterClient", Pods: pods("Deployment", monitoring, "telemeter-client")},
		{Name: "thanosQuerier", Pods: pods("Deployment", monitoring, "thanos-querier")},
	}},
	{userWorkloadMonitoring, "user-workload-monitoring-config", []Component{
		{Name: "alertmanager", Pods: pods("StatefulSet", userWorkloadMonitoring, "alertmanager-user-workload")},
		{Name: "prometheus", Pods: pods("StatefulSet", userWorkloadMonitoring, "prometheus-user-workload")},
		{Name: "prometheusOperator", Pods: pods("Deployment", userWorkloadMonitoring, "prometheus-operator"), Default: master},
		{Name: "thanosRuler", Pods: pods("StatefulSet", userWorkloadMonitoring, "thanos-ruler-user-workload")},
	}},
}

const master = "node-role.kubernetes.io/master"

func pods(kind, namespace string, names ...string) []snapshot.WorkloadKey {
	out := make([]snapshot.WorkloadKey, len(names))
	for i, name := range names {
		out[i] = operand(namespace, kind, name)
	}
	return out
}

// Components returns the components of an object, sorted; none where it is not one that the provider
// knows.
func Components(ref Ref) []Component {
	at := slices.IndexFunc(configs, func(c configured) bool { return c.namespace == ref.Namespace && c.name == ref.Name })
	if kind, known := Lookup(ref.APIVersion, ref.Kind); at < 0 || !known || !kind.Components {
		return nil
	}
	return configs[at].components
}

// ComponentOf returns the component that a reference names.
func ComponentOf(ref Ref) (Component, bool) {
	all := Components(ref)
	at := slices.IndexFunc(all, func(c Component) bool { return c.Name == ref.Component })
	if at < 0 {
		return Component{}, false
	}
	return all[at], true
}

// Configs returns the objects that have components.
func Configs() []Ref {
	out := make([]Ref, len(configs))
	for i, c := range configs {
		out[i] = Ref{APIVersion: "v1", Kind: configMap, Namespace: c.namespace, Name: c.name}
	}
	return out
}

// Each returns the workloads that a reference means: the components of an object that has any, but
// for former ones, unless it names one of them; and itself otherwise.
func (r Ref) Each() []Ref {
	all := Components(r)
	if r.Component != "" || len(all) == 0 {
		return []Ref{r}
	}
	var out []Ref
	for _, c := range all {
		if !c.Former {
			one := r
			one.Component = c.Name
			out = append(out, one)
		}
	}
	return out
}

// DefaultOf returns the key of the toleration that an operator uses where the list of an object is
// empty, "" for none that is known.
func DefaultOf(ref Ref) string {
	if c, found := ComponentOf(ref); found {
		return c.Default
	}
	kind, _ := Lookup(ref.APIVersion, ref.Kind)
	return kind.Default
}

// OfComponent reports whether a workload is made of a component. It may be switched off.
func OfComponent(key snapshot.WorkloadKey) bool {
	return slices.ContainsFunc(configs, func(c configured) bool {
		return slices.ContainsFunc(c.components, func(one Component) bool { return slices.Contains(one.Pods, key) })
	})
}
