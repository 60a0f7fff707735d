// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func matching(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}

func TestPodRulesOf_keepsPortsOfWhatRunsAsLongAsThePod(t *testing.T) {
	t.Parallel()
	always := corev1.ContainerRestartPolicyAlways
	port := func(ip string, protocol corev1.Protocol, hostPort int32) corev1.Container {
		return corev1.Container{Ports: []corev1.ContainerPort{{ContainerPort: 80, HostIP: ip, Protocol: protocol, HostPort: hostPort}}}
	}
	sidecar := port("10.0.0.1", corev1.ProtocolUDP, 53)
	sidecar.RestartPolicy = &always
	rules := PodRulesOf(&corev1.PodSpec{
		InitContainers: []corev1.Container{port("", "", 8080), sidecar},
		Containers:     []corev1.Container{port("", "", 443), port("", corev1.ProtocolTCP, 0)},
	})
	want := []HostPort{{"10.0.0.1", corev1.ProtocolUDP, 53}, {"0.0.0.0", corev1.ProtocolTCP, 443}}
	if diff := cmp.Diff(want, rules.Ports); diff != "" {
		t.Error(diff)
	}
}

func TestPodRulesOf_keepsWhatIsOnlyPreferredApart(t *testing.T) {
	t.Parallel()
	term := func(weight int32) corev1.WeightedPodAffinityTerm {
		return corev1.WeightedPodAffinityTerm{Weight: weight, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: "zone", LabelSelector: matching("a", "b")}}
	}
	rules := PodRulesOf(&corev1.PodSpec{
		Affinity: &corev1.Affinity{
			PodAffinity:     &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{term(3)}},
			PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{term(5)}},
		},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{TopologyKey: "zone", MaxSkew: 2, WhenUnsatisfiable: corev1.ScheduleAnyway}},
	})
	if rules == nil || len(rules.Affinity)+len(rules.AntiAffinity)+len(rules.Spread) > 0 || len(rules.Preferred) != 2 || len(rules.SoftSpread) != 1 {
		t.Fatalf("got %+v", rules)
	}
	if near, apart := rules.Preferred[0], rules.Preferred[1]; near.Weight != 3 || apart.Weight != -5 || apart.Selector.String() != "a=b" || rules.SoftSpread[0].MaxSkew != 2 {
		t.Errorf("got %+v", rules)
	}
}

func TestPodRulesOf_fillsInTheDefaultsOfSpreading(t *testing.T) {
	t.Parallel()
	ignore, honor := corev1.NodeInclusionPolicyIgnore, corev1.NodeInclusionPolicyHonor
	rules := PodRulesOf(&corev1.PodSpec{TopologySpreadConstraints: []corev1.TopologySpreadConstraint{
		{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule},
		{MaxSkew: 2, TopologyKey: "host", WhenUnsatisfiable: corev1.DoNotSchedule, MinDomains: new(int32(3)), NodeAffinityPolicy: &ignore, NodeTaintsPolicy: &honor, MatchLabelKeys: []string{"pod-template-hash"}},
	}})
	type flat struct {
		Skew, Domains    int32
		Affinity, Taints bool
		Keys             int
	}
	var got []flat
	for _, c := range rules.Spread {
		got = append(got, flat{c.MaxSkew, c.MinDomains, c.HonorAffinity, c.HonorTaints, len(c.MatchLabelKeys)})
	}
	if diff := cmp.Diff([]flat{{1, 1, true, false, 0}, {2, 3, false, true, 1}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestPodTerm_matchesNamespaces(t *testing.T) {
	t.Parallel()
	team := labels.Set{"team": "a"}
	for name, tt := range map[string]struct {
		term    corev1.PodAffinityTerm
		ns      string
		matches bool
	}{
		"the pod's own by default":                       {ns: "own", matches: true},
		"no other by default":                            {ns: "other"},
		"those it names":                                 {term: corev1.PodAffinityTerm{Namespaces: []string{"other"}}, ns: "other", matches: true},
		"not the own where it names others":              {term: corev1.PodAffinityTerm{Namespaces: []string{"other"}}, ns: "own"},
		"those it selects":                               {term: corev1.PodAffinityTerm{NamespaceSelector: matching("team", "a")}, ns: "other", matches: true},
		"not those it does not select":                   {term: corev1.PodAffinityTerm{NamespaceSelector: matching("team", "b")}, ns: "other"},
		"every one by an empty selector":                 {term: corev1.PodAffinityTerm{NamespaceSelector: &metav1.LabelSelector{}}, ns: "other", matches: true},
		"those it names beside a selector of others":     {term: corev1.PodAffinityTerm{Namespaces: []string{"other"}, NamespaceSelector: matching("team", "b")}, ns: "other", matches: true},
		"not the own where it selects another namespace": {term: corev1.PodAffinityTerm{NamespaceSelector: matching("team", "b")}, ns: "own"},
	} {
		tt.term.LabelSelector = &metav1.LabelSelector{}
		rules := PodRulesOf(&corev1.PodSpec{Affinity: &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{tt.term}}}})
		if got := rules.Affinity[0].Matches("own", tt.ns, nil, team); got != tt.matches {
			t.Errorf("%s: matches %t", name, got)
		}
	}
}
