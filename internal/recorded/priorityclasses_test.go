// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded_test

import (
	"bytes"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/recorded"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// A recording tells of PriorityClasses what the cluster does, also with hashed names: which is gone, and of which class
// the new pod is. Those of the system have the same names everywhere.
func TestWrite_priorityClassesDecideAsInTheCluster(t *testing.T) {
	t.Parallel()
	for class, want := range map[string]string{"gone": "not_created", "high": "fits", "system-node-critical": "fits"} {
		api := fakeapi.New()
		for _, name := range []string{"a", "b"} {
			api.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pool": map[string]string{"a": "1"}[name]}}})
		}
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: types.UID("web"), OwnerReferences: controlled("apps/v1", "ReplicaSet", "web")}}
		p.Spec = corev1.PodSpec{NodeName: "a", PriorityClassName: class, Priority: new(int32(5)), Containers: []corev1.Container{{Name: "main"}}}
		p.Status.Phase = corev1.PodRunning
		api.Add(p, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000, Description: canary})
		for _, options := range []recorded.Options{{}, {HashNames: true}} {
			var b bytes.Buffer
			if _, err := recorded.Write(t.Context(), &b, connect(t, api.Client()), options); err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(plain(t, b.Bytes()), []byte(canary)) {
				t.Error("the description of the class is in the file")
			}
			report, _ := judged(t, connect(t, read(t, b.Bytes()).Transport()))
			got := fmt.Sprint(len(report.Pods), " ", report.Placement(report.Pods[0]), " ", report.Outcome().UnknownClasses)
			if got != "1 "+want+" false" {
				t.Errorf("class %s, %+v: got %s, want %s", class, options, got, want)
			}
		}
	}
}
