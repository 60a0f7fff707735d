// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"bytes"
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

// TestWaits_sayWhatTheySawLast where it is no answer to a request: a log that is read, a
// watch, and what a watch has carried through a proxy.
func TestWaits_sayWhatTheySawLast(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	tail := &auditTail{seen: map[string]bool{}, changed: make(chan struct{}), last: []byte(`{"verb":"patch"}`)}
	carried := &shownByWatches{streams: []*bytes.Buffer{bytes.NewBufferString(strings.Repeat("x", 3000) + `"uid":"17"`)}}
	web := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-1", UID: "1", ResourceVersion: "7"}}
	db := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "db-1", UID: "2", ResourceVersion: "5"}}
	shown, later := sightings{}, web
	if _, err := shown.begin(&corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "8"}, Items: []corev1.Pod{web, db}}); err != nil {
		t.Fatal(err)
	}
	later.ResourceVersion = "9"
	lists := map[string]*corev1.PodList{
		"a change":    {ListMeta: metav1.ListMeta{ResourceVersion: "10"}, Items: []corev1.Pod{later, db}},
		"a new one":   {ListMeta: metav1.ListMeta{ResourceVersion: "10"}, Items: []corev1.Pod{web, db, {ObjectMeta: metav1.ObjectMeta{Name: "new-1", UID: "3", ResourceVersion: "9"}}}},
		"a gone one":  {ListMeta: metav1.ListMeta{ResourceVersion: "10"}, Items: []corev1.Pod{web}},
		"nothing new": {ListMeta: metav1.ListMeta{ResourceVersion: "10"}, Items: []corev1.Pod{web, db}},
	}
	missing := func(name string) string {
		t.Helper()
		got, err := shown.missing(lists[name])
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for name, tt := range map[string]struct{ got, want string }{
		"something beside answers": {untilWithin(t.Context(), time.Millisecond, func(ctx context.Context) (bool, error) {
			sawLast(ctx, "the log", "line 6")
			sawLast(ctx, "the log", "line 7")
			return false, nil
		}).Error(), "seen last:\nthe log: line 7\n"},
		"nothing":                {untilWithin(t.Context(), time.Millisecond, func(context.Context) (bool, error) { return false, nil }).Error(), "seen last:\nnothing"},
		"the audit log":          {tail.reach(ended, "sentinel-1").Error(), `the last line was {"verb":"patch"}`},
		"what watches carried":   {carried.String(), `x"uid":"17"`},
		"an object that changed": {missing("a change"), "web-1 in version 9"},
		"an object that came":    {missing("a new one"), "new-1"},
		"an object that went":    {missing("a gone one"), "the end of the object with the UID 2"},
	} {
		if !strings.Contains(tt.got, tt.want) {
			t.Errorf("%s: got %q, want %q in it", name, tt.got, tt.want)
		}
	}
	if got := missing("nothing new"); got != "" {
		t.Errorf("all has been shown, and %q is missing", got)
	}
	if n := len(carried.String()); n > 2100 {
		t.Errorf("%d characters of a watch are shown", n)
	}
}
