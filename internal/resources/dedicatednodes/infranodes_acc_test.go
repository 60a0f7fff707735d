// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// infraNodes returns the example of the guide, without its provider block.
func infraNodes(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "scenarios", "infra-nodes", "main.tf"))
	if err != nil {
		t.Fatal(err)
	}
	_, config, found := strings.Cut(string(text), "~/.kube/config\"\n}\n\n")
	if !found {
		t.Fatalf("the example has no provider block: %s", text)
	}
	return config
}

// TestAccDedicatedNodes_infraNodes applies the example of the guide "Move OpenShift infrastructure to infra nodes",
// as it stands, on the definitions of OpenShift, and takes it back. The objects of OpenShift have one name in
// the whole cluster, so that it runs alone.
//
//nolint:paralleltest // See above.
func TestAccDedicatedNodes_infraNodes(t *testing.T) {
	c := acctest.Alone(t)
	c.NeedMachines(t)
	operators := schema.GroupVersion{Group: "operator.openshift.io", Version: "v1"}
	c.OpenShiftKind(t, operators.WithResource("ingresscontrollers"), "operator", "v1", "zz_generated.crd-manifests", "0000_50_ingress_00_ingresscontrollers-Default.crd.yaml")
	registry := schema.GroupVersionResource{Group: "imageregistry.operator.openshift.io", Version: "v1", Resource: "configs"}
	c.OpenShiftKind(t, registry, "imageregistry", "v1", "zz_generated.crd-manifests", "00_configs.crd.yaml")
	for _, namespace := range []string{"openshift-machine-api", "openshift-ingress-operator"} {
		openShiftNamespace(t, c, namespace)
	}
	set := c.MachineSet(t, acctest.MachineSet{Namespace: "openshift-machine-api", Name: "infra", Replicas: 2, Labels: map[string]string{"role": "infra"}})
	c.Node(t, acctest.Node{Name: acctest.Name(t, "worker")})
	p := &pool{t: t, c: c, name: "infra", namespace: "openshift-ingress-operator"}
	var nodes []string
	for _, machine := range set.Machines() {
		nodes = append(nodes, machine.Status.NodeRef.Name)
	}
	slices.Sort(nodes)

	router := p.runs("IngressController", "default", map[string]any{"replicas": 2})
	images := p.runs("Config", "cluster", map[string]any{"managementState": "Managed", "replicas": 2})
	const byHand = "# by hand\nprometheusK8s:\n  retention: 15d # days\n"
	c.WriteConfig(t, byHand)
	monitoring := c.MonitoringNamespace(t)
	c.StatefulSet(t, monitoring, "prometheus-k8s", 2, nil)
	c.Deployment(t, monitoring, "thanos-querier", 2, nil)
	moved := []acctest.Thing{router.operand, images.operand, {Kind: "StatefulSet", Namespace: monitoring, Name: "prometheus-k8s"}, {Kind: "Deployment", Namespace: monitoring, Name: "thanos-querier"}}
	p.ends(moved...)
	before := []any{c.Look(t, router.object).Object["spec"], c.Look(t, images.object).Object["spec"]}
	p.operate(router)()
	p.operate(images)()
	c.Monitor(t)()

	cli := acctest.NewCLI(t)
	cli.Write(c.Provider(t), infraNodes(t))
	cli.MustRun("apply", "-auto-approve", "-input=false")
	cli.WantEmptyPlan()
	const taint = "node-role.kubernetes.io/infra:NoSchedule"
	set.Want(2, taint)
	for _, name := range nodes {
		if _, labelled := c.Get(t, name).Labels["node-role.kubernetes.io/infra"]; !labelled {
			t.Errorf("node %s has no label", name)
		}
	}
	for _, one := range moved {
		p.onlyOn(one, nodes)
	}

	cli.MustRun("destroy", "-auto-approve", "-input=false")
	set.Want(2, "")
	if diff := cmp.Diff(before, []any{c.Look(t, router.object).Object["spec"], c.Look(t, images.object).Object["spec"]}); diff != "" {
		t.Errorf("the objects are not as they were: %s", diff)
	}
	if diff := cmp.Diff(byHand, c.Config(t).Data[workload.ConfigKey]); diff != "" || len(c.Config(t).Annotations) > 0 {
		t.Errorf("the ConfigMap is not as it was: %s%v", diff, c.Config(t).Annotations)
	}

	// A ConfigMap that does not exist is created, and deleted with the last entry.
	config := acctest.MonitoringConfig()
	if err := c.Admin.CoreV1().ConfigMaps(config.Namespace).Delete(t.Context(), config.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	cli.MustRun("apply", "-auto-approve", "-input=false")
	if made := c.Config(t); made == nil || made.Annotations[workload.CreatedAnnotation] == "" {
		t.Errorf("the ConfigMap is %v", made)
	}
	cli.WantEmptyPlan()
	cli.MustRun("destroy", "-auto-approve", "-input=false")
	if left := c.Config(t); left != nil {
		t.Errorf("the ConfigMap is left: %v", left)
	}
}

// runs makes an object by which an operator places pods, and a workload that may run anywhere.
func (p *pool) runs(kind, name string, spec map[string]any) placed {
	p.t.Helper()
	return p.placeOn(kind, name, spec, func(*corev1.PodSpec) {})
}
