// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// TestUnmodelled_logsWhyTheyCannotBeRead: a message lacks their names for a reason, which nothing else tells.
func TestUnmodelled_logsWhyTheyCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault fakeapi.Fault
		stays bool
		want  []string
		logs  string
	}{
		"they are read":          {want: []string{"gpu-a"}},
		"no answer":              {fault: fakeapi.NoAnswer, logs: "no answer within 5s"},
		"not permitted":          {fault: 403},
		"no pod becomes Pending": {fault: fakeapi.NoAnswer, stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := newServer(t, aNode("n1", "gpu"))
				api.Add(&corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web-0", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(aSet("web", 1), appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}},
					Spec:       corev1.PodSpec{NodeName: "n1"}, Status: corev1.PodStatus{Phase: corev1.PodRunning},
				}, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "cluster-autoscaler-status"}, Data: map[string]string{
					"status": "nodeGroups:\n- name: gpu-a\n  health: {cloudProviderTarget: 1, maxSize: 3}\n",
				}})
				client := api.Client()
				client.OnRequest(func(r fakeapi.Request) fakeapi.Fault {
					return map[bool]fakeapi.Fault{true: tt.fault}[r.Resource == "configmaps"]
				})
				c, err := kube.New(kube.Config{Host: fakeapi.Host, Transport: client})
				if err != nil {
					t.Fatal(err)
				}
				s, err := c.Snapshot(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				var report *eviction.Report
				if !tt.stays {
					report = eviction.Evaluate(s, eviction.Scenario{Taints: map[string][]corev1.Taint{"n1": {{Key: "k", Effect: corev1.TaintEffectNoExecute}}}}, eviction.ComparisonOff)
				}
				var out bytes.Buffer
				began := time.Now()
				if got := Unmodelled(WithLogger(t.Context(), slog.New(slog.NewTextHandler(&out, nil))), c, report).NodeGroups; !slices.Equal(got, tt.want) {
					t.Errorf("got %q", got)
				}
				if log := out.String(); strings.Contains(log, "the node groups of an autoscaler or the admission webhooks cannot be read") != (tt.logs != "") || !strings.Contains(log, tt.logs) {
					t.Errorf("the log has %q", log)
				}
				if took := time.Since(began); took > 6*time.Second {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}
