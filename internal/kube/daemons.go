// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

const daemonSet = "DaemonSet"

// listsOf returns how the controllers of a kind are listed. Of DaemonSets the templates
// are needed, of all others the metadata.
func (c *Cluster) listsOf(kind workload.Kind) func(context.Context, metav1.ListOptions) (runtime.Object, error) {
	if kind.Kind == daemonSet {
		return func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return c.client.AppsV1().DaemonSets("").List(ctx, o)
		}
	}
	return func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return c.meta.Resource(kind.Resource()).List(ctx, o)
	}
}

// daemonOf takes from a listed DaemonSet what its controller judges nodes by.
func daemonOf(o runtime.Object) (types.UID, *eviction.Daemon, bool) {
	d, is := o.(*appsv1.DaemonSet)
	if !is {
		return "", nil, false
	}
	return d.UID, eviction.DaemonOf(&d.Spec.Template.Spec), true
}

// daemons returns the templates of DaemonSets: those that were listed, and in their
// place what this process has read or written since.
func (c *Cluster) daemons(listed map[types.UID]*eviction.Daemon) map[types.UID]*eviction.Daemon {
	c.workloads.mu.Lock()
	defer c.workloads.mu.Unlock()
	out := map[types.UID]*eviction.Daemon{}
	maps.Copy(out, listed)
	for ref, object := range c.workloads.known {
		if ref.Kind != daemonSet {
			continue
		}
		fields, _, _ := unstructured.NestedMap(object.Object, "spec", "template", "spec")
		var spec corev1.PodSpec
		if runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &spec) == nil {
			out[object.GetUID()] = eviction.DaemonOf(&spec)
		}
	}
	return out
}
