// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

const (
	nodesData     = "kubetaint_nodes"
	previewData   = "kubetaint_eviction_preview"
	workloadsData = "kubetaint_workloads"
)

// object is a nested object of a configuration.
type object = map[string]any

// shop is a cluster of two nodes with a Deployment of two pods and a bare pod.
func shop() *fakeapi.Server {
	controlled := func(kind, name string) []metav1.OwnerReference {
		yes := true
		return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, UID: types.UID(name), Controller: &yes}}
	}
	seconds := int64(30)
	web := func(name, node string, tolerations ...corev1.Toleration) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": "web"}, OwnerReferences: controlled("ReplicaSet", "web-abc")},
			Spec:       corev1.PodSpec{NodeName: node, Tolerations: tolerations},
		}
	}
	record := taint.Record{{Key: "team", Effect: corev1.TaintEffectNoSchedule, Owner: "terraform/x", Generation: "g"}}
	api := fakeapi.New()
	api.Add(
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "b", Labels: map[string]string{"pool": "cpu"}}},
		&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name: "a", Labels: map[string]string{"pool": "gpu"},
				Annotations: map[string]string{taint.OwnedAnnotation: record.String(), "machine.openshift.io/machine": "openshift-machine-api/m"},
			},
			Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "team", Value: "red", Effect: corev1.TaintEffectNoSchedule}}},
		},
		web("web-1", "a"),
		web("web-2", "a", corev1.Toleration{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds}),
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ops", Name: "tool"}, Spec: corev1.PodSpec{NodeName: "a", Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}}},
		&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-abc", UID: "web-abc", OwnerReferences: controlled("Deployment", "web")}},
		&policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
			Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1},
		},
	)
	return api
}

// connected is a provider block for the fake API server.
func connected() values { return values{"host": fakeapi.Host} }

// requests returns the requests that have reached a server, and those that do more than read.
func requests(api *fakeapi.Server) (all, others []string) {
	for _, e := range api.Audit() {
		text := e.String() + " " + e.UserAgent
		all = append(all, text)
		if e.Verb != "get" && e.Verb != "list" && e.Verb != "watch" {
			others = append(others, text)
		}
	}
	return all, others
}

// summaries are the diagnostics' severities and summaries.
func summaries(diagnostics []*tfprotov6.Diagnostic) []string {
	var out []string
	for _, d := range diagnostics {
		out = append(out, d.Severity.String()+" "+d.Summary)
	}
	return out
}

func TestNodesDataSource(t *testing.T) {
	t.Parallel()
	api := shop()
	got, diagnostics := read(t, api.Client(), connected(), nodesData, nil)
	if len(diagnostics) > 0 {
		t.Fatal(summaries(diagnostics))
	}
	want := []any{
		object{"name": "a", "labels": object{"pool": "gpu"}, "machine": "openshift-machine-api/m", "taints": []any{
			object{"key": "team", "value": "red", "effect": "NoSchedule", "time_added": nil, "owner": "terraform/x"},
		}},
		object{"name": "b", "labels": object{"pool": "cpu"}, "machine": nil, "taints": []any{}},
	}
	if diff := cmp.Diff(want, got["nodes"]); diff != "" {
		t.Error(diff)
	}
	all, _ := requests(api)
	if diff := cmp.Diff([]string{"list nodes terraform-provider-kubetaint/1.2.3"}, all); diff != "" {
		t.Errorf("requests: %s", diff)
	}
	got, _ = read(t, api.Client(), connected(), nodesData, values{"selector": "pool", "taint": object{"key": "other"}})
	if diff := cmp.Diff([]any{}, got["nodes"]); diff != "" {
		t.Errorf("a taint that no node carries must give an empty list: %s", diff)
	}
}

func TestPreviewDataSource(t *testing.T) {
	t.Parallel()
	unreachable := object{"key": corev1.TaintNodeUnreachable, "effect": "NoExecute"}
	api := shop()
	got, diagnostics := read(t, api.Client(), connected(), previewData, values{"node_name": "a", "taints": []any{unreachable}})
	if len(diagnostics) > 0 {
		t.Fatal(summaries(diagnostics))
	}
	pod := func(name, verdict string, after, toleration any, reason string) object {
		return object{
			"namespace": "shop", "name": name, "node": "a", "owner": "Deployment/web", "verdict": verdict, "after_seconds": after,
			"taint": "node.kubernetes.io/unreachable:NoExecute", "toleration": toleration, "reason": reason,
			"lost": false, "placement": "fits", "reschedulable": true, "local_data": false, "budget": "web is bypassed: it allows 1 disruption, but 2 of its pods are evicted",
		}
	}
	wantPods := []any{
		pod("web-1", "evicted_now", nil, nil, "does not tolerate node.kubernetes.io/unreachable:NoExecute"),
		pod("web-2", "evicted_after", int64(30), "node.kubernetes.io/unreachable Exists:NoExecute for 30s", "tolerates node.kubernetes.io/unreachable:NoExecute for 30s"),
	}
	if diff := cmp.Diff(wantPods, got["pods"]); diff != "" {
		t.Error(diff)
	}
	wantWorkloads := []any{object{
		"namespace": "shop", "kind": "Deployment", "name": "web", "evicted_now": int64(1), "evicted_after": int64(1), "drained": int64(0), "stays": int64(0), "unknown": int64(0),
		"fits": int64(2), "pending": int64(0), "pending_max": int64(0), "preempted": int64(0), "evicted_again": int64(0),
	}}
	if diff := cmp.Diff(wantWorkloads, got["workloads"]); diff != "" {
		t.Error(diff)
	}
	wantSummary := object{
		"stays": int64(1), "evicted_now": int64(1), "evicted_after": int64(1), "drained": int64(0), "unknown": int64(0), "completed": int64(0), "lost": int64(0),
		"pending": int64(0), "pending_max": int64(0), "preempted": int64(0), "evicted_again": int64(0), "lost_max": int64(0), "not_reschedulable": int64(0),
	}
	if diff := cmp.Diff(wantSummary, got["summary"]); diff != "" {
		t.Error(diff)
	}
	if text, _ := got["markdown"].(string); !strings.HasPrefix(text, "> [!WARNING]\n> **Applying node.kubernetes.io/unreachable:NoExecute to node \"a\" evicts 2 pods") {
		t.Errorf("the Markdown has another heading: %s", text)
	}
	if _, others := requests(api); len(others) > 0 {
		t.Errorf("a preview must not write: %q", others)
	}
}

func TestWorkloadsDataSource(t *testing.T) {
	t.Parallel()
	api := shop()
	unreachable := []any{object{"key": corev1.TaintNodeUnreachable, "effect": "NoExecute"}}
	got, diagnostics := read(t, api.Client(), connected(), workloadsData, values{"taints": unreachable})
	if len(diagnostics) > 0 {
		t.Fatal(summaries(diagnostics))
	}
	workload := func(namespace, kind, name string, pods int, differ, tolerates bool, seconds, toleration any) object {
		return object{
			"namespace": namespace, "kind": kind, "name": name, "pods": int64(pods), "pods_differ": differ,
			"tolerates": tolerates, "for_seconds": seconds, "uncertain": false, "taints": []any{object{
				"taint": "node.kubernetes.io/unreachable:NoExecute", "tolerates": tolerates, "for_seconds": seconds, "uncertain": false,
				"toleration": toleration, "shadowed": []any{},
			}},
		}
	}
	want := []any{
		workload("ops", "Pod", "tool", 1, false, true, nil, "Exists"),
		workload("shop", "Deployment", "web", 2, true, false, int64(0), nil),
	}
	if diff := cmp.Diff(want, got["workloads"]); diff != "" {
		t.Error(diff)
	}
	if _, others := requests(api); len(others) > 0 {
		t.Errorf("a question must not write: %q", others)
	}
	got, _ = read(t, api.Client(), connected(), workloadsData, values{"taints": unreachable, "namespaces": []any{"shop"}, "selector": "app=other"})
	if diff := cmp.Diff([]any{}, got["workloads"]); diff != "" {
		t.Errorf("a selector that no pod matches must give an empty list: %s", diff)
	}
}

func TestDataSourceDiagnostics(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "Unable to read data.…")
	gpu := object{"key": "dedicated", "value": "gpu", "effect": "NoExecute"}
	gpuID := object{"key": "dedicated", "effect": "NoExecute"}
	one := []any{gpu}
	cases := []struct {
		name       string
		dataSource string
		// provider is the provider block; nil connects to the fake API server.
		provider values
		// forbidden is a resource that must not be listed.
		forbidden string
		config    values
		want      []string
	}{
		{"a node that does not exist is named", previewData, nil, "", values{"node_name": "z", "taints": one}, []string{`ERROR Unable to preview node "z"`}},
		{"a selector that matches nothing warns", previewData, nil, "", values{"node_selector": "pool=none", "taints": one}, []string{`WARNING No node matches "pool=none": applying dedicated=gpu:NoExecute changes nothing (host fakeapi.test)`}},
		{"what there is no permission to read is told", previewData, nil, "jobs", values{"node_name": "a", "taints": one}, []string{`WARNING The preview is not complete: Applying dedicated=gpu:NoExecute to node "a" (host fakeapi.test)`}},
		{"no permission to list pods is an error", previewData, nil, "pods", values{"node_name": "a", "taints": one}, []string{"ERROR Unable to read data.kubetaint_eviction_preview"}},
		{"no permission to list nodes is an error", nodesData, nil, "nodes", nil, []string{"ERROR Unable to read data.kubetaint_nodes"}},
		{"a connection that is not known yet is an error of the preview", previewData, values{"host": unknownString}, "", values{"node_name": "a", "taints": one}, []string{"ERROR Unable to read data.kubetaint_eviction_preview: the connection is not known yet"}},
		{"a connection that is not known yet is an error of the nodes", nodesData, values{"host": unknownString}, "", nil, []string{"ERROR Unable to read data.kubetaint_nodes: the connection is not known yet"}},
		{"neither name nor selector is refused", previewData, nil, "", values{"taints": one}, []string{"ERROR Missing Attribute Configuration"}},
		{"both name and selector are refused", previewData, nil, "", values{"node_name": "a", "node_selector": "x", "taints": one}, []string{"ERROR Invalid Attribute Combination"}},
		{"no taint at all is refused", previewData, nil, "", values{"node_name": "a"}, []string{"ERROR Missing Attribute Configuration"}},
		{"an empty selector is refused", previewData, nil, "", values{"node_selector": "", "taints": one}, []string{`ERROR Unable to use node_selector ""`}},
		{"a taint that is wanted both ways is refused", previewData, nil, "", values{"node_name": "a", "taints": one, "absent_taints": []any{gpuID}}, []string{`ERROR Unable to keep taint "dedicated:NoExecute" both present and absent`}},
		{"a key and effect with two values are refused", previewData, nil, "", values{"node_name": "a", "taints": []any{gpu, object{"key": "dedicated", "value": "cpu", "effect": "NoExecute"}}}, []string{`ERROR Unable to use taint "dedicated:NoExecute" twice in taints`}},
		{"pods that cannot be rolled up are told", workloadsData, nil, "jobs", values{"taints": one}, []string{"WARNING The workloads that tolerate dedicated=gpu:NoExecute are listed by ReplicaSet or Job where their owner could not be read (host fakeapi.test)"}},
		{"budgets that cannot be read are no matter for workloads", workloadsData, nil, "poddisruptionbudgets", values{"taints": one}, nil},
		{"no permission to list pods is an error of the workloads", workloadsData, nil, "pods", values{"taints": one}, []string{"ERROR Unable to read data.kubetaint_workloads"}},
		{"a connection that is not known yet is an error of the workloads", workloadsData, values{"host": unknownString}, "", values{"taints": one}, []string{"ERROR Unable to read data.kubetaint_workloads: the connection is not known yet"}},
		{"workloads without a taint to tolerate are refused", workloadsData, nil, "", values{"taints": []any{}}, []string{"ERROR Invalid Attribute Value"}},
		{"no namespaces at all are refused", workloadsData, nil, "", values{"taints": one, "namespaces": []any{}}, []string{"ERROR Invalid Attribute Value"}},
		{"an empty selector of pods is refused", workloadsData, nil, "", values{"taints": one, "selector": ""}, []string{`ERROR Unable to use selector ""`}},
		{"a key and effect with two values are refused for workloads", workloadsData, nil, "", values{"taints": []any{gpu, object{"key": "dedicated", "value": "cpu", "effect": "NoExecute"}}}, []string{`ERROR Unable to use taint "dedicated:NoExecute" twice in taints`}},
		{"an empty selector of nodes is refused", nodesData, nil, "", values{"selector": ""}, []string{`ERROR Unable to use selector ""`}},
		{"a misspelt effect of the filter is refused", nodesData, nil, "", values{"taint": object{"key": "a", "effect": "NoExec"}}, []string{`ERROR Unable to use effect "NoExec"`}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			provider := c.provider
			if provider == nil {
				provider = connected()
			}
			client := shop().Client()
			client.OnRequest(func(r fakeapi.Request) fakeapi.Fault {
				if c.forbidden != "" && r.Resource == c.forbidden {
					return http.StatusForbidden
				}
				return fakeapi.None
			})
			_, diagnostics := read(t, client, provider, c.dataSource, c.config)
			messages.Got(t, summaries(diagnostics)...)
			if diff := cmp.Diff(c.want, summaries(diagnostics)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestDataSourceUnreachable asks a port on which nothing listens.
func TestDataSourceUnreachable(t *testing.T) {
	t.Parallel()
	const unreachable = "http://127.0.0.1:1"
	_, diagnostics := read(t, nil, values{"host": unreachable}, nodesData, nil)
	if len(diagnostics) != 1 || !strings.Contains(diagnostics[0].Detail, "check block") || !strings.Contains(diagnostics[0].Detail, "depends_on") {
		t.Errorf("got %v, want one error that names the ways out", diagnostics)
	}
}
