// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

func TestBlocking_namesPodsInOrderWhicheverNodesTheyAreOn(t *testing.T) {
	t.Parallel()
	db := snapshot.WorkloadKey{Namespace: "shop", Owner: snapshot.Owner{Group: "apps", Kind: "StatefulSet", Name: "db"}}
	s := &snapshot.Snapshot{Pods: map[string][]*snapshot.Pod{}}
	var want, got []string
	for n := range 9 {
		name := fmt.Sprintf("db-%d", n)
		want = append(want, name)
		on := fmt.Sprintf("n%d", 9-n)
		s.Pods[on] = append(s.Pods[on], &snapshot.Pod{Namespace: "shop", Name: name, Node: on, Controller: &snapshot.Controller{Owner: db.Owner, UID: "db"}, Scheduling: &snapshot.Scheduling{}})
	}
	for _, p := range Blocking(s, &workload.Workload{Pods: []snapshot.WorkloadKey{db}, Ordered: []snapshot.WorkloadKey{db}}) {
		got = append(got, p.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestOrder_writesAndCleansUpPoliciesEachByItself.
func TestOrder_writesAndCleansUpPoliciesEachByItself(t *testing.T) {
	t.Parallel()
	claim := func(name string, list ...corev1.Toleration) admission.Claim {
		return admission.Claim{Policy: admission.Policy{Name: name, Match: admission.Match{All: true}, Tolerations: list}, Mark: admission.Mark{Owner: "me", Generation: "g2"}}
	}
	x, y := tol(t, "x=1:NoExecute"), tol(t, "y=1:NoExecute")
	there := claim("b", x)
	seen := &admission.Observed{Policy: there.Policy, Mark: there.Mark}
	seen.Retiring = []corev1.Toleration{y}
	steps := func(policies ...DesiredPolicy) string {
		var out []string
		for _, step := range Order(aSnapshot(nil), Change{Policies: policies}, eviction.ComparisonOff).Steps {
			out = append(out, step.String())
		}
		return strings.Join(out, ", ")
	}
	if got := steps(DesiredPolicy{Claim: claim("a", x)}, DesiredPolicy{Claim: there, Seen: seen}); got != "write policy a, remove unneeded tolerations from policy b" {
		t.Errorf("its steps are %s", got)
	}
	released := there
	released.Release = true
	if got := steps(DesiredPolicy{Claim: released, Seen: seen}); got != "delete policy b" {
		t.Errorf("its steps are %s", got)
	}
	if got := steps(DesiredPolicy{Claim: released}); got != "" {
		t.Errorf("where there is none, its steps are %s", got)
	}
	for name, tt := range map[string]struct {
		claim admission.Claim
		want  int
	}{"one that is wanted gives": {there, 1}, "one that is given up does not": {released, 0}} {
		o := &order{snapshot: aSnapshot(nil), change: Change{Policies: []DesiredPolicy{{Claim: tt.claim, Seen: seen}}}}
		o.admit()
		if o.rules.Empty() == (tt.want > 0) {
			t.Errorf("%s: %v", name, o.rules)
		}
	}
}

// TestOrder_waitsForLinkedPodsBeforeTaintsComeByMachineSets.
func TestOrder_waitsForLinkedPodsBeforeTaintsComeByMachineSets(t *testing.T) {
	t.Parallel()
	taints := taintsOf(t, "x=1:NoExecute")
	for name, tt := range map[string]struct {
		claim taint.Claim
		want  []string
	}{
		"taints that come": {taint.Claim{Owner: "me", Generation: "g2", Taints: taints}, []string{"wait for 1 pod of Deployment shop/web", "roll taints out to the machines of 1 MachineSet"}},
		"taints that go":   {taint.Claim{Owner: "me", Generation: "g2", Release: true}, []string{"roll taints out to the machines of 1 MachineSet"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := aWorkload(t, "Deployment", "web")
			linked := Tolerations{Workload: w, Linked: true}
			linked.Claim.Tolerations = tols(t, "x=1:NoExecute")
			set := &machineset.Set{Namespace: "machines", Name: "gpu", Replicas: 1, Observed: true}
			if tt.claim.Release {
				set.Taints, set.Record = taints, taint.Record{{Key: "x", Effect: "NoExecute", Owner: "me", Generation: "g2"}}
			}
			desired := DesiredSets{
				Target:  machineset.Target{Namespace: "machines", Name: "gpu"},
				Desired: machineset.Desired{Claim: tt.claim, Rollout: machineset.Rollout{Strategy: machineset.InPlace}},
			}
			s := aSnapshot([]*snapshot.Node{aNode(t, "a", "gpu")}, aPod(t, w, "web-1", "a"))
			var got []string
			for _, step := range Order(s, Change{MachineSets: desired.Changes([]machineset.Observed{{Set: set}}), Workloads: []Tolerations{linked}}, eviction.ComparisonOff).Steps {
				got = append(got, step.String())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMissing_ofAWorkloadWhosePodsAreNotKnownIsNone(t *testing.T) {
	t.Parallel()
	if got := missing(aSnapshot(nil), &workload.Workload{Wants: 3}); got != 0 {
		t.Errorf("%d are missing", got)
	}
	if got := missing(aSnapshot(nil), &workload.Workload{Wants: 3, Pods: []snapshot.WorkloadKey{{Namespace: "shop"}}}); got != 3 {
		t.Errorf("%d are missing, want 3", got)
	}
}

func TestNodeTaints_unreadableNodesAreNamedInOrder(t *testing.T) {
	t.Parallel()
	var nodes []*snapshot.Node
	for _, name := range []string{"c", "a", "b"} {
		n := aNode(t, name, "gpu")
		n.RecordErr = errors.New("damaged")
		nodes = append(nodes, n)
	}
	nodes = append(nodes, aNode(t, "d", "gpu"))
	if diff := cmp.Diff([]string{"a", "b", "c"}, desire(t, pool(t, "gpu"), "x=1:NoExecute").Unreadable(nodes)); diff != "" {
		t.Error(diff)
	}
}

// TestRefuse_aTaintOfControlPlaneNodesForOneReasonAlone: who puts it back first.
func TestRefuse_aTaintOfControlPlaneNodesForOneReasonAlone(t *testing.T) {
	t.Parallel()
	controlPlanes := taintsOf(t, "node-role.kubernetes.io/master:NoSchedule")
	n := aNode(t, "a", "gpu", "node-role.kubernetes.io/master:NoSchedule")
	n.Machine, n.MachineConfig = "openshift-machine-api/m1", true
	desired := desire(t, Target{Name: "a"})
	desired.Claim.Absent, desired.Machines = []taint.ID{taint.IDOf(controlPlanes[0])}, Machines{n.Machine: {Taints: controlPlanes}}
	if refusals := Refuse(n, MergeNode(n, desired), desired); len(refusals) != 1 || !strings.Contains(refusals[0].Why, "mastersSchedulable") {
		t.Errorf("it refuses %v", refusals)
	}
}

// TestOrder_othersBeginWithWhatThisChangeLeaves of the same node.
func TestOrder_othersBeginWithWhatThisChangeLeaves(t *testing.T) {
	t.Parallel()
	w := aWorkload(t, "Deployment", "web", "~x=1:NoExecute", "~y=1:NoExecute")
	s := aSnapshot([]*snapshot.Node{aNode(t, "a", "gpu", "*x=1:NoExecute", "!y=1:NoExecute")}, aPod(t, w, "a1", "a"))
	own, other := desire(t, Target{Name: "a"}), desire(t, Target{Name: "a"})
	own.Claim.Release = true
	other.Claim.Owner, other.Claim.Generation, other.Claim.Release = "other", "g9", true
	changes := TaintChanges{Nodes: []NodeTaints{other}, Named: []taint.ID{{Key: "x", Effect: corev1.TaintEffectNoExecute}, {Key: "y", Effect: corev1.TaintEffectNoExecute}}, Known: []record.Seal{{}}}
	got := writeSteps(Order(s, Change{Nodes: []NodeTaints{own}, Workloads: []Tolerations{Retained(w, changes.RetainedClaim())}, Elsewhere: changes}, eviction.ComparisonOff))
	if diff := cmp.Diff([]string{"switch a: y=1:NoExecute", "contract web:, restarts a1"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestFrees_isTheClaimOnWhatTheTaintsOfAllChangesName.
func TestFrees_isTheClaimOnWhatTheTaintsOfAllChangesName(t *testing.T) {
	t.Parallel()
	one := desire(t, Target{Name: "a"}, "x=1:NoExecute")
	one.Known = []record.Seal{{Nonce: "n"}}
	changes := TaintChanges{Nodes: []NodeTaints{one}, Named: []taint.ID{{Key: "y", Effect: "NoSchedule"}}, Known: []record.Seal{{Nonce: "m"}}}
	claim := changes.RetainedClaim()
	if diff := cmp.Diff([]taint.ID{{Key: "y", Effect: "NoSchedule"}, {Key: "x", Effect: "NoExecute"}}, claim.Named); diff != "" {
		t.Error(diff)
	}
	if len(claim.Known) != 2 || claim.Known[0].Nonce != "m" || claim.Known[1].Nonce != "n" {
		t.Errorf("known are %v", claim.Known)
	}
	w := aWorkload(t, "Deployment", "web")
	w.Path = []string{"spec", "other", "tolerations"}
	if got := Retained(w, claim).Claim.Path; got != w.ClaimPath() || got == "" {
		t.Errorf("it is the claim on %q", got)
	}
}
