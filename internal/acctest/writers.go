// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"encoding/json"
	"path"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// EditNode changes a node as a well-behaved controller does: it guards its write,
// and repeats what another writer came in between of.
func (c *Cluster) EditNode(ctx context.Context, name string, change func(*corev1.Node)) error {
	for {
		node, err := c.Admin.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(node)
		if _, err = c.Admin.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			return err
		}
	}
}

// AddToleration appends a toleration to a Deployment in the same way.
func (c *Cluster) AddToleration(ctx context.Context, namespace, name string, one corev1.Toleration) {
	deployments := c.Admin.AppsV1().Deployments(namespace)
	for ctx.Err() == nil {
		d, err := deployments.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return
		}
		d.Spec.Template.Spec.Tolerations = append(d.Spec.Template.Spec.Tolerations, one)
		if _, err = deployments.Update(ctx, d, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			return
		}
	}
}

// Forbid has an admission policy refuse updates of objects of this kind in this
// namespace, with this message, unless an expression in CEL holds. It waits until
// a merge patch of the object that breaks the rule is refused. The function that
// it returns takes the policy away and waits until the patch would be let through.
func (c *Cluster) Forbid(t testing.TB, thing Thing, unless, message, patch string) (allow func()) {
	t.Helper()
	return c.forbid(t, thing, unless, message, patch)
}

// ForbidStatus has an admission policy refuse updates of the status of objects of this kind in
// this namespace: their controller cannot report what it has observed. It waits as Forbid does.
func (c *Cluster) ForbidStatus(t testing.TB, thing Thing) (allow func()) {
	t.Helper()
	return c.forbid(t, thing, "false", "no status for now", `{"status":{"conditions":[]}}`, "status")
}

func (c *Cluster) forbid(t testing.TB, thing Thing, unless, message, patch string, subresource ...string) (allow func()) {
	t.Helper()
	kind := schema.FromAPIVersionAndKind(thing.APIVersion, thing.Kind)
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	name, policies := Name(t, "policy"), c.Admin.AdmissionregistrationV1().ValidatingAdmissionPolicies()
	bindings := c.Admin.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	_, err := policies.Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{kind.Group}, APIVersions: []string{kind.Version}, Resources: []string{path.Join(append([]string{plural.Resource}, subresource...)...)}},
			}}}},
			Validations: []admissionregistrationv1.Validation{{Expression: unless, Message: message}},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	_, err = bindings.Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			MatchResources: &admissionregistrationv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: thing.Namespace}}},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	remove := func() {
		_ = bindings.Delete(context.Background(), name, metav1.DeleteOptions{})
		_ = policies.Delete(context.Background(), name, metav1.DeleteOptions{})
	}
	t.Cleanup(remove)
	until := func(what string, refused bool) {
		t.Helper()
		Until(t, what, func(ctx context.Context) (bool, error) {
			_, err := c.things(t, thing).Patch(ctx, thing.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, subresource...)
			return apierrors.IsInvalid(err) == refused, nil
		})
	}
	until("the policy is in force", true)
	return func() {
		t.Helper()
		remove()
		until("the policy is gone", false)
	}
}

// Allow limits which tolerations pods of a namespace may have, as the admission
// plug-in PodTolerationRestriction reads it.
func (c *Cluster) Allow(t testing.TB, namespace, tolerations string) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{"scheduler.alpha.kubernetes.io/tolerationsWhitelist": tolerations}}})
	must(t, err)
	c.Change(t, Thing{APIVersion: "v1", Kind: "Namespace", Name: namespace}, "admin", string(patch))
}
