// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func TestZones_ofVolumesMatchNodes(t *testing.T) {
	t.Parallel()
	const zone, region, oldZone = corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone
	for name, tt := range map[string]struct {
		volume, node labels.Set
		zones        Zones
		want         bool
	}{
		"a volume without zones":                    {labels.Set{"app": "db"}, labels.Set{zone: "a"}, nil, true},
		"a volume of the node's zone":               {labels.Set{zone: "a", "app": "db"}, labels.Set{zone: "a"}, Zones{zone: {"a"}}, true},
		"a volume of another zone":                  {labels.Set{zone: "a"}, labels.Set{zone: "b"}, Zones{zone: {"a"}}, false},
		"a volume of several zones":                 {labels.Set{zone: "a__ b "}, labels.Set{zone: "b"}, Zones{zone: {"a", "b"}}, true},
		"a list with an empty zone is left out":     {labels.Set{zone: "a__", region: "r"}, labels.Set{zone: "b", region: "r"}, Zones{region: {"r"}}, true},
		"a volume of the zone and another region":   {labels.Set{zone: "a", region: "r"}, labels.Set{zone: "a", region: "s"}, Zones{zone: {"a"}, region: {"r"}}, false},
		"an old label of a volume and a new one":    {labels.Set{oldZone: "a"}, labels.Set{zone: "a"}, Zones{oldZone: {"a"}}, true},
		"old labels of both":                        {labels.Set{oldZone: "a"}, labels.Set{oldZone: "b", zone: "a"}, Zones{oldZone: {"a"}}, false},
		"a new label of a volume and an old one":    {labels.Set{zone: "a"}, labels.Set{oldZone: "a"}, Zones{zone: {"a"}}, false},
		"a node without zones is in each":           {labels.Set{zone: "a"}, labels.Set{"app": "x"}, Zones{zone: {"a"}}, true},
		"a node with a region alone is in no zones": {labels.Set{zone: "a"}, labels.Set{region: "r"}, Zones{zone: {"a"}}, false},
	} {
		zones := ZonesOf(tt.volume)
		if diff := cmp.Diff(tt.zones, zones); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if got := zones.Match(tt.node); got != tt.want {
			t.Errorf("%s: it matches %t", name, got)
		}
	}
}

func TestOrdinal_isTheNumberAtTheEnd(t *testing.T) {
	t.Parallel()
	type parts struct {
		set     string
		ordinal int
		ok      bool
	}
	for pod, want := range map[string]parts{"db-0": {"db", 0, true}, "my-db-12": {"my-db", 12, true}, "db-x": {"db", 0, false}, "db": {}, "-1": {}, "d-1": {"d", 1, true}, "": {}} {
		set, ordinal, ok := Ordinal(pod)
		if got := (parts{set, ordinal, ok}); got != want {
			t.Errorf("%q: %+v", pod, got)
		}
	}
}

func TestOwner_StatefulSet(t *testing.T) {
	t.Parallel()
	for owner, want := range map[Owner]bool{
		OwnerOf("apps/v1", "StatefulSet", "db"): true, OwnerOf("apps.kruise.io/v1beta1", "StatefulSet", "db"): true,
		OwnerOf("apps/v1", "Deployment", "db"): false, OwnerOf("apps.kruise.io/v1beta1", "CloneSet", "db"): false, OwnerOf("example.com/v1", "StatefulSet", "db"): false,
	} {
		if owner.StatefulSet() != want {
			t.Errorf("%+v: %t", owner, !want)
		}
	}
}

func TestScheduling_ToleratesCordon(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		toleration corev1.Toleration
		want       bool
	}{
		"its own taint":          {corev1.Toleration{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists}, true},
		"every taint":            {corev1.Toleration{Operator: corev1.TolerationOpExists}, true},
		"another taint":          {corev1.Toleration{Key: "a", Operator: corev1.TolerationOpExists}, false},
		"its key with NoExecute": {corev1.Toleration{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}, false},
	} {
		if got := (&Scheduling{Tolerations: []corev1.Toleration{tt.toleration}}).ToleratesCordon(false); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if (&Scheduling{}).ToleratesCordon(true) {
		t.Error("a pod without tolerations goes to a cordoned node")
	}
}

func TestQuotaLimit_Exceeded(t *testing.T) {
	t.Parallel()
	for used, want := range map[int64]bool{1: false, 2: false, 3: true} {
		if (QuotaLimit{Hard: 2, Used: used}).Exceeded() != want {
			t.Errorf("%d of 2: %t", used, !want)
		}
	}
}
