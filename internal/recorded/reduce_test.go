// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded_test

import (
	"bytes"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/recorded"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// secretFields is an object with a secret below every field that verdicts read of some kind.
func secretFields() (spec, status map[string]any) {
	secret := func() map[string]any { return map[string]any{"password": canary, "list": []any{canary}} }
	spec, status = map[string]any{}, map[string]any{}
	for _, name := range []string{
		"test", "paused", "podManagementPolicy", "parallelism", "completions", "suspend", "minReadySeconds", "replicas", "triggers", "config", "nodePlacement", "jobTemplate", "volumeClaimTemplates",
	} {
		spec[name] = secret()
	}
	spec["selector"] = map[string]any{"matchLabels": map[string]any{"app": secret()}, "deep": secret()}
	for _, name := range []string{"strategy", "updateStrategy"} {
		spec[name] = map[string]any{"type": secret(), "partition": secret(), "rollingUpdate": map[string]any{"password": canary, "partition": secret()}, "canary": map[string]any{"steps": []any{map[string]any{"pause": secret()}}}}
	}
	spec["template"] = map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"app": secret()}},
		"spec": map[string]any{
			"affinity": map[string]any{"nodeAffinity": secret(), "podAffinity": secret(), "password": canary}, "schedulerName": secret(), "overhead": map[string]any{"cpu": secret()},
			"topologySpreadConstraints": []any{secret()}, "schedulingGates": []any{secret()}, "nodeSelector": map[string]any{"pool": secret()},
			"containers": []any{map[string]any{"name": secret(), "resources": map[string]any{"requests": map[string]any{"cpu": secret()}}}},
		},
	}
	for _, name := range []string{"active", "abort", "replicas", "observedGeneration", "startTime", "conditions", "pauseConditions", "installedCSV", "currentRevision"} {
		status[name] = secret()
	}
	return spec, status
}

func TestWrite_customObjectsHaveNoSecretInFieldsThatAreRead(t *testing.T) {
	t.Parallel()
	api := fakeapi.New(rollouts, tenants)
	defer api.Close()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p", UID: "p"}}
	for _, kind := range []struct{ apiVersion, kind string }{{"argoproj.io/v1alpha1", "Rollout"}, {"example.com/v1", "Tenant"}} {
		pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{APIVersion: kind.apiVersion, Kind: kind.kind, Name: "one", UID: "uid-one"})
		spec, status := secretFields()
		api.Add(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": kind.apiVersion, "kind": kind.kind, "metadata": map[string]any{"namespace": "shop", "name": "one", "uid": "uid-one"}, "spec": spec, "status": status,
		}})
	}
	api.Add(pod, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	file, summary := record(t, api.Client(), recorded.Options{})
	content := plain(t, file)
	if summary.Objects < 4 {
		t.Errorf("%d objects are in the file", summary.Objects)
	}
	if at := bytes.Index(content, []byte(canary)); at >= 0 {
		t.Errorf("a secret is in the file: …%q…", content[max(0, at-200):min(len(content), at+50)])
	}
}

// TestWrite_aCustomKindKeepsNoFieldOfWorkloads writes texts into the fields by which workloads follow a change.
func TestWrite_aCustomKindKeepsNoFieldOfWorkloads(t *testing.T) {
	t.Parallel()
	api := fakeapi.New(tenants)
	defer api.Close()
	api.Add(
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p", OwnerReferences: controlled("example.com/v1", "Tenant", "t")}},
		custom("example.com/v1", "Tenant", "t", map[string]any{
			"test": canary, "paused": canary, "replicas": canary, "selector": map[string]any{"app": canary}, "strategy": map[string]any{"type": canary},
			"template": map[string]any{"spec": map[string]any{"schedulerName": canary, "containers": []any{map[string]any{"name": canary}}}},
		}),
	)
	file, _ := record(t, api.Client(), recorded.Options{})
	content := plain(t, file)
	if at := bytes.Index(content, []byte(canary)); at >= 0 || !bytes.Contains(content, []byte(`"kind":"Tenant"`)) {
		t.Errorf("a text of the custom object is in the file: …%q", content[max(0, at-200):])
	}
}
