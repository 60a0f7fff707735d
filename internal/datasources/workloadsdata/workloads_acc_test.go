// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadsdata_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

const (
	typeName    = "kubetaint_workloads"
	dedicated   = "dedicated=gpu:NoExecute"
	unreachable = "node.kubernetes.io/unreachable:NoExecute"
)

var (
	forever    = corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "gpu", Effect: corev1.TaintEffectNoExecute}
	everything = corev1.Toleration{Operator: corev1.TolerationOpExists}
)

func forSeconds(seconds int64) corev1.Toleration {
	return corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds}
}

// workloadNamespace is a node of its own and workloads of every kind on it, made by the
// real controllers. The node has no kubelet, so that pods stay as they
// are: kwok would run a Job's pod to its end.
type workloadNamespace struct {
	t               *testing.T
	c               *acctest.Cluster
	namespace, node string
}

func newVillage(t *testing.T) workloadNamespace {
	t.Helper()
	return villageOn(t, acctest.Connect(t))
}

func villageOn(t *testing.T, c *acctest.Cluster) workloadNamespace {
	t.Helper()
	v := workloadNamespace{t: t, c: c, namespace: c.Namespace(t), node: acctest.Name(t, "node")}
	c.Node(t, acctest.Node{Name: v.node, Labels: map[string]string{"village": v.node}, Quiet: true})
	acctest.Until(t, "the node has room for pods", func(ctx context.Context) (bool, error) {
		room := []byte(`{"status":{"capacity":{"pods":"110"},"allocatable":{"pods":"110"}}}`)
		_, err := c.Admin.CoreV1().Nodes().Patch(ctx, v.node, types.MergePatchType, room, metav1.PatchOptions{}, "status")
		return err == nil, err
	})
	return v
}

func (v workloadNamespace) must(_ any, err error) {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
}

func (v workloadNamespace) meta(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

func (v workloadNamespace) selector(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
}

// template is of pods that only the village's node takes.
func (v workloadNamespace) template(name string, tolerations ...corev1.Toleration) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}}, Spec: corev1.PodSpec{
		NodeSelector: map[string]string{"village": v.node}, Tolerations: tolerations,
		Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10.2"}},
	}}
}

// pods waits until a workload has so many running pods for which something holds.
func (v workloadNamespace) pods(name string, count int, holds func(corev1.Pod) bool) {
	v.t.Helper()
	acctest.Until(v.t, fmt.Sprintf("%s has %d pods", name, count), func(ctx context.Context) (bool, error) {
		list, err := v.c.Admin.CoreV1().Pods(v.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + name})
		if err != nil {
			return false, err
		}
		found := 0
		for _, p := range list.Items {
			if p.DeletionTimestamp == nil && holds(p) {
				found++
			}
		}
		return found == count && len(list.Items) == count, nil
	})
}

func bound(p corev1.Pod) bool { return p.Spec.NodeName != "" }

// settle makes a workload of every kind:
//
//	Deployment/web   2 pods that tolerate the taint for 60s
//	Deployment/idle  none
//	Deployment/stuck 1 pod that no node takes
//	DaemonSet/agent  1 pod that does not, with what its controller adds
//	StatefulSet/db   2 pods, of which one has the new template and tolerates it forever
//	CronJob/nightly  1 pod of a Job that was made of it
//	Job/once         1 pod that tolerates everything
//	Pod/shadowed     tolerates it for 30s, as a later toleration is not heard
//	Pod/done, leaves ended, or on its way out
func (v workloadNamespace) settle() {
	v.t.Helper()
	ctx, apps, batch := v.t.Context(), v.c.Admin.AppsV1(), v.c.Admin.BatchV1()
	one, two, none, yes := int32(1), int32(2), int32(0), true
	deployment := func(name string, replicas *int32, template corev1.PodTemplateSpec) {
		v.must(apps.Deployments(v.namespace).Create(ctx, &appsv1.Deployment{ObjectMeta: v.meta(name), Spec: appsv1.DeploymentSpec{
			Replicas: replicas, Selector: v.selector(name), Template: template,
		}}, metav1.CreateOptions{}))
	}
	deployment("web", &two, v.template("web", forSeconds(60)))
	deployment("idle", &none, v.template("idle", everything))
	stuck := v.template("stuck")
	stuck.Spec.NodeSelector = map[string]string{"village": "nowhere"}
	deployment("stuck", &one, stuck)
	v.must(apps.DaemonSets(v.namespace).Create(ctx, &appsv1.DaemonSet{ObjectMeta: v.meta("agent"), Spec: appsv1.DaemonSetSpec{
		Selector: v.selector("agent"), Template: v.template("agent"),
	}}, metav1.CreateOptions{}))
	v.must(apps.StatefulSets(v.namespace).Create(ctx, &appsv1.StatefulSet{ObjectMeta: v.meta("db"), Spec: appsv1.StatefulSetSpec{
		Replicas: &two, Selector: v.selector("db"), Template: v.template("db"), PodManagementPolicy: appsv1.ParallelPodManagement,
		UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
	}}, metav1.CreateOptions{}))
	job := func(name string, owners []metav1.OwnerReference, tolerations ...corev1.Toleration) {
		template := v.template(name, tolerations...)
		template.Spec.RestartPolicy = corev1.RestartPolicyNever
		v.must(batch.Jobs(v.namespace).Create(ctx, &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners}, Spec: batchv1.JobSpec{Template: template},
		}, metav1.CreateOptions{}))
	}
	job("once", nil, everything)
	template := v.template("nightly-1")
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	nightly, err := batch.CronJobs(v.namespace).Create(ctx, &batchv1.CronJob{ObjectMeta: v.meta("nightly"), Spec: batchv1.CronJobSpec{
		Schedule: "0 3 * * *", Suspend: &yes, JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template}},
	}}, metav1.CreateOptions{})
	v.must(nightly, err)
	// As "kubectl create job --from=cronjob/nightly" does.
	job("nightly-1", []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", Name: "nightly", UID: nightly.UID, Controller: &yes}}, forever)
	v.c.Pod(v.t, v.namespace, "shadowed", v.node, func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{forSeconds(30), forSeconds(20), forever}
	})
	done := v.c.Pod(v.t, v.namespace, "done", v.node, nil)
	done.Status.Phase = corev1.PodSucceeded
	v.must(v.c.Admin.CoreV1().Pods(v.namespace).UpdateStatus(ctx, done, metav1.UpdateOptions{}))
	v.c.Pod(v.t, v.namespace, "leaves", v.node, nil)
	v.must(nil, v.c.Admin.CoreV1().Pods(v.namespace).Delete(ctx, "leaves", metav1.DeleteOptions{}))

	v.pods("web", 2, bound)
	v.pods("stuck", 1, func(p corev1.Pod) bool { return !bound(p) })
	v.pods("agent", 1, bound)
	v.pods("once", 1, bound)
	v.pods("nightly-1", 1, bound)
	v.pods("db", 2, bound)
	v.rollHalf()
}

// rollHalf leaves the StatefulSet in the middle of a rollout: only the pod that
// is deleted gets the new template.
func (v workloadNamespace) rollHalf() {
	v.t.Helper()
	ctx := v.t.Context()
	patch := `{"spec":{"template":{"spec":{"tolerations":[{"key":"dedicated","operator":"Equal","value":"gpu","effect":"NoExecute"}]}}}}`
	patched, err := v.c.Admin.AppsV1().StatefulSets(v.namespace).Patch(ctx, "db", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	v.must(patched, err)
	acctest.Until(v.t, "the StatefulSet has a new revision", func(ctx context.Context) (bool, error) {
		s, err := v.c.Admin.AppsV1().StatefulSets(v.namespace).Get(ctx, "db", metav1.GetOptions{})
		return err == nil && s.Status.ObservedGeneration >= patched.Generation && s.Status.UpdateRevision != s.Status.CurrentRevision, err
	})
	now := int64(0)
	v.must(nil, v.c.Admin.CoreV1().Pods(v.namespace).Delete(ctx, "db-0", metav1.DeleteOptions{GracePeriodSeconds: &now}))
	v.pods("db", 2, func(p corev1.Pod) bool {
		at := strings.Contains(fmt.Sprint(p.Spec.Tolerations), "dedicated")
		return bound(p) && at == (p.Name == "db-0")
	})
}

// told writes the answers of a data source in a line for each workload.
func told(t *testing.T, tf *acctest.Terraform, config map[string]any) []string {
	t.Helper()
	got, d := tf.Data(t, typeName, config)
	if len(d) > 0 {
		t.Fatal(d.Errors() + d.Warnings())
	}
	length := func(of map[string]any) string {
		switch {
		case of["uncertain"] == true:
			return "uncertain"
		case of["tolerates"] == false && of["for_seconds"] == int64(0):
			return "no"
		case of["tolerates"] == true && of["for_seconds"] == nil:
			return "forever"
		}
		return fmt.Sprintf("%v for %v", of["tolerates"], of["for_seconds"])
	}
	var out []string
	for _, each := range got["workloads"].([]any) {
		w := each.(map[string]any)
		line := fmt.Sprintf("%s/%s %d", w["kind"], w["name"], w["pods"])
		if w["pods_differ"] == true {
			line += " that differ"
		}
		line += ": " + length(w) + " in all"
		for _, one := range w["taints"].([]any) {
			taint := one.(map[string]any)
			line += fmt.Sprintf("; %s", length(taint))
			if taint["toleration"] != nil {
				line += fmt.Sprintf(" by %s", taint["toleration"])
			}
			for _, s := range taint["shadowed"].([]any) {
				line += fmt.Sprintf(", not %s", s)
			}
		}
		out = append(out, line)
	}
	return out
}

func TestAccWorkloads_showWhichTolerationDecidesAndForHowLong(t *testing.T) {
	t.Parallel()
	v := newVillage(t)
	v.settle()
	tf := &acctest.Terraform{Provider: v.c.Provider(t)}
	const byDefault = "true for 300 in all; true for 300 by node.kubernetes.io/unreachable Exists:NoExecute for 300s"
	for name, tt := range map[string]struct {
		taints, selector string
		want             []string
	}{
		"a taint that is about to come": {dedicated, "", []string{
			"CronJob/nightly 1: forever in all; forever by dedicated=gpu:NoExecute",
			"DaemonSet/agent 1: no in all; no",
			"Deployment/stuck 1: no in all; no",
			"Deployment/web 2: true for 60 in all; true for 60 by dedicated Exists:NoExecute for 60s",
			"Job/once 1: forever in all; forever by Exists",
			"Pod/shadowed 1: true for 30 in all; true for 30 by dedicated Exists:NoExecute for 30s, not dedicated=gpu:NoExecute",
			"StatefulSet/db 2 that differ: no in all; no",
		}},
		// Admission gives every pod 300s, and the DaemonSet's controller gives its
		// pods all the time there is.
		"a taint of a controller": {unreachable, "", []string{
			"CronJob/nightly 1: " + byDefault,
			"DaemonSet/agent 1: forever in all; forever by node.kubernetes.io/unreachable Exists:NoExecute",
			"Deployment/stuck 1: " + byDefault,
			"Deployment/web 2: " + byDefault,
			"Job/once 1: forever in all; forever by Exists",
			"Pod/shadowed 1: " + byDefault,
			"StatefulSet/db 2: " + byDefault,
		}},
		"several taints": {unreachable + " " + dedicated, "app in (web, db, agent)", []string{
			"DaemonSet/agent 1: no in all; no; forever by node.kubernetes.io/unreachable Exists:NoExecute",
			"Deployment/web 2: true for 60 in all; true for 60 by dedicated Exists:NoExecute for 60s; true for 300 by node.kubernetes.io/unreachable Exists:NoExecute for 300s",
			"StatefulSet/db 2 that differ: no in all; no; true for 300 by node.kubernetes.io/unreachable Exists:NoExecute for 300s",
		}},
		"pods of one workload that a selector takes": {dedicated, "statefulset.kubernetes.io/pod-name=db-0", []string{
			"StatefulSet/db 1: forever in all; forever by dedicated=gpu:NoExecute",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			config := map[string]any{"taints": acctest.Objects(t, tt.taints), "namespaces": []string{v.namespace}}
			if tt.selector != "" {
				config["selector"] = tt.selector
			}
			if diff := cmp.Diff(tt.want, told(t, tf, config)); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("without a namespace all are looked at", func(t *testing.T) {
		other := v.c.Namespace(t)
		v.c.Pod(t, other, "alone", v.node, func(p *corev1.Pod) { p.Labels = map[string]string{"app": v.node} })
		want := []string{"Pod/alone 1: no in all; no"}
		if diff := cmp.Diff(want, told(t, tf, map[string]any{"taints": acctest.Objects(t, dedicated), "selector": "app=" + v.node})); diff != "" {
			t.Error(diff)
		}
	})
}

// TestAccWorkloads_listPodsOnce: however many data sources ask. Policies and rollouts of
// other tests would be asked about as well.
//
//nolint:paralleltest // See above.
func TestAccWorkloads_listPodsOnce(t *testing.T) {
	v := villageOn(t, acctest.Alone(t))
	cli := acctest.NewCLI(t)
	v.c.Pod(t, v.namespace, "tool", v.node, func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{forSeconds(60)} })
	audit, provider := v.c.Audit(t)
	cli.Write(provider, fmt.Sprintf(`
data "kubetaint_workloads" "this" {
  for_each   = toset(["a", "b", "dedicated"])
  namespaces = [%[1]q]
  taints     = [{ key = each.key, value = "gpu", effect = "NoExecute" }]
}

data "kubetaint_eviction_preview" "this" {
  node_name = %[2]q
  taints    = [{ key = "dedicated", value = "gpu", effect = "NoExecute" }]
}

output "told" {
  value = join(",", [for key, found in data.kubetaint_workloads.this : "${key} ${found.workloads[0].tolerates} ${found.workloads[0].for_seconds}"])
}
`, v.namespace, v.node))
	audit.Reset()
	if out := cli.MustRun("plan", "-input=false"); !strings.Contains(out, "a false 0,b false 0,dedicated true 60") {
		t.Errorf("the plan does not show the answers:\n%s", out)
	}
	count := map[string]int{}
	for _, r := range audit.Requests() {
		count[r.String()]++
	}
	want := map[string]int{"list nodes": 1, "list pods": 1, "list daemonsets": 1, "list replicasets": 1, "list jobs": 1, "list poddisruptionbudgets": 1, "list mutatingadmissionpolicies": 1, "list persistentvolumes": 1}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Errorf("other requests of one plan: %s", diff)
	}
}
