// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// apart is a pod that keeps apart from pods of the namespaces matching a selector, on n1 where it runs.
func apart(namespaces *metav1.LabelSelector) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "apart"}, Spec: corev1.PodSpec{
		NodeName: "n1",
		Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{}, NamespaceSelector: namespaces,
		}}}},
	}}
}

func TestSnapshot_readsLabelsOfNamespacesOnlyWhereAPodSelectsByThem(t *testing.T) {
	t.Parallel()
	ofTeam := &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
	preferred := []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, NamespaceSelector: ofTeam}}}
	preferring := func(a *corev1.Affinity) *corev1.Pod {
		p := apart(nil)
		p.Spec.Affinity = a
		return p
	}
	for name, tt := range map[string]struct {
		pod   *corev1.Pod
		reads bool
	}{
		"no pod has a term":              {pod: nil},
		"a term for the pod's namespace": {pod: apart(nil)},
		"a term for every namespace":     {pod: apart(&metav1.LabelSelector{})},
		"a term for those with a label":  {pod: apart(ofTeam), reads: true},
		"a preferred term for those":     {pod: preferring(&corev1.Affinity{PodAffinity: &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: preferred}}), reads: true},
		"a preferred term against those": {pod: preferring(&corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: preferred}}), reads: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := town()
			api.Put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "app", Labels: map[string]string{"team": "a"}}})
			if tt.pod != nil {
				api.Add(tt.pod)
			}
			s, err := api.connect(t).Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			lists := len(slices.DeleteFunc(api.requests(), func(r string) bool { return !strings.HasPrefix(r, "GET namespaces") }))
			if read := s.NamespaceLabels["app"]["team"] == "a"; read != tt.reads || lists > 0 != tt.reads || lists > 1 {
				t.Errorf("the labels are %v, read by %d requests", s.NamespaceLabels, lists)
			}
			if s.Admission != nil && len(s.Admission.Namespaces) > 0 {
				t.Errorf("admission has namespaces that nothing there depends on: %v", s.Admission.Namespaces)
			}
		})
	}
}

func TestSnapshot_saysThatLabelsOfNamespacesCouldNotBeRead(t *testing.T) {
	t.Parallel()
	api := town()
	api.Add(apart(&metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}))
	api.fault = onLists(fakeapi.Fault(http.StatusForbidden), "namespaces")
	c := api.connect(t)
	for range 2 {
		s, err := c.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Gaps) != 1 || !strings.Contains(s.Gaps[0], "Namespaces could not be read") {
			t.Errorf("gaps %q", s.Gaps)
		}
	}
	if lists := slices.DeleteFunc(api.requests(), func(r string) bool { return !strings.HasPrefix(r, "GET namespaces") }); len(lists) != 1 {
		t.Errorf("they were asked for %d times", len(lists))
	}
}
