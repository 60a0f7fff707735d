// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

func rolled(name string, strategy machineset.Strategy, machines int) machineset.Affected {
	a := machineset.Affected{Observed: machineset.Observed{Set: &machineset.Set{Namespace: "ns", Name: name}}, Effect: machineset.Effect{Strategy: strategy}}
	if strategy.Replaces() {
		a.Effect.Leaving = make([]*machineset.Machine, machines)
		a.Effect.Gap = machineset.Gap{Strategy: strategy, Machines: machines, All: machines}
	}
	return a
}

func TestRolloutCost(t *testing.T) {
	t.Parallel()
	about := message.Subject{Verb: "Applying", Preposition: "to", Where: "2 MachineSets"}
	for name, tt := range map[string]struct {
		all             []machineset.Affected
		summary, detail string
		wantSummary     string
		want            []string
	}{
		"several sets roll out in turn": {[]machineset.Affected{rolled("a", machineset.ScaleToZero, 1), rolled("b", machineset.ScaleToZero, 2)}, "it evicts", "pods", "it evicts",
			[]string{"3 machines of 2 MachineSets are replaced.", "One MachineSet rolls out after the other.", "\n  MachineSet \"ns/a\": 1 of 1 machine is missing at the same time", "\n  MachineSet \"ns/b\": all 2 machines are missing at the same time", "\n\npods"}},
		"machines without pods are replaced all the same": {[]machineset.Affected{rolled("a", machineset.Rolling, 1)}, "", "", "replaces machines, and evicts no pods", []string{"1 machine of 1 MachineSet is replaced."}},
		"in place asks no budget":                         {[]machineset.Affected{rolled("a", machineset.InPlace, 1)}, "it evicts", "pods", "it evicts", []string{"No machine is replaced, and none is missing.", "PodDisruptionBudgets are bypassed", "\n\npods"}},
		"in place says nothing where no pod is evicted":   {[]machineset.Affected{rolled("a", machineset.InPlace, 1)}, "", "", "", nil},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			summary, detail := message.RolloutCost(about, tt.all, 1, tt.summary, tt.detail)
			if !strings.Contains(summary, tt.wantSummary) || (tt.wantSummary == "") != (summary == "") {
				t.Errorf("the summary is %q", summary)
			}
			for _, want := range tt.want {
				if !strings.Contains(detail, want) {
					t.Errorf("nothing says %q in:\n%s", want, detail)
				}
			}
			if len(tt.want) == 0 && detail != "" {
				t.Errorf("it says %q", detail)
			}
		})
	}
}

func TestRolloutCost_isBounded(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "gets stuck on PodDisruptionBudgets", "may get stuck on PodDisruptionBudgets")
	var all []machineset.Affected
	var deadlocks []eviction.Deadlock
	for i := range 30 {
		all = append(all, rolled(fmt.Sprint(i), machineset.Rolling, 1))
		deadlocks = append(deadlocks, eviction.Deadlock{Why: fmt.Sprintf("budget %d", i)})
	}
	if cost := message.MachineCost(all, 3); !strings.Contains(cost, "Up to 3 MachineSets roll out at the same time.") || strings.Count(cost, "MachineSet \"") != 20 || !strings.Contains(cost, "… and 10 more MachineSets") {
		t.Errorf("it says %s", cost)
	}
	var diags diag.Diagnostics
	message.WarnDeadlocks("2 MachineSets", deadlocks, &diags)
	if len(diags) != 1 || strings.Count(diags[0].Detail(), "budget ") != 20 || !strings.Contains(diags[0].Detail(), "… and 10 more") || diags[0].Summary() != "Draining machines of 2 MachineSets gets stuck on PodDisruptionBudgets" || !strings.Contains(diags[0].Detail(), "in_place") {
		t.Errorf("it warns %v", diags)
	}
	var action diag.Diagnostics
	if message.WarnActionDeadlocks("it", deadlocks, &action); len(action) != 1 || strings.Contains(action[0].Detail(), "in_place") {
		t.Errorf("of an action it warns %v", action)
	}
	var drain diag.Diagnostics
	possible := []eviction.Deadlock{{Why: "budget a", Possible: true}}
	if message.WarnDrainDeadlocks("node \"a\"", possible, &drain); len(drain) != 1 || drain[0].Summary() != "Draining node \"a\" may get stuck on PodDisruptionBudgets" || !strings.Contains(drain[0].Detail(), "these can hold it until it times out") {
		t.Errorf("of what may happen it warns %v", drain)
	}
	if message.WarnDrainDeadlocks("node \"a\"", append(possible, deadlocks[0]), &drain); len(drain) != 2 || !strings.Contains(drain[1].Summary(), " gets stuck ") {
		t.Errorf("of what happens for sure it warns %v", drain)
	}
	if message.WarnDeadlocks("nothing", nil, &diags); len(diags) != 1 {
		t.Errorf("it warns of nothing: %v", diags)
	}
	messages.GotAll(t, append(drain, diags...))
}
