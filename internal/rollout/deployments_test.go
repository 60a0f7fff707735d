// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// revision is a ReplicaSet of the Deployment web, and its pods.
type revision struct {
	// old is of the template before, without the toleration.
	old bool
	// wants are its replicas, reports those of its status, of an earlier generation where late.
	wants, reports int32
	late           bool
	// runs are its running pods, dead those that are terminating on a node that is gone.
	runs, dead int
}

// TestRun_missingPodsOfALinkedDeployment: its controller creates them from the newest template,
// unless a ReplicaSet of an older one can still create pods.
func TestRun_missingPodsOfALinkedDeployment(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		revisions []revision
		// unseen is set where the controller has not seen the newest template, and forbidden where
		// ReplicaSets cannot be listed.
		unseen, forbidden bool
		// waits is what the error says, empty where the wait ends.
		waits string
	}{
		"Recreate waits for a pod on a dead node":       {revisions: []revision{{old: true, dead: 1}}},
		"a quota refuses a pod of the newest template":  {revisions: []revision{{old: true}, {wants: 3, reports: 2, runs: 2}}},
		"a quota refuses all of them":                   {revisions: []revision{{wants: 3}}},
		"an older ReplicaSet still wants a pod":         {revisions: []revision{{old: true, wants: 1}, {wants: 2, reports: 2, runs: 2}}, waits: "1 of 3 pods are not created yet; an older ReplicaSet can still create pods"},
		"an older ReplicaSet still has a pod":           {revisions: []revision{{old: true, reports: 1}, {wants: 3, reports: 2, runs: 2}}, waits: "an older ReplicaSet can still create pods"},
		"an older ReplicaSet has not seen its new size": {revisions: []revision{{old: true, late: true}, {wants: 3, reports: 2, runs: 2}}, waits: "an older ReplicaSet can still create pods"},
		"its controller has not seen the template":      {revisions: []revision{{wants: 3, reports: 2, runs: 2}}, unseen: true, waits: "its controller has not reported it yet"},
		"ReplicaSets may not be listed, with all pods":  {revisions: []revision{{wants: 3, reports: 3, runs: 3}}, forbidden: true},
		"ReplicaSets may not be listed, pods missing":   {revisions: []revision{{wants: 3, reports: 2, runs: 2}}, forbidden: true, waits: "1 of 3 pods are not created yet"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := newServer(t, aNode("n1", "gpu"), aNode("n2", "dead"))
				deployed := api.addDeployment(tt.revisions, tt.unseen)
				cluster := api.follow(t, true)
				api.client.OnRequest(func(r fakeapi.Request) fakeapi.Fault {
					// The snapshot lists their metadata alone, in all namespaces.
					if tt.forbidden && r.Resource == "replicasets" && r.Namespace != "" {
						return http.StatusForbidden
					}
					return fakeapi.None
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := taintLinked(ctx, cluster, []Tolerations{deployed})
				stuck := new(StuckError)
				if errors.As(err, &stuck) != (tt.waits != "") || tt.waits == "" && err != nil || tt.waits != "" && !strings.Contains(err.Error(), tt.waits) {
					t.Errorf("the wait ends with %v", err)
				}
				want := teamA
				if tt.waits != "" {
					want = ""
				}
				api.wantTaint(t, want)
			})
		})
	}
}

// addDeployment adds the Deployment web with three replicas, whose template tolerates teamA, its
// ReplicaSets and their pods. It returns what a link waits for.
func (a *testServer) addDeployment(revisions []revision, unseen bool) Tolerations {
	labels := map[string]string{"app": "web"}
	template := aSet("", 1, teamA).Spec.Template
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web", UID: "uid-web", Generation: 2},
		Spec:       appsv1.DeploymentSpec{Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
		Status:     appsv1.DeploymentStatus{ObservedGeneration: 2},
	}
	if unseen {
		d.Status.ObservedGeneration = 1
	}
	a.Put(d)
	for i, r := range revisions {
		name := fmt.Sprintf("web-%d", i)
		set := &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: name, UID: types.UID("uid-" + name), Generation: 2, Labels: labels,
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
			},
			Spec:   appsv1.ReplicaSetSpec{Replicas: &r.wants, Template: *template.DeepCopy()},
			Status: appsv1.ReplicaSetStatus{Replicas: r.reports, ObservedGeneration: 2},
		}
		if r.old {
			set.Spec.Template.Spec.Tolerations = nil
		}
		if r.late {
			set.Status.ObservedGeneration = 1
		}
		a.Put(set)
		for j := range r.runs + r.dead {
			p := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: namespace, Name: fmt.Sprintf("%s-%d", name, j), Labels: labels,
					OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))},
				},
				Spec: *set.Spec.Template.Spec.DeepCopy(), Status: corev1.PodStatus{Phase: corev1.PodRunning},
			}
			if p.Spec.NodeName = "n1"; j >= r.runs {
				p.Spec.NodeName, p.DeletionTimestamp, p.Finalizers = "n2", &metav1.Time{Time: time.Now()}, []string{"example.com/held"}
			}
			a.Put(p)
		}
	}
	kind, _ := workload.Lookup("apps/v1", "Deployment")
	out := wanting(teamA, "web")[0]
	out.Ref.Kind, out.Path = "Deployment", kind.Path
	return out
}
