// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
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

// MachineAPI installs the custom resource definition of OpenShift's Machines,
// from the module that the provider itself is built with.
func (c *Cluster) MachineAPI(t testing.TB) {
	t.Helper()
	if err := c.machineAPI(); err != nil {
		t.Fatal(err)
	}
	Until(t, "the Machine API is served", func(ctx context.Context) (bool, error) {
		_, err := c.dynamic(t).Resource(machines).List(ctx, metav1.ListOptions{})
		return err == nil, nil
	})
}

var installing sync.Mutex

func (c *Cluster) machineAPI() error {
	installing.Lock()
	defer installing.Unlock()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/openshift/api").Output()
	if err != nil {
		return err
	}
	raw, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "machine", "v1beta1", "zz_generated.crd-manifests", "0000_10_machine-api_01_machines-Default.crd.yaml"))
	if err != nil {
		return err
	}
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(raw, &definition.Object); err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(c.REST)
	if err != nil {
		return err
	}
	_, err = client.Resource(definitions).Create(context.Background(), definition, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
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
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&machinev1beta1.Machine{
		TypeMeta:   metav1.TypeMeta{APIVersion: machinev1beta1.GroupVersion.String(), Kind: "Machine"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       machinev1beta1.MachineSpec{Taints: taints},
	})
	must(t, err)
	_, err = c.dynamic(t).Resource(machines).Namespace(namespace).Create(t.Context(), &unstructured.Unstructured{Object: content}, metav1.CreateOptions{})
	must(t, err)
}
