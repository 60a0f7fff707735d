// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// TestJoinPools_findsWhatOneDriverReportsTwice for the same nodes.
func TestJoinPools_findsWhatOneDriverReportsTwice(t *testing.T) {
	t.Parallel()
	of := func(provisioner, node string, total int64) *snapshot.StorageClass {
		return &snapshot.StorageClass{Provisioner: provisioner, Capacities: []*snapshot.Capacity{{Nodes: labels.SelectorFromSet(labels.Set{"node": node}), Total: total}}}
	}
	for name, tt := range map[string]struct {
		other *snapshot.StorageClass
		one   bool
	}{
		"the same":         {of("lvm", "a", 100), true},
		"of other nodes":   {of("lvm", "b", 100), false},
		"another driver":   {of("zfs", "a", 100), false},
		"of another size":  {of("lvm", "a", 90), false},
		"no size reported": {of("lvm", "a", -1), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := of("lvm", "a", 100)
			if name == "no size reported" {
				first = of("lvm", "a", -1)
			}
			joinPools(map[string]*snapshot.StorageClass{"a": first, "b": tt.other})
			if got := tt.other.Capacities[0].Pool() == first.Capacities[0]; got != tt.one {
				t.Errorf("one pool: %t, want %t", got, tt.one)
			}
		})
	}
}
