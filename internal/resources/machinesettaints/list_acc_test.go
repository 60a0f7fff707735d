// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// query is a list block for the stage's namespace.
func (s *stage) query(more string) string {
	return fmt.Sprintf("list \"kubetaint_machine_set_taints\" \"these\" {\n  provider = kubetaint\n  include_resource = true\n  config {\n    namespace = %q\n    %s\n  }\n}\n", s.namespace, more)
}

// TestAccMachineSetTaints_queryFindsTaintsByOwner with a real command line.
func TestAccMachineSetTaints_queryFindsTaintsByOwner(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := s.pool(0, func(m *acctest.MachineSet) { m.Labels = map[string]string{"pool": "gpu"} })
	bare := s.pool(0, func(m *acctest.MachineSet) { m.Taints = "node.kubernetes.io/unschedulable:NoSchedule" })
	i := newInstance()
	s.apply(i, s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "template_only"}))
	cli := acctest.NewCLI(t)
	cli.Write(s.c.Provider(t), "")
	identity := func(id string) map[string]any {
		return map[string]any{"namespace": s.namespace, "name": p.Name, "selector": nil, "taints": []any{id}}
	}
	foreignOnly, ours := identity("vendor:NoSchedule"), identity("team:NoSchedule")
	for more, want := range map[string][]map[string]any{
		"":                                {foreignOnly, ours},
		"selector = \"pool=gpu\"":         {foreignOnly, ours},
		"unmanaged_only = true":           {foreignOnly},
		"selector = \"pool=nobody\"":      nil,
		"selector = \"pool notin (gpu)\"": nil,
	} {
		var got []map[string]any
		for _, f := range cli.Query(s.query(more)) {
			got = append(got, f.Identity)
			if f.Object["name"] != p.Name || f.Object["id"] == nil || f.Object["rollout_state"] != "complete" {
				t.Errorf("%s: the resource is %v", more, f.Object)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (beside %s): %s", more, bare.Name, diff)
		}
	}
	if names := cli.Query(s.query("unmanaged_only = true")); len(names) != 1 || names[0].DisplayName != s.namespace+"/"+p.Name+": "+foreign {
		t.Errorf("it is shown as %v", names)
	}
}

// TestAccMachineSetTaints_queryWritesConfigurationThatImports what it has found, and
// changes nothing.
func TestAccMachineSetTaints_queryWritesConfigurationThatImports(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := s.pool(1, func(m *acctest.MachineSet) { m.Taints = foreign + " team=a:NoExecute" })
	before := p.Names()
	cli := acctest.NewCLI(t)
	cli.Write(s.c.Provider(t), "")
	if found := cli.Query(s.query("unmanaged_only = true"), "-generate-config-out=taints.tf"); len(found) != 1 {
		t.Fatalf("%d results are found, want one", len(found))
	}
	generated, err := os.ReadFile(filepath.Join(cli.Dir, "taints.tf"))
	if err != nil {
		t.Fatal(err)
	}
	acctest.WantAll(s.T, acctest.Unfold(cli.MustRun("apply", "-auto-approve", "-input=false")), "1 imported, 0 added, 0 changed, 0 destroyed")
	cli.WantEmptyPlan()
	p.Want(1, foreign+" team=a:NoExecute")
	if diff := cmp.Diff(before, p.Names()); diff != "" {
		t.Errorf("machines were replaced by\n%s\n%s", generated, diff)
	}
	if got := p.Annotation("kubetaint.io/owned-taints"); got != "" {
		t.Errorf("an import has written %s", got)
	}
}
