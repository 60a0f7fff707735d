// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// spreadCountCases are the facts of TestPreFilterState in k8s.io/kubernetes v1.37.2
// pkg/scheduler/framework/plugins/podtopologyspread/filtering_test.go: how many pods count, and what follows.
func spreadCountCases() []spreadCase {
	type list = []corev1.TopologySpreadConstraint
	zone, host, zoneOfFooBar := list{spread("zone")}, list{spread("node", ofBar)}, spread("zone", skew(5))
	zoneOfFooBar.LabelSelector = selector("foo=bar")
	both, fooAndBar := list{spread("zone"), spread("node")}, list{spread("zone"), spread("node", ofBar)}
	own := list{spread("zone"), spread("planet", skew(2), softly)}
	own[0].LabelSelector, own[1].LabelSelector = selector("baz=tar"), selector("fot=rok")
	abxy := []string{"a zone=zone1,node=a", "b zone=zone1,node=b", "x zone=zone2,node=x", "y zone=zone2,node=y"}
	aby, thirdZone := append(abxy[:2:2], abxy[3]), append(abxy[:4:4], "o zone=zone3,node=o", "p zone=zone3,node=p")
	abc, abTainted := []string{"a node=a,foo=", "b node=b,foo=", "c node=c,bar="}, []string{"a node=a", "b node=b", "c node=c,bar=!"}
	selected := []string{"a zone=zone1,node=a,foo=", "b zone=zone1,node=b", "x zone=zone2,node=x,foo="}
	tainted := []string{selected[0], "b zone=zone1,node=b!", selected[2]}
	mixed := []string{"a zone=zone1,node=a", "b zone=zone1,node=b,foo=!", "x zone=zone2,node=x,foo=", "y zone=zone2,node=y"}
	mixedLabelled := append(mixed[:3:3], "y zone=zone2,node=y,foo=")
	isFoo, notX := want("foo", corev1.NodeSelectorOpIn, ""), want("node", corev1.NodeSelectorOpNotIn, "x")
	const (
		threeTwo, threeFour = "a=foo*2 b=foo y=foo*2", "a=foo*2 b=foo y=foo*4"
		ofA, bars           = "a=foo=a*2 b=foo=a y=foo=a*2", "a=bar b=bar*2 c="
		twoOne              = "b=foo*2 x=foo"
	)
	return []spreadCase{
		{name: "count: no pods, another value", constraints: list{zoneOfFooBar}, counts: "0000", want: "yyyy"},
		{name: "count: zones 3/2", constraints: zone, pods: threeTwo, counts: "3322", want: "nnyy"},
		{name: "count: no selector", constraints: list{spread("zone", ofNone)}, pods: threeTwo, counts: "0000", want: "yyyy"},
		{name: "count: three zones 3/2/0", nodes: thirdZone, constraints: zone, pods: threeTwo, counts: "330022", want: "nnyynn"},
		{name: "count: other namespaces", constraints: zone, pods: "a=foo a=foo@ns1 b=foo y=foo@ns2 y=foo", counts: "2211", want: "nnyy"},
		{name: "count: zones 3/4 and nodes 2/1/0/4", constraints: both, pods: threeFour, counts: "3344 2104", want: "nnnn"},
		{name: "count: soft constraints beside hard ones", nodes: aby, constraints: list{spread("zone", softly), both[0], spread("node", softly), both[1]}, pods: threeFour, counts: "334 214", want: "nyn"},
		{name: "count: foo in zones 1/0, bar on nodes 0/1/0", labels: "foo,bar", nodes: aby, constraints: fooAndBar, pods: "a=foo b=bar", counts: "110 010", want: "nny"},
		{name: "count: foo in zones 3/4, bar on nodes 1/0/2", labels: "foo,bar", nodes: aby, constraints: fooAndBar, pods: "a=foo a=foo+bar b=foo y=foo y=foo+bar y=foo y=foo+bar", counts: "334 102", want: "nyn"},
		{name: "count: zones 3/4 and nodes 2/1/-/4 by node affinity", constraints: both, requires: &notX, pods: threeFour, counts: "3344 21-4", want: "nynn"},
		{name: "count: no constraint, four nodes", labels: "foo=bar", want: "yyyy"},
		{name: "count: its own constraints, not the default ones", labels: "foo=bar,baz=tar", constraints: own, pods: "a=baz=tar", counts: "1100", want: "nnyy"},
		{name: "count: node selector honored", nodes: abc, constraints: host, selects: "foo=", pods: bars, counts: "12-", want: "yyy"},
		{name: "count: node selector ignored", nodes: abc, constraints: list{spread("node", ofBar, ignoringAffinity)}, selects: "foo=", pods: bars, counts: "120", want: "yny"},
		{name: "count: node affinity honored", nodes: abc, constraints: host, requires: &isFoo, pods: bars, counts: "12-", want: "yyy"},
		{name: "count: node affinity ignored", nodes: abc, constraints: list{spread("node", ofBar, ignoringAffinity)}, requires: &isFoo, pods: bars, counts: "120", want: "yny"},
		{name: "count: taints ignored", nodes: abTainted, constraints: host, pods: bars, counts: "120", want: "yny"},
		{name: "count: taints honored", nodes: abTainted, constraints: list{spread("node", ofBar, honoringTaints)}, pods: bars, counts: "12-", want: "yyy"},
		{name: "count: taints honored, a tolerated one", nodes: abTainted, constraints: list{spread("node", ofBar, honoringTaints)}, tolerates: true, pods: bars, counts: "120", want: "yny"},
		{name: "count: zone honors affinity, node ignores it", nodes: selected, constraints: list{spread("zone"), spread("node", ignoringAffinity)}, selects: "foo=", pods: twoOne, counts: "001 021", want: "ynn"},
		{name: "count: zone honors taints, node ignores them", nodes: tainted, constraints: list{spread("zone", honoringTaints), spread("node")}, pods: twoOne, counts: "001 021", want: "ynn"},
		{name: "count: both honor affinity and ignore taints", nodes: mixed, constraints: both, selects: "foo=", pods: "a=foo*2 x=foo y=foo", counts: "0011 -01-", want: "yynn"},
		{name: "count: zone ignores affinity, node honors both", nodes: mixedLabelled, constraints: list{spread("zone", ignoringAffinity), spread("node", honoringTaints)}, selects: "foo=", pods: "a=foo*2 x=foo*2 y=foo", counts: "2233 --21", want: "yynn"},
		{name: "count: matchLabelKeys and a selector", labels: "foo,bar=a", constraints: list{spread("zone", narrowing("bar"))}, pods: "a=foo a=foo+bar=a b=foo y=foo+bar=a y=bar", counts: "1111", want: "yyyy"},
		{name: "count: matchLabelKeys and an empty selector", labels: "foo=a", constraints: list{spread("zone", ofAny, narrowing("foo"))}, pods: ofA, counts: "3322", want: "nnyy"},
		{name: "count: matchLabelKeys and no selector", constraints: list{spread("zone", ofNone, narrowing("bar"))}, pods: ofA, counts: "0000", want: "yyyy"},
		{name: "count: matchLabelKeys that the pod lacks", constraints: list{spread("zone", narrowing("bar"))}, pods: ofA, counts: "3322", want: "nnyy"},
		{name: "count: foo in zones 2/1, bar in zones 1/3", labels: "foo,bar", constraints: list{spread("zone"), spread("zone", ofBar)}, pods: "a=foo+bar b=foo x=bar y=foo+bar y=bar", counts: "2211 1133", want: "nnnn"},
		{name: "count: no constraint", nodes: abxy[:1], want: "y"},
	}
}

// spreadUpdateCases are those of TestPreFilterStateAddPod and TestPreFilterStateRemovePod: what a pod changes that is
// added to a node, or removed from it.
func spreadUpdateCases() []spreadCase {
	type list = []corev1.TopologySpreadConstraint
	zone, host, both, fooAndBar := list{spread("zone")}, list{spread("node")}, list{spread("zone"), spread("node")}, list{spread("zone"), spread("node", ofBar)}
	abxy := []string{"a zone=zone1,node=a", "b zone=zone1,node=b", "x zone=zone2,node=x", "y zone=zone2,node=y"}
	ab, ax, abx := abxy[:2], []string{abxy[0], abxy[2]}, abxy[:3]
	labelled, tainted := []string{"a zone=zone1,node=a,foo=bar", "b zone=zone2,node=b,foo="}, []string{"a zone=zone1,node=a!", "b zone=zone2,node=b"}
	notBar := want("foo", corev1.NodeSelectorOpNotIn, "bar")
	const oneEach = "a=foo b=foo"
	return []spreadCase{
		{name: "add: to one of two empty nodes", nodes: ab, constraints: host, added: "a=foo", counts: "10", want: "ny"},
		{name: "add: to the node with fewer", nodes: ab, constraints: host, pods: "b=foo", added: "a=foo", counts: "11", want: "yy"},
		{name: "add: of another namespace", nodes: ab, constraints: host, pods: "b=foo", added: "a=foo@ns1", counts: "01", want: "yn"},
		{name: "add: to the node with more", nodes: ab, constraints: host, pods: "b=foo", added: "b=foo", counts: "02", want: "yn"},
		{name: "add: to one of two empty zones", nodes: ax, constraints: both, added: "a=foo", counts: "10 10", want: "ny"},
		{name: "add: to the zone with fewer", nodes: ax, constraints: both, pods: "x=foo", added: "a=foo", counts: "11 11", want: "yy"},
		{name: "add: to the zone with more, the node with fewer", nodes: abx, constraints: both, pods: "b=foo*2 x=foo", added: "a=foo", counts: "331 121", want: "nny"},
		{name: "add: foo alone where zones count foo and nodes bar", labels: "foo,bar", nodes: abx, constraints: fooAndBar, pods: "b=foo+bar x=foo+bar x=bar", added: "a=foo", counts: "221 012", want: "nnn"},
		{name: "add: foo and bar where zones count foo and nodes bar", labels: "foo,bar", nodes: abx, constraints: fooAndBar, pods: "b=bar x=foo+bar x=bar", added: "a=foo+bar", counts: "111 112", want: "yyn"},
		{name: "add: outside the node affinity that is honored", nodes: labelled, constraints: zone, requires: &notBar, pods: oneEach, added: "a=foo", counts: "-1", want: "yy"},
		{name: "add: within the node affinity that is honored", nodes: labelled, constraints: zone, pods: oneEach, added: "b=foo", counts: "12", want: "yn"},
		{name: "add: of another kind", nodes: labelled, constraints: zone, pods: oneEach, added: "b=", counts: "11", want: "yy"},
		{name: "add: beside a node with a taint", nodes: tainted, constraints: zone, pods: oneEach, added: "b=foo", counts: "12", want: "yn"},
		{name: "add: beside a node with a tolerated taint", nodes: tainted, constraints: zone, tolerates: true, pods: oneEach, added: "b=foo", counts: "12", want: "yn"},

		{name: "remove: of the zone with more", nodes: abx, constraints: zone, pods: "a=foo b=foo x=foo", removed: "a=foo", counts: "111", want: "yyy"},
		{name: "remove: of one of two equal zones", constraints: zone, pods: "a=foo b=foo x=foo y=foo", removed: "a=foo", counts: "1122", want: "yynn"},
		{name: "remove: of another kind", constraints: zone, pods: "a=bar a=foo b=foo x=foo y=foo", removed: "a=bar", counts: "2222", want: "yyyy"},
		{name: "remove: of another kind, an unknown pod", constraints: zone, pods: "a=foo b=foo x=foo y=foo", removed: "a=bar", counts: "2222", want: "yyyy"},
		{name: "remove: of the zone with fewer", nodes: abx, constraints: both, pods: "a=foo*2 b=foo x=foo*2", removed: "x=foo", counts: "331 211", want: "nny"},
		{name: "remove: outside the node affinity that is honored", nodes: labelled, constraints: zone, requires: &notBar, pods: oneEach, removed: "a=foo", counts: "-1", want: "yy"},
		{name: "remove: within the node affinity that is honored", nodes: labelled, constraints: zone, pods: oneEach, removed: "b=foo", counts: "10", want: "ny"},
	}
}

// TestUpstream_spreadCounts checks what pods count for topology spread, before and after one is added or removed.
func TestUpstream_spreadCounts(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	for _, tt := range append(spreadCountCases(), spreadUpdateCases()...) {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t)
		})
	}
}
