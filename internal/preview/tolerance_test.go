// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package preview

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

func TestToleranceOf(t *testing.T) {
	t.Parallel()
	minute := int64(60)
	limited := corev1.Toleration{Key: "a", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &minute}
	everything := corev1.Toleration{Operator: corev1.TolerationOpExists}
	a := eviction.WorkloadAnswer{
		WorkloadKey: snapshot.WorkloadKey{Namespace: "shop", Owner: snapshot.Owner{Group: "apps", Kind: "Deployment", Name: "web"}},
		Pods:        3, Differ: true, Lasts: toleration.Untolerated, Uncertain: true,
		Taints: []eviction.TaintAnswer{
			{Taint: corev1.Taint{Key: "a", Value: "1", Effect: corev1.TaintEffectNoExecute}, Lasts: 60, Toleration: &limited, Shadowed: []corev1.Toleration{everything}},
			{Taint: corev1.Taint{Key: "b", Effect: corev1.TaintEffectNoSchedule}, Lasts: toleration.Untolerated, Uncertain: true},
			{Taint: corev1.Taint{Key: "c", Effect: corev1.TaintEffectNoSchedule}, Lasts: toleration.Forever, Toleration: &everything},
		},
	}
	none := int64(0)
	want := Tolerance{
		Namespace: "shop", Kind: "Deployment", Name: "web", Pods: 3, PodsDiffer: true,
		Tolerates: false, ForSeconds: &none, Uncertain: true,
		Taints: []TaintTolerance{
			{Taint: "a=1:NoExecute", Tolerates: true, ForSeconds: &minute, Uncertain: false, Toleration: orNull("a Exists:NoExecute for 60s"), Shadowed: []string{"Exists"}},
			{Taint: "b:NoSchedule", Tolerates: false, ForSeconds: &none, Uncertain: true, Toleration: nil, Shadowed: []string{}},
			{Taint: "c:NoSchedule", Tolerates: true, ForSeconds: nil, Uncertain: false, Toleration: orNull("Exists"), Shadowed: []string{}},
		},
	}
	if diff := cmp.Diff(want, ToleranceOf(a)); diff != "" {
		t.Error(diff)
	}
}
