// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

func TestDifferences(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		template, machine, node string
		deleting                bool
		record                  taint.Record
		want                    string
	}{
		"nothing where all agree":             {template: "a=1:NoSchedule", machine: "a=1:NoSchedule", node: "a=1:NoSchedule"},
		"what is missing":                     {template: "a=1:NoSchedule", want: "machine lacks a=1:NoSchedule; node lacks a=1:NoSchedule"},
		"another value":                       {template: "a=1:NoSchedule", machine: "a=2:NoSchedule", node: "a=1:NoSchedule", want: "machine has another a=1:NoSchedule"},
		"another effect is another taint":     {template: "a:NoSchedule", machine: "a:NoExecute", node: "a:NoSchedule", want: "machine also has a:NoExecute; machine lacks a:NoSchedule"},
		"what the template has no longer":     {machine: "a:NoSchedule", node: "a:NoSchedule", want: "machine also has a:NoSchedule; node also has a:NoSchedule"},
		"not what controllers keep on a node": {node: "node.kubernetes.io/not-ready:NoExecute node.kubernetes.io/anything:NoSchedule"},
		"not what is marked on a node":        {node: "a:NoSchedule", record: taint.Record{{Key: "a", Effect: "NoSchedule", Owner: "terraform/x"}}},
		"nothing of what is being deleted":    {template: "a:NoSchedule", deleting: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &Machine{Name: "m", Node: "n", Taints: taintsOf(t, tt.machine), Deleting: tt.deleting}
			o := Observed{Set: &Set{Taints: taintsOf(t, tt.template)}, Machines: []*Machine{m}, Nodes: map[string]*snapshot.Node{"n": {Name: "n", Taints: taintsOf(t, tt.node), Record: tt.record}}}
			var got []string
			for _, d := range Differences(o, m) {
				where := map[bool]string{true: "node", false: "machine"}[d.OnNode]
				how := map[taint.Status]string{taint.Missing: "lacks", taint.Different: "has another", Extra: "also has"}[d.How]
				got = append(got, fmt.Sprintf("%s %s %s", where, how, taint.Format(d.Taint)))
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "; ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
