// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// A volume is made for the nodes that equal the first one in the keys of the term that allows it.
func TestStorageClass_Together_byTheTermThatAllowsTheFirstNode(t *testing.T) {
	t.Parallel()
	term := func(pairs ...string) (out corev1.TopologySelectorTerm) {
		for i := 0; i < len(pairs); i += 2 {
			out.MatchLabelExpressions = append(out.MatchLabelExpressions, corev1.TopologySelectorLabelRequirement{Key: pairs[i], Values: []string{pairs[i+1], "z9"}})
		}
		return out
	}
	first := labels.Set{"zone": "z1", "rack": "r1"}
	zone, rack, elsewhere := term("zone", "z1"), term("zone", "z1", "rack", "r1"), term("zone", "z2")
	for name, tt := range map[string]struct {
		terms        []corev1.TopologySelectorTerm
		other        labels.Set
		equal, known bool
	}{
		"no topologies":                       {nil, labels.Set{"zone": "z2"}, true, false},
		"the same zone":                       {[]corev1.TopologySelectorTerm{zone}, labels.Set{"zone": "z1", "rack": "r2"}, true, true},
		"another zone that is allowed":        {[]corev1.TopologySelectorTerm{zone}, labels.Set{"zone": "z9", "rack": "r1"}, false, true},
		"no zone":                             {[]corev1.TopologySelectorTerm{zone}, labels.Set{}, false, true},
		"another rack of the zone":            {[]corev1.TopologySelectorTerm{rack}, labels.Set{"zone": "z1", "rack": "r9"}, false, true},
		"the second term allows the first":    {[]corev1.TopologySelectorTerm{elsewhere, zone}, labels.Set{"zone": "z1"}, true, true},
		"the first term allows the other one": {[]corev1.TopologySelectorTerm{elsewhere, zone}, labels.Set{"zone": "z2"}, false, true},
		"no term allows the first":            {[]corev1.TopologySelectorTerm{elsewhere}, labels.Set{"zone": "z2"}, true, false},
	} {
		if equal, known := (&StorageClass{Topologies: tt.terms}).Together(first, tt.other); equal != tt.equal || known != tt.known {
			t.Errorf("%s: equal %t, known %t", name, equal, known)
		}
	}
}
