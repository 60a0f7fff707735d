// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// TestAccEvictionPreview_recreatedPodsHaveTheTolerationsOfAdmission: the pod that comes after a change
// of its template has the tolerations that the preview counts with, whatever the template loses.
func TestAccEvictionPreview_recreatedPodsHaveTheTolerationsOfAdmission(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	namespace, seconds := c.Namespace(t), int64(700)
	exists := func(key string, effect corev1.TaintEffect, seconds *int64) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect, TolerationSeconds: seconds}
	}
	templates := map[string][]corev1.Toleration{
		"none":                             nil,
		"everything":                       {exists("", "", nil)},
		"everything with NoExecute":        {exists("", corev1.TaintEffectNoExecute, nil)},
		"everything with NoSchedule":       {exists("", corev1.TaintEffectNoSchedule, nil)},
		"another taint":                    {exists("team", "", nil)},
		"not-ready with every effect":      {exists(corev1.TaintNodeNotReady, "", nil)},
		"not-ready with NoExecute":         {exists(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute, &seconds)},
		"unreachable with every effect":    {exists(corev1.TaintNodeUnreachable, "", nil)},
		"unreachable with NoSchedule":      {exists(corev1.TaintNodeUnreachable, corev1.TaintEffectNoSchedule, nil)},
		"not-ready and unreachable, short": {exists(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute, &seconds), exists(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute, &seconds)},
	}
	admitted := map[string][]corev1.Toleration{}
	for name, template := range templates {
		pod, err := c.Admin.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "next"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10.2"}}, Tolerations: template},
		}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			t.Fatal(err)
		}
		admitted[name] = pod.Spec.Tolerations
	}
	for before, live := range admitted {
		for after, want := range admitted {
			got := eviction.Planned{Before: templates[before], After: templates[after]}.OfPod(live)
			if diff := cmp.Diff(toleration.Sort(slices.Clone(want)), toleration.Sort(got)); diff != "" {
				t.Errorf("from %s to %s (-admission +preview):\n%s", before, after, diff)
			}
		}
	}
}

// TestAccEvictionPreview_aJobOfACronJobIsEvicted: the pod of a Job is told by the CronJob that it was
// made of, and is evicted like any other.
func TestAccEvictionPreview_aJobOfACronJobIsEvicted(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	node, namespace, yes := acctest.Name(t, "node"), c.Namespace(t), true
	c.Node(t, acctest.Node{Name: node, Labels: map[string]string{"pool": node}})
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "nightly"}}, Spec: corev1.PodSpec{
		NodeSelector: map[string]string{"pool": node}, RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: new(int64(1)),
		Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10.2"}},
	}}
	batch, spec := c.Admin.BatchV1(), batchv1.JobSpec{Template: template}
	cronJob, err := batch.CronJobs(namespace).Create(t.Context(), &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "nightly"}, Spec: batchv1.CronJobSpec{
		Schedule: "0 3 * * *", Suspend: &yes, JobTemplate: batchv1.JobTemplateSpec{Spec: spec},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// As "kubectl create job --from=cronjob/nightly" does.
	owner := metav1.OwnerReference{APIVersion: "batch/v1", Kind: "CronJob", Name: cronJob.Name, UID: cronJob.UID, Controller: &yes}
	if _, err := batch.Jobs(namespace).Create(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "nightly-1", OwnerReferences: []metav1.OwnerReference{owner}}, Spec: spec}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Running(t, namespace, "nightly", 1)
	preview, d := (&acctest.Terraform{Provider: c.Provider(t)}).Data(t, "kubetaint_eviction_preview", map[string]any{"node_name": node, "taints": acctest.Objects(t, "team=a:NoExecute")})
	if d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	said, _ := preview["pods"].([]any)
	if len(said) != 1 {
		t.Fatalf("pods are %v", said)
	}
	pod, _ := said[0].(map[string]any)
	if pod["owner"] != "CronJob/nightly" || pod["verdict"] != "evicted_now" {
		t.Errorf("pod %v of %v: %v", pod["name"], pod["owner"], pod["verdict"])
	}
	evicted := c.Evictions(t, namespace)
	c.Patch(t, node, `{"spec":{"taints":[{"key":"team","value":"a","effect":"NoExecute"}]}}`)
	acctest.Until(t, "the pod is gone", func(ctx context.Context) (bool, error) {
		pods, err := c.Admin.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		return err == nil && !slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool { return p.Name == pod["name"] }), err
	})
	if names := evicted(); len(names) != 1 || names[0] != pod["name"] {
		t.Errorf("evicted were %v, want %v", names, pod["name"])
	}
}
