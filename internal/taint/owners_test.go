// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestByOwner(t *testing.T) {
	t.Parallel()
	of := func(key string, effect corev1.TaintEffect) corev1.Taint {
		return corev1.Taint{Key: key, Effect: effect}
	}
	list := []corev1.Taint{
		of("z", "NoSchedule"), of("a", "NoExecute"), of("a", "NoSchedule"), of("gone", "NoSchedule"),
		of("node.kubernetes.io/not-ready", "NoExecute"), of("node.kubernetes.io/other", "NoSchedule"),
	}
	record := Record{
		{Key: "a", Effect: "NoExecute", Owner: "terraform/x"}, {Key: "gone", Effect: "NoSchedule", Owner: "terraform/x", Absent: true},
	}
	want := []Owned{
		{Taints: []corev1.Taint{of("a", "NoSchedule"), of("z", "NoSchedule")}},
		{Owner: "terraform/x", Taints: []corev1.Taint{of("a", "NoExecute")}},
	}
	if diff := cmp.Diff(want, ByOwner(list, record)); diff != "" {
		t.Error(diff)
	}
	if got := ByOwner(nil, record); len(got) > 0 {
		t.Errorf("nothing gives %v", got)
	}
}
