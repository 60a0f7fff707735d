// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

func podRequiring(w *workload.Workload, labels map[string]string, tolerations ...corev1.Toleration) *snapshot.Pod {
	return &snapshot.Pod{
		Namespace: "shop", Name: "p", Node: "a", UID: "p", Controller: &snapshot.Controller{Owner: w.Owner().Owner, UID: "w"},
		Scheduling: &snapshot.Scheduling{NodeSelector: labels, Tolerations: tolerations},
	}
}

func TestRequiring_arePodsThatRequireWhatTheirTemplateDoesNot(t *testing.T) {
	t.Parallel()
	gone := map[string][]string{"tier": {"x", "y"}}
	for name, tt := range map[string]struct {
		pod, template map[string]string
		want          bool
	}{
		"a pod that requires it":                          {map[string]string{"tier": "x"}, nil, true},
		"a pod that requires another value":               {map[string]string{"tier": "z"}, nil, false},
		"a pod that requires another label":               {map[string]string{"role": "x"}, nil, false},
		"a pod that requires nothing":                     {nil, nil, false},
		"a pod whose template still requires it":          {map[string]string{"tier": "x"}, map[string]string{"tier": "x"}, false},
		"a pod whose template requires another value":     {map[string]string{"tier": "x"}, map[string]string{"tier": "y"}, true},
		"a pod whose template requires something besides": {map[string]string{"tier": "y"}, map[string]string{"role": "y"}, true},
	} {
		w := aWorkload(t, "StatefulSet", "web")
		s := &snapshot.Snapshot{Pods: map[string][]*snapshot.Pod{"a": {podRequiring(w, tt.pod)}}}
		if got := len(Requiring(s, w, tt.template, gone)) > 0; got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestCarries_allTolerationsAndAllLabels(t *testing.T) {
	t.Parallel()
	w := aWorkload(t, "StatefulSet", "web")
	for name, tt := range map[string]struct {
		labels map[string]string
		list   []string
		want   bool
	}{
		"all of them":             {map[string]string{"pool": "gpu", "tier": "x"}, []string{"a Exists", "b Exists"}, true},
		"others beside them":      {map[string]string{"pool": "gpu", "tier": "x", "z": "z"}, []string{"b Exists", "c Exists", "a Exists"}, true},
		"one that covers them":    {map[string]string{"pool": "gpu", "tier": "x"}, []string{" Exists"}, true},
		"without a toleration":    {map[string]string{"pool": "gpu", "tier": "x"}, []string{"a Exists"}, false},
		"without a label":         {map[string]string{"pool": "gpu"}, []string{"a Exists", "b Exists"}, false},
		"with a label of another": {map[string]string{"pool": "gpu", "tier": "y"}, []string{"a Exists", "b Exists"}, false},
		"with nothing":            {nil, nil, false},
	} {
		var list []corev1.Toleration
		for _, one := range tt.list {
			if one == " Exists" {
				list = append(list, corev1.Toleration{Operator: corev1.TolerationOpExists})
				continue
			}
			list = append(list, tol(t, one))
		}
		if got := Carries(podRequiring(w, tt.labels, list...), tols(t, "a Exists", "b Exists"), map[string]string{"pool": "gpu", "tier": "x"}); got != tt.want {
			t.Errorf("a pod %s: %t", name, got)
		}
	}
}
