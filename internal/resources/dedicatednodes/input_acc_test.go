// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccDedicatedNodes_workloadThatCannotChangeNamesTheAttribute: what only the
// cluster can tell is told at plan.
func TestAccDedicatedNodes_workloadThatCannotChangeNamesTheAttribute(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	p := newPool(t, c, "Deployment")
	c.Make(t, acctest.Thing{APIVersion: "batch/v1", Kind: "Job", Namespace: p.namespace, Name: "job"}, map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
		"restartPolicy": "Never", "nodeSelector": map[string]any{"field": p.name}, "containers": []any{map[string]any{"name": "main", "image": "registry.k8s.io/pause:3.10.2"}},
	}}}})
	// It has started by then, and its template is fixed.
	acctest.Until(t, "the Job has started", func(ctx context.Context) (bool, error) {
		job, err := c.Admin.BatchV1().Jobs(p.namespace).Get(ctx, "job", metav1.GetOptions{})
		return err == nil && job.Status.StartTime != nil, err
	})
	for name, tt := range map[string]struct {
		workload map[string]any
		want     []string
	}{
		"a path to a number":                 {map[string]any{"kind": "Deployment", "name": "deployment", "path": "spec.replicas"}, []string{`.AttributeName("path")]`, "is not a list"}},
		"a path to a list of something else": {map[string]any{"kind": "Deployment", "name": "deployment", "path": "spec.template.spec.containers"}, []string{`.AttributeName("path")]`, "not a list of tolerations"}},
		"a Job that has started":             {map[string]any{"kind": "Job", "name": "job"}, []string{`ElementKeyInt(0)]`, "its template is fixed"}},
	} {
		t.Run(name, func(t *testing.T) {
			config := p.config(wish{taints: "team=a:NoExecute"})
			config["workloads"] = []any{acctest.With(tt.workload, map[string]any{"namespace": p.namespace})}
			acctest.WantAll(t, terraform(t, c).Plan(t, newInstance(), config).Diagnostics.Errors(), append(tt.want, `[AttributeName("workloads")`)...)
		})
	}
	p.want(wish{}, "Deployment")
}
