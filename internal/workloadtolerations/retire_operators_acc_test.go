// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccOrder_operatorsObjectsGiveUpWhatRetiresInALaterRun leaves a toleration of an
// IngressController retiring, for good since its resource is gone, and takes the taint
// away in another run: on OpenShift it is found there, and its restart announced. It
// does not run beside other tests, which would ask for OpenShift's objects as well.
//
//nolint:paralleltest // See above.
func TestAccOrder_operatorsObjectsGiveUpWhatRetiresInALaterRun(t *testing.T) {
	s := openShopOn(t, acctest.Alone(t))
	s.c.Patch(t, s.pool, `{"metadata":{"labels":{"node.openshift.io/os_id":"rhcos"}}}`)
	o := operators["IngressController"](s)
	path := s.pathOf("IngressController")
	s.c.Operate(t, o.object, path, o.operand, s.pathOf(o.operand.Kind))()
	tolerations := s.fresh()
	s.apply(tolerations, s.manage(o.object, "team=a:NoExecute", nil))

	taints := &acctest.Instance{Type: "kubetaint_node_taints"}
	config := map[string]any{"node_name": s.pool, "taints": acctest.Objects(t, "team=a:NoExecute")}
	if d := s.tf.Apply(t, taints, config); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	says(t, "warning", s.destroy(tolerations).Warnings(), "stays for now: team=a:NoExecute", "The apply of a kubetaint resource that removes taints of the same key removes it as well.")
	if got := formatted(s.standing(o.object, path)); got != "team=a:NoExecute" {
		t.Fatalf("the object has %s", got)
	}

	// As many runs later as there may be.
	s.tf = &acctest.Terraform{Provider: s.c.Provider(t)}
	planned := s.tf.Plan(t, taints, nil)
	says(t, "warning", planned.Diagnostics.Warnings(), `restarts 2 pods of IngressController "`+s.namespace+`/`+o.object.Name+`" in 1 rollout`)
	if d := s.tf.Carry(t, taints, planned, nil); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	if got, record := s.standing(o.object, path), s.record(o.object); len(got)+len(record) > 0 {
		t.Fatalf("the taint is gone, and the object has %s and the record %v", formatted(got), record)
	}
}
