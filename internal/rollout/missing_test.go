// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// TestRun_missingPodsOfALinkedCustomKind has a quota refuse one of three pods, while those that run tolerate the
// taint: it waits only where the missing one may be made from an older template.
func TestRun_missingPodsOfALinkedCustomKind(t *testing.T) {
	t.Parallel()
	const (
		missing  = "1 of 3 pods are not created yet"
		triggers = `"triggers":[{"type":"ConfigChange"}]`
		complete = `{"observedGeneration":2,"conditions":[{"type":"Progressing","status":"True","reason":"NewReplicationControllerAvailable"}]}`
		halfway  = `{"observedGeneration":2,"currentRevision":"web-a","updateRevision":"web-b"}`
	)
	for name, tt := range map[string]struct {
		apiVersion, kind, spec, status string
		// waits is what the error says, empty where the wait ends.
		waits string
	}{
		"a DeploymentConfig":                         {"apps.openshift.io/v1", "DeploymentConfig", triggers, complete, ""},
		"a DeploymentConfig of strategy Recreate":    {"apps.openshift.io/v1", "DeploymentConfig", triggers + `,"strategy":{"type":"Recreate"}`, complete, ""},
		"a DeploymentConfig whose rollout may fail":  {"apps.openshift.io/v1", "DeploymentConfig", triggers, `{"observedGeneration":2}`, missing},
		"a DeploymentConfig that is not observed":    {"apps.openshift.io/v1", "DeploymentConfig", triggers, strings.Replace(complete, "2", "1", 1), "its controller has not reported it yet"},
		"a DeploymentConfig that is paused":          {"apps.openshift.io/v1", "DeploymentConfig", triggers + `,"paused":true`, complete, missing},
		"a CloneSet":                                 {"apps.kruise.io/v1alpha1", "CloneSet", `"updateStrategy":{"partition":0}`, halfway, ""},
		"a CloneSet with a partition":                {"apps.kruise.io/v1alpha1", "CloneSet", `"updateStrategy":{"partition":1}`, halfway, missing},
		"a CloneSet with a partition, of one state":  {"apps.kruise.io/v1alpha1", "CloneSet", `"updateStrategy":{"partition":1}`, strings.Replace(halfway, "web-a", "web-b", 1), ""},
		"a CloneSet that is not observed":            {"apps.kruise.io/v1alpha1", "CloneSet", `"updateStrategy":{}`, strings.Replace(halfway, "2", "1", 1), "its controller has not reported it yet"},
		"a DaemonSet of OpenKruise":                  {"apps.kruise.io/v1beta1", "DaemonSet", `"updateStrategy":{}`, `{"observedGeneration":2,"desiredNumberScheduled":3}`, ""},
		"a StatefulSet of OpenKruise with OnDelete":  {"apps.kruise.io/v1beta1", "StatefulSet", `"updateStrategy":{"type":"OnDelete"}`, halfway, ""},
		"a StatefulSet of OpenKruise, partitioned":   {"apps.kruise.io/v1beta1", "StatefulSet", `"updateStrategy":{"rollingUpdate":{"partition":1}}`, strings.Replace(halfway, "2", `2,"currentReplicas":1,"replicas":2`, 1), missing},
		"a kind whose controller is not known":       {"example.com/v1", "Widget", `"strategy":"Recreate"`, `{"observedGeneration":2}`, missing},
		"a kind of another group with the same name": {"example.com/v1", "CloneSet", `"updateStrategy":{}`, halfway, missing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := newServerOf(t, []fakeapi.Kind{fakeapi.CustomKind(tt.apiVersion, tt.kind, strings.ToLower(tt.kind)+"s")}, aNode("n1", "gpu"))
				linked := api.addCustom(t, tt.apiVersion, tt.kind, tt.spec, tt.status)
				cluster := api.follow(t, true)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := taintLinked(ctx, cluster, []Tolerations{linked})
				stuck, want := new(StuckError), teamA
				if tt.waits != "" {
					want = ""
				}
				if errors.As(err, &stuck) != (tt.waits != "") || tt.waits == "" && err != nil || tt.waits != "" && !strings.Contains(err.Error(), tt.waits) {
					t.Errorf("the wait ends with %v", err)
				}
				api.wantTaint(t, want)
			})
		})
	}
}

// addCustom adds an object web of generation 2 whose template tolerates teamA and that wants three pods, and two
// pods of it. It returns what a link waits for.
func (a *testServer) addCustom(t *testing.T, apiVersion, kind, spec, status string) Tolerations {
	t.Helper()
	template := aSet("", 1, teamA).Spec.Template
	template.Spec.Containers = []corev1.Container{{Name: "web", Image: "web:1"}}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&template)
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	raw := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"namespace":%q,"name":"web","uid":"uid-web","generation":2},"spec":{"replicas":3,%s},"status":%s}`, apiVersion, kind, namespace, spec, status)
	if err := object.UnmarshalJSON([]byte(raw)); err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedMap(object.Object, fields, "spec", "template"); err != nil {
		t.Fatal(err)
	}
	a.Put(object)
	for i := range 2 {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: fmt.Sprintf("web-%d", i),
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(object, object.GroupVersionKind())},
			},
			Spec: *template.Spec.DeepCopy(), Status: corev1.PodStatus{Phase: corev1.PodRunning},
		}
		p.Spec.NodeName = "n1"
		a.Put(p)
	}
	out := wanting(teamA, "web")[0]
	out.Ref = workload.Ref{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: "web"}
	return out
}
