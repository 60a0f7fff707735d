// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// beforeNodes ends a run before its first write to a node.
type beforeNodes struct {
	http.RoundTripper
	cancel context.CancelFunc
}

func (b beforeNodes) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPatch && strings.HasPrefix(r.URL.Path, "/api/v1/nodes/") {
		b.cancel()
		return nil, errors.New("interrupted")
	}
	return b.RoundTripper.RoundTrip(r)
}

// interrupt applies a configuration and ends the run where a transport decides.
func (p *pool) interrupt(tf *acctest.Terraform, i *acctest.Instance, config map[string]any, transport func(http.RoundTripper, context.CancelFunc) http.RoundTripper) string {
	p.t.Helper()
	planned := tf.Plan(p.t, i, config)
	ctx, cancel := context.WithCancel(p.t.Context())
	defer cancel()
	ended := &acctest.Terraform{Provider: tf.Provider, Context: ctx, Transport: func() http.RoundTripper { return transport(p.c.REST.Transport, cancel) }}
	d := ended.Carry(p.t, i, planned, config)
	if d.Errors() == "" {
		p.t.Fatal("the apply was not interrupted")
	}
	return d.Errors()
}

// atNodes interrupts an apply before its first write to a node.
func (p *pool) atNodes(tf *acctest.Terraform, i *acctest.Instance, config map[string]any) string {
	p.t.Helper()
	return p.interrupt(tf, i, config, func(next http.RoundTripper, cancel context.CancelFunc) http.RoundTripper {
		return beforeNodes{next, cancel}
	})
}

// TestDedicatedNodes_anInterruptedUpdateIsDriftOfEveryKind where the configuration of before is
// restored: what the update added is removed, of kinds that the provider does not know as well.
func TestDedicatedNodes_anInterruptedUpdateIsDriftOfEveryKind(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"Widget", "CronJob"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			onFake(t, func(t *testing.T, c *acctest.Cluster) {
				p := newPool(t, c)
				var thing acctest.Thing
				var one map[string]any
				path := acctest.WidgetPath
				if kind == "CronJob" {
					thing, one = p.cronJob("cron"), map[string]any{"kind": "CronJob", "namespace": p.namespace, "name": "cron"}
					path = "spec.jobTemplate.spec.template.spec.tolerations"
				} else {
					thing = c.Widget(t, p.namespace, "widget", map[string]any{"placement": map[string]any{}})
					one = map[string]any{"api_version": acctest.WidgetVersion, "kind": "Widget", "namespace": p.namespace, "name": "widget", "path": path}
				}
				config := func(taints string) map[string]any {
					return acctest.With(p.config(wish{taints: taints}), map[string]any{"workloads": []any{one}})
				}
				want := func(tolerations string) {
					t.Helper()
					if got := toleration.Format(c.TolerationsAt(t, thing, strings.Split(path, "."))); got != tolerations {
						t.Fatalf("the %s tolerates %q, want %q", kind, got, tolerations)
					}
				}
				tf, i := &acctest.Terraform{Provider: c.WidgetProvider(t)}, newInstance()
				tf.Settle(t, i, config("team=a:NoSchedule"))
				p.atNodes(tf, i, config("group=b:NoSchedule"))
				want("group=b:NoSchedule, team=a:NoSchedule")
				again := tf.Plan(t, i, config("team=a:NoSchedule"))
				if again.Empty {
					t.Error("the plan is empty, and group=b:NoSchedule is on the object")
				}
				if w := again.Diagnostics.Warnings(); strings.Contains(w, "which this resource removed before") {
					t.Errorf("the plan takes an entry of its own for one that others restored: %s", w)
				}
				tf.Settle(t, i, config("team=a:NoSchedule"))
				want("team=a:NoSchedule")
			})
		})
	}
}

// afterDeployment ends a run after its first write to a Deployment.
type afterDeployment struct {
	http.RoundTripper
	cancel context.CancelFunc
}

func (a afterDeployment) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := a.RoundTripper.RoundTrip(r)
	if r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/deployments/") && r.URL.Query().Get("dryRun") == "" {
		a.cancel()
	}
	return resp, err
}

// TestDedicatedNodes_aWorkloadOfAnInterruptedUpdateIsDrift where the configuration of before, which does
// not name it, is restored. Nothing changes otherwise.
func TestDedicatedNodes_aWorkloadOfAnInterruptedUpdateIsDrift(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		// lost is set where the process was killed: the private state is empty then.
		lost bool
		// plan plans the configuration of before.
		plan func(t *testing.T, tf *acctest.Terraform, i *acctest.Instance, config map[string]any) acctest.Planned
	}{
		"a stopped update":                 {false, planned},
		"a killed update":                  {true, planned},
		"a stopped update, -refresh=false": {false, plannedWithoutRefresh},
		"a killed update, -refresh=false":  {true, plannedWithoutRefresh},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onFake(t, func(t *testing.T, c *acctest.Cluster) {
				p := newPool(t, c, "Deployment", "StatefulSet")
				before := wish{taints: "team=a:NoSchedule", labels: "dedicated=gpu", workloads: map[string]string{"StatefulSet": tolerating}}
				more := before
				more.workloads = map[string]string{"StatefulSet": tolerating, "Deployment": pinned}
				tf, i := terraform(t, c), newInstance()
				tf.Settle(t, i, p.config(before))
				p.interrupt(tf, i, p.config(more), func(next http.RoundTripper, cancel context.CancelFunc) http.RoundTripper {
					return afterDeployment{next, cancel}
				})
				p.wantTemplate("Deployment", more)
				if tt.lost {
					i.Private = nil
				}
				again := tt.plan(t, tf, i, p.config(before))
				if again.Empty {
					t.Fatal("the plan is empty, and the Deployment is pinned")
				}
				if d := tf.Carry(t, i, again, p.config(before)); d.Errors() != "" {
					t.Fatal(d.Errors())
				}
				p.want(before, "Deployment", "StatefulSet")
				tf.Settle(t, i, p.config(before))
			})
		})
	}
}

func planned(t *testing.T, tf *acctest.Terraform, i *acctest.Instance, config map[string]any) acctest.Planned {
	t.Helper()
	return tf.Plan(t, i, config)
}

func plannedWithoutRefresh(t *testing.T, tf *acctest.Terraform, i *acctest.Instance, config map[string]any) acctest.Planned {
	t.Helper()
	return tf.Walk(t).Plan(i, config)
}

// TestDedicatedNodes_thePolicyOfAnInterruptedUpdateIsDeleted where the configuration of before is
// restored, which has none, and by a destroy.
func TestDedicatedNodes_thePolicyOfAnInterruptedUpdateIsDeleted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		// lost is set where the process was killed: the private state is empty then.
		lost, destroy bool
	}{
		"a stopped update":                {},
		"a killed update":                 {lost: true},
		"a stopped update, and a destroy": {destroy: true},
		"a killed update, and a destroy":  {lost: true, destroy: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onFake(t, func(t *testing.T, c *acctest.Cluster) {
				p := newPool(t, c)
				before := p.config(wish{taints: "team=a:NoSchedule"})
				more := p.config(wish{taints: "group=b:NoSchedule"})
				more["admission"] = map[string]any{"name": p.name, "match": map[string]any{"namespaces": []any{p.namespace}}}
				tf, i := terraform(t, c), newInstance()
				tf.Settle(t, i, before)
				p.atNodes(tf, i, more)
				p.wantPolicies(p.name)
				if tt.lost {
					i.Private = nil
				}
				named := "Deleting toleration policy \"" + p.name + "\" beyond the changed attributes"
				if tt.destroy {
					acctest.WantAll(t, tf.Plan(t, i, nil).Diagnostics.Warnings(), named)
					tf.Destroy(t, i)
					p.wantPolicies()
					return
				}
				again := tf.Plan(t, i, before)
				drift, _ := tf.Attributes(t, i)["drift"].(map[string]any)
				acctest.WantAll(t, again.Diagnostics.Warnings(), named)
				if again.Empty || drift["policy/"+p.name] != "different" {
					t.Fatalf("the plan is empty: %t, and the drift is %v", again.Empty, drift)
				}
				tf.Settle(t, i, before)
				p.wantPolicies()
			})
		})
	}
}

// wantPolicies fails the test unless these are all policies, each with its binding.
func (p *pool) wantPolicies(names ...string) {
	p.t.Helper()
	policies, err := p.c.Admin.AdmissionregistrationV1().MutatingAdmissionPolicies().List(p.t.Context(), metav1.ListOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	bindings, err := p.c.Admin.AdmissionregistrationV1().MutatingAdmissionPolicyBindings().List(p.t.Context(), metav1.ListOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	var got, bound []string
	for _, one := range policies.Items {
		got = append(got, one.Name)
	}
	for _, one := range bindings.Items {
		bound = append(bound, one.Name)
	}
	if !slices.Equal(got, names) || !slices.Equal(bound, names) {
		p.t.Fatalf("there are the policies %v and the bindings %v, want %v", got, bound, names)
	}
}
