// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

const rolloutDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"rollouts.argoproj.io","annotations":{"api-approved.kubernetes.io":"unapproved"}},
"spec":{"group":"argoproj.io","scope":"Namespaced","names":{"plural":"rollouts","singular":"rollout","kind":"Rollout"},
"versions":[{"name":"v1alpha1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","properties":{
"spec":{"type":"object","x-kubernetes-preserve-unknown-fields":true},"status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}]}}`

// rollOut plays the controller of a Rollout of Argo until the test ends: each template gets a
// ReplicaSet of its own, which the Rollout controls, and the old one goes once the new one is
// ready (argoproj/argo-rollouts v1.8 rollout/replicaset.go). The real controller of ReplicaSets
// makes the pods.
func (s *shop) rollOut(rollout acctest.Thing) {
	s.t.Helper()
	objects := s.c.Objects(s.t, rollout)
	s.reconcile(func(ctx context.Context) error {
		object, err := objects.Get(ctx, rollout.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return s.nextReplicaSet(ctx, object)
	})
}

// nextReplicaSet does the next thing that there is to do for a Rollout.
func (s *shop) nextReplicaSet(ctx context.Context, object *unstructured.Unstructured) error {
	var spec struct {
		Replicas int32                  `json:"replicas"`
		Template corev1.PodTemplateSpec `json:"template"`
	}
	raw, err := json.Marshal(object.Object["spec"])
	if err == nil {
		err = json.Unmarshal(raw, &spec)
	}
	if err != nil {
		return err
	}
	sets := s.c.Admin.AppsV1().ReplicaSets(s.namespace)
	list, err := sets.List(ctx, metav1.ListOptions{LabelSelector: "app=" + object.GetName()})
	if err != nil {
		return err
	}
	newest, ready := fmt.Sprintf("%s-%d", object.GetName(), object.GetGeneration()), false
	var old []appsv1.ReplicaSet
	for _, one := range list.Items {
		if one.Name != newest {
			old = append(old, one)
			continue
		}
		if ready = one.Status.ReadyReplicas >= spec.Replicas; !ready {
			return nil
		}
	}
	if !ready {
		template := spec.Template
		template.Labels = maps.Clone(template.Labels)
		template.Labels["rollouts-pod-template-hash"] = newest
		_, err := sets.Create(ctx, &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Name: newest, Labels: template.Labels, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(object, object.GroupVersionKind())}},
			Spec:       appsv1.ReplicaSetSpec{Replicas: &spec.Replicas, Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template},
		}, metav1.CreateOptions{})
		return err
	}
	for _, one := range old {
		if *one.Spec.Replicas == 0 {
			continue
		}
		one.Spec.Replicas = new(int32)
		if _, err := sets.Update(ctx, &one, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// TestAccWorkloadTolerations_aControllerWithReplicaSetsOfItsOwn: its pods are found by their
// owners, counted at plan, and waited for.
func TestAccWorkloadTolerations_aControllerWithReplicaSetsOfItsOwn(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.c.Define(t, schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "rollouts"}, rolloutDefinition)
	s.tf = &acctest.Terraform{Provider: s.c.ProviderAt(t, s.c.REST.Host, s.c.TokenAnd(t, rbacv1.PolicyRule{
		APIGroups: []string{"argoproj.io"}, Resources: []string{"rollouts"}, Verbs: []string{"get", "list", "patch"},
	}))}
	web := s.custom(acctest.Thing{APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout", Namespace: s.namespace, Name: "web"}, map[string]any{"replicas": 2, "template": s.template("web", "")})
	if err := s.nextReplicaSet(t.Context(), s.c.Look(t, web)); err != nil {
		t.Fatal(err)
	}
	s.c.Running(t, s.namespace, "web", 2)

	i, config := s.fresh(), s.manage(web, "team=a:NoExecute", map[string]any{"path": "spec.template.spec.tolerations"})
	done := make(chan acctest.Diagnostics, 1)
	go func() { done <- s.tf.Apply(t, i, config) }()
	s.until("the Rollout has the toleration", func() bool {
		return len(done) > 0 || len(s.standing(web, strings.Split("spec.template.spec.tolerations", "."))) == 1
	})
	if len(done) > 0 {
		t.Fatalf("the apply has not waited for the pods: %v", <-done)
	}
	s.rollOut(web)
	d := <-done
	if d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	says(t, "warning", d.Warnings(), "restarts 2 pods")
	s.wantPods("web", 2, "team=a:NoExecute", "Rollout")
	s.quiet(i, config)
}
