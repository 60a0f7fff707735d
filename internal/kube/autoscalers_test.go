// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

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
	pool := func(name string) *unstructured.Unstructured {
		return object("karpenter.sh/v1", "NodePool", "", name, map[string]any{"spec": map[string]any{}})
	}
	autoscaler := func(name string, most int64) *unstructured.Unstructured {
		return object("autoscaling.openshift.io/v1beta1", "MachineAutoscaler", "openshift-machine-api", name, map[string]any{"spec": map[string]any{
			"minReplicas": int64(1), "maxReplicas": most, "scaleTargetRef": map[string]any{"kind": "MachineSet", "name": name},
		}})
	}
	pools, scalers := fakeapi.CustomKind("karpenter.sh/v1", "NodePool", "nodepools"), fakeapi.CustomKind("autoscaling.openshift.io/v1beta1", "MachineAutoscaler", "machineautoscalers")
	pools.Cluster = true
	for name, tt := range map[string]struct {
		kinds   []fakeapi.Kind
		objects []runtime.Object
		// refused is a resource without the right to it.
		refused string
		want    []string
		// asks are the requests beside the list of nodes.
		asks int
	}{
		"cluster-autoscaler reports":          {objects: []runtime.Object{report("kube-system"), node()}, want: []string{"gpu", "infra"}, asks: 2},
		"it reports on OpenShift":             {objects: []runtime.Object{report("openshift-machine-api"), configured}, want: []string{"gpu", "infra"}, asks: 2},
		"it reports nothing on OpenShift":     {kinds: []fakeapi.Kind{scalers}, objects: []runtime.Object{configured, autoscaler("b", 3), autoscaler("a", 2), autoscaler("fixed", 1)}, want: []string{"MachineSet a", "MachineSet b"}, asks: 3},
		"OpenShift without MachineAutoscaler": {objects: []runtime.Object{configured}, asks: 3},
		"a NodePool without nodes":            {kinds: []fakeapi.Kind{pools}, objects: []runtime.Object{node(), pool("spot")}, want: []string{"NodePool spot"}, asks: 2},
		"a NodePool that nodes show is full":  {kinds: []fakeapi.Kind{pools}, objects: []runtime.Object{node("karpenter.sh/nodepool")}, asks: 2},
		"both":                                {kinds: []fakeapi.Kind{pools}, objects: []runtime.Object{report("kube-system"), node(), pool("spot")}, want: []string{"NodePool spot", "gpu", "infra"}, asks: 2},
		"no right to list NodePools":          {kinds: []fakeapi.Kind{pools}, objects: []runtime.Object{node("karpenter.sh/nodepool"), pool("spot")}, refused: "nodepools", want: []string{"NodePool gpu"}, asks: 2},
		"neither":                             {objects: []runtime.Object{node()}, asks: 2},
		"no right to the report":              {kinds: []fakeapi.Kind{pools}, objects: []runtime.Object{report("kube-system"), node(), pool("spot")}, refused: "configmaps", want: []string{"NodePool spot"}, asks: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := town(tt.kinds...)
				api.Add(tt.objects...)
				api.fault = func(r fakeapi.Request, _ int) fakeapi.Fault {
					return map[bool]fakeapi.Fault{true: 403}[r.Resource == tt.refused]
				}
				c := api.connect(t)
				for range 2 {
					if got, err := c.NodeGroups(t.Context()); err != nil || !slices.Equal(got, tt.want) {
						t.Errorf("got %v, %q", err, got)
					}
				}
				if requests := api.requests(); len(requests) != 1+tt.asks {
					t.Errorf("got %q, want a list of nodes and %d more requests", requests, tt.asks)
				}
			})
		})
	}
}

// TestNodeGroups_isNotWaitedForLong: a message waits for these names, and is as right without them.
func TestNodeGroups_isNotWaitedForLong(t *testing.T) {
	t.Parallel()
	pools := fakeapi.CustomKind("karpenter.sh/v1", "NodePool", "nodepools")
	pools.Cluster = true
	for _, unanswered := range []string{"configmaps", "nodepools"} {
		t.Run(unanswered, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := town(pools)
				api.fault = func(r fakeapi.Request, _ int) fakeapi.Fault {
					return map[bool]fakeapi.Fault{true: fakeapi.NoAnswer}[r.Resource == unanswered]
				}
				c, began := api.connect(t), time.Now()
				// Each resource of a configuration asks: a failure is remembered.
				for range 10 {
					if found, err := c.Unmodelled(t.Context(), true, nil); found.NodeGroups != nil || !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "no answer within 5s") {
						t.Errorf("got %v, %v", found, err)
					}
				}
				if took := time.Since(began); took > 6*time.Second {
					t.Errorf("it took %s", took)
				}
				if found, err := c.Unmodelled(t.Context(), false, nil); found.NodeGroups != nil || err != nil {
					t.Errorf("without Pending pods: %v, %v", found, err)
				}
			})
		})
	}
}

func TestNodePool_growsWhereKarpenterMayAddANode(t *testing.T) {
	t.Parallel()
	cores := func(n string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(n)}
	}
	ready := func(status metav1.ConditionStatus) func(*nodePool) {
		return func(p *nodePool) { p.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: status}} }
	}
	for name, tt := range map[string]struct {
		change func(*nodePool)
		grows  bool
	}{
		"without limits":  {func(*nodePool) {}, true},
		"below its limit": {func(p *nodePool) { p.Spec.Limits, p.Status.Resources = cores("10"), cores("9500m") }, true},
		"at its limit":    {func(p *nodePool) { p.Spec.Limits, p.Status.Resources = cores("10"), cores("10") }, false},
		"a limit of 0":    {func(p *nodePool) { p.Spec.Limits = cores("0") }, false},
		"another resource is": {func(p *nodePool) {
			p.Spec.Limits, p.Status.Resources = cores("10"), corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("99Gi")}
		}, true},
		"ready":                 {ready(metav1.ConditionTrue), true},
		"not ready":             {ready(metav1.ConditionFalse), false},
		"readiness not known":   {ready(metav1.ConditionUnknown), false},
		"that is being deleted": {func(p *nodePool) { p.DeletionTimestamp = new(metav1.Now()) }, false},
		"of a fixed size":       {func(p *nodePool) { p.Spec.Replicas = new(int64(3)) }, false},
	} {
		var p nodePool
		if tt.change(&p); p.grows() != tt.grows {
			t.Errorf("%s: it grows: %t", name, !tt.grows)
		}
	}
}

// object is a custom resource.
func object(apiVersion, kind, namespace, name string, content map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: content}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}
