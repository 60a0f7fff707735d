// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// awaited is an entry of a node's record of a drain, with fields that earlier builds wrote.
type awaited struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Job       string `json:"job,omitempty"`
	Pods      int    `json:"pods"`
}

// workload returns what a field of an entry may have: mostly what is in the world.
func (f *forger) workload(field string) string {
	switch field {
	case "group":
		return pick(f, "apps", "apps", "batch", "", "example.com")
	case "kind":
		return pick(f, "Deployment", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController", "Widget")
	case "namespace":
		return pick(f, "shop", "shop", "other", evil, "a b")
	}
	return pick(f, "web", "web", "../web", evil, "")
}

// damagedAwaited returns why a drain of a cordoned node cannot read its record.
func damagedAwaited(value string) error {
	return rollout.DamagedAwaited(&snapshot.Node{Unschedulable: true, Awaited: value})
}

// cordonPool does what an earlier drain has done: a record counts on a cordoned node alone.
func cordonPool(api *fakeapi.Server) {
	for _, n := range fakeapi.Objects[*corev1.Node](api) {
		if n.Labels["pool"] == "x" {
			fakeapi.Edit(api, "", n.Name, func(n *corev1.Node) { n.Spec.Unschedulable = true })
		}
	}
}
