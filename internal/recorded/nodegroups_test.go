// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/recorded"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

var autoscalers = fakeapi.CustomKind("autoscaling.openshift.io/v1beta1", "MachineAutoscaler", "machineautoscalers")

// scaling is an object by which an autoscaler may add nodes.
func scaling(apiVersion, kind, namespace, name string, spec, status map[string]any) *unstructured.Unstructured {
	meta := noted(namespace, name)
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": asMap(&meta), "spec": spec, "status": status}}
}

func status(namespace, text string) *corev1.ConfigMap {
	meta := noted(namespace, "cluster-autoscaler-status")
	return &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"status": text, "other": canary}}
}

// TestWrite_theProfileOfTheScheduler: a recording has that, and so has a folder.
func TestWrite_theProfileOfTheScheduler(t *testing.T) {
	t.Parallel()
	kind := fakeapi.CustomKind("config.openshift.io/v1", "Scheduler", "schedulers")
	kind.Cluster = true
	node := &corev1.Node{ObjectMeta: noted("", "b")}
	node.Annotations["machineconfiguration.openshift.io/currentConfig"] = "rendered"
	api := fakeapi.New(kind)
	defer api.Close()
	api.Add(node, scaling("config.openshift.io/v1", "Scheduler", "", "cluster", map[string]any{"profile": "NoScoring", "defaultNodeSelector": canary}, map[string]any{"secret": canary}))
	file, _ := record(t, api.Client(), recorded.Options{HashNames: true})
	wantAbsent(t, plain(t, file), canary)
	dir := t.TempDir()
	for _, path := range []string{"api/v1/nodes", "apis/config.openshift.io/v1/schedulers"} {
		write(t, dir, path+".json", list(t, api.Client(), "/"+path))
	}
	folder, err := recorded.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, transport := range []http.RoundTripper{read(t, file).Transport(), folder.Transport()} {
		out, err := connect(t, transport).Unmodelled(t.Context(), false, []*snapshot.Pod{{Namespace: "shop", Name: "web"}})
		if err != nil || out.Profile != "NoScoring" {
			t.Errorf("got %+v, %v", out, err)
		}
	}
}

func TestWrite_nodeGroupsOfARecordingAreThoseOfTheCluster(t *testing.T) {
	t.Parallel()
	nodePools := fakeapi.CustomKind("karpenter.sh/v1", "NodePool", "nodepools")
	nodePools.Cluster = true
	const report = "clusterWide: {message: " + canary + "}\nnodeGroups:\n- name: full\n  health: {cloudProviderTarget: 3, maxSize: 3, message: " + canary + "}\n- name: https://example.com/groups/gpu\n  health: {cloudProviderTarget: 1, maxSize: 3}\n"
	pool := func(name string, limit, used string) runtime.Object {
		return scaling("karpenter.sh/v1", "NodePool", "", name, map[string]any{
			"limits": map[string]any{"cpu": limit}, "template": map[string]any{"spec": map[string]any{"nodeClassRef": map[string]any{"name": canary}}},
		}, map[string]any{"resources": map[string]any{"cpu": used}, "conditions": []any{map[string]any{"type": "Ready", "status": "True", "message": canary}}})
	}
	scaler := func(name string, most int64) runtime.Object {
		out := scaling("autoscaling.openshift.io/v1beta1", "MachineAutoscaler", "openshift-machine-api", name, map[string]any{
			"minReplicas": int64(1), "maxReplicas": most, "scaleTargetRef": map[string]any{"kind": "MachineSet", "name": name}, "note": canary,
		}, map[string]any{"secret": canary})
		out.SetUID(types.UID(fmt.Sprint("scaler-", most)))
		return out
	}
	// Names of machines begin with that of the cluster, also where another object has one as its owner.
	owned := &corev1.Pod{ObjectMeta: noted("openshift-machine-api", "owned", controlled("machine.openshift.io/v1beta1", "MachineSet", "acme-x7k2p-gpu")...)}
	owned.OwnerReferences[0].UID = "set"
	karpenter, openShift := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"karpenter.sh/nodepool": "full"}}}, &corev1.Node{ObjectMeta: noted("", "b")}
	openShift.Annotations["machineconfiguration.openshift.io/currentConfig"] = "rendered"
	monitoring := &corev1.ConfigMap{ObjectMeta: noted("openshift-monitoring", "cluster-monitoring-config")}
	for name, tt := range map[string]struct {
		objects []runtime.Object
		want    []string
		// hashed is how many there are where names are hashed, shown is what nodes show of NodePools that a folder does not have.
		hashed int
		shown  []string
	}{
		"cluster-autoscaler reports":      {[]runtime.Object{karpenter, status("kube-system", report)}, []string{"gpu"}, 0, []string{"NodePool full"}},
		"it reports on OpenShift":         {[]runtime.Object{openShift, status("openshift-machine-api", report), monitoring}, []string{"gpu"}, 0, nil},
		"a report that cannot be read":    {[]runtime.Object{karpenter, status("kube-system", "[")}, nil, 0, []string{"NodePool full"}},
		"NodePools":                       {[]runtime.Object{karpenter, pool("full", "10", "10"), pool("spot", "10", "9500m")}, []string{"NodePool spot"}, 1, nil},
		"MachineAutoscalers":              {[]runtime.Object{openShift, owned, scaler("acme-x7k2p-fixed", 1), scaler("acme-x7k2p-gpu", 3)}, []string{"MachineSet acme-x7k2p-gpu"}, 1, nil},
		"nothing that an autoscaler adds": {[]runtime.Object{karpenter}, nil, 0, []string{"NodePool full"}},
	} {
		api := fakeapi.New(nodePools, autoscalers)
		api.Add(tt.objects...)
		for _, hash := range []bool{false, true} {
			file, _ := record(t, api.Client(), recorded.Options{HashNames: hash})
			wantAbsent(t, plain(t, file), canary)
			if hash {
				wantAbsent(t, plain(t, file), "acme")
			}
			got, err := connect(t, read(t, file).Transport()).NodeGroups(t.Context())
			if err != nil || hash && len(got) != tt.hashed || !hash && !slices.Equal(got, tt.want) {
				t.Errorf("%s, hashed %v: the recording has %q: %v", name, hash, got, err)
			}
		}
		dir := t.TempDir()
		for _, path := range []string{"api/v1/nodes", "api/v1/configmaps", "apis/karpenter.sh/v1/nodepools", "apis/autoscaling.openshift.io/v1beta1/machineautoscalers"} {
			write(t, dir, path+".json", list(t, api.Client(), "/"+path))
		}
		folder, err := recorded.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := connect(t, folder.Transport()).NodeGroups(t.Context()); err != nil || !slices.Equal(got, slices.Concat(tt.shown, tt.want)) {
			t.Errorf("%s: the folder has %q: %v", name, got, err)
		}
		if live, err := connect(t, api.Client()).NodeGroups(t.Context()); err != nil || !slices.Equal(live, tt.want) {
			t.Errorf("%s: the cluster has %q: %v", name, live, err)
		}
		api.Close()
	}
}
