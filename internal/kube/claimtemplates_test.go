// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// A claim template that names no StorageClass gets the default one, also after another pod has needed less.
func TestJudge_givesClaimTemplatesTheDefaultClass(t *testing.T) {
	t.Parallel()
	const annotation = "storageclass.kubernetes.io/is-default-class"
	for name, tt := range map[string]struct {
		defaults []string
		claim    string
		class    string
	}{
		"no default class":               {claim: "logs-db-0"},
		"a default class":                {defaults: []string{"first"}, claim: "logs-db-0", class: "first"},
		"the newest of several":          {defaults: []string{"first", "second"}, claim: "logs-db-0", class: "second"},
		"a template that names no class": {defaults: []string{"first"}, claim: "old-db-0"},
		"a template with a class":        {defaults: []string{"first"}, claim: "data-db-0", class: "limited"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := withStorage()
			for i, class := range tt.defaults {
				one := waiting(class, "nfs")
				one.Annotations = map[string]string{annotation: "true"}
				one.CreationTimestamp = metav1.NewTime(time.Unix(int64(100+i), 0))
				api.Add(one)
			}
			c := api.connect(t)
			s, err := c.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			pod := inSet("db", "db-0", tt.claim)
			pod.Namespace = "shop"
			for _, needs := range []*snapshot.Pod{&pod, {Namespace: "shop", Claims: []string{"limited"}}} {
				if s, err = c.Judge(t.Context(), s, func(*snapshot.Snapshot) Needs { return Needs{Evicted: []*snapshot.Pod{needs}} }); err != nil {
					t.Fatal(err)
				}
			}
			open := s.OpenClaims(&pod)
			if len(open) != 1 || !open[0].New || open[0].Request.Class != tt.class || open[0].Request.Size != 1<<30 {
				t.Fatalf("claims %+v", open)
			}
		})
	}
}

func TestPrecedes_takesTheNewerDefaultClass(t *testing.T) {
	t.Parallel()
	at := func(name string, seconds int64) *storagev1.StorageClass {
		return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(time.Unix(seconds, 0))}}
	}
	for name, tt := range map[string]struct {
		a, b *storagev1.StorageClass
		want bool
	}{
		"newer":                       {at("b", 2), at("a", 1), true},
		"older":                       {at("a", 1), at("b", 2), false},
		"equally old, earlier name":   {at("a", 1), at("b", 1), true},
		"equally old, the later name": {at("b", 1), at("a", 1), false},
	} {
		if got := precedes(tt.a, tt.b); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A pod that waits with a generic ephemeral volume keeps its claim, whose volume binds it to nodes.
func TestJudge_readsClaimsThatBindPodsThatWait(t *testing.T) {
	t.Parallel()
	api := withStorage()
	api.Add(&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-of-pod"}, Spec: corev1.PersistentVolumeSpec{
		NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}},
	}})
	c := api.connect(t)
	s, err := c.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pod := &snapshot.Pod{Namespace: "shop", UID: "pod", Ephemeral: true}
	if s, err = c.Judge(t.Context(), s, func(*snapshot.Snapshot) Needs { return Needs{Evicted: []*snapshot.Pod{pod}} }); err != nil {
		t.Fatal(err)
	}
	if got := s.VolumesOf(pod); len(got) != 1 || got[0].Name != "pv-of-pod" || s.Storage.Classes != nil {
		t.Errorf("volumes %v, storage %+v", got, s.Storage)
	}
	pod.Node = "n1"
	if got := s.VolumesOf(pod); got != nil {
		t.Errorf("one that replaces it: volumes %v", got)
	}
}
