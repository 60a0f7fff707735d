// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// autoscalerReport is in the form that cluster-autoscaler writes since 1.30.
const autoscalerReport = `time: 2026-10-02 14:29:22.999645779 +0000 UTC
autoscalerStatus: Running
clusterWide:
  health: {status: Healthy}
nodeGroups:
- name: full
  health: {status: Healthy, cloudProviderTarget: 3, minSize: 2, maxSize: 3}
- name: https://example.com/zones/a/instanceGroups/gpu
  health: {status: Healthy, cloudProviderTarget: 1, minSize: 0, maxSize: 3}
- name: MachineSet/openshift-machine-api/infra
  health: {status: Healthy, cloudProviderTarget: 0, minSize: 0, maxSize: 1}
`

func TestGrowing_namesNodeGroupsThatHaveNotReachedTheirLargestSize(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status string
		want   []string
	}{
		"a report":          {autoscalerReport, []string{"gpu", "infra"}},
		"an earlier form":   {"Cluster-wide:\n  Health:      Healthy (ready=1)\n\nNodeGroups:\n  Name:        a\n", nil},
		"no text":           {"", nil},
		"another structure": {"nodeGroups: 3\n", nil},
		"no name":           {"nodeGroups:\n- health: {cloudProviderTarget: 1, maxSize: 3}\n", nil},
		"a name of lines":   {"nodeGroups:\n- name: \"a\\nb\"\n  health: {maxSize: 1}\n", []string{"a b"}},
	} {
		if diff := cmp.Diff(tt.want, growing(tt.status)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestNodeGroups_areThoseThatAutoscalersMayAddNodesTo(t *testing.T) {
	t.Parallel()
	report := func(namespace string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cluster-autoscaler-status"}, Data: map[string]string{"status": autoscalerReport}}
	}
	node := func(labels ...string) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n2", Labels: map[string]string{}}}
		for _, label := range labels {
			n.Labels[label] = "gpu"
		}
		return n
	}
	configured := node()
	configured.Annotations = map[string]string{machineConfigAnnotation: "rendered"}
	for name, tt := range map[string]struct {
		report *corev1.ConfigMap
		node   *corev1.Node
		code   fakeapi.Fault
		want   []string
	}{
		"cluster-autoscaler reports":      {report: report("kube-system"), node: node(), want: []string{"gpu", "infra"}},
		"it reports on OpenShift":         {report: report("openshift-machine-api"), node: configured, want: []string{"gpu", "infra"}},
		"Karpenter has added a node":      {node: node("karpenter.sh/nodepool"), want: []string{"NodePool gpu"}},
		"both":                            {report: report("kube-system"), node: node("karpenter.sh/nodepool"), want: []string{"NodePool gpu", "gpu", "infra"}},
		"neither":                         {node: node()},
		"there is no right to the report": {report: report("kube-system"), node: node("karpenter.sh/nodepool"), code: 403, want: []string{"NodePool gpu"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := town()
				api.Add(tt.node)
				if tt.report != nil {
					api.Add(tt.report)
				}
				if tt.code != 0 {
					api.fault = func(r fakeapi.Request, _ int) fakeapi.Fault {
						return map[bool]fakeapi.Fault{true: tt.code}[r.Resource == "configmaps"]
					}
				}
				c := api.connect(t)
				for range 2 {
					if got, err := c.NodeGroups(t.Context()); err != nil || !slices.Equal(got, tt.want) {
						t.Errorf("got %v, %q", err, got)
					}
				}
				if requests := api.requests(); len(requests) != 2 {
					t.Errorf("got %q, want a list of nodes and one more request", requests)
				}
			})
		})
	}
}
