// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

type spreadOption func(*corev1.TopologySpreadConstraint)

// spread is a constraint with the selector "foo" and maxSkew 1, unless options say otherwise.
func spread(key string, options ...spreadOption) corev1.TopologySpreadConstraint {
	c := corev1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selector("foo")}
	for _, o := range options {
		o(&c)
	}
	return c
}

func skew(n int32) spreadOption { return func(c *corev1.TopologySpreadConstraint) { c.MaxSkew = n } }

func domains(n int32) spreadOption {
	return func(c *corev1.TopologySpreadConstraint) { c.MinDomains = &n }
}

func ofBar(c *corev1.TopologySpreadConstraint) { c.LabelSelector = selector("bar") }

func ofNone(c *corev1.TopologySpreadConstraint) { c.LabelSelector = nil }

func ignoringAffinity(c *corev1.TopologySpreadConstraint) {
	c.NodeAffinityPolicy = new(corev1.NodeInclusionPolicyIgnore)
}

func ofAny(c *corev1.TopologySpreadConstraint) { c.LabelSelector = &metav1.LabelSelector{} }

// softly is for constraints that keep pods away from no node.
func softly(c *corev1.TopologySpreadConstraint) { c.WhenUnsatisfiable = corev1.ScheduleAnyway }

func narrowing(key string) spreadOption {
	return func(c *corev1.TopologySpreadConstraint) { c.MatchLabelKeys = []string{key} }
}

func honoringTaints(c *corev1.TopologySpreadConstraint) {
	c.NodeTaintsPolicy = new(corev1.NodeInclusionPolicyHonor)
}

// spreadCase is a pod with constraints, and what each node answers.
type spreadCase struct {
	name string
	// labels are those of the pod, "foo" by default.
	labels      string
	constraints []corev1.TopologySpreadConstraint
	// nodes are a and b of zone1, x and y of zone2 by default; one with "!" is tainted.
	nodes []string
	// pods are such as "a=foo", "a=foo+bar" for two labels or "a=foo*2" for two pods; "-" marks one
	// that is terminating, "@ns" one of another namespace.
	pods string
	// selects is the pod's node selector, requires its node affinity.
	selects  string
	requires *corev1.NodeSelectorRequirement
	// tolerates is set where it tolerates the taint.
	tolerates bool
	// added and removed are a pod that is added to its node before the nodes are asked, or removed from it.
	added, removed string
	// counts has a word for each constraint: how many pods count in the domain of each node, "-" where it has none.
	counts string
	// want has a letter for each node: "y" where it takes the pod, "n" where it does not, "-" where
	// it never does.
	want string
}

func (c *spreadCase) eachPod() iter.Seq[string] {
	return func(yield func(string) bool) {
		for text := range strings.FieldsSeq(c.pods) {
			one, times, several := strings.Cut(text, "*")
			n := 1
			if several {
				n = int(times[0] - '0')
			}
			for range n {
				if !yield(one) {
					return
				}
			}
		}
	}
}

// read reads one of the pods.
func (c *spreadCase) read(text string) *snapshot.Pod {
	text, terminating := strings.CutSuffix(text, "-")
	text, namespace, _ := strings.Cut(text, "@")
	at, labels, _ := strings.Cut(text, "=")
	p := labelledPod(strings.ReplaceAll(labels, "+", ",")).at(at).in(namespace)
	if terminating {
		p.DeletionTimestamp = &metav1.Time{}
	}
	return fromAPI(&p.Pod)
}

func (c *spreadCase) world() world {
	nodes := c.nodes
	if nodes == nil {
		nodes = []string{"a zone=zone1,node=a", "b zone=zone1,node=b", "x zone=zone2,node=x", "y zone=zone2,node=y"}
	}
	w := newWorld()
	for _, text := range nodes {
		text, tainted := strings.CutSuffix(text, "!")
		for _, n := range topologyWorld([]string{text}).Nodes {
			if tainted {
				n.Taints = taintsOf("node.kubernetes.io/unschedulable:NoSchedule")
			}
			w.Nodes[n.Name] = n
		}
	}
	for text := range c.eachPod() {
		w = w.run(c.read(text))
	}
	return w
}

// pod is the pod that is placed.
func (c *spreadCase) pod() *snapshot.Pod {
	p := labelledPod(cmp.Or(c.labels, "foo"))
	p.Spec.TopologySpreadConstraints, p.Spec.NodeSelector = c.constraints, labelsOf(c.selects)
	if c.requires != nil {
		p.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{*c.requires}}},
		}}
	}
	if c.tolerates {
		p.Spec.Tolerations = []corev1.Toleration{exists("node.kubernetes.io/unschedulable", "")}
	}
	return fromAPI(&p.Pod)
}

func (c *spreadCase) run(t *testing.T) {
	t.Helper()
	s, class := c.world().prepared(c.pod())
	for i, p := range s.places {
		if one := c.read(c.added); p.node.Name == one.Node {
			s.add(int32(i), occupant{pod: one})
		}
		if one := c.read(c.removed); p.node.Name == one.Node {
			s.remove(int32(i), occupant{pod: one})
		}
	}
	got := ""
	for i := range s.places {
		// Upstream's tests run no other plug-in: a node that others refuse can fit.
		a := takes
		if class.podRules != nil {
			_, a = class.podRules.ask(int32(i))
		}
		got += string("yn-"[a])
	}
	if got != c.want {
		t.Errorf("nodes answer %s, want %s", got, c.want)
	}
	if c.counts == "" {
		return
	}
	if counts := spreadCounts(s, class); counts != c.counts {
		t.Errorf("nodes count %s, want %s", counts, c.counts)
	}
}

// spreadCounts returns how many pods count in the domain of each node, a word for each constraint.
func spreadCounts(s *simulation, class *class) string {
	var words []string
	for _, rule := range class.podRules.spread {
		word := ""
		for i := range s.places {
			if n, in := rule.on(int32(i)); in && slices.Contains(rule.known, rule.of[i]) {
				word += strconv.Itoa(int(n))
			} else {
				word += "-"
			}
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// TestUpstream_podTopologySpread has the facts of k8s.io/kubernetes v1.37.2
// pkg/scheduler/framework/plugins/podtopologyspread/filtering_test.go: TestSingleConstraint and
// TestMultipleConstraints.
func TestUpstream_podTopologySpread(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	type list = []corev1.TopologySpreadConstraint
	zone, host := list{spread("zone")}, list{spread("node")}
	both, fooAndBar, zones := list{spread("zone"), spread("node")}, list{spread("zone"), spread("node", ofBar)}, list{spread("zone", ofBar), spread("zone")}
	three, labelled := []string{"a node=a", "b node=b", "c node=c"}, []string{"a node=a,foo=", "b node=b,foo=", "x node=x,foo=", "y node=y"}
	tainted := append(labelled[:3:3], "y node=y!")
	inZones := []string{"a zone=zone1,node=a,foo=", "b zone=zone1,node=b,foo=", "x zone=zone2,node=x,foo=", "y zone=zone2,node=y"}
	taintedZones := append(inZones[:3:3], "y zone=zone2,node=y!")
	mixed := []string{"a zone=zone1,node=a,foo=", "b zone=zone1,node=b", "x zone=zone2,node=x,foo=", "y zone=zone2,node=y,foo=!"}
	aOrY, notB, isFoo := want("node", corev1.NodeSelectorOpIn, "a", "y"), want("node", corev1.NodeSelectorOpNotIn, "b"), want("foo", corev1.NodeSelectorOpIn, "")
	const threeThree = "a=foo*2 b=foo y=foo*3"
	tests := []spreadCase{
		// TestSingleConstraint.
		{name: "no pods", constraints: zone, want: "yyyy"},
		{name: "no pods, not of its own kind", constraints: list{spread("zone", ofBar)}, want: "yyyy"},
		{name: "other namespaces do not count", constraints: zone, pods: "a=foo@ns1 a=foo@ns2 x=foo y=foo", want: "yynn"},
		{name: "no selector selects nothing", constraints: list{spread("zone", ofNone)}, pods: "x=foo y=foo", want: "yyyy"},
		{name: "zones 3/3", constraints: zone, pods: threeThree, want: "yyyy"},
		{name: "zones 1/2, a node without the label", constraints: zone, nodes: []string{"a zone=zone1", "b zon=zone1", "x zone=zone2", "y zone=zone2"}, pods: "a=foo b=foo x=foo y=foo", want: "y-nn"},
		{name: "no node has the label", constraints: list{spread("rack")}, nodes: []string{"a zone=zone1", "x zone=zone2"}, want: "--"},
		{name: "nodes 2/1/0/3", constraints: host, pods: threeThree, want: "nnyn"},
		{name: "nodes 2/1/0/3, maxSkew 2", constraints: list{spread("node", skew(2))}, pods: threeThree, want: "nyyn"},
		{name: "nodes 2/1/0/3, not of its own kind", labels: "bar", constraints: host, pods: threeThree, want: "nyyn"},
		{name: "nodes 2/-/-/3 by node affinity", constraints: host, requires: &aOrY, pods: threeThree, want: "yyyn"},
		{name: "terminating pods do not count", constraints: host, nodes: three[:2], pods: "a=foo- b=foo", want: "yn"},
		{name: "zones 0/1 by node affinity", constraints: zone, requires: &notB, pods: "b=foo*2 y=foo", want: "yynn"},
		{name: "nodes 2/2/1, fewer than minDomains", constraints: list{spread("node", skew(2), domains(4))}, nodes: three, pods: "a=foo*2 b=foo*2 c=foo", want: "nny"},
		{name: "nodes 2/2/1, more than minDomains", constraints: list{spread("node", skew(2), domains(2))}, nodes: three, pods: "a=foo*2 b=foo*2 c=foo", want: "yyy"},
		{name: "zones 2/1, fewer than minDomains", constraints: list{spread("zone", skew(2), domains(3))}, pods: "a=foo b=foo y=foo", want: "nnyy"},
		{name: "zones 2/1, more than minDomains", constraints: list{spread("zone", skew(2), domains(1))}, pods: "a=foo b=foo y=foo", want: "yyyy"},
		{name: "node selector honored", constraints: host, selects: "foo=", nodes: labelled, pods: "a=foo b=foo y=foo", want: "nnyy"},
		{name: "node selector ignored", constraints: list{spread("node", ignoringAffinity)}, selects: "foo=", nodes: labelled, pods: "a=foo b=foo y=foo", want: "nnyn"},
		{name: "node affinity honored", constraints: host, requires: &isFoo, nodes: labelled, pods: "a=foo b=foo y=foo", want: "nnyy"},
		{name: "node affinity ignored", constraints: list{spread("node", ignoringAffinity)}, requires: &isFoo, nodes: labelled, pods: "a=foo b=foo y=foo", want: "nnyn"},
		{name: "taints honored", constraints: list{spread("node", honoringTaints)}, nodes: tainted, pods: "a=foo b=foo y=foo", want: "nnyy"},
		{name: "taints ignored", constraints: host, nodes: tainted, pods: "a=foo b=foo y=foo", want: "nnyn"},

		// TestMultipleConstraints.
		{name: "zones 3/3 and nodes 2/1/0/3", constraints: both, pods: threeThree, want: "nnyn"},
		{name: "zones 3/4 and nodes 2/1/0/4", constraints: both, pods: threeThree + " y=foo", want: "nnnn"},
		{name: "foo in zones 1/0, bar on nodes 1/0/0/1", labels: "foo,bar", constraints: fooAndBar, pods: "a=foo y=bar", want: "nnyn"},
		{name: "foo in zones 1/0, bar on nodes 0/0/1/1", labels: "foo,bar", constraints: fooAndBar, pods: "a=foo x=bar y=bar", want: "nnnn"},
		{name: "foo in zones 2/3, bar on nodes 1/0/0/1", labels: "foo,bar", constraints: fooAndBar, pods: "a=foo a=foo+bar y=foo y=foo+bar y=foo", want: "nynn"},
		{name: "foo in zones 1/0, not of its own kind, bar on nodes 0/0/1/1", labels: "bar", constraints: fooAndBar, pods: "a=foo x=bar y=bar", want: "yynn"},
		{name: "zones 1/1 and nodes 1/0/-/1, a node without the label", constraints: both, nodes: []string{"a zone=zone1,node=a", "b zone=zone1,node=b", "x zone=zone2", "y zone=zone2,node=y"}, pods: "a=foo y=foo", want: "ny-n"},
		{name: "zone: honor affinity, node: ignore it", constraints: list{spread("zone"), spread("node", ignoringAffinity)}, selects: "foo=", nodes: inZones, pods: "a=foo b=foo y=foo", want: "nnyn"},
		{name: "zone: honor taints, node: ignore them", constraints: list{spread("zone", honoringTaints), spread("node")}, nodes: taintedZones, pods: "a=foo b=foo y=foo", want: "nnyn"},
		{name: "zone and node: honor affinity, ignore taints", constraints: both, selects: "foo=", nodes: mixed, pods: "a=foo b=foo y=foo", want: "nyyn"},
		{name: "zone: honor both, node: ignore both", constraints: list{spread("zone", honoringTaints), spread("node", ignoringAffinity)}, selects: "foo=", nodes: mixed, pods: "a=foo b=foo y=foo", want: "nnyn"},
		{name: "bar in zones 2/1 and foo in zones 3/3", labels: "foo,bar", constraints: zones, pods: "a=foo+bar a=foo b=foo+bar y=foo y=foo+bar y=foo", want: "nnyy"},
		{name: "bar in zones 2/1 and foo in zones 3/4", labels: "foo,bar", constraints: zones, pods: "a=foo+bar a=foo b=foo+bar y=foo y=foo+bar y=foo*2", want: "nnnn"},
	}
	for _, tt := range tests {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t)
		})
	}
}

// The values of matchLabelKeys are required as well: pods of another revision do not count
// (podtopologyspread/common.go, filterTopologySpreadConstraints).
func TestSpread_matchLabelKeysNarrowTheSelector(t *testing.T) {
	t.Parallel()
	narrow := narrowing("rev")
	for _, tt := range []spreadCase{
		{name: "pods of another revision", labels: "foo,rev=2", constraints: []corev1.TopologySpreadConstraint{spread("node", narrow)}, pods: "a=foo+rev=1 b=foo+rev=1", want: "yyyy"},
		{name: "pods of the same revision", labels: "foo,rev=2", constraints: []corev1.TopologySpreadConstraint{spread("node", narrow)}, pods: "a=foo+rev=2 b=foo+rev=1", want: "nyyy"},
		{name: "a pod without the label", labels: "foo", constraints: []corev1.TopologySpreadConstraint{spread("node", narrow)}, pods: "a=foo+rev=2 b=foo+rev=1", want: "nnyy"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t)
		})
	}
}
