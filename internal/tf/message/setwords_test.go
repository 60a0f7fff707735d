// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

const (
	twoStates = "If there is a second state, give one of the two another owner in the provider block. If not, apply with -replace=ADDRESS"
	givenUp   = "apply that first. If nothing manages it any more, import it under the configuration of that resource, and destroy that."
)

// says fails the test unless a diagnostic is at an attribute and has these parts.
func says(t *testing.T, said diag.Diagnostic, at path.Path, summary string, parts ...string) {
	t.Helper()
	where := path.Empty()
	if with, ok := said.(diag.DiagnosticWithPath); ok {
		where = with.Path()
	}
	if where.String() != at.String() || said.Summary() != summary {
		t.Errorf("it says %q at %s, want %q at %s", said.Summary(), where, summary, at)
	}
	for _, part := range parts {
		if !strings.Contains(said.Detail(), part) {
			t.Errorf("it does not say %q:\n%s", part, said.Detail())
		}
	}
}

func TestExplainConflictsOfSets(t *testing.T) {
	t.Parallel()
	set := &machineset.Set{Namespace: "ns", Name: "gpu"}
	id := taint.ID{Key: "team", Effect: corev1.TaintEffectNoExecute}
	for owner, want := range map[string]string{"": "this resource did not write it. It is left as it is. ", "me": twoStates, "other": `It is owned by the resource "other". It is left as it is. Remove the `} {
		conflict := taint.Conflict{ID: id, Owner: owner, Value: "a"}
		says(t, ExplainSetConflict("me", &rollout.SetConflictError{Set: set, Conflicts: []taint.Conflict{conflict}}), path.Root("taints"), `Unable to claim taint "team:NoExecute" on MachineSet "ns/gpu"`, want)
		labelled := machineset.LabelConflict{Where: `node "a"`, Conflict: label.Conflict{Key: "pool", Owner: owner, Value: "a"}}
		says(t, ExplainLabelConflict("me", &rollout.LabelConflictError{Set: set, Conflicts: []machineset.LabelConflict{labelled}}), path.Root("labels"), `Unable to claim label "pool" on node "a"`, want)
	}
}

func TestRefusedSet_namesTheAttribute(t *testing.T) {
	t.Parallel()
	block, named := path.Root("machine_sets"), &machineset.Target{Name: "gpu"}
	e := &rollout.SetRefusedError{Set: &machineset.Set{Namespace: "ns", Name: "gpu"}, Refusals: []machineset.Refusal{{Why: "it is so", Instead: "Do that"}}}
	says(t, ExplainRefusedSet(e, block, nil), path.Empty(), `Unable to change the taints of MachineSet "ns/gpu"`, "Nothing has been written to it: it is so. Do that.")
	says(t, ExplainRefusedSet(e, path.Empty(), named), path.Root("name"), `Unable to change the taints of MachineSet "ns/gpu"`)
	e.Labels = true
	says(t, ExplainRefusedSet(e, block, &machineset.Target{Selector: labels.Everything()}), block.AtName("selector"), `Unable to change the labels of MachineSet "ns/gpu"`)
	e.Refusals[0].Attribute = "strategy"
	says(t, ExplainRefusedSet(e, block, named), block.AtName("rollout").AtName("strategy"), `Unable to roll MachineSet "ns/gpu" out with this strategy`)
}

func TestExplainRefusals(t *testing.T) {
	t.Parallel()
	id, other := taint.ID{Key: "team", Effect: corev1.TaintEffectNoExecute}, taint.ID{Key: "spot", Effect: corev1.TaintEffectNoExecute}
	taken := func(owner string, nodes ...string) []planner.Refusal {
		var out []planner.Refusal
		for _, node := range nodes {
			out = append(out, planner.Refusal{Node: node, ID: id, Conflict: &taint.Conflict{ID: id, Owner: owner, Value: "x"}})
		}
		return out
	}
	desired := planner.NodeTaints{Target: planner.Target{Name: "a"}, Claim: taint.Claim{Owner: "me", Absent: []taint.ID{other}}}
	for name, tt := range map[string]struct {
		refusals []planner.Refusal
		at       string
		summary  string
		says     []string
	}{
		"one node": {taken("x", "a"), "taints", `Unable to claim taint "team:NoExecute" on node "a"`, []string{"concerned:\n\n  node a: team:NoExecute is owned by \"x\"\n\n", givenUp}},
		"many nodes of one owner": {taken("x", "a", "b", "c", "d", "e", "f", "g"), "taints", `Unable to claim taint "team:NoExecute" on node "a" and 6 more`,
			[]string{"\n\n  nodes a, b, c, d, e and 2 more: team:NoExecute is owned by \"x\"\n\n"}},
		"nodes of two owners":  {append(taken("x", "a", "b"), taken("me", "c")...), "taints", `Unable to claim taint "team:NoExecute" on node "a" and 2 more`, []string{"  nodes a, b: team:NoExecute is owned by \"x\"\n  node c: team:NoExecute is owned by \"me\"\n", twoStates, givenUp}},
		"nobody's":             {taken("", "a"), "taints", `Unable to claim taint "team:NoExecute" on node "a"`, []string{`with the value "x", and this resource did not write it`, "on_conflict"}},
		"a taint to keep away": {[]planner.Refusal{{Node: "a", ID: other, Why: "it comes back"}}, "absent_taints", `Unable to keep taint "spot:NoExecute" off node "a"`, []string{"node a: spot:NoExecute: it comes back"}},
		"a label":              {[]planner.Refusal{{Node: "a", Label: &label.Conflict{Key: "pool", Value: "x"}}}, "labels", `Unable to claim label "pool" on node "a"`, []string{"is never overwritten"}},
		"a record":             {[]planner.Refusal{{Node: "a", Why: "it cannot be read"}}, "taints", `Unable to change the taints of node "a"`, []string{"  node a: it cannot be read"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			says(t, ExplainRefusals(desired, tt.refusals), path.Root(tt.at), tt.summary, tt.says...)
		})
	}
}

// A mark of a strange owner holds up what it is about, and others may write one.
func TestConflicts_showHowToRemoveARecordWithoutAnOwner(t *testing.T) {
	t.Parallel()
	set, w := &machineset.Set{Namespace: "ns", Name: "gpu"}, &workload.Workload{Ref: workload.Ref{Kind: "Deployment", Namespace: "shop", Name: "web"}}
	id, strange := taint.ID{Key: "team", Effect: corev1.TaintEffectNoExecute}, &label.Conflict{Key: "pool", Owner: "strange", Value: "a"}
	desired := planner.NodeTaints{Target: planner.Target{Selector: labels.Everything()}, Claim: taint.Claim{Owner: "me"}}
	conflict := taint.Conflict{ID: id, Owner: "strange", Value: "a"}
	at := WorkloadAt{Workload: path.Root("workload"), Tolerations: path.Root("tolerations"), Pin: path.Root("pin")}
	for name, tt := range map[string]struct {
		said                diag.Diagnostic
		annotation, command string
	}{
		"a taint of a node": {
			ExplainRefusals(desired, []planner.Refusal{{Node: "a", ID: id, Conflict: &conflict}, {Node: "b", ID: id, Conflict: &conflict}}),
			"kubetaint.io/owned-taints", "node a",
		},
		"a label of a node":           {ExplainRefusals(desired, []planner.Refusal{{Node: "a", Label: strange, Labels: true}}), "kubetaint.io/owned-labels", "node a"},
		"a taint of a MachineSet":     {ExplainSetConflict("me", &rollout.SetConflictError{Set: set, Conflicts: []taint.Conflict{conflict}}), "kubetaint.io/owned-taints", "machineset.machine.openshift.io gpu -n ns"},
		"a label of a MachineSet":     {ExplainLabelConflict("me", &rollout.LabelConflictError{Set: set, Conflicts: []machineset.LabelConflict{{Where: set.Title(), Conflict: *strange}}}), "kubetaint.io/owned-labels", "machineset.machine.openshift.io gpu -n ns"},
		"a label of one of its nodes": {ExplainLabelConflict("me", &rollout.LabelConflictError{Set: set, Conflicts: []machineset.LabelConflict{{Where: `node "a"`, Conflict: *strange}}}), "kubetaint.io/owned-labels", "node a"},
		"a toleration": {
			conflicting([]planner.WorkloadConflict{{Workload: w, Conflict: toleration.Conflict{Toleration: corev1.Toleration{Key: "team"}, Owner: "strange"}}}, at),
			"kubetaint.io/owned-tolerations", "deployment web -n shop",
		},
		"a pin": {conflicting([]planner.WorkloadConflict{{Workload: w, Pin: strange}}, at), "kubetaint.io/owned-labels", "deployment web -n shop"},
	} {
		want := "If there is no such resource, the ownership record is forged: remove its entry from the annotation " + tt.annotation + " (kubectl edit " + tt.command + "), or the whole annotation (kubectl annotate " + tt.command + " " + tt.annotation + "-), after which no resource owns its entries."
		if !strings.Contains(tt.said.Detail(), want) {
			t.Errorf("of %s it does not say %q:\n%s", name, want, tt.said.Detail())
		}
	}
}

func TestExplainPolicy_showsHowToRemoveOneWithoutAnOwner(t *testing.T) {
	t.Parallel()
	for owner, want := range map[string]string{
		"":        "delete it if it is not needed (kubectl delete mutatingadmissionpolicy,mutatingadmissionpolicybinding gpu).",
		"strange": "If there is no such resource, its ownership record is forged, or its state is lost: delete the policy (kubectl delete mutatingadmissionpolicy,mutatingadmissionpolicybinding gpu).",
	} {
		said := ExplainPolicy("create", "gpu", path.Root("name"), &admission.Conflict{Name: "gpu", Owner: owner})
		if !strings.Contains(said.Detail(), want) {
			t.Errorf("of a policy of %q it says %s", owner, said.Detail())
		}
	}
}

func TestRefusedPolicy_tellsADryRunFromAWrite(t *testing.T) {
	t.Parallel()
	for verb, want := range map[string]string{"plan": "A dry run of the policy was refused; nothing has been written.", "create": "What had been written before stays; a policy without its binding changes no pods."} {
		said := refusedPolicy(verb, "Unable", kube.ErrInvalid)
		if !strings.Contains(said.Detail(), want) {
			t.Errorf("%s: it says %s", verb, said.Detail())
		}
	}
}
