// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"strconv"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// podAffinityUpdate is a pod, the pods that are there, and those that are added and removed one after the other.
type podAffinityUpdate struct {
	name  string
	pod   *apiPod
	nodes []string
	pods  []*apiPod
	steps []podAffinityStep
}

// podAffinityStep is a change, and what follows.
type podAffinityStep struct {
	add, remove *apiPod
	// near and apart have a word for each term of the pod: how many pods it matches in the domain of each node.
	near, apart string
	// want has a letter for each node: "y" where it takes the pod, "n" where it does not, "-" where it does not
	// until other pods are added.
	want string
}

// termCounts returns how many pods terms match in the domain of each node, a word for each term.
func termCounts(counters []*counter, nodes int) string {
	var words []string
	for _, c := range counters {
		word := ""
		for i := range nodes {
			n, _ := c.on(int32(i))
			word += strconv.Itoa(int(n))
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func (u *podAffinityUpdate) run(t *testing.T) {
	t.Helper()
	// One object each: a pod that is removed is the one that was added.
	known := map[*apiPod]occupant{}
	w := topologyWorld(u.nodes)
	for _, p := range u.pods {
		known[p] = occupant{pod: fromAPI(&p.Pod)}
		w.run(known[p].pod)
	}
	for _, step := range u.steps {
		if step.add != nil {
			known[step.add] = occupant{pod: fromAPI(&step.add.Pod)}
			// It waits at first, so that its anti-affinity is known when the pod is asked about.
			w.Waiting = append(w.Waiting, known[step.add].pod)
		}
	}
	s, class := w.prepared(fromAPI(&u.pod.Pod))
	at := func(p *apiPod) int32 { return int32(s.byName[p.Spec.NodeName].index) }
	for n, step := range u.steps {
		if step.add != nil {
			s.add(at(step.add), known[step.add])
		}
		if step.remove != nil {
			s.remove(at(step.remove), known[step.remove])
		}
		got := ""
		for i := range s.places {
			got += string("yn-"[s.ask(class, int32(i))])
		}
		near, apart := "", ""
		if r := class.podRules; r != nil {
			near, apart = termCounts(r.affinity, len(s.places)), termCounts(r.anti, len(s.places))
		}
		if got != step.want || near != step.near || apart != step.apart {
			t.Errorf("step %d: nodes answer %s, count %q and %q, want %s, %q and %q", n, got, near, apart, step.want, step.near, step.apart)
		}
	}
}

// podAffinityUpdates are the facts of TestPreFilterStateAddRemovePod, TestRemovePodHostScopedAffinityCount and
// TestGetTPMapMatchingIncomingAffinityAntiAffinity in k8s.io/kubernetes v1.37.2
// pkg/scheduler/framework/plugins/interpodaffinity/filtering_test.go.
func podAffinityUpdates() []podAffinityUpdate {
	type pods = []*apiPod
	type steps = []podAffinityStep
	const (
		host           = "kubernetes.io/hostname"
		fooBar         = "foo in (bar)@region"
		ofKind, ofNone = "foo in (bar,buzz)@region", "service notin (bar,security,test)@zone"
	)
	three := []string{"n1 region=r1,zone=z11", "n2 region=r1,zone=z12", "n3 region=r2,zone=z21"}
	hosts := []string{"n1 region=r1,zone=z11," + host + "=n1", "n2 region=r1,zone=z12," + host + "=n2"}
	kind := func() *apiPod { return labelledPod("foo=bar") }
	old, first, far := kind().at("n1"), kind().at("n1"), labelledPod("").at("n3").apart(fooBar)
	both := labelledPod("").at("n3").apart(fooBar).near(ofKind, ofNone)
	added, complexAdded, nearAdded := kind().at("n2").apart(fooBar), kind().at("n1").apart(ofKind, ofNone), kind().at("n1").apart(ofKind, ofNone)
	hostAdded := kind().at("n1").apart(fooBar, "foo in (bar)@"+host)
	term := func(key string) string { return key + "@" + host }
	one := func(name, labels string, pod *apiPod, near, apart, want string) podAffinityUpdate {
		u := podAffinityUpdate{name: "terms: " + name, pod: pod, nodes: []string{"n1 " + host + "=n1"}, steps: steps{{near: near, apart: apart, want: want}}}
		if labels != "" {
			u.pods = pods{labelledPod(labels).at("n1")}
		}
		return u
	}
	return []podAffinityUpdate{
		{name: "update: anti-affinity", pod: kind().apart(fooBar), nodes: three, pods: pods{old, far}, steps: steps{
			{apart: "110", want: "nnn"}, {add: added, apart: "220", want: "nnn"}, {remove: added, apart: "110", want: "nnn"}, {remove: old, apart: "000", want: "yyn"},
		}},
		{name: "update: anti-affinity, two terms", pod: kind().apart(ofKind, ofNone), nodes: three, pods: pods{old, far}, steps: steps{
			{apart: "110 101", want: "nnn"}, {add: complexAdded, apart: "220 201", want: "nnn"}, {remove: complexAdded, apart: "110 101", want: "nnn"},
		}},
		{name: "update: affinity, two terms", pod: kind().near(ofKind, ofNone), nodes: three, pods: pods{old, both}, steps: steps{
			{near: "110 100", want: "y--"}, {add: nearAdded, near: "220 200", want: "n--"}, {remove: nearAdded, near: "110 100", want: "y--"},
		}},
		{name: "update: anti-affinity, hosts and regions", pod: kind().apart(fooBar), nodes: hosts, pods: pods{old}, steps: steps{
			{apart: "11", want: "nn"}, {add: hostAdded, apart: "22", want: "nn"}, {remove: hostAdded, apart: "11", want: "nn"}, {remove: old, apart: "00", want: "yy"},
		}},
		{name: "update: affinity to its own kind, hosts", pod: kind().near("foo in (bar)@" + host), nodes: hosts, pods: pods{first}, steps: steps{
			{near: "10", want: "y-"}, {remove: first, near: "00", want: "yy"}, {add: first, near: "10", want: "y-"},
		}},

		one("none, no pods", "", labelledPod(""), "", "", "y"),
		one("none", "aaa", labelledPod(""), "", "", "y"),
		one("of other pods", "bbb", labelledPod("").near(term("aaa")).apart(term("aaa")), "0", "0", "-"),
		one("affinity and anti-affinity match", "aaa", labelledPod("").near(term("aaa")).apart(term("aaa")), "1", "1", "n"),
		one("two of affinity and one of anti-affinity match", "aaa,bbb", labelledPod("").near(term("aaa"), term("bbb")).apart(term("aaa")), "1 1", "1", "n"),
		one("one of affinity does not match", "aaa", labelledPod("").near(term("aaa"), term("bbb")).apart(term("aaa"), term("bbb")), "0 0", "1 0", "-"),
		one("one of affinity is of a label that no pod has", "aaa,bbb", labelledPod("").near(term("aaa"), term("ccc")).apart(term("aaa"), term("ccc")), "0 0", "1 0", "-"),
		one("the first of affinity does not match", "bbb", labelledPod("").near(term("aaa"), term("bbb")).apart(term("aaa"), term("bbb")), "0 0", "0 1", "-"),
	}
}

// TestUpstream_podAffinityCounts checks which pods the terms of a pod match, before and after one is added or removed:
// a pod that is gone can make the next one the first of its kind.
func TestUpstream_podAffinityCounts(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	for _, tt := range podAffinityUpdates() {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t)
		})
	}
}
