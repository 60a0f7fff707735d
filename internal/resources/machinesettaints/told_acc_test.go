// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccMachineSetTaints_logsTellWhatHoldsAMachineWhileItWaits: a lifecycle hook first,
// and then the pod and the PodDisruptionBudget.
func TestAccMachineSetTaints_logsTellWhatHoldsAMachineWhileItWaits(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := s.pool(1, nil)
	apps := s.c.Namespace(t)
	s.heldBy(p, apps, "strict")
	old := p.Names()[0]
	machine := acctest.Thing{APIVersion: p.APIVersion, Kind: "Machine", Namespace: p.Namespace, Name: old}
	s.c.Change(t, machine, "storage", `{"spec":{"lifecycleHooks":{"preDrain":[{"name":"Migrate","owner":"storage"}]}}}`)
	cli := acctest.NewCLI(t)
	log := cli.Logged()
	cli.Write(s.c.Provider(t), s.hcl(p.Name, "a", `strategy = "rolling"`))
	apply := cli.Command("apply", "-auto-approve", "-input=false", "-no-color")
	var out bytes.Buffer
	apply.Stdout, apply.Stderr = &out, &out
	if err := apply.Start(); err != nil {
		t.Fatal(err)
	}
	told := func(what string) {
		t.Helper()
		acctest.Until(t, "the log tells: "+what, func(context.Context) (bool, error) { return strings.Contains(log(), what), nil })
	}
	told("the lifecycle hook Migrate of storage holds " + old)
	s.c.Change(t, machine, "storage", `{"spec":{"lifecycleHooks":null}}`)
	told("pod " + apps + "/db-")
	told("is held by PodDisruptionBudget")
	if err := s.c.Admin.PolicyV1().PodDisruptionBudgets(apps).Delete(t.Context(), "strict", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := apply.Wait(); err != nil {
		t.Fatalf("the apply failed: %v\n%s", err, out.String())
	}
	p.Want(1, foreign+" team=a:NoSchedule")
}
