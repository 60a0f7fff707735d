// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// job carries out one of the guide's jobs with the real command line.
type job struct {
	c   *acctest.Cluster
	cli *acctest.CLI
	// own is the name of the test's namespace, which is the value of labels as well.
	own    string
	config string
}

// node makes a node with a label of the test's own.
func (j job) node(t *testing.T, label string, taints ...corev1.Taint) {
	t.Helper()
	labels := map[string]string{label: j.own}
	if len(taints) > 0 {
		labels[taints[0].Key] = ""
	}
	j.c.Node(t, acctest.Node{Name: j.own, Labels: labels, Taints: taints})
}

// apply plans and applies the guide's configuration, with names of the test's own.
func (j job) apply(t *testing.T, names ...string) {
	t.Helper()
	j.cli.Write(j.c.Provider(t), strings.NewReplacer(names...).Replace(j.config))
	j.cli.MustRun("plan", "-input=false", "-out=plan")
	j.cli.MustRun("apply", "-input=false", "plan")
	j.cli.WantEmptyPlan()
}

func (j job) destroy(t *testing.T, node, taints string) {
	t.Helper()
	j.cli.MustRun("destroy", "-input=false", "-auto-approve")
	j.wantTaints(t, node, taints)
}

func (j job) wantTaints(t *testing.T, node, want string) {
	t.Helper()
	if got := j.c.Taints(t, node); got != want {
		t.Errorf("node %s has the taints %q, want %q", node, got, want)
	}
}

func (j job) wantTolerations(t *testing.T, namespace, kind, name, want string) {
	t.Helper()
	if got := j.c.Tolerations(t, namespace, kind, name); got != want {
		t.Errorf("%s %s tolerates %q, want %q", kind, name, got, want)
	}
}

// carriedOut are the guide's jobs by their headings, and what each must come to.
var carriedOut = map[string]func(t *testing.T, j job){
	"Taint a GPU pool": func(t *testing.T, j job) {
		j.node(t, "accelerator")
		j.c.DaemonSet(t, j.own, "nvidia-device-plugin", 1, j.onlyOn("accelerator"))
		j.apply(t, "accelerator=nvidia", "accelerator="+j.own, "gpu-operator", j.own)
		j.wantTaints(t, j.own, "nvidia.com/gpu=present:NoSchedule")
		j.wantTolerations(t, j.own, "DaemonSet", "nvidia-device-plugin", "nvidia.com/gpu Exists:NoSchedule")
		j.destroy(t, j.own, "")
	},
	"Dedicate nodes to a team": func(t *testing.T, j job) {
		j.node(t, "pool")
		for _, name := range []string{"checkout", "cart"} {
			j.c.Deployment(t, j.own, name, 1, j.onlyOn("pool"))
		}
		j.c.Pod(t, j.own, "other", j.own, nil)
		j.apply(t, "pool=shop", "pool="+j.own, `"shop"`, `"`+j.own+`"`)
		j.wantTaints(t, j.own, "dedicated="+j.own+":NoExecute")
		for _, name := range []string{"checkout", "cart"} {
			j.wantTolerations(t, j.own, "Deployment", name, "dedicated="+j.own+":NoExecute")
			j.c.Running(t, j.own, name, 1)
			if spec, _ := j.c.Template(t, j.own, "Deployment", name); spec.NodeSelector["example.com/dedicated"] != j.own {
				t.Errorf("%s selects the nodes %v", name, spec.NodeSelector)
			}
		}
		j.gone(t, "other")
		j.destroy(t, j.own, "")
	},
	"OpenShift infra nodes": infraNodes,
	"Remove the control-plane taint of a single-node cluster": func(t *testing.T, j job) {
		const key = "node-role.kubernetes.io/control-plane"
		j.node(t, "pool", corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
		j.apply(t, `node_selector = "`+key+`"`, `node_selector = "`+key+`,pool=`+j.own+`"`)
		j.wantTaints(t, j.own, "")
		j.destroy(t, j.own, key+":NoSchedule")
	},
	"Fail a pull request above five evictions": func(t *testing.T, j job) {
		j.node(t, "pool")
		pods := []string{"one", "two", "three", "four", "five", "six"}
		for _, name := range pods {
			j.c.Pod(t, j.own, name, j.own, nil)
		}
		names := []string{"pool=batch", "pool=" + j.own, `"batch"`, `"` + j.own + `"`}
		j.cli.Write(j.c.Provider(t), strings.NewReplacer(names...).Replace(j.config))
		out, ok := j.cli.Run("plan", "-input=false")
		if ok {
			t.Error("a plan that evicts six pods does not fail")
		}
		acctest.WantAll(t, acctest.Unfold(out), "6 pods would be evicted, and max_pods allows 5")
		now := int64(0)
		if err := j.c.Admin.CoreV1().Pods(j.own).Delete(t.Context(), "six", metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
			t.Fatal(err)
		}
		j.gone(t, "six")
		j.apply(t, names...)
		j.wantTaints(t, j.own, "dedicated="+j.own+":NoExecute")
		j.gone(t, pods...)
		j.destroy(t, j.own, "")
	},
}

// TestAccJobs_guideHoldsWhatItShows takes each job from the page, and plans, applies and
// destroys it.
func TestAccJobs_guideHoldsWhatItShows(t *testing.T) {
	t.Parallel()
	all := jobs(t)
	if got, want := slices.Sorted(maps.Keys(all)), slices.Sorted(maps.Keys(carriedOut)); !slices.Equal(got, want) {
		t.Errorf("the guide has the jobs %q, and this test carries out %q", got, want)
	}
	for heading, config := range all {
		t.Run(heading, func(t *testing.T) {
			if heading == "OpenShift infra nodes" {
				// Its objects have names that every cluster has.
				infraNodes(t, job{c: acctest.Alone(t), cli: acctest.NewCLI(t), config: config})
				return
			}
			t.Parallel()
			j := job{c: acctest.Connect(t), cli: acctest.NewCLI(t), config: config}
			j.own = j.c.Namespace(t)
			carriedOut[heading](t, j)
		})
	}
}

// onlyOn keeps pods on the test's node.
func (j job) onlyOn(label string) func(*corev1.PodSpec) {
	return func(p *corev1.PodSpec) { p.NodeSelector = map[string]string{label: j.own} }
}

// gone waits until pods are gone.
func (j job) gone(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		acctest.Until(t, "pod "+name+" is gone", func(ctx context.Context) (bool, error) {
			_, err := j.c.Admin.CoreV1().Pods(j.own).Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return true, nil
			}
			return false, err
		})
	}
}

// place makes a namespace of OpenShift's, which stays for other tests.
func (j job) place(t *testing.T, namespace string) {
	t.Helper()
	_, err := j.c.Admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// infraNodes applies the job as it is on the page, with OpenShift's own definitions of the
// kinds; the test plays the operators.
func infraNodes(t *testing.T, j job) {
	t.Helper()
	j.c.NeedMachines(t)
	for _, namespace := range []string{"openshift-machine-api", "openshift-ingress-operator", "openshift-ingress", "openshift-image-registry"} {
		j.place(t, namespace)
	}
	j.c.OpenShiftKind(t, schema.GroupVersionResource{Group: "operator.openshift.io", Version: "v1", Resource: "ingresscontrollers"},
		"operator", "v1", "zz_generated.crd-manifests", "0000_50_ingress_00_ingresscontrollers-Default.crd.yaml")
	j.c.OpenShiftKind(t, schema.GroupVersionResource{Group: "imageregistry.operator.openshift.io", Version: "v1", Resource: "configs"},
		"imageregistry", "v1", "zz_generated.crd-manifests", "00_configs.crd.yaml")
	pool := j.c.MachineSet(t, acctest.MachineSet{Namespace: "openshift-machine-api", Name: "infra", Replicas: 1})
	router := acctest.Thing{APIVersion: "operator.openshift.io/v1", Kind: "IngressController", Namespace: "openshift-ingress-operator", Name: "default"}
	registry := acctest.Thing{APIVersion: "imageregistry.operator.openshift.io/v1", Kind: "Config", Name: "cluster"}
	j.c.Make(t, router, map[string]any{"spec": map[string]any{"replicas": 1}})
	j.c.Make(t, registry, map[string]any{"spec": map[string]any{"managementState": "Managed", "replicas": 1}})
	const byHand = "# by hand\nprometheusK8s:\n  retention: 15d # days\n"
	j.c.WriteConfig(t, byHand)
	moved := []acctest.Thing{
		{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "openshift-ingress", Name: "router-default"},
		{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "openshift-image-registry", Name: "image-registry"},
		{APIVersion: "apps/v1", Kind: "Deployment", Namespace: j.c.MonitoringNamespace(t), Name: "thanos-querier"},
	}
	for _, operand := range moved {
		j.c.Deployment(t, operand.Namespace, operand.Name, 1, nil)
		t.Cleanup(func() {
			_ = j.c.Admin.AppsV1().Deployments(operand.Namespace).Delete(context.Background(), operand.Name, metav1.DeleteOptions{})
		})
	}
	template, _ := workload.Lookup("", "Deployment")
	for i, object := range []acctest.Thing{router, registry} {
		kind, _ := workload.Lookup("", object.Kind)
		j.c.Operate(t, object, kind.Path, moved[i], template.Path)()
		j.c.Operate(t, object, kind.Selector, moved[i], template.Selector)()
	}
	j.c.Monitor(t)()
	j.apply(t)
	pool.Want(1, "node-role.kubernetes.io/infra:NoSchedule")
	for _, machine := range pool.Machines() {
		if _, labelled := j.c.Get(t, machine.Status.NodeRef.Name).Labels["node-role.kubernetes.io/infra"]; !labelled {
			t.Errorf("node %s does not have the label", machine.Status.NodeRef.Name)
		}
	}
	for _, operand := range moved {
		j.wantTolerations(t, operand.Namespace, "Deployment", operand.Name, "node-role.kubernetes.io/infra:NoSchedule")
		if spec, _ := j.c.Template(t, operand.Namespace, "Deployment", operand.Name); len(spec.NodeSelector) != 1 {
			t.Errorf("%s selects the nodes %v", operand.Name, spec.NodeSelector)
		}
	}
	j.cli.MustRun("destroy", "-input=false", "-auto-approve")
	pool.Want(1, "")
	if text := j.c.Config(t).Data[workload.ConfigKey]; text != byHand {
		t.Errorf("the text of the monitoring is not as it was: %s", text)
	}
}
