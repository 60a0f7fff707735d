// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// cronJob makes a CronJob that is suspended, so that it makes no Job whatever the date.
func (p *pool) cronJob(name string, tolerations ...any) acctest.Thing {
	p.t.Helper()
	thing := acctest.Thing{APIVersion: "batch/v1", Kind: "CronJob", Namespace: p.namespace, Name: name}
	p.c.Make(p.t, thing, map[string]any{"spec": map[string]any{"schedule": "0 0 1 1 *", "suspend": true, "jobTemplate": map[string]any{"spec": map[string]any{
		"template": map[string]any{"spec": map[string]any{
			"restartPolicy": "Never", "nodeSelector": map[string]any{"field": p.name},
			"tolerations": tolerations,
			"containers":  []any{map[string]any{"name": "main", "image": "registry.k8s.io/pause:3.10.2"}},
		}},
	}}}})
	return thing
}

// TestDedicatedNodes_customResourcesAndCronJobs has an object of a custom kind,
// of which an operator makes a workload, and a CronJob that has no pods, among the
// workloads, through a change of all and back.
func TestDedicatedNodes_customResourcesAndCronJobs(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p := newPool(t, c, "Deployment")
		foreign := map[string]any{"key": "foreign", "operator": "Exists"}
		widget := c.Widget(t, p.namespace, "widget", map[string]any{"placement": map[string]any{"tolerations": []any{foreign}}})
		cron := p.cronJob("cron", foreign)
		operand := acctest.Thing{APIVersion: "apps/v1", Kind: "Deployment", Namespace: p.namespace, Name: "deployment"}
		c.SetOwner(t, operand, c.Look(t, widget))
		deployment, _ := workload.Lookup("", "Deployment")
		cronJob, _ := workload.Lookup("", "CronJob")
		path := strings.Split(acctest.WidgetPath, ".")
		specs := func() []any { return []any{c.At(t, widget, []string{"spec"}), c.At(t, cron, []string{"spec"})} }
		before := specs()
		config := func(taints, labels string) map[string]any {
			return acctest.With(p.config(wish{taints: taints, labels: labels}), map[string]any{"workloads": []any{
				map[string]any{"api_version": acctest.WidgetVersion, "kind": "Widget", "namespace": p.namespace, "name": "widget", "path": acctest.WidgetPath},
				map[string]any{"kind": "CronJob", "namespace": p.namespace, "name": "cron", "pin": true},
			}})
		}
		tf, i := &acctest.Terraform{Provider: c.WidgetProvider(t)}, newInstance()
		evicted := c.Evictions(t, p.namespace)
		begin := c.Operate(t, widget, path, operand, deployment.Path)

		// The taint waits for the pods of what the operator makes.
		done := make(chan acctest.Diagnostics, 1)
		go func() { done <- tf.Apply(t, i, config("team=a:NoExecute", "dedicated=gpu")) }()
		acctest.Until(t, "the widget tolerates the taint", func(context.Context) (bool, error) {
			return len(c.TolerationsAt(t, widget, path)) == 2, nil
		})
		for _, node := range p.nodes {
			if taints := c.Taints(t, node); taints != foreignTaint {
				t.Fatalf("node %s has the taints %s before the pods tolerate them", node, taints)
			}
		}
		begin()
		if d := <-done; d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		p.settled("Deployment", wish{})
		for _, w := range []wish{{taints: "team=a:NoExecute", labels: "dedicated=gpu"}, {taints: "group=b:NoExecute", labels: "reserved=gpu"}} {
			tf.Settle(t, i, config(w.taints, w.labels))
			p.want(w)
			want := "foreign Exists, " + taint.FormatToleration(taint.TolerationFor(acctest.Parse(t, w.taints)[0]))
			for what, got := range map[string][]corev1.Toleration{"widget": c.TolerationsAt(t, widget, path), "CronJob": c.TolerationsAt(t, cron, cronJob.Path)} {
				if got := toleration.Format(got); got != want {
					t.Fatalf("the %s tolerates %s, want %s", what, got, want)
				}
			}
			required := map[string]any{"field": p.name}
			for key, value := range p.labels(w) {
				required[key] = value
			}
			if diff := cmp.Diff(any(required), c.At(t, cron, cronJob.Selector)); diff != "" {
				t.Fatalf("the CronJob requires other labels: %s", diff)
			}
		}
		tf.Destroy(t, i)
		p.want(wish{})
		if diff := cmp.Diff(before, specs()); diff != "" {
			t.Fatalf("the objects are not as they were: %s", diff)
		}
		for _, thing := range []acctest.Thing{widget, cron} {
			for _, annotation := range []string{toleration.OwnedAnnotation, label.OwnedAnnotation} {
				if mark, there := c.Look(t, thing).GetAnnotations()[annotation]; there {
					t.Errorf("%s %s keeps the mark %q", thing.Kind, thing.Name, mark)
				}
			}
		}
		p.settled("Deployment", wish{})
		if names := evicted(); len(names) > 0 {
			t.Fatalf("the taint-eviction controller deleted %v", names)
		}
	})
}

// TestDedicatedNodes_aWorkloadOfAnUninstalledKindIsGone: the plan names it, a configuration without it
// is applied, and a destroy ends.
func TestDedicatedNodes_aWorkloadOfAnUninstalledKindIsGone(t *testing.T) {
	t.Parallel()
	for name, reduced := range map[string]bool{"taken out of the configuration": true, "destroyed at once": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onFake(t, func(t *testing.T, c *acctest.Cluster) {
				p := newPool(t, c, "Deployment")
				c.Widget(t, p.namespace, "widget", map[string]any{"placement": map[string]any{}})
				deployment := map[string]any{"kind": "Deployment", "namespace": p.namespace, "name": "deployment"}
				widget := map[string]any{"api_version": acctest.WidgetVersion, "kind": "Widget", "namespace": p.namespace, "name": "widget", "path": acctest.WidgetPath}
				config := func(workloads ...any) map[string]any {
					return acctest.With(p.config(wish{taints: "team=a:NoExecute"}), map[string]any{"workloads": workloads})
				}
				provider := c.WidgetProvider(t)
				i := newInstance()
				if d := (&acctest.Terraform{Provider: provider}).Apply(t, i, config(deployment, widget)); d.Errors() != "" {
					t.Fatal(d.Errors())
				}
				c.UninstallWidgets()
				tf := &acctest.Terraform{Provider: provider}
				acctest.WantAll(t, tf.Plan(t, i, config(deployment, widget)).Diagnostics.Errors(), `Widget "`+p.namespace+`/widget"`, "serves no such kind")
				if reduced {
					tf.Settle(t, i, config(deployment))
				}
				tf.Destroy(t, i)
				p.want(wish{})
			})
		})
	}
}
