// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

import (
	"context"
	"errors"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// Source is a cluster that is recorded: *kube.Cluster.
type Source interface {
	// Host is the address of the API server, without credentials.
	Host() string
	// ID returns the UID of the namespace kube-system.
	ID(ctx context.Context) (string, error)
	// Served returns what the cluster serves, and the versions that could not be asked for.
	Served(ctx context.Context) ([]*metav1.APIResourceList, []schema.GroupVersion, error)
	// CustomResources returns the custom kinds that the credentials may change.
	CustomResources(ctx context.Context) ([]schema.GroupResource, error)
	// EncodedPods lists pods page by page, reduced and in protobuf, and calls begin whenever it starts
	// from the first.
	EncodedPods(ctx context.Context, begin func() error, visit func(pod []byte) error) error
	// EachObject lists the objects of another resource in the same way, whole.
	EachObject(ctx context.Context, resource schema.GroupVersionResource, begin func() error, visit func(*unstructured.Unstructured) error) error
	// Object reads an object; the error is kube.ErrNotFound where there is none.
	Object(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error)
}

var _ Source = (*kube.Cluster)(nil)

// builtin are the kinds that every cluster serves and that verdicts read.
var builtin = []kindRecord{
	{Version: "v1", Resource: "nodes", Kind: "Node"},
	{Version: "v1", Resource: "namespaces", Kind: "Namespace"},
	{Version: "v1", Resource: "pods", Kind: "Pod"},
	{Group: "apps", Version: "v1", Resource: "deployments", Kind: "Deployment"},
	{Group: "apps", Version: "v1", Resource: "statefulsets", Kind: "StatefulSet"},
	{Group: "apps", Version: "v1", Resource: "daemonsets", Kind: "DaemonSet"},
	{Group: "apps", Version: "v1", Resource: "replicasets", Kind: "ReplicaSet"},
	{Group: "batch", Version: "v1", Resource: "jobs", Kind: "Job"},
	{Group: "batch", Version: "v1", Resource: "cronjobs", Kind: "CronJob"},
	{Version: "v1", Resource: "replicationcontrollers", Kind: "ReplicationController"},
	{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets", Kind: "PodDisruptionBudget"},
	{Version: "v1", Resource: "resourcequotas", Kind: "ResourceQuota"},
	{Version: "v1", Resource: "limitranges", Kind: "LimitRange"},
	{Version: "v1", Resource: "persistentvolumes", Kind: "PersistentVolume"},
	{Version: "v1", Resource: "persistentvolumeclaims", Kind: "PersistentVolumeClaim"},
	{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses", Kind: "PriorityClass"},
	{Group: storageGroup, Version: "v1", Resource: "storageclasses", Kind: "StorageClass"},
	{Group: storageGroup, Version: "v1", Resource: "csidrivers", Kind: "CSIDriver"},
	{Group: storageGroup, Version: "v1", Resource: "csinodes", Kind: "CSINode"},
	{Group: storageGroup, Version: "v1", Resource: "csistoragecapacities", Kind: "CSIStorageCapacity"},
}

// required are the kinds without which there is no verdict.
var required = []schema.GroupVersionResource{nodeResource, podResource}

// ofKubernetes reports whether a group is one of Kubernetes itself. Groups of custom kinds have a dot, and end with
// .k8s.io only where Kubernetes has approved them (annotation api-approved.kubernetes.io of their definition).
func ofKubernetes(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// optional are the kinds that not every cluster serves, of which those that are served are recorded.
func optional() []kindRecord {
	out := []kindRecord{
		{Group: "machine.openshift.io", Version: "v1beta1", Resource: "machinesets", Kind: "MachineSet"},
		{Group: "machine.openshift.io", Version: "v1beta1", Resource: "machines", Kind: "Machine"},
	}
	for _, k := range workload.OpenShiftKinds() {
		gvr := k.Resource()
		out = append(out, kindRecord{Group: gvr.Group, Version: gvr.Version, Resource: gvr.Resource, Kind: k.Kind})
	}
	return out
}

// policyVersions are the versions of policies that package kube reads, the best first.
var policyVersions = []string{"v1", "v1beta1"}

// catalog is what a cluster serves.
type catalog []Served

// has reports whether a resource is served in a version.
func (c catalog) has(gvr schema.GroupVersionResource) bool {
	return slices.ContainsFunc(c, func(s Served) bool {
		return s.Group == gvr.Group && s.Version == gvr.Version && slices.ContainsFunc(s.Resources, func(r ServedResource) bool { return r.Name == gvr.Resource })
	})
}

// first finds the first version of a kind that is served and matches.
func (c catalog) first(group string, matches func(ServedResource) bool) (kindRecord, bool) {
	for _, s := range c {
		if s.Group != group {
			continue
		}
		if at := slices.IndexFunc(s.Resources, matches); at >= 0 {
			return kindRecord{Group: group, Version: s.Version, Resource: s.Resources[at].Name, Kind: s.Resources[at].Kind}, true
		}
	}
	return kindRecord{}, false
}

// missing turns an error of a list into the state of its kind, and false where it is another one.
func missing(err error) (state, bool) {
	switch {
	case err == nil:
		return stateRecorded, true
	case errors.Is(err, kube.ErrForbidden):
		return stateForbidden, true
	case errors.Is(err, kube.ErrNotFound):
		return stateUnserved, true
	}
	return "", false
}
