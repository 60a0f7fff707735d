// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/golden"
)

// ordered is the configuration of tolerations of the StatefulSet db, and of a taint
// that depends on them without naming them.
func (s *shop) ordered(taint, extra string) string {
	s.t.Helper()
	one := acctest.Parse(s.t, taint)[0]
	return s.hcl(fmt.Sprintf("kind = \"StatefulSet\", namespace = %q, name = \"db\"", s.namespace), fmt.Sprintf("%s=%s:%s", one.Key, one.Value, one.Effect), "") +
		fmt.Sprintf("\nresource \"kubetaint_node_taints\" \"pool\" {\n  node_name = %q\n  taints = [{ key = %q, value = %q, effect = %q }]\n  depends_on = [kubetaint_workload_tolerations.this]\n%s}\n",
			s.pool, one.Key, one.Value, one.Effect, extra)
}

// rolledOut waits until the controller calls the update of a StatefulSet finished:
// nothing waits for the pods that come when an old toleration has been taken away.
func (s *shop) rolledOut(name string) {
	s.t.Helper()
	acctest.Until(s.t, "StatefulSet "+name+" is rolled out", func(ctx context.Context) (bool, error) {
		set, err := s.c.Admin.AppsV1().StatefulSets(s.namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return set.Status.ObservedGeneration == set.Generation && set.Status.CurrentRevision == set.Status.UpdateRevision &&
			set.Status.ReadyReplicas == *set.Spec.Replicas, nil
	})
}

// TestAccOrder_planOfDependsOnClaimsNothingThatItCannotSee keeps what the plan says
// of taints that depend on tolerations of the same plan. No pod is evicted by any of it.
// It does not run beside tests whose tolerations retire.
//
//nolint:paralleltest // See above.
func TestAccOrder_planOfDependsOnClaimsNothingThatItCannotSee(t *testing.T) {
	s := openShopOn(t, acctest.Alone(t))
	cli := acctest.NewCLI(t)
	s.c.Node(t, acctest.Node{Name: acctest.Name(t, "other")})
	s.make("StatefulSet", "db", 2, "", nil)
	evicted := s.c.Evictions(t, s.namespace)
	for _, step := range []struct{ name, taint string }{
		{"depends_on_a_new_taint", "team=a:NoExecute"},
		{"depends_on_another_value", "team=b:NoExecute"},
		{"depends_on_another_effect", "team=b:NoSchedule"},
		{"depends_on_another_value_of_no_schedule", "team=c:NoSchedule"},
	} {
		s.rolledOut("db")
		cli.Write(s.c.Provider(t), s.ordered(step.taint, ""))
		var b strings.Builder
		for _, w := range cli.PlanWarnings() {
			if strings.Contains(w.Address, "node_taints") {
				fmt.Fprintf(&b, "%s: %s\n\n%s\n", w.Address, w.Summary, w.Detail)
			}
		}
		got := strings.NewReplacer("node \""+s.pool+"\"", "node \"worker-3\"", " on "+s.pool, " on worker-3", s.namespace, "shop").Replace(b.String())
		golden.Check(t, step.name+".golden", otherNodes.ReplaceAllString(got, "1 does not match"))
		// A limit counts the pods that may be evicted, and reports what to do about it.
		cli.Write(s.c.Provider(t), s.ordered(step.taint, "  evictions = { max_pods = 0 }\n"))
		out, ok := cli.Run("plan", "-input=false", "-no-color")
		words := strings.Join(strings.Fields(strings.ReplaceAll(out, "│", "")), " ")
		if mayLeave := strings.Contains(got, "may evict 2 pods"); ok == mayLeave {
			t.Fatalf("%s: 2 pods may leave: %t, within a budget of none: %t\n%s", step.name, mayLeave, ok, out)
		} else if mayLeave {
			says(t, "error", words, "2 pods might be evicted, and max_pods allows 0", "To make the plan exact", "in tolerated_by of this resource")
		}
		cli.Write(s.c.Provider(t), s.ordered(step.taint, ""))
		cli.MustRun("apply", "-auto-approve", "-input=false")
	}
	if names := evicted(); len(names) > 0 {
		t.Fatalf("the taint-eviction controller deleted %v", names)
	}
}
