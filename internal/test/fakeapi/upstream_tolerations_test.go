// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// TestUpstream_tolerationsOfRunningPods has the facts of TestValidatePodUpdate in k8s.io/kubernetes v1.37.2
// pkg/apis/core/validation/validation_test.go about tolerations: a pod gets more of them, and loses none. So
// pods follow a template by being replaced alone, and a provider that wrote to pods would fail on the fake.
func TestUpstream_tolerationsOfRunningPods(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	lasting := func(key, value string, effect corev1.TaintEffect, seconds int64) corev1.Toleration {
		return corev1.Toleration{Key: key, Value: value, Operator: corev1.TolerationOpEqual, Effect: effect, TolerationSeconds: &seconds}
	}
	forever := func(t corev1.Toleration) corev1.Toleration {
		t.TolerationSeconds = nil
		return t
	}
	const noExecute, noSchedule = corev1.TaintEffectNoExecute, corev1.TaintEffectNoSchedule
	one := lasting("key1", "value1", noExecute, 10)
	plain := corev1.Toleration{Key: "key1", Value: "value1"}
	for _, tt := range []struct {
		name, node string
		old        corev1.Toleration
		is         []corev1.Toleration
		refused    string
	}{
		{name: "another value", node: "node1", old: plain, is: []corev1.Toleration{{Key: "key1", Value: "value2"}}, refused: "spec.tolerations: Forbidden"},
		{name: "another value, and no seconds", node: "node1", old: one, is: []corev1.Toleration{forever(lasting("key1", "value2", noExecute, 0))}, refused: "spec.tolerations: Forbidden"},
		{name: "other seconds", node: "node1", old: lasting("key1", "value1", noExecute, 20), is: []corev1.Toleration{one}},
		{name: "another value of a pod without a node", old: plain, is: []corev1.Toleration{{Key: "key1", Value: "value2"}}, refused: "spec.tolerations: Forbidden"},
		{name: "the same", node: "node1", old: plain, is: []corev1.Toleration{plain}},
		{name: "one more, and other seconds", node: "node1", old: one, is: []corev1.Toleration{lasting("key1", "value1", noExecute, 20), lasting("key2", "value2", noExecute, 30)}},
		{name: "one more that is invalid", node: "node1", old: one, is: []corev1.Toleration{lasting("key1", "value1", noExecute, 20), lasting("key2", "value2", noSchedule, 30)}, refused: "spec.tolerations[1].effect"},
	} {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			server := fakeapi.New()
			defer server.Close()
			server.Add(&corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "foo"},
				Spec:       corev1.PodSpec{NodeName: tt.node, Tolerations: []corev1.Toleration{tt.old}},
			})
			pod, _ := fakeapi.Get[*corev1.Pod](server, metav1.NamespaceDefault, "foo")
			pod.Spec.Tolerations = tt.is
			_, err := server.Clientset().CoreV1().Pods(pod.Namespace).Update(t.Context(), pod, metav1.UpdateOptions{})
			if (err != nil) != (tt.refused != "") || err != nil && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), tt.refused)) {
				t.Errorf("it is answered with %v, want %q", err, tt.refused)
			}
			want := tt.is
			if tt.refused != "" {
				want = []corev1.Toleration{tt.old}
			}
			// Behind them are those that admission gives to each pod.
			now, _ := fakeapi.Get[*corev1.Pod](server, metav1.NamespaceDefault, "foo")
			if got := now.Spec.Tolerations[:min(len(want), len(now.Spec.Tolerations))]; !apiequality.Semantic.DeepEqual(got, want) {
				t.Errorf("the pod has %v, want %v", got, want)
			}
		})
	}
}

// TestUpstream_defaultTolerationsOfTheFake has the facts of TestHandles in k8s.io/kubernetes v1.37.2
// plugin/pkg/admission/defaulttolerationseconds/admission_test.go: which operations give pods the tolerations of nodes that
// are not ready or unreachable. Pods that are written without the API have none.
func TestUpstream_defaultTolerationsOfTheFake(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	bare := func() *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "foo"}, Spec: corev1.PodSpec{NodeName: "node1"}}
	}
	for name, tt := range map[string]struct {
		// added is set where the pod is there before.
		added bool
		do    func(t *testing.T, pods corev1client.PodInterface) error
		gives bool
	}{
		"an update": {added: true, gives: true, do: func(t *testing.T, pods corev1client.PodInterface) error {
			t.Helper()
			_, err := pods.Patch(t.Context(), "foo", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
			return err
		}},
		"an update of the status": {added: true, do: func(t *testing.T, pods corev1client.PodInterface) error {
			t.Helper()
			_, err := pods.Patch(t.Context(), "foo", types.MergePatchType, []byte(`{"status":{"phase":"Running"}}`), metav1.PatchOptions{}, "status")
			return err
		}},
		"a create": {gives: true, do: func(t *testing.T, pods corev1client.PodInterface) error {
			t.Helper()
			_, err := pods.Create(t.Context(), bare(), metav1.CreateOptions{})
			return err
		}},
		"a deletion": {added: true, do: func(t *testing.T, pods corev1client.PodInterface) error {
			t.Helper()
			return pods.Delete(t.Context(), "foo", metav1.DeleteOptions{})
		}},
	} {
		rows.Run(t, name, func(t *testing.T) {
			t.Parallel()
			server := fakeapi.New()
			defer server.Close()
			if tt.added {
				server.Add(bare())
			}
			if err := tt.do(t, server.Clientset().CoreV1().Pods(metav1.NamespaceDefault)); err != nil {
				t.Fatal(err)
			}
			pod, there := fakeapi.Get[*corev1.Pod](server, metav1.NamespaceDefault, "foo")
			var want []corev1.Toleration
			if tt.gives {
				for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
					want = append(want, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))})
				}
			}
			if !there || !apiequality.Semantic.DeepEqual(pod.Spec.Tolerations, want) {
				t.Errorf("the pod has %v, want %v", pod.Spec.Tolerations, want)
			}
		})
	}
}
