// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func TestSnapshot_keepsOfLimitRangesWhatIsAboutPods(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := town()
		containers := corev1.LimitRangeItem{Type: corev1.LimitTypeContainer, Min: quantities("cpu", "10m"), DefaultRequest: quantities("cpu", "100m")}
		claims := corev1.LimitRangeItem{Type: corev1.LimitTypePersistentVolumeClaim, Max: quantities("storage", "1Gi")}
		for name, limits := range map[string][]corev1.LimitRangeItem{"b": {claims, containers}, "a": {{Type: corev1.LimitTypePod, Max: quantities("cpu", "4")}}, "claims": {claims}} {
			api.Add(&corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: name}, Spec: corev1.LimitRangeSpec{Limits: limits}})
		}
		s, err := recreating(t, api.connect(t))
		if err != nil {
			t.Fatal(err)
		}
		want := snapshot.LimitRanges{"app": {
			{Name: "a", Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypePod, Max: quantities("cpu", "4")}}},
			{Name: "b", Limits: []corev1.LimitRangeItem{containers}},
		}}
		if diff := cmp.Diff(want, s.LimitRanges); diff != "" {
			t.Error(diff)
		}
	})
}

func TestSnapshot_withoutPermissionToListLimitRangesHasNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := town()
		api.fault = onLists(403, "limitranges")
		s, err := recreating(t, api.connect(t))
		if err != nil || s.LimitRanges != nil || len(s.Gaps) > 0 {
			t.Errorf("got %v, LimitRanges %v, gaps %q", err, s.LimitRanges, s.Gaps)
		}
	})
}
