// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// admitting is the object admission of a configuration, for the pods of app batch.
func (p *pool) admitting(policy string, more map[string]any) map[string]any {
	p.t.Cleanup(func() {
		ctx, all := context.Background(), p.c.Admin.AdmissionregistrationV1()
		_ = all.MutatingAdmissionPolicyBindings().Delete(ctx, policy, metav1.DeleteOptions{})
		_ = all.MutatingAdmissionPolicies().Delete(ctx, policy, metav1.DeleteOptions{})
	})
	return acctest.With(map[string]any{"name": policy, "match": map[string]any{"namespaces": []any{p.namespace}, "pod_selector": "app in (batch, deployment)"}}, more)
}

// given is what a pod of app batch would tolerate and require that is made now.
func (p *pool) given() string {
	p.t.Helper()
	made, err := p.c.Admin.CoreV1().Pods(p.namespace).Create(p.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "batch", Labels: map[string]string{"app": "batch"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10.2"}}},
	}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		p.t.Fatal(err)
	}
	var out []string
	for _, t := range made.Spec.Tolerations {
		if !strings.HasPrefix(t.Key, "node.kubernetes.io/") {
			out = append(out, taint.FormatToleration(t))
		}
	}
	if made.Spec.Affinity != nil {
		for _, e := range made.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions {
			out = append(out, e.Key+"="+strings.TrimSuffix(e.Values[0], "-"+p.name))
		}
	}
	return strings.Join(out, ", ")
}

// own is a taint that no other pool has, "" for no value.
func (p *pool) own(value string) string {
	if value == "" {
		return ""
	}
	return "team=" + value + "-" + p.name + ":NoExecute"
}

// wantGiven waits for it: an API server that is busy may look for changes of policies later
// than an apply waits, and an apply that was killed has not waited at all.
func (p *pool) wantGiven(want string) {
	p.t.Helper()
	acctest.Until(p.t, "pods are given "+want, func(context.Context) (bool, error) { return p.given() == want, nil })
}

func (p *pool) wantNoPolicy(name string) {
	p.t.Helper()
	if _, err := p.c.Admin.AdmissionregistrationV1().MutatingAdmissionPolicies().Get(p.t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		p.t.Fatalf("policy %s is there: %v", name, err)
	}
}

// wantSteps fails the test unless the last apply took these steps; each is named by how it
// begins.
func wantSteps(t *testing.T, tf *acctest.Terraform, i *acctest.Instance, want ...string) {
	t.Helper()
	steps, _ := tf.Attributes(t, i)["steps"].([]any)
	if len(steps) != len(want) {
		t.Fatalf("the steps are %q, want %q", steps, want)
	}
	for n, one := range steps {
		if step, _ := one.(string); !strings.HasPrefix(step, want[n]) {
			t.Fatalf("the steps are %q, want %q", steps, want)
		}
	}
}

func TestAccDedicatedNodes_admissionExpandsAndContracts(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	p, tf, i := newPool(t, c, "Deployment"), terraform(t, c), newInstance()
	evicted := c.Evictions(t, p.namespace)
	policy, other := acctest.Name(t, "policy"), acctest.Name(t, "other")
	// A taint of another pool would be one that the policy is still for.
	a, b := p.own("a"), p.own("b")
	w := wish{taints: a, labels: "dedicated=gpu", workloads: map[string]string{"Deployment": tolerating}}
	config := func(policy map[string]any) map[string]any {
		return acctest.With(p.config(w), map[string]any{"admission": policy})
	}
	// The policy gives to the pods of the workload too: nothing is given twice.
	tf.Settle(t, i, config(p.admitting(policy, map[string]any{"pin": true, "toleration_seconds": 30})))
	wantSteps(t, tf, i, "label 2 nodes", "write policy "+policy, "add tolerations to Deployment", "wait for", "change taints of 2 nodes")
	p.want(w, "Deployment")
	p.wantGiven(a + " for 30s, dedicated=gpu")

	w.taints = b
	tf.Settle(t, i, config(p.admitting(policy, map[string]any{"pin": true})))
	wantSteps(t, tf, i, "write policy "+policy, "add tolerations to Deployment", "wait for", "change taints of 2 nodes", "remove unneeded tolerations from policy "+policy, "remove tolerations from Deployment")
	p.want(w, "Deployment")
	p.wantGiven(b + ", dedicated=gpu")

	// Another name is another policy, which comes first.
	tf.Settle(t, i, config(p.admitting(other, nil)))
	wantSteps(t, tf, i, "write policy "+other, "delete policy "+policy)
	p.wantNoPolicy(policy)
	p.wantGiven(b)

	tf.Settle(t, i, p.config(w))
	wantSteps(t, tf, i, "delete policy "+other)
	p.wantNoPolicy(other)
	p.wantGiven("")

	tf.Settle(t, i, config(p.admitting(policy, nil)))
	tf.Destroy(t, i)
	p.want(wish{}, "Deployment")
	p.wantNoPolicy(policy)
	p.settled("Deployment", wish{})
	if names := evicted(); len(names) > 0 {
		t.Fatalf("the taint-eviction controller deleted %v", names)
	}
}

// TestAccDedicatedNodes_admissionAloneLetsPodsBeRecreated: what is there leaves, as the plan
// says, and is made again with what the policy gives.
func TestAccDedicatedNodes_admissionAloneLetsPodsBeRecreated(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	p, tf, i := newPool(t, c), terraform(t, c), newInstance()
	p.run("Deployment", "deployment", func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"pool": p.name} })
	evicted, still := c.Evictions(t, p.namespace), c.Still(t, p.namespace)
	w := wish{taints: "team=a:NoExecute"}
	alone := tf.Plan(t, newInstance(), p.config(w))
	acctest.WantAll(t, alone.Diagnostics.Warnings(), "evicts 4 pods: 4 pending")

	policy := acctest.Name(t, "policy")
	config := acctest.With(p.config(w), map[string]any{"admission": p.admitting(policy, nil)})
	planned := tf.Plan(t, i, config)
	acctest.WantAll(t, planned.Diagnostics.Warnings(), "evicts 4 pods")
	if said := planned.Diagnostics.Warnings(); strings.Contains(said, "pending") {
		t.Fatalf("the plan does not know what the policy gives: %s", said)
	}
	if d := tf.Carry(t, i, planned, config); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	acctest.Until(t, "all have left", func(context.Context) (bool, error) { return len(still()) == 0, nil })
	if names := evicted(); len(names) != 4 {
		t.Fatalf("%v were evicted", names)
	}
	p.c.Running(t, p.namespace, "deployment", 4)
	p.confined("Deployment")
	tf.Destroy(t, i)
}

// TestAccDedicatedNodes_admissionKilledAfterEachWrite: whatever of it is written, the next
// apply goes on, and in the end nothing is left without an owner.
func TestAccDedicatedNodes_admissionKilledAfterEachWrite(t *testing.T) {
	t.Parallel()
	acctest.Exhaustive(t)
	c := acctest.Connect(t)
	for name, values := range map[string][2]string{"create": {"", "a"}, "update": {"a", "b"}, "destroy": {"a", ""}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, cli, policy := newPool(t, c), acctest.NewCLI(t), acctest.Name(t, "policy")
			p.admitting(policy, nil)
			taints := [2]string{p.own(values[0]), p.own(values[1])}
			hcl := func(taints string) string {
				if taints == "" {
					return ""
				}
				return strings.TrimSuffix(p.hcl(wish{taints: taints, labels: "dedicated=gpu"}), "}\n") +
					"  admission = {\n    name = \"" + policy + "\"\n    pin = true\n    match = { namespaces = [\"" + p.namespace + "\"] }\n  }\n}\n"
			}
			given := func(taints string) string {
				if taints == "" {
					return ""
				}
				return taints + ", dedicated=gpu"
			}
			kills := 0
			for writes := 1; ; writes++ {
				cli.Write(c.Provider(t), hcl(taints[0]))
				cli.MustRun("apply", "-auto-approve", "-input=false")
				p.wantGiven(given(taints[0]))
				if !p.killAfter(cli, hcl(taints[1]), acctest.Request.Write, writes) {
					break
				}
				kills++
				cli.MustRun("apply", "-auto-approve", "-input=false")
				p.wantGiven(given(taints[1]))
				cli.WantEmptyPlan()
			}
			if taints[1] == "" {
				p.wantNoPolicy(policy)
			}
			if kills < 4 {
				t.Fatalf("the apply was killed only %d times", kills)
			}
		})
	}
}

// TestAccDedicatedNodes_admissionDrift: a policy that another writer has taken away or changed is
// drift, and the next apply repairs it without touching anything else.
func TestAccDedicatedNodes_admissionDrift(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	p, tf, i := newPool(t, c), terraform(t, c), newInstance()
	policy := acctest.Name(t, "policy")
	config := acctest.With(p.config(wish{taints: "team=a:NoSchedule"}), map[string]any{"admission": p.admitting(policy, nil)})
	tf.Settle(t, i, config)
	all := c.Admin.AdmissionregistrationV1()
	for _, tt := range []struct {
		spoil func() error
		drift string
	}{
		{func() error {
			return all.MutatingAdmissionPolicyBindings().Delete(t.Context(), policy, metav1.DeleteOptions{})
		}, string(taint.Missing)},
		{func() error {
			return all.MutatingAdmissionPolicies().Delete(t.Context(), policy, metav1.DeleteOptions{})
		}, string(taint.Missing)},
		{func() error {
			object, err := all.MutatingAdmissionPolicies().Get(t.Context(), policy, metav1.GetOptions{})
			if err != nil {
				return err
			}
			object.Labels[admission.ManagedByLabel] = "somebody"
			_, err = all.MutatingAdmissionPolicies().Update(t.Context(), object, metav1.UpdateOptions{})
			return err
		}, string(taint.Different)},
	} {
		if err := tt.spoil(); err != nil {
			t.Fatal(err)
		}
		if d := tf.Walk(t).Refresh(i); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		if drift, _ := tf.Attributes(t, i)["drift"].(map[string]any); len(drift) != 1 || drift["policy/"+policy] != tt.drift {
			t.Fatalf("the drift is %v, want %s", drift, tt.drift)
		}
		tf.Settle(t, i, config)
		wantSteps(t, tf, i, "write policy "+policy)
		p.wantGiven("team=a:NoSchedule")
	}
	tf.Destroy(t, i)
}
