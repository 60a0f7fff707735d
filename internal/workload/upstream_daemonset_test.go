// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workload

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// TestUpstream_daemonSetRollout has the facts of k8s.io/kubernetes v1.37.2
// pkg/controller/daemon/daemon_controller_test.go and update_test.go about how the pods of a DaemonSet follow
// its template: how many are replaced at a time, and in which order, that none is where the template
// stays as it is, and when its controller has seen the template.
func TestUpstream_daemonSetRollout(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	unavailable := func(n int32) *appsv1.RollingUpdateDaemonSet {
		return &appsv1.RollingUpdateDaemonSet{MaxUnavailable: new(intstr.FromInt32(n))}
	}
	surge := func(value intstr.IntOrString) *appsv1.RollingUpdateDaemonSet {
		return &appsv1.RollingUpdateDaemonSet{MaxUnavailable: new(intstr.FromInt32(0)), MaxSurge: &value}
	}
	for name, tt := range map[string]struct {
		rolling  *appsv1.RollingUpdateDaemonSet
		observed int64
		manner   string
		behind   bool
	}{
		"at most 2 unavailable":                 {rolling: unavailable(2), observed: 2, manner: "at most 2 at a time"},
		"at most 2 more":                        {rolling: surge(intstr.FromInt32(2)), observed: 2, manner: "at most 2 at a time, the new one before the old one is deleted"},
		"its controller has seen the template":  {rolling: unavailable(1), observed: 2, manner: "at most 1 at a time"},
		"its controller has not seen it so far": {rolling: unavailable(1), observed: 1, manner: "at most 1 at a time", behind: true},
	} {
		rows.Run(t, name, func(t *testing.T) {
			t.Parallel()
			w := observedDaemonSet(t, appsv1.DaemonSetSpec{UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType, RollingUpdate: tt.rolling}}, tt.observed)
			if w.Rolling.Manner != tt.manner || w.Rolling.Hold != "" || w.Observed == tt.behind {
				t.Errorf("it rolls %q, held by %q, and its controller has seen it: %t", w.Rolling.Manner, w.Rolling.Hold, w.Observed)
			}
		})
	}
	rows.Run(t, "the template stays as it is", func(t *testing.T) {
		t.Parallel()
		own := []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpExists}}
		spec := appsv1.DaemonSetSpec{UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType, RollingUpdate: unavailable(3)}}
		spec.Template.Spec.Tolerations = own
		w := observedDaemonSet(t, spec, 2)
		claim := toleration.Claim{Owner: "me", Generation: "g", Tolerations: own}
		if merged := toleration.Merge(w.Tolerations, w.Record, claim, nil, false); merged.Template {
			t.Errorf("the template becomes %s", toleration.Format(merged.Tolerations))
		}
	})
}

// observedDaemonSet observes a DaemonSet in its second generation.
func observedDaemonSet(t *testing.T, spec appsv1.DaemonSetSpec, observed int64) *Workload {
	t.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&appsv1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "foo", Generation: 2},
		Spec:       spec, Status: appsv1.DaemonSetStatus{ObservedGeneration: observed},
	})
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := Lookup("", "DaemonSet")
	w, err := Observe(&unstructured.Unstructured{Object: fields}, strings.Split(kind.Tolerations(), "."))
	if err != nil {
		t.Fatal(err)
	}
	return w
}
