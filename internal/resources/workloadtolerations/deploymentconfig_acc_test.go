// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// OpenShift serves DeploymentConfigs by an API server of its own: there is no definition of
// them to install.
const deploymentConfigDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"deploymentconfigs.apps.openshift.io"},
"spec":{"group":"apps.openshift.io","scope":"Namespaced","names":{"plural":"deploymentconfigs","singular":"deploymentconfig","kind":"DeploymentConfig"},
"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","properties":{
"spec":{"type":"object","x-kubernetes-preserve-unknown-fields":true},"status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}]}}`

// deploymentConfig makes one whose controller is played until the test ends: each
// configuration gets a ReplicationController of its own, as OpenShift's controller does
// it, and the real controller of these makes the pods.
func (s *shop) deploymentConfig(name string, replicas int, tolerations string) acctest.Thing {
	s.t.Helper()
	s.c.Define(s.t, schema.GroupVersionResource{Group: "apps.openshift.io", Version: "v1", Resource: "deploymentconfigs"}, deploymentConfigDefinition)
	thing := s.thing("DeploymentConfig", name)
	s.c.Make(s.t, thing, map[string]any{"spec": map[string]any{
		"replicas": replicas, "selector": map[string]any{"app": name}, "template": s.template(name, tolerations),
		"triggers": []any{map[string]any{"type": "ConfigChange"}},
	}})
	objects := s.c.Objects(s.t, thing)
	s.reconcile(func(ctx context.Context) error { return s.rollConfig(ctx, objects, thing, int32(replicas)) })
	s.c.Running(s.t, s.namespace, name, replicas)
	return thing
}

// reconcile calls a step of a controller repeatedly until the test ends. Conflicts, and
// objects that are deleted, are no errors.
func (s *shop) reconcile(step func(context.Context) error) {
	s.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			if err := step(ctx); err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				s.t.Error(err)
			}
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	})
	s.t.Cleanup(func() {
		stop()
		wg.Wait()
	})
}

// rollConfig does the next thing that there is to do for a DeploymentConfig.
func (s *shop) rollConfig(ctx context.Context, objects dynamic.ResourceInterface, thing acctest.Thing, replicas int32) error {
	object, err := objects.Get(ctx, thing.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	var read struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
		Status struct {
			ObservedGeneration int64 `json:"observedGeneration"`
		} `json:"status"`
	}
	raw, err := json.Marshal(object.Object)
	if err == nil {
		err = json.Unmarshal(raw, &read)
	}
	if err != nil {
		return err
	}
	controllers := s.c.Admin.CoreV1().ReplicationControllers(s.namespace)
	list, err := controllers.List(ctx, metav1.ListOptions{LabelSelector: "config=" + thing.Name})
	if err != nil {
		return err
	}
	newest := fmt.Sprintf("%s-%d", thing.Name, object.GetGeneration())
	var current *corev1.ReplicationController
	for _, one := range list.Items {
		if one.Name == newest {
			current = &one
		}
	}
	if current == nil {
		template := read.Spec.Template
		template.Labels = maps.Clone(template.Labels)
		template.Labels["deployment"] = newest
		yes := true
		_, err = controllers.Create(ctx, &corev1.ReplicationController{
			ObjectMeta: metav1.ObjectMeta{
				Name: newest, Labels: map[string]string{"config": thing.Name},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: thing.APIVersion, Kind: thing.Kind, Name: thing.Name, UID: object.GetUID(), Controller: &yes}},
			},
			Spec: corev1.ReplicationControllerSpec{Replicas: &replicas, Selector: map[string]string{"app": thing.Name, "deployment": newest}, Template: &template},
		}, metav1.CreateOptions{})
		return err
	}
	if read.Status.ObservedGeneration != object.GetGeneration() {
		seen := fmt.Sprintf(`{"status":{"observedGeneration":%d}}`, object.GetGeneration())
		_, err := objects.Patch(ctx, thing.Name, types.MergePatchType, []byte(seen), metav1.PatchOptions{}, "status")
		return err
	}
	if current.Status.ReadyReplicas < replicas {
		return nil
	}
	none := int32(0)
	for _, old := range list.Items {
		if old.Name == newest || *old.Spec.Replicas == 0 {
			continue
		}
		old.Spec.Replicas = &none
		if _, err := controllers.Update(ctx, &old, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// TestAccWorkloadTolerations_deploymentConfig lives through create, update and destroy, and
// waits for the pods of the ReplicationController that a change makes.
func TestAccWorkloadTolerations_deploymentConfig(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	const foreign = "foreign* other=1:NoExecute@30"
	thing := s.deploymentConfig("legacy", 2, foreign)
	i := s.fresh()
	d := s.tf.Plan(t, s.fresh(), s.manage(thing, "team=a:NoExecute spot*", nil)).Diagnostics
	says(t, "warning", d.Warnings(), "restarts 2 pods", "by its deployment strategy")

	s.apply(i, s.manage(thing, "team=a:NoExecute spot*", nil))
	s.want(thing, foreign+" spot* team=a:NoExecute", 2)
	s.wantPods("legacy", 2, "team=a:NoExecute spot*", thing.Kind)

	s.apply(i, s.manage(thing, "team=b:NoExecute", nil))
	s.want(thing, foreign+" team=b:NoExecute", 1)
	s.wantPods("legacy", 2, "team=b:NoExecute", thing.Kind)

	// While a taint needs it, an old one retires.
	if err := s.c.EditNode(t.Context(), s.pool, func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, acctest.Parse(t, "team=b:NoExecute")...) }); err != nil {
		t.Fatal(err)
	}
	s.destroy(i)
	if got := formatted(s.standing(thing, s.pathOf(thing.Kind))); !strings.Contains(got, "team=b:NoExecute") {
		t.Fatalf("pods live by what is gone: %s", got)
	}
	s.c.Running(t, s.namespace, "legacy", 2)

	held := s.manage(thing, "team=c:NoExecute", nil)
	s.c.Change(t, thing, "somebody", `{"spec":{"triggers":[]}}`)
	says(t, "error", s.tf.Plan(t, s.fresh(), held).Diagnostics.Errors(), "it has no trigger of type ConfigChange", "oc rollout latest dc/legacy")
}
