// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccPlacements_budgetsDecideWhoIsPreempted makes crowded clusters with pods of three priorities, all of them with
// PodDisruptionBudgets: a change preempts more than one pod there, and few do in those of TestAccPlacements. Half of the
// workloads have a number. Of 1 % other pods may be preempted than predicted; for the rest the shares of TestAccPlacements hold.
func TestAccPlacements_budgetsDecideWhoIsPreempted(t *testing.T) {
	t.Parallel()
	acctest.Exhaustive(t)
	c := acctest.Connect(t)
	acctest.NeedKwok(t, "nodes of a chosen size")
	tally := placed{outsideOf: map[string]int{}}
	eachSeed(t, everySeed, func(t *testing.T, seed int) {
		p := newPlaces(t, c, seed, &tally)
		p.volumes, p.kinds, p.features, p.nodesOf, p.near, p.rivals = nil, nil, nil, nil, nil, true
		out, pending := p.run()
		p.compare(out, pending)
		p.compareVictims(out)
	})
	t.Cleanup(func() {
		tally.expect(t)
		t.Logf("%d clusters with PodDisruptionBudgets, which decide in %d whose pods are preempted", tally.guarded, tally.decisive)
		expectShares(t, tally.clusters, share{what: "workloads with other preempted pods than predicted", n: tally.unlike, of: tally.workloads, perMille: mostUnlike},
			tally.unnumbered("crowded clusters", mostCrowded, 5))
		if tally.victims*2+10 < tally.clusters {
			t.Errorf("%d pods are preempted: the test shows little", tally.victims)
		}
	})
}

// rival makes a priority class below that of urgent pods, and returns what gives pods one of the two or none.
func (p *places) rival(urgent func(*corev1.PodSpec)) func(*corev1.PodSpec) {
	p.t.Helper()
	name := acctest.Name(p.t, "rival")
	classes := p.c.Admin.SchedulingV1().PriorityClasses()
	_, err := classes.Create(p.t.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: 500}, metav1.CreateOptions{})
	p.must(err)
	p.t.Cleanup(func() { _ = classes.Delete(context.Background(), name, metav1.DeleteOptions{}) })
	return func(s *corev1.PodSpec) {
		switch p.guards.IntN(3) {
		case 0:
			urgent(s)
		case 1:
			s.PriorityClassName = name
		}
	}
}

// podsOfNode, sizeOfNode and workloadsOf make a cluster of rivals crowded: most nodes are full of pods, and have room for
// their requests.
func (p *places) podsOfNode(n int) int {
	if p.rivals {
		return 3 + p.guards.IntN(3)
	}
	return n
}

func (p *places) sizeOfNode(n int) int {
	if p.rivals {
		return 4 * n
	}
	return n
}

func (p *places) workloadsOf(n int) int {
	if p.rivals {
		return n + 2
	}
	return n
}

// budgetsOf gives most workloads of rivals a PodDisruptionBudget.
func (p *places) budgetsOf(n int, names []string) int {
	if p.rivals {
		return n + len(names)/2
	}
	return n
}
