// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	machines    = machinev1beta1.GroupVersion.WithResource("machines")
)

// MachineAPI installs the custom resource definition of OpenShift's Machines.
func (c *Cluster) MachineAPI(t testing.TB) {
	t.Helper()
	c.OpenShiftKind(t, machines, "machine", "v1beta1", "zz_generated.crd-manifests", "0000_10_machine-api_01_machines-Default.crd.yaml")
}

// OpenShiftKind installs a custom resource definition from the module of
// OpenShift's types that the provider itself is built with.
func (c *Cluster) OpenShiftKind(t testing.TB, resource schema.GroupVersionResource, file ...string) {
	t.Helper()
	if c.api != nil {
		c.Define(t, resource, "")
		return
	}
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/openshift/api").Output()
	must(t, err)
	raw, err := os.ReadFile(filepath.Join(append([]string{strings.TrimSpace(string(dir))}, file...)...))
	must(t, err)
	c.Define(t, resource, string(raw))
}

// Define installs a custom resource definition, which stays for other tests, and
// waits until the kind is served. The in-memory API server must serve it from the beginning.
func (c *Cluster) Define(t testing.TB, resource schema.GroupVersionResource, definition string) {
	t.Helper()
	if c.api != nil {
		if !c.api.Serves(resource) {
			t.Fatalf("%s are not served: name their kind to OnFake", resource.Resource)
		}
		return
	}
	object := &unstructured.Unstructured{}
	must(t, yaml.Unmarshal([]byte(definition), &object.Object))
	_, err := c.dynamic(t).Resource(definitions).Create(t.Context(), object, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		must(t, err)
	}
	Until(t, resource.Resource+" are served", func(ctx context.Context) (bool, error) {
		_, err := c.dynamic(t).Resource(resource).List(ctx, metav1.ListOptions{})
		return err == nil, nil
	})
}

func (c *Cluster) dynamic(t testing.TB) dynamic.Interface {
	t.Helper()
	client, err := dynamic.NewForConfig(c.REST)
	must(t, err)
	return client
}

// Machine makes a Machine with taints.
func (c *Cluster) Machine(t testing.TB, namespace, name string, taints []corev1.Taint) {
	t.Helper()
	c.makeMachine(t, &machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: machinev1beta1.MachineSpec{Taints: taints}})
}

// Unattended makes a MachineSet of two replicas and does not wait for its machines: no
// controller acts on it.
func (c *Cluster) Unattended(t testing.TB, namespace string) Thing {
	t.Helper()
	set := Thing{APIVersion: machinev1beta1.GroupVersion.String(), Kind: "MachineSet", Namespace: namespace, Name: Name(t, "ms")}
	labels := map[string]any{"set": set.Name}
	c.Make(t, set, map[string]any{"spec": map[string]any{
		"replicas": 2, "selector": map[string]any{"matchLabels": labels},
		"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{
			"providerSpec": map[string]any{"value": map[string]any{"apiVersion": "cloud.kubetaint.io/v1", "kind": "InventedMachineSpec"}},
		}},
	}})
	return set
}

// MachineOf makes a Machine that belongs to a MachineSet, which its controller has not made.
func (c *Cluster) MachineOf(t testing.TB, set Thing, name string) {
	t.Helper()
	owner := convert[machinev1beta1.MachineSet](t, c.Look(t, set))
	c.makeMachine(t, &machinev1beta1.Machine{Spec: owner.Spec.Template.Spec, ObjectMeta: metav1.ObjectMeta{
		Namespace: set.Namespace, Name: name, Labels: owner.Spec.Template.Labels,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(&owner, machinev1beta1.GroupVersion.WithKind("MachineSet"))},
	}})
}

func (c *Cluster) makeMachine(t testing.TB, m *machinev1beta1.Machine) {
	t.Helper()
	m.TypeMeta = metav1.TypeMeta{APIVersion: machinev1beta1.GroupVersion.String(), Kind: "Machine"}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(m)
	must(t, err)
	_, err = c.dynamic(t).Resource(machines).Namespace(m.Namespace).Create(t.Context(), &unstructured.Unstructured{Object: content}, metav1.CreateOptions{})
	must(t, err)
}
