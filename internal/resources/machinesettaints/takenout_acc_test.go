// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccMachineSetTaints_aMachineThatWasTakenOutIsLeftAlone: another writer has given it other labels, and the
// controller has made another one in its place. It keeps its owner, and is none of the machines that roll out.
func TestAccMachineSetTaints_aMachineThatWasTakenOutIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"rolling", "scale_to_zero", "surge"} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			p := s.pool(1, func(m *acctest.MachineSet) { m.Spare = 2 })
			broken := acctest.Thing{APIVersion: p.APIVersion, Kind: "Machine", Namespace: p.Namespace, Name: p.Names()[0]}
			relabel := func(set string) {
				s.c.Change(t, broken, "somebody", `{"metadata":{"labels":{"machine.openshift.io/cluster-api-machineset":"`+set+`"}}}`)
			}
			relabel("broken")
			defer relabel(p.Name)
			acctest.Until(t, "another machine is there in its place", func(context.Context) (bool, error) { return len(p.Names()) == 1, nil })
			p.Serve(1)
			s.apply(newInstance(), s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": strategy}))
			p.Want(1, foreign+" team=a:NoSchedule")
			taints, _, err := unstructured.NestedSlice(s.c.Look(t, broken).Object, "spec", "taints")
			if err != nil || len(taints) != 1 {
				t.Errorf("it has the taints %v: %v", taints, err)
			}
		})
	}
}
