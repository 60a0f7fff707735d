// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// spreadScoreCase is a pod with constraints that keep it away from no node, and what follows for the nodes.
type spreadScoreCase struct {
	spreadCase

	// replicated is set where all pods are of one ReplicaSet.
	replicated bool
	// scores has a word for each node: its score, or "-" where it does not take the pod.
	scores string
	// state has a word for each constraint: its maxSkew, in how many domains the nodes are, and which pods it selects
	// of those with the labels foo, bar and baz=sup, such as "1/2+foo".
	state string
	// unlabelled are the nodes that lack a label of a constraint.
	unlabelled string
}

// soft is a constraint as spread has it that keeps pods away from no node.
func soft(key string, options ...spreadOption) corev1.TopologySpreadConstraint {
	return spread(key, append(options, softly)...)
}

// hosts gives nodes such as "a zone=zone1" their names as host names.
func hosts(nodes ...string) []string {
	var out []string
	for _, text := range nodes {
		name, labels, _ := strings.Cut(text, " ")
		out = append(out, fmt.Sprintf("%s %s=%s,%s", name, corev1.LabelHostname, name, labels))
	}
	return out
}

// cluster returns the nodes with their pods, and the pod to place.
func (c *spreadScoreCase) cluster() (world, *snapshot.Pod) {
	w, pod := c.world(), c.pod()
	if c.replicated {
		own := ownedBy("ReplicaSet", "rs1")
		own(pod)
		for _, pods := range w.Pods {
			for _, p := range pods {
				own(p)
			}
		}
	}
	return w, pod
}

// expectScores sums the scores of nodes for a pod. One plug-in alone tells them apart, which has the weight; shared is what
// the others add to each.
func (w world) expectScores(t *testing.T, pod *snapshot.Pod, want string, shared, weight int64) {
	t.Helper()
	words := strings.Fields(want)
	s, _ := w.prepared(pod)
	if len(words) != len(s.places) {
		t.Fatalf("%d nodes, want %q", len(s.places), want)
	}
	var takers []rated
	for i, word := range words {
		if word != "-" {
			takers = append(takers, rated{node: int32(i)})
		}
	}
	s.sum(s.prefers(pod, pod.Scheduling, false), takers)
	for _, one := range takers {
		words[one.node] = strconv.FormatInt((one.score-shared)/weight, 10)
	}
	if got := strings.Join(words, " "); got != want {
		t.Errorf("the nodes score %s, want %s", got, want)
	}
}

func (c *spreadScoreCase) expectScores(t *testing.T) {
	t.Helper()
	w, pod := c.cluster()
	w.expectScores(t, pod, c.scores, taintWeight*maxScore, spreadWeight)
}

// expectState compares what is known before nodes are scored: all of them take the pod.
func (c *spreadScoreCase) expectState(t *testing.T) {
	t.Helper()
	w, pod := c.cluster()
	s, _ := w.prepared(pod)
	p := s.prefers(pod, pod.Scheduling, false)
	takers := make([]rated, len(s.places))
	for i := range takers {
		takers[i].node = int32(i)
	}
	s.rateByPods(p, takers)
	spread, unlabelled := 0, ""
	for _, one := range takers {
		if one.crowded == unspread {
			unlabelled += s.places[one.node].node.Name
		} else {
			spread++
		}
	}
	var words []string
	for _, one := range p.spread {
		words = append(words, fmt.Sprintf("%d/%d%s", one.skew, s.domainsOf(one, takers, spread), one.selected(s)))
	}
	if got := strings.Join(words, " "); got != c.state || unlabelled != c.unlabelled {
		t.Errorf("the constraints are %q, and %q lack a label, want %q and %q", got, unlabelled, c.state, c.unlabelled)
	}
}

// selected adds pods to the first node, and returns the labels of those that count: none is there before.
func (c *softConstraint) selected(s *simulation) string {
	out := ""
	total := func() (sum int32) {
		for i := range s.places {
			n, _ := c.on(int32(i))
			sum += n
		}
		return sum
	}
	for _, labels := range []string{"foo", "bar", "baz=sup"} {
		before := total()
		one := occupant{pod: fromAPI(&labelledPod(labels).Pod)}
		if s.add(0, one); total() > before {
			out += "+" + labels
		}
		s.remove(0, one)
	}
	if n := total(); n != 0 {
		out += fmt.Sprintf(", and %d pods", n)
	}
	return out
}

// TestUpstream_spreadStates has the facts of TestPreScoreSkip and TestPreScoreStateEmptyNodes in k8s.io/kubernetes v1.37.2
// pkg/scheduler/framework/plugins/podtopologyspread/scoring_test.go.
func TestUpstream_spreadStates(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	type list = []corev1.TopologySpreadConstraint
	zone, host, ofSup := list{soft("zone", ofBar)}, soft(corev1.LabelHostname), soft("planet", skew(2))
	ofSup.LabelSelector = selector("baz=sup")
	abx, marked := hosts("a zone=zone1", "b zone=zone1", "x zone=zone2"), hosts("a zone=zone1,foo=", "b zone=zone1,foo=", "x zone=zone2")
	tainted := append(marked[:2:2], marked[2]+"!")
	withoutZone := append(abx[:2:2], hosts("x")...)
	planets := hosts("a topology.kubernetes.io/zone=mars", "b topology.kubernetes.io/zone=mars", "c", "d")
	isFoo := want("foo", corev1.NodeSelectorOpIn, "")
	for _, tt := range []spreadScoreCase{
		{spreadCase: spreadCase{name: "no constraints", nodes: hosts("a", "b")}},

		{spreadCase: spreadCase{name: "zones and hosts", nodes: abx, constraints: list{soft("zone"), host}}, state: "1/2+foo 1/3+foo"},
		{spreadCase: spreadCase{name: "no selector", nodes: abx, constraints: list{soft("zone", ofNone)}}, state: "1/2"},
		{spreadCase: spreadCase{name: "a node without a zone", nodes: withoutZone, constraints: list{soft("zone"), soft(corev1.LabelHostname, ofBar)}}, state: "1/1+foo 1/2+bar", unlabelled: "x"},
		{spreadCase: spreadCase{name: "a pod of a ReplicaSet", labels: "foo=tar,baz=sup", nodes: planets}, replicated: true, state: "3/4 5/2"},
		{spreadCase: spreadCase{name: "a pod of a ReplicaSet with constraints of its own", labels: "foo=bar,baz=sup", nodes: []string{"a planet=mars,galaxy=andromeda"}, constraints: list{spread("zone", ofBar), ofSup}}, replicated: true, state: "2/1+baz=sup"},
		{spreadCase: spreadCase{name: "a node selector that is honored", nodes: marked, constraints: zone, selects: "foo="}, state: "1/2+bar"},
		{spreadCase: spreadCase{name: "a node selector that is ignored", nodes: marked, constraints: list{soft("zone", ofBar, ignoringAffinity)}, selects: "foo="}, state: "1/2+bar"},
		{spreadCase: spreadCase{name: "node affinity that is honored", nodes: marked, constraints: zone, requires: &isFoo}, state: "1/2+bar"},
		{spreadCase: spreadCase{name: "node affinity that is ignored", nodes: marked, constraints: list{soft("zone", ofBar, ignoringAffinity)}, requires: &isFoo}, state: "1/2+bar"},
		{spreadCase: spreadCase{name: "taints that are honored", nodes: tainted, constraints: list{soft("zone", ofBar, honoringTaints)}}, state: "1/2+bar"},
		{spreadCase: spreadCase{name: "taints that are ignored", nodes: tainted, constraints: zone}, state: "1/2+bar"},
	} {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			tt.expectState(t)
		})
	}
}

// TestUpstream_spreadScores has the facts of TestPodTopologySpreadScore there.
func TestUpstream_spreadScores(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	type list = []corev1.TopologySpreadConstraint
	host, zone, node := list{soft(corev1.LabelHostname)}, list{soft("zone")}, list{soft("node")}
	both, fooAndBar, onlyNode := append(zone[:1:1], host...), list{soft("zone"), soft(corev1.LabelHostname, ofBar)}, list{soft("node", ignoringAffinity)}
	anyNarrowed := list{soft("zone", ofAny, narrowing("foo")), soft(corev1.LabelHostname, ofAny, narrowing("bar"))}
	barNarrowed := list{soft("zone"), soft(corev1.LabelHostname, ofBar, narrowing("baz"))}
	four, other := hosts("a", "b", "c", "d"), hosts("a", "b", "x", "y")
	withoutHost := []string{other[0], "b n=b", other[2], other[3]}
	abxy, abcd := hosts("a zone=zone1", "b zone=zone1", "x zone=zone2", "y zone=zone2"), hosts("a zone=zone1", "b zone=zone1", "c zone=zone2", "d zone=zone2")
	three, marked := []string{"a node=a", "b node=b", "c node=c"}, []string{"a node=a,foo=", "b node=b,foo=", "c node=c"}
	tainted := append(three[:2:2], "c node=c!")
	isFoo := want("foo", corev1.NodeSelectorOpIn, "")
	const (
		falling, twoOneOne    = "a=foo*4 b=foo*3 c=foo*2 d=foo", "a=foo*2 b=foo c=foo"
		twoOneNoneThree       = "a=foo*2 b=foo d=foo*3"
		fourTwoOneThree, each = "a=foo*4 b=foo*2 x=foo y=foo*3", "a=foo b=foo+bar y=foo y=bar"
	)
	for _, tt := range []spreadScoreCase{
		{spreadCase: spreadCase{name: "hosts, no pods", nodes: four[:2], constraints: host}, scores: "100 100"},
		{spreadCase: spreadCase{name: "hosts 2/1, the first alone takes it", nodes: four[:2], constraints: host, pods: "a=foo*2 b=foo"}, scores: "100 -"},
		{spreadCase: spreadCase{name: "hosts 1/1", nodes: four[:2], constraints: host, pods: "a=foo b=foo"}, scores: "100 100"},
		{spreadCase: spreadCase{name: "hosts 2/1/0/3", nodes: four, constraints: host, pods: twoOneNoneThree}, scores: "20 60 100 0"},
		{spreadCase: spreadCase{name: "no selector", nodes: four, constraints: list{soft(corev1.LabelHostname, ofNone)}, pods: twoOneNoneThree}, scores: "100 100 100 100"},
		{spreadCase: spreadCase{name: "hosts 2/1/0/3, maxSkew 2", nodes: four, constraints: list{soft(corev1.LabelHostname, skew(2))}, pods: twoOneNoneThree}, scores: "33 66 100 16"},
		{spreadCase: spreadCase{name: "hosts 4/3/2/1, maxSkew 3", nodes: four, constraints: list{soft(corev1.LabelHostname, skew(3))}, pods: falling}, scores: "44 66 77 100"},
		{spreadCase: spreadCase{name: "hosts 4/2/1/3, the last does not take it", nodes: other, constraints: host, pods: fourTwoOneThree}, scores: "33 83 100 -"},
		{spreadCase: spreadCase{name: "hosts 4/2/1/3, one without the label", nodes: withoutHost, constraints: host, pods: fourTwoOneThree}, scores: "16 0 100 -"},
		{spreadCase: spreadCase{name: "zones 6/4, the last does not take it", nodes: abxy, constraints: zone, pods: fourTwoOneThree}, scores: "75 75 100 -"},
		{spreadCase: spreadCase{name: "zones 3/6 and hosts 2/1/2/4, two take it", nodes: abxy, constraints: both, pods: "a=foo*2 b=foo x=foo*2 y=foo*4"}, scores: "100 - 63 -"},
		{spreadCase: spreadCase{name: "foo in zones 3/3, bar in zones 2/1, two take it", labels: "foo,bar", nodes: abxy, constraints: list{soft("zone"), soft("zone", ofBar)}, pods: "a=foo+bar a=foo b=foo+bar y=foo*2 y=foo+bar"}, scores: "85 - 100 -"},
		{spreadCase: spreadCase{name: "foo in zones 2/1, bar on hosts 0/1/0/1", labels: "foo,bar", nodes: abxy, constraints: fooAndBar, pods: each}, scores: "60 20 100 60"},
		{spreadCase: spreadCase{name: "foo in zones 0/2, bar on hosts 0/1/0/1", labels: "foo,bar", nodes: abxy, constraints: fooAndBar, pods: "b=bar x=foo y=foo+bar"}, scores: "100 60 40 0"},
		{spreadCase: spreadCase{name: "foo in zones 2/1, bar on hosts 0/1/0/1, the last does not take it", labels: "foo,bar", nodes: abxy, constraints: fooAndBar, pods: each}, scores: "50 25 100 -"},
		{spreadCase: spreadCase{name: "other namespaces do not count", nodes: four[:2], constraints: host, pods: "a=foo@ns1 a=foo b=foo*2"}, scores: "100 33"},
		{spreadCase: spreadCase{name: "terminating pods do not count", nodes: four[:2], constraints: host, pods: "a=foo- b=foo"}, scores: "100 0"},
		{spreadCase: spreadCase{name: "minDomains changes nothing", nodes: three, constraints: list{soft("node", skew(2), domains(10))}, pods: "a=foo*2 b=foo*2 c=foo"}, scores: "75 75 100"},
		{spreadCase: spreadCase{name: "node selector honored", nodes: marked, constraints: node, selects: "foo=", pods: twoOneOne}, scores: "0 33 100"},
		{spreadCase: spreadCase{name: "node selector ignored", nodes: marked, constraints: onlyNode, selects: "foo=", pods: twoOneOne}, scores: "66 100 100"},
		{spreadCase: spreadCase{name: "node affinity honored", nodes: marked, constraints: node, requires: &isFoo, pods: twoOneOne}, scores: "0 33 100"},
		{spreadCase: spreadCase{name: "node affinity ignored", nodes: marked, constraints: onlyNode, requires: &isFoo, pods: twoOneOne}, scores: "66 100 100"},
		{spreadCase: spreadCase{name: "taints honored", nodes: tainted, constraints: list{soft("node", honoringTaints)}, pods: twoOneOne}, scores: "0 33 100"},
		{spreadCase: spreadCase{name: "taints ignored", nodes: tainted, constraints: node, pods: twoOneOne}, scores: "66 100 100"},
		{spreadCase: spreadCase{name: "matchLabelKeys and an empty selector", labels: "foo,bar", nodes: abcd, constraints: anyNarrowed, pods: "a=foo b=foo+bar c=foo c=bar"}, scores: "60 20 60 100"},
		{spreadCase: spreadCase{name: "matchLabelKeys and a selector", labels: "foo,bar,baz", nodes: abcd, constraints: barNarrowed, pods: "a=foo b=foo+bar+baz c=foo c=bar c=bar+baz"}, scores: "60 20 60 100"},
	} {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			tt.expectScores(t)
		})
	}
}

// TestSpreadScores_beyondUpstreamsCases has what upstream's cases leave open: above all, the default constraints by a ReplicaSet where
// upstream has a Service.
func TestSpreadScores_beyondUpstreamsCases(t *testing.T) {
	t.Parallel()
	type list = []corev1.TopologySpreadConstraint
	four := hosts("a", "b", "c", "d")
	const falling = "a=foo*4 b=foo*3 c=foo*2 d=foo"
	for _, tt := range []spreadScoreCase{
		{spreadCase: spreadCase{name: "a ReplicaSet, no zones: as by a constraint for hosts", nodes: four, pods: falling}, replicated: true, scores: "44 66 77 100"},
		{spreadCase: spreadCase{name: "no ReplicaSet", nodes: four, pods: falling}, scores: "100 100 100 100"},
		{spreadCase: spreadCase{name: "a ReplicaSet, terminating pods do not count", nodes: four[:2], pods: "a=foo- b=foo"}, replicated: true, scores: "100 66"},
		{spreadCase: spreadCase{name: "a ReplicaSet, a constraint of its own", nodes: four, constraints: list{soft(corev1.LabelHostname, ofBar)}, pods: falling}, replicated: true, scores: "100 100 100 100"},
		{spreadCase: spreadCase{name: "an empty selector selects nothing", nodes: four, constraints: list{soft(corev1.LabelHostname, ofAny)}, pods: falling}, scores: "100 100 100 100"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.expectScores(t)
		})
	}
}
