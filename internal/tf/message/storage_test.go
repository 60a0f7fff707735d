// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// withStorage is a cluster with claims that no volume is bound to: pods with ephemeral volumes, of a class for which there
// is one volume, of one that is for another zone, of one whose volumes are bound immediately, and of one whose driver's
// capacity was not read.
func withStorage() cluster {
	c := aCluster().node("worker-2", 8).node("worker-3", 8).
		pods("worker-1", "shop/Deployment/cache", 3, 1, ephemeral).pods("worker-1", "shop/Deployment/search", 2, 1, ephemeral).
		pods("worker-1", "shop/Deployment/web", 1, 1, ephemeral).pods("worker-1", "shop/Deployment/logs", 1, 1, ephemeral)
	c.Storage = &snapshot.Storage{
		Claims: map[string]map[string]*snapshot.Claim{}, Owned: map[types.UID][]*snapshot.Claim{},
		Volumes: []*snapshot.FreeVolume{{Name: "disk-2", Class: "local", Size: 10 << 30, Affinity: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "host", Operator: corev1.NodeSelectorOpIn, Values: []string{"worker-2"}}},
		}}}}},
		Classes: map[string]*snapshot.StorageClass{
			"local": {Waits: true}, "at-once": {Provisions: true}, "lvm": {Waits: true, Provisions: true, Unknown: true},
			"zone-b": {Waits: true, Provisions: true, Topologies: []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: "zone", Values: []string{"b"}}}}}},
		},
	}
	for _, p := range c.Pods["worker-1"] {
		p.UID = types.UID(p.Name)
		class := map[string]string{"cache": "local", "search": "zone-b", "web": "at-once", "logs": "lvm"}[p.Labels["app"]]
		c.Storage.Owned[p.UID] = []*snapshot.Claim{{Namespace: p.Namespace, Name: p.Name + "-scratch", Request: &snapshot.ClaimRequest{Class: class, Size: 1 << 30}}}
	}
	return c
}
