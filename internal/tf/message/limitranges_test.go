// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// limitRanges is a cluster whose namespaces have got LimitRanges since their pods were created.
func limitRanges() cluster {
	cores := func(n string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(n)}
	}
	plain := func(p *snapshot.Pod) {
		p.Demand = snapshot.DemandOf(&corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}})
	}
	ranged := func(name string, item corev1.LimitRangeItem) snapshot.LimitRange {
		item.Type = corev1.LimitTypeContainer
		return snapshot.LimitRange{Name: name, Limits: []corev1.LimitRangeItem{item}}
	}
	c := aCluster().node("worker-2", 4).quota("strict", "compute", "requests.cpu", 8000, 0).
		pods("worker-1", "ml/Deployment/a", 2, 0, plain).pods("worker-1", "shop/Deployment/web", 2, 0, plain).
		pods("worker-1", "batch/Deployment/queue", 1, 0, plain).pods("worker-1", "strict/Deployment/api", 1, 0, plain)
	c.LimitRanges = snapshot.LimitRanges{
		"ml":    {ranged("sizes", corev1.LimitRangeItem{Min: cores("1"), DefaultRequest: cores("500m")})},
		"shop":  {ranged("defaults", corev1.LimitRangeItem{DefaultRequest: cores("3")})},
		"batch": {ranged("one", corev1.LimitRangeItem{DefaultRequest: cores("100m")}), ranged("two", corev1.LimitRangeItem{DefaultRequest: cores("200m")})},
	}
	return c
}
