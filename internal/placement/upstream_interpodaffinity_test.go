// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// podAffinityCase is a pod, the pods that are there, and what nodes answer in their order.
type podAffinityCase struct {
	name  string
	pod   *apiPod
	nodes []string
	pods  []*apiPod
	want  []answer
}

// podAffinityCases are the facts of k8s.io/kubernetes v1.37.2
// pkg/scheduler/framework/plugins/interpodaffinity/filtering_test.go for one node.
func podAffinityCases() []podAffinityCase {
	type pods = []*apiPod
	type want = []answer
	one := []string{"n1 region=r1,zone=z11"}
	const scan, other = "service=securityscan", "security=S1"
	existing := func() *apiPod { return labelledPod(scan).at("n1") }
	invalid := labelledPod(scan).near("service in (foo)@region", "service in (a)@node")
	invalid.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[1].LabelSelector = &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "service", Operator: metav1.LabelSelectorOpIn, Values: []string{"{{.bad-value.}}"}}},
	}
	invalidFirst := labelledPod(scan).near("service in (a)@region", "service in (antivirusscan,value2)@node")
	invalidFirst.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector = invalid.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[1].LabelSelector
	everywhere := labelledPod(other).in("subteam1.team1").apart("service in (securityscan,value2)@zone")
	everywhere.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].NamespaceSelector = &metav1.LabelSelector{}
	return []podAffinityCase{
		{name: "no rules, no pods", pod: labelledPod(""), nodes: one, want: want{takes}},
		{name: "affinity, In", pod: labelledPod(other).near("service in (securityscan,value2)@region"), nodes: one, pods: pods{existing()}, want: want{takes}},
		{name: "affinity, NotIn", pod: labelledPod(other).near("service notin (securityscan3,value3)@region"), nodes: one, pods: pods{existing()}, want: want{takes}},
		{name: "affinity, another namespace", pod: labelledPod(other).near("service in (securityscan,value2)@#DiffNameSpace"), nodes: one, pods: pods{existing().in("ns")}, want: want{unresolvable}},
		{name: "affinity, other labels", pod: labelledPod(scan).near("service in (antivirusscan,value2)@"), nodes: one, pods: pods{existing()}, want: want{unresolvable}},
		{name: "affinity, two terms", pod: labelledPod(other).near("service,!wrongkey@region", "service in (securityscan),service notin (WrongValue)@region"), nodes: one, pods: pods{existing()}, want: want{takes}},
		{name: "affinity, one requirement of a term does not match", pod: labelledPod(other).near("service,!wrongkey@region", "service in (securityscan2),service notin (WrongValue)@region"), nodes: one, pods: pods{existing()}, want: want{unresolvable}},
		{name: "affinity and anti-affinity", pod: labelledPod(other).near("service in (securityscan,value2)@region").apart("service in (antivirusscan,value2)@node"), nodes: one, pods: pods{existing()}, want: want{takes}},
		{name: "affinity, and anti-affinity both ways", pod: labelledPod(other).near("service in (securityscan,value2)@region").apart("service in (antivirusscan,value2)@node"), nodes: one, pods: pods{existing().apart("service in (antivirusscan,value2)@node")}, want: want{takes}},
		{name: "affinity matches, anti-affinity too", pod: labelledPod(other).near("service in (securityscan,value2)@region").apart("service in (securityscan,value2)@zone"), nodes: one, pods: pods{existing()}, want: want{unschedulable}},
		{name: "anti-affinity of the other pod matches", pod: labelledPod(scan).near("service in (securityscan,value2)@region").apart("service in (antivirusscan,value2)@node"), nodes: one, pods: pods{existing().apart("service in (securityscan,value2)@zone")}, want: want{unschedulable}},
		{name: "affinity to all but its own kind", pod: labelledPod(scan).near("service notin (securityscan,value2)@region"), nodes: one, pods: pods{labelledPod(scan).at("n2")}, want: want{unresolvable}},
		{name: "no rules, anti-affinity of the other pod matches", pod: labelledPod(scan), nodes: one, pods: pods{existing().apart("service in (securityscan,value2)@zone")}, want: want{unschedulable}},
		{name: "no rules, anti-affinity of the other pod does not match", pod: labelledPod(scan), nodes: one, pods: pods{existing().apart("service notin (securityscan,value2)@zone")}, want: want{takes}},
		{name: "one of two anti-affinity terms matches", pod: labelledPod(scan).apart("service@region", "security@region"), nodes: one, pods: pods{labelledPod(other).at("n1").apart("security@zone")}, want: want{unschedulable}},
		{name: "anti-affinity, a1", pod: labelledPod(scan).apart("service@zone", "security@zone"), nodes: one, pods: pods{labelledPod(other).at("n1").apart("security@zone")}, want: want{unschedulable}},
		{name: "anti-affinity, a2", pod: labelledPod(other).apart("security@zone"), nodes: one, pods: pods{existing().apart("service@zone", "security@zone")}, want: want{unschedulable}},
		{name: "anti-affinity, b1", pod: labelledPod("abc=,xyz=").apart("abc@zone", "def@zone"), nodes: one, pods: pods{labelledPod("def=,xyz=").at("n1").apart("abc@zone", "def@zone")}, want: want{unschedulable}},
		{name: "anti-affinity, b2", pod: labelledPod("def=,xyz=").apart("abc@zone", "def@zone"), nodes: one, pods: pods{labelledPod("abc=,xyz=").at("n1").apart("abc@zone", "def@zone")}, want: want{unschedulable}},
		{name: "affinity that does not parse", pod: invalidFirst, nodes: one, want: want{unresolvable}},
		{name: "a second affinity that does not parse", pod: invalid, nodes: one, want: want{unresolvable}},
		{name: "affinity, selected namespace", pod: labelledPod(other).near("service in (securityscan,value2)@region%team in (team1)"), nodes: one, pods: pods{existing().in("subteam1.team1")}, want: want{takes}},
		{name: "affinity, namespace that is not selected", pod: labelledPod(other).near("service in (securityscan,value2)@region%team in (team1)"), nodes: one, pods: pods{existing().in("subteam1.team2")}, want: want{unresolvable}},
		{name: "anti-affinity, selected namespace", pod: labelledPod(other).in("subteam1.team1").apart("service in (securityscan,value2)@zone%team in (team1)"), nodes: one, pods: pods{existing().in("subteam2.team1")}, want: want{unschedulable}},
		{name: "anti-affinity, every namespace", pod: everywhere, nodes: one, pods: pods{existing().in("subteam2.team1")}, want: want{unschedulable}},
		{name: "anti-affinity, namespace that is not selected", pod: labelledPod(other).in("subteam1.team1").apart("service in (securityscan,value2)@zone%team in (team1)"), nodes: one, pods: pods{existing().in("subteam1.team2")}, want: want{takes}},
	}
}

// podAffinityNodesCases are those for several nodes.
func podAffinityNodesCases() []podAffinityCase {
	type pods = []*apiPod
	type want = []answer
	regions := []string{"n1 region=China", "n2 region=China,az=az1", "n3 region=India"}
	zones, sameZone := []string{"n1 region=r1,zone=z1", "n2 region=r1,zone=z2"}, []string{"n1 region=r1,zone=z1", "n2 region=r1,zone=z1"}
	hosts := []string{"n1 kubernetes.io/hostname=n1", "n2 kubernetes.io/hostname=n2", "n3 kubernetes.io/hostname=n3"}
	group := func() *apiPod {
		return labelledPod("foo=bar,service=securityscan").near("foo in (bar)@zone", "service in (securityscan)@zone")
	}
	two := func(labels string) *apiPod {
		return labelledPod(labels).near("foo in (bar)@kubernetes.io/hostname", "baz in (qux)@kubernetes.io/hostname")
	}
	return []podAffinityCase{
		{name: "affinity, all nodes of the region", pod: labelledPod("").near("foo in (bar)@region"), nodes: regions, pods: pods{labelledPod("foo=bar").at("n1")}, want: want{takes, takes, unresolvable}},
		{name: "affinity to its own kind, the first pod", pod: group(), nodes: []string{"n1 zone=az1", "n2 zone=az2"}, pods: pods{labelledPod("foo=bar").at("n1")}, want: want{takes, takes}},
		{name: "affinity to its own kind, nodes without the label", pod: group(), nodes: []string{"n1 zoneLabel=az1", "n2 zoneLabel=az2"}, pods: pods{labelledPod("foo=bar").at("n1")}, want: want{unresolvable, unresolvable}},
		{name: "anti-affinity, both nodes of the region", pod: labelledPod("").apart("foo in (abc)@region"), nodes: []string{"n1 region=r1", "n2 region=r1"}, pods: pods{labelledPod("foo=abc").at("n1")}, want: want{unschedulable, unschedulable}},
		{name: "anti-affinity, either term", pod: labelledPod("").apart("foo in (abc)@region", "service in (securityscan)@zone"), nodes: zones, pods: pods{labelledPod("foo=abc,service=securityscan").at("n1")}, want: want{unschedulable, unschedulable}},
		{name: "anti-affinity, another region", pod: labelledPod("").apart("foo in (abc)@region"), nodes: regions, pods: pods{labelledPod("foo=abc").at("n1")}, want: want{unschedulable, unschedulable, takes}},
		{name: "anti-affinity, another namespace", pod: labelledPod("foo=123").in("NS1").apart("foo in (bar)@region"), nodes: regions, pods: pods{labelledPod("foo=bar").in("NS1").at("n1"), labelledPod("").in("NS2").apart("foo in (123)@region").at("n3")}, want: want{unschedulable, unschedulable, takes}},
		{name: "anti-affinity of the other pod, a label that no node has", pod: labelledPod("foo="), nodes: sameZone, pods: pods{labelledPod("").at("n1").apart("foo@invalid")}, want: want{takes, takes}},
		{name: "anti-affinity, a label that no node has", pod: labelledPod("").apart("foo@invalid"), nodes: sameZone, pods: pods{labelledPod("foo=").at("n1")}, want: want{takes, takes}},
		{name: "anti-affinity of two other pods", pod: labelledPod("foo=,bar="), nodes: zones, pods: pods{labelledPod("").at("n1").apart("foo@zone"), labelledPod("").at("n1").apart("bar@region")}, want: want{unschedulable, unschedulable}},
		{name: "anti-affinity to two other pods", pod: labelledPod("").apart("foo@zone", "bar@region"), nodes: zones, pods: pods{labelledPod("foo=").at("n1"), labelledPod("bar=").at("n2")}, want: want{unschedulable, unschedulable}},
		{name: "anti-affinity of the other pod, one label that no node has", pod: labelledPod("foo=,bar="), nodes: zones, pods: pods{labelledPod("").at("n1").apart("foo@invalid", "bar@zone")}, want: want{unschedulable, takes}},
		{name: "anti-affinity, one label that no node has", pod: labelledPod("").apart("foo@invalid", "bar@zone"), nodes: zones, pods: pods{labelledPod("foo=,bar=").at("n1")}, want: want{unschedulable, takes}},
		{name: "anti-affinity of the other pod, region and zone", pod: labelledPod("foo=,bar="), nodes: zones, pods: pods{labelledPod("").at("n1").apart("foo@region", "bar@zone")}, want: want{unschedulable, unschedulable}},
		{name: "anti-affinity, region and zone", pod: labelledPod("").apart("foo@region", "bar@zone"), nodes: zones, pods: pods{labelledPod("foo=,bar=").at("n1")}, want: want{unschedulable, unschedulable}},
		{name: "anti-affinity of other pods, a third zone", pod: labelledPod("foo=,bar="), nodes: append(zones[:2:2], "n3 region=r1,zone=z3"), pods: pods{labelledPod("").at("n1").apart("foo@zone", "labelA@zone"), labelledPod("").at("n2").apart("bar@zone", "labelB@zone")}, want: want{unschedulable, unschedulable, takes}},
		{name: "affinity, two terms, one pod", pod: labelledPod("").near("foo@region", "bar@zone"), nodes: sameZone, pods: pods{labelledPod("foo=,bar=").at("n1")}, want: want{takes, takes}},
		{name: "affinity, two terms, two pods", pod: labelledPod("").near("foo@region", "bar@zone"), nodes: zones, pods: pods{labelledPod("foo=").at("n1"), labelledPod("bar=").at("n2")}, want: want{unresolvable, unresolvable}},
		{name: "affinity, hosts", pod: labelledPod("").near("foo@kubernetes.io/hostname"), nodes: hosts[:2], pods: pods{labelledPod("foo=").at("n1")}, want: want{takes, unresolvable}},
		{name: "anti-affinity, hosts", pod: labelledPod("").apart("foo@kubernetes.io/hostname"), nodes: hosts[:2], pods: pods{labelledPod("foo=").at("n1")}, want: want{unschedulable, takes}},
		// TestMultipleAffinityTermsRequireSingleMatchingPod.
		{name: "affinity, hosts, one pod has to match both terms", pod: two(""), nodes: hosts, pods: pods{labelledPod("foo=bar").at("n1"), labelledPod("baz=qux").at("n1"), labelledPod("foo=bar,baz=qux").at("n3")}, want: want{unresolvable, unresolvable, takes}},
		{name: "affinity, hosts, the first of its own kind", pod: two("foo=bar,baz=qux"), nodes: hosts, pods: pods{labelledPod("foo=bar").at("n1"), labelledPod("baz=qux").at("n1")}, want: want{takes, takes, takes}},
		// TestFastTrackInterPodAffinity.
		{name: "anti-affinity, zones", pod: labelledPod("app=foo").apart("app in (foo)@zone"), nodes: zones, pods: pods{labelledPod("app=foo").at("n1"), labelledPod("app=bar").at("n2")}, want: want{unschedulable, takes}},
		{name: "anti-affinity, one host", pod: labelledPod("app=bar").apart("app in (bar)@kubernetes.io/hostname"), nodes: hosts[:2], pods: pods{labelledPod("app=foo").at("n1"), labelledPod("app=bar").at("n2")}, want: want{takes, unschedulable}},
		{name: "anti-affinity, namespaces without a label", pod: labelledPod("app=baz").in("subteam1.team1").apart("app in (blocked)@zone%!team"), nodes: zones, pods: pods{labelledPod("app=blocked").in("subteam1.team2").at("n1")}, want: want{takes, takes}},
	}
}

// TestUpstream_interPodAffinity checks which nodes take a pod beside others, with the fast path for
// host names or without it: it changes no answer.
func TestUpstream_interPodAffinity(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	tests := append(podAffinityCases(), podAffinityNodesCases()...)
	for _, tt := range tests {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			w := topologyWorld(tt.nodes, tt.pods...)
			w.NamespaceLabels = map[string]labels.Set{"subteam1.team1": {"team": "team1"}, "subteam2.team1": {"team": "team1"}, "subteam1.team2": {"team": "team2"}}
			w.expect(t, fromAPI(&tt.pod.Pod), tt.want...)
		})
	}
}
