// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"bytes"
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
)

// FuzzGrowing: others with the right on ConfigMaps write the status of cluster-autoscaler. No status makes the
// provider panic, and each name prints as it is.
func FuzzGrowing(f *testing.F) {
	f.Add("nodeGroups:\n- name: https://cloud/zones/a/instanceGroups/pool\n  health: {cloudProviderTarget: 1, maxSize: 3}\n")
	f.Add("nodeGroups: [{name: \"x\\n::error::y\\u202e/z\\x1b\", health: {maxSize: 1}}, null, {}]")
	f.Add("nodeGroups: &a [*a]")
	f.Add("{\"nodeGroups\":[{\"Name\":\"/\",\"health\":{\"maxSize\":1e3}}]}")
	f.Fuzz(func(t *testing.T, status string) {
		for _, name := range growing(status) {
			if name == "" || printable.Line(name) != name {
				t.Errorf("%q names %q", status, name)
			}
		}
	})
}

// FuzzEncodedPage: a page of pods holds as many as the API's own types read of it, on the same nodes, in protobuf and in JSON.
func FuzzEncodedPage(f *testing.F) {
	for _, pods := range [][]corev1.Pod{{*randomPod(1), *randomPod(2), {}}, {{Spec: corev1.PodSpec{NodeName: "n"}}}} {
		list := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: "next"}, Items: pods}
		raw, err := list.Marshal()
		text, wrong := json.Marshal(list)
		if err != nil || wrong != nil {
			f.Fatal(err, wrong)
		}
		f.Add(raw)
		f.Add(text)
	}
	f.Add([]byte(`{"kind":"Status","status":"Failure","message":"x"}`))
	f.Add([]byte("\x12\x00\x0a\x02\x12\x00\x12"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var page encodedPage
		var whole corev1.PodList
		// The fields of a pod are kept in the place of what is read.
		if page.Unmarshal(bytes.Clone(data)) == nil && whole.Unmarshal(data) == nil {
			samePods(t, page, whole)
		}
		page.Reset()
		whole = corev1.PodList{}
		if page.UnmarshalJSON(data) == nil {
			if err := json.Unmarshal(data, &whole); err != nil {
				t.Fatalf("%q is a page, and no list of pods: %v", data, err)
			}
			samePods(t, page, whole)
		}
	})
}

// samePods expects of a page what the API's own types have read of it.
func samePods(t *testing.T, page encodedPage, whole corev1.PodList) {
	t.Helper()
	if len(page.Items) != len(whole.Items) || page.Continue != whole.Continue || page.ResourceVersion != whole.ResourceVersion {
		t.Fatalf("the page has %d pods and %+v, want %d and %+v", len(page.Items), page.ListMeta, len(whole.Items), whole.ListMeta)
	}
	for i, one := range page.Items {
		var pod corev1.Pod
		if err := pod.Unmarshal(one.content); err != nil {
			t.Fatalf("pod %d: %v", i, err)
		}
		node, err := NodeOfPod(one.content)
		if want := whole.Items[i]; err != nil || node != want.Spec.NodeName || pod.Name != want.Name || pod.Namespace != want.Namespace || len(pod.Spec.Tolerations) != len(want.Spec.Tolerations) {
			t.Fatalf("pod %d is %s/%s on %q (%v), want %s/%s on %q", i, pod.Namespace, pod.Name, node, err, want.Namespace, want.Name, want.Spec.NodeName)
		}
	}
}
