// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func TestHostPort_conflictsWhereNumberProtocolAndAddressMeet(t *testing.T) {
	t.Parallel()
	at := func(ip string, protocol corev1.Protocol, port int32) HostPort { return HostPort{ip, protocol, port} }
	one := at("10.0.0.1", corev1.ProtocolTCP, 80)
	for name, tt := range map[string]struct {
		other HostPort
		want  bool
	}{
		"the same":            {one, true},
		"another address":     {at("10.0.0.2", corev1.ProtocolTCP, 80), false},
		"every address":       {at("0.0.0.0", corev1.ProtocolTCP, 80), true},
		"another protocol":    {at("10.0.0.1", corev1.ProtocolUDP, 80), false},
		"another number":      {at("10.0.0.1", corev1.ProtocolTCP, 81), false},
		"another one of each": {at("0.0.0.0", corev1.ProtocolUDP, 81), false},
	} {
		if one.Conflicts(tt.other) != tt.want || tt.other.Conflicts(one) != tt.want {
			t.Errorf("%s: want %t", name, tt.want)
		}
	}
}

func TestFormatAmount_ofWhatIsCountedAndOfWholeUnits(t *testing.T) {
	t.Parallel()
	for want, tt := range map[string]struct {
		name  corev1.ResourceName
		value int64
	}{"2048": {"example.com/gpu", 2048}, "1Ki": {"memory", 1024}, "1Mi": {"memory", 1 << 20}, "2Gi": {"ephemeral-storage", 2 << 30}} {
		if got := FormatAmount(tt.name, tt.value, true); got != want {
			t.Errorf("%s %d: %q, want %q", tt.name, tt.value, got, want)
		}
	}
}

func TestPodRulesOf_readsWhatKeepsPodsApart(t *testing.T) {
	t.Parallel()
	spec := &corev1.PodSpec{Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
		{TopologyKey: "host", LabelSelector: matching("a", "b")},
		{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Unheard"}}}},
	}}}}
	rules := PodRulesOf(spec)
	if rules == nil || len(rules.AntiAffinity) != 2 || len(rules.Affinity) != 0 {
		t.Fatalf("got %+v", rules)
	}
	host, zone := rules.AntiAffinity[0], rules.AntiAffinity[1]
	if host.TopologyKey != "host" || !host.Selector.Matches(labels.Set{"a": "b"}) || host.Selector.Matches(labels.Set{}) {
		t.Errorf("the first is %+v", host)
	}
	if zone.Selector == nil || zone.Selector.Matches(labels.Set{"a": "b"}) {
		t.Errorf("a selector that does not parse matches: %+v", zone)
	}
}

// TestDemandOf_leavesThePodAsItIs: it is shared with the next reader.
func TestDemandOf_leavesThePodAsItIs(t *testing.T) {
	t.Parallel()
	p := &corev1.Pod{Spec: corev1.PodSpec{
		Resources: &corev1.ResourceRequirements{Requests: list("cpu", "1500m", "memory", "1500m")}, Overhead: list("cpu", "250m", "memory", "100"),
		Containers: []corev1.Container{requesting("cpu", "1")},
	}}
	before := p.DeepCopy()
	first, second := DemandOf(p), DemandOf(p)
	if diff := cmp.Diff(before, p, cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 })); diff != "" {
		t.Errorf("the pod has changed: %s", diff)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("asked again: %s", diff)
	}
}
