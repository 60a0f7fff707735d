// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// TestUntilWithin_showsTheLastStateWhenItTimesOut waits for a pod that stays Pending. One
// request is made with the wait's context, another one with the test's.
func TestUntilWithin_showsTheLastStateWhenItTimesOut(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		body := `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"web-1","managedFields":[{"manager":"kubelet"}]},"status":{"phase":"Pending"}}]}`
		if strings.HasSuffix(r.URL.Path, "/nodes/worker-1") {
			body = `{"kind":"Node","apiVersion":"v1","metadata":{"name":"worker-1"},"spec":{"unschedulable":true}}`
		}
		_, _ = w.Write([]byte(body))
	}))
	defer server.Close()
	cfg := &rest.Config{Host: server.URL}
	cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { return seeing{rt} })
	admin, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	err = untilWithin(t.Context(), time.Millisecond, func(ctx context.Context) (bool, error) {
		// Both requests are made however late it is: the answers are what is tested.
		if _, err := admin.CoreV1().Nodes().Get(t.Context(), "worker-1", metav1.GetOptions{}); err != nil {
			return false, err
		}
		pods, err := admin.CoreV1().Pods("shop").List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
		return err == nil && pods.Items[0].Status.Phase == corev1.PodRunning, nil
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	for _, part := range []string{"GET /api/v1/nodes/worker-1: 200", `"unschedulable":true`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("got %q, want it to show %q", err, part)
		}
	}
}
