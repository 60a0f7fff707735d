// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"context"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// TestAccOrder_replicaSetsAreLeftToTheirDeployment shows that the copies of marks
// that a Deployment makes on its ReplicaSets mean nothing: no ReplicaSet is
// written, which would cost another rollout, and none is waited for, which would
// not end.
func TestAccOrder_replicaSetsAreLeftToTheirDeployment(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	p := newPool(t, c, "Deployment")
	cli := acctest.NewCLI(t)
	evicted := c.Evictions(t, p.namespace)
	for _, step := range []struct{ taints, tolerations string }{
		{"", "team=a:NoExecute"},
		// The tolerations have nothing to do in the run that adds their taint.
		{"team=a:NoExecute", "team=a:NoExecute"},
		{"team=b:NoExecute", "team=b:NoExecute"},
	} {
		cli.Write(c.Provider(t), p.config(step.taints, step.tolerations, toleratedBy, "  timeouts = { create = \"5m\" }\n"))
		cli.MustRun("apply", "-auto-approve", "-input=false")
		p.want(step.taints, step.tolerations)
	}
	p.settled()
	// The rollout that takes the old toleration away is not waited for by the apply.
	acctest.Until(t, "the last rollout is over", func(ctx context.Context) (bool, error) {
		d, err := c.Admin.AppsV1().Deployments(p.namespace).Get(ctx, "deployment", metav1.GetOptions{})
		return err == nil && d.Status.ObservedGeneration >= d.Generation && d.Status.UpdatedReplicas == 4 && d.Status.Replicas == 4, err
	})
	list, err := c.Admin.AppsV1().ReplicaSets(p.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		if slices.ContainsFunc(list.Items[i].ManagedFields, func(f metav1.ManagedFieldsEntry) bool { return f.Manager == workload.FieldManager }) {
			t.Errorf("ReplicaSet %s was written", list.Items[i].Name)
		}
	}
	// None, team=a, both, team=b: one rollout to add, two to change.
	if len(list.Items) != 4 {
		t.Errorf("there were %d rollouts, want 3", len(list.Items)-1)
	}
	if names := evicted(); len(names) > 0 {
		t.Fatalf("the taint-eviction controller deleted %v", names)
	}
}
