// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded_test

import (
	"bytes"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// TestRead_storageThatAFileDoesNotHaveIsUnknown: a file of before storage was recorded has the names of volumes alone. A
// claim without one, and one that a StatefulSet creates, are named as not modelled.
func TestRead_storageThatAFileDoesNotHaveIsUnknown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, claim, header string
		want                snapshot.State
	}{
		{"a claim without a volume", "open", `{"serves":[]}`, snapshot.Unknown},
		{"a claim that a template may be for", "data-db-0", `{"serves":[]}`, snapshot.Unknown},
		{"a claim that no template is for", "data-db-0", `{"serves":[],"storage":true}`, snapshot.Missing},
	} {
		pods := [][]byte{pod(t, "web", "a", "open"), pod(t, "db-0", "", tt.claim)}
		file := sealed(t, 6, bytes.Join([][]byte{
			rec('H', tt.header), rec('K', `{"version":"v1","resource":"nodes","kind":"Node"}`),
			rec('O', `{"metadata":{"name":"a","labels":{"pool":"1"}}}`), rec('O', `{"metadata":{"name":"b"}}`),
			rec('K', `{"version":"v1","resource":"pods","kind":"Pod"}`), rec('O', string(pods[0])), rec('O', string(pods[1])),
			rec('K', `{"group":"apps","version":"v1","resource":"statefulsets","kind":"StatefulSet"}`), rec('O', `{"metadata":{"namespace":"shop","name":"db"}}`),
			rec('K', `{"version":"v1","resource":"persistentvolumes","kind":"PersistentVolume"}`),
			rec('K', `{"version":"v1","resource":"persistentvolumeclaims","kind":"PersistentVolumeClaim"}`), rec('O', `{"metadata":{"namespace":"shop","name":"open"},"spec":{}}`),
		}, nil))
		c := read(t, file)
		for _, kind := range []string{"storageclasses.storage.k8s.io", "csidrivers.storage.k8s.io", "csinodes.storage.k8s.io", "csistoragecapacities.storage.k8s.io"} {
			if !slices.Contains(c.Missing(), kind) {
				t.Errorf("%s: %s is not among the missing kinds %q", tt.name, kind, c.Missing())
			}
		}
		report, s := judged(t, connect(t, c.Transport()))
		if got := report.Outcome().UnmodelledStorage; !slices.Contains(got, "StorageClasses") {
			t.Errorf("%s: not modelled are %q", tt.name, got)
		}
		for _, p := range s.Waiting {
			if open := s.OpenClaims(p); len(open) != 1 || open[0].State != tt.want {
				t.Errorf("%s: %+v, want the state %q", tt.name, open, tt.want)
			}
		}
	}
}

// pod is a pod of a StatefulSet with a claim, as a file has it.
func pod(t *testing.T, name, node, claim string) []byte {
	t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), OwnerReferences: controlled("apps/v1", "StatefulSet", name[:2])}}
	p.Spec = corev1.PodSpec{NodeName: node, Volumes: []corev1.Volume{claiming(claim)}, Containers: []corev1.Container{{Name: "main"}}}
	p.Status.Phase = corev1.PodRunning
	out, err := p.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return out
}
