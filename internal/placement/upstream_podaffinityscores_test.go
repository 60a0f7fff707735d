// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// podAffinityScoreCase is a pod, the pods that are there, and what the nodes score in their order.
type podAffinityScoreCase struct {
	name   string
	pod    *apiPod
	nodes  []string
	pods   []*apiPod
	scores string
}

func (c *podAffinityScoreCase) run(t *testing.T) {
	t.Helper()
	one, two := labels.Set{"team": "team1"}, labels.Set{"team": "team2"}
	w := topologyWorld(c.nodes, c.pods...)
	w.NamespaceLabels = map[string]labels.Set{"subteam1.team1": one, "subteam2.team1": one, "subteam1.team2": two, "subteam2.team2": two}
	w.expectScores(t, fromAPI(&c.pod.Pod), c.scores, (taintWeight+spreadWeight)*maxScore, podAffinityWeight)
}

// The pods of the cases have one of two labels, labelS1 and labelS2.
const labelS1, labelS2 = "security=S1", "security=S2"

func preferS1(labels string) *apiPod {
	return labelledPod(labels).preferNear(5, "security in (S1)@region")
}

func preferS2(labels string) *apiPod {
	return labelledPod(labels).preferNear(6, "security in (S2)@region")
}

func avoidS1(labels string) *apiPod {
	return labelledPod(labels).preferApart(5, "security in (S1)@az")
}

func avoidS2(labels string) *apiPod {
	return labelledPod(labels).preferApart(5, "security in (S2)@az")
}

// preferS1AvoidS2 is a pod with preferences of both kinds.
func preferS1AvoidS2(labels string) *apiPod {
	return avoidS2(labels).preferNear(8, "security in (S1)@region")
}

// podAffinityScores are the facts of TestPreferredAffinity in k8s.io/kubernetes v1.37.2
// pkg/scheduler/framework/plugins/interpodaffinity/scoring_test.go, but for namespaces.
func podAffinityScores() []podAffinityScoreCase {
	type pods = []*apiPod
	three := []string{"n1 region=China", "n2 region=India", "n3 az=az1"}
	regions := []string{"n1 region=China", "n2 region=India", "n3 region=China", "n4 region=China", "n5 region=India"}
	inZone := append([]string{"n1 region=China,az=az1"}, regions[1:]...)
	zoneAndRegion := []string{"n1 az=az1", "n2 region=China"}
	have := func(labels string, nodes ...string) (out pods) {
		for _, n := range nodes {
			out = append(out, labelledPod(labels).at(n))
		}
		return out
	}
	several := labelledPod(labelS1).preferNear(8, "security notin (S1),security in (S2)@region").preferNear(2, "security,!wrongkey@region")
	requiring := func(labels string) *apiPod {
		return labelledPod(labels).near("security in (S1,value2)@region", "security,!wrongkey@region")
	}
	mixed := pods{labelledPod(labelS1).at("n1"), labelledPod(labelS2).at("n2"), labelledPod(labelS1).at("n3")}
	fourKinds := pods{labelledPod(labelS1).at("n1"), labelledPod(labelS2).at("n2"), preferS1AvoidS2("").at("n3"), avoidS1("").at("n4")}
	return []podAffinityScoreCase{
		{name: "no terms", pod: labelledPod(labelS1), nodes: three, scores: "0 0 0"},
		{name: "affinity, one node has the label and the pod", pod: preferS1(labelS1), nodes: three, pods: mixed, scores: "100 0 0"},
		{name: "affinity, all nodes of the region", pod: preferS1(""), nodes: []string{"n1 region=China", "n2 region=China,az=az1", "n3 region=India"}, pods: have(labelS1, "n1"), scores: "100 100 0"},
		{name: "affinity, the region with more pods", pod: preferS2(labelS1), nodes: regions, pods: have(labelS2, "n1", "n1", "n2", "n3", "n4", "n5"), scores: "100 0 100 100 0"},
		{name: "affinity, two terms with other operators", pod: several, nodes: three, pods: mixed, scores: "20 100 0"},
		{name: "affinity of other pods", pod: labelledPod(labelS2), nodes: three, pods: pods{preferS1(labelS1).at("n1"), preferS2(labelS2).at("n2")}, scores: "0 100 0"},
		{name: "required affinity of other pods", pod: labelledPod(labelS1), nodes: three, pods: pods{requiring(labelS1).at("n1"), requiring(labelS2).at("n2")}, scores: "100 100 0"},
		{name: "anti-affinity, one node has the pod", pod: avoidS1(labelS1), nodes: zoneAndRegion, pods: append(have(labelS1, "n1"), have(labelS2, "n2")...), scores: "0 100"},
		{name: "anti-affinity, one node has the label", pod: avoidS1(labelS1), nodes: zoneAndRegion, pods: have(labelS1, "n1", "n2"), scores: "0 100"},
		{name: "anti-affinity, one node has two pods", pod: avoidS1(labelS1), nodes: []string{"n1 az=az1", "n2 region=India"}, pods: append(have(labelS1, "n1", "n1"), have(labelS2, "n2")...), scores: "0 100"},
		{name: "anti-affinity of other pods", pod: labelledPod(labelS2), nodes: []string{"n1 az=az1", "n2 az=az2"}, pods: pods{avoidS2(labelS1).at("n1"), avoidS1(labelS2).at("n2")}, scores: "0 100"},
		{name: "affinity and anti-affinity", pod: preferS1AvoidS2(labelS1), nodes: []string{"n1 region=China", "n2 az=az1"}, pods: have(labelS1, "n1", "n2"), scores: "100 0"},
		{name: "affinity and anti-affinity, pods of its own kind", pod: preferS1AvoidS2(labelS1), nodes: inZone, pods: have(labelS1, "n1", "n1", "n2", "n3", "n3", "n4", "n5"), scores: "100 0 100 100 0"},
		{name: "affinity and anti-affinity, its own and of other pods", pod: preferS1AvoidS2(labelS1), nodes: []string{"n1 region=China", "n2 az=az1", "n3 region=India", "n4 az=az2"}, pods: fourKinds, scores: "100 0 100 0"},
		{name: "affinity of another pod on one node of the region", pod: labelledPod(labelS1), nodes: []string{"n1 region=China", "n2 region=China"}, pods: pods{labelledPod(labelS1).at("n1"), preferS1AvoidS2("").at("n2")}, scores: "0 0"},
		{name: "preferred terms of other pods count", pod: labelledPod(labelS2), nodes: three[:2], pods: pods{preferS1AvoidS2(labelS1).at("n1"), preferS2(labelS2).at("n2")}, scores: "0 100"},
		{name: "no nodes", pod: labelledPod(labelS2)},
	}
}

// podAffinityNamespaceScores are those about namespaces, with the facts of
// TestPreferredAffinityWithHardPodAffinitySymmetricWeight there: required terms of other pods.
func podAffinityNamespaceScores() []podAffinityScoreCase {
	type pods = []*apiPod
	nodes := []string{"n1 region=China", "n2 region=India", "n3 az=az1"}
	const selected, others = "security in (S1)@region#subteam2.team2%team in (team1)", "security in (S1)@region%team notin (team1)"
	const first = "subteam1.team1"
	s1In := func(node string, namespaces ...string) (out pods) {
		for _, one := range namespaces {
			out = append(out, labelledPod(labelS1).in(one).at(node))
		}
		return out
	}
	pod := func() *apiPod { return labelledPod(labelS1).in(first) }
	bySelector := append(s1In("n1", first, first, "subteam1.team2"), s1In("n2", "subteam2.team1")...)
	byBoth := append(s1In("n1", first, first, "subteam2.team2"), s1In("n2", "subteam2.team1")...)
	apart := append(s1In("n1", first, first), s1In("n2", "subteam1.team2")...)
	requires := func(node string) *apiPod {
		return labelledPod("").at(node).near("service in (S1)@region#,subteam2.team2%team in (team1)")
	}
	required := func(name, namespace, scores string) podAffinityScoreCase {
		return podAffinityScoreCase{name: "required terms of other pods, " + name, pod: labelledPod("service=S1").in(namespace), nodes: nodes, pods: pods{requires("n1"), requires("n2")}, scores: scores}
	}
	return []podAffinityScoreCase{
		{name: "affinity of another pod, selected namespace", pod: pod(), nodes: nodes, pods: pods{labelledPod(labelS1).preferNear(5, selected).at("n1"), preferS2(labelS2).at("n2")}, scores: "100 0 0"},
		{name: "anti-affinity of another pod, selected namespace", pod: pod(), nodes: nodes, pods: pods{labelledPod(labelS1).preferApart(5, selected).at("n1"), preferS2(labelS2).at("n2")}, scores: "0 100 100"},
		{name: "affinity, selected namespaces", pod: pod().preferNear(5, selected), nodes: nodes[:2], pods: bySelector, scores: "100 0"},
		{name: "affinity, selected and named namespaces", pod: pod().preferNear(5, selected), nodes: nodes[:2], pods: byBoth, scores: "100 0"},
		{name: "anti-affinity, selected namespaces", pod: pod().preferApart(5, selected), nodes: nodes[:2], pods: bySelector, scores: "0 100"},
		{name: "anti-affinity, selected and named namespaces", pod: pod().preferApart(5, selected), nodes: nodes[:2], pods: byBoth, scores: "0 100"},
		{name: "affinity, namespaces of other teams", pod: pod().preferNear(5, others), nodes: nodes[:2], pods: apart, scores: "0 100"},
		{name: "anti-affinity, namespaces of other teams", pod: pod().preferApart(5, others), nodes: nodes[:2], pods: apart, scores: "100 0"},

		required("without a namespace", "", "100 100 0"),
		required("a namespace that is not selected", "subteam1.team2", "0 0 0"),
		required("selected namespace", first, "100 100 0"),
		required("named namespace", "subteam2.team2", "100 100 0"),
	}
}

// TestUpstream_podAffinityScores checks what nodes score by the preferences of a pod for others, and by what these prefer
// and require.
func TestUpstream_podAffinityScores(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	for _, tt := range append(podAffinityScores(), podAffinityNamespaceScores()...) {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t)
		})
	}
}

// TestPodAffinityScores_ofOneNamespaceAlone: only pods of the namespace count that a term names, or else of that of the pod that has
// the term.
func TestPodAffinityScores_ofOneNamespaceAlone(t *testing.T) {
	t.Parallel()
	nodes, other := []string{"n1 region=China", "n2 region=India"}, labelledPod(labelS1).in("other").at("n1")
	for _, tt := range []podAffinityScoreCase{
		{name: "its own terms", pod: preferS1(labelS1), pods: []*apiPod{other, labelledPod(labelS1).at("n2")}, scores: "0 100"},
		{name: "its own term, which names another", pod: labelledPod("").preferNear(5, "security@region#other"), pods: []*apiPod{other, labelledPod(labelS1).at("n2")}, scores: "100 0"},
		{name: "terms of other pods", pod: labelledPod(labelS1), pods: []*apiPod{preferS1("").in("other").at("n1"), preferS1("").at("n2")}, scores: "0 100"},
	} {
		tt.nodes = nodes
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t)
		})
	}
}
