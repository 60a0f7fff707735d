// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// TestUpstream_daemonSetThatIsDeleted has the facts of TestDontDoAnythingIfBeingDeleted and
// TestDontDoAnythingIfBeingDeletedRace in k8s.io/kubernetes v1.37.2
// pkg/controller/daemon/daemon_controller_test.go: its controller does nothing more, also where a list from
// before does not show the deletion. So its template decides about no pod.
func TestUpstream_daemonSetThatIsDeleted(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	agent := func(deleted bool) *appsv1.DaemonSet {
		d := daemonSetOf("agent", corev1.PodSpec{})
		d.Finalizers = []string{metav1.FinalizerDeleteDependents}
		if deleted {
			d.DeletionTimestamp = new(metav1.NewTime(time.Unix(1, 0)))
		}
		return d
	}
	known := func(t *testing.T, c *Cluster, uid types.UID) bool {
		t.Helper()
		s, err := c.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s.Daemons[uid] != nil
	}
	rows.Run(t, "the list shows it", func(t *testing.T) {
		t.Parallel()
		for _, deleted := range []bool{false, true} {
			api := town()
			d := agent(deleted)
			api.Add(d)
			if got := known(t, api.connect(t), d.UID); got == deleted {
				t.Errorf("it is being deleted: %t, and its template decides: %t", deleted, got)
			}
		}
	})
	rows.Run(t, "the list is older", func(t *testing.T) {
		t.Parallel()
		api := town()
		d := agent(false)
		api.Add(d)
		c := api.connect(t)
		if !known(t, c, d.UID) {
			t.Fatal("its template does not decide before")
		}
		api.Delete(d)
		kind, _ := workload.Lookup("", daemonSet)
		if _, err := c.FreshWorkload(t.Context(), workload.Ref{APIVersion: kind.APIVersion, Kind: kind.Kind, Namespace: d.Namespace, Name: d.Name}, kind.Path); err != nil {
			t.Fatal(err)
		}
		if known(t, c, d.UID) {
			t.Error("its template decides")
		}
	})
}

// TestUpstream_evictionRequests has the facts of TestAddConditionAndDelete in k8s.io/kubernetes v1.37.2
// pkg/registry/core/pod/storage/eviction_test.go that are about the UID of a pod, which each request names.
func TestUpstream_evictionRequests(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	for name, tt := range map[string]struct {
		there bool
		uid   types.UID
		gone  bool
		fails bool
	}{
		"a pod":                        {there: true, uid: "u1", gone: true},
		"no pod":                       {uid: "u1", gone: true},
		"the pod of the UID":           {there: true, uid: "u1", gone: true},
		"another pod of the same name": {there: true, uid: "u2", fails: true},
	} {
		rows.Run(t, name, func(t *testing.T) {
			t.Parallel()
			api := serve(fakeapi.New())
			if tt.there {
				api.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "foo", UID: "u1"}})
			}
			err := api.connect(t).Evict(t.Context(), &snapshot.Pod{Namespace: "app", Name: "foo", UID: tt.uid}, new(int64(0)))
			if held := new(HeldError); (err != nil) != tt.fails || tt.fails && !errors.As(err, &held) {
				t.Errorf("it ends with %v, an error: %t", err, tt.fails)
			}
			if _, there := fakeapi.Get[*corev1.Pod](api.Server, "app", "foo"); there == tt.gone {
				t.Errorf("the pod is there: %t", there)
			}
		})
	}
}

// answers is an http.RoundTripper.
type answers func(*http.Request) (*http.Response, error)

func (a answers) RoundTrip(req *http.Request) (*http.Response, error) { return a(req) }

// TestUpstream_evictionSupport has the fact of TestCheckEvictionSupport in k8s.io/kubectl v0.37.2
// pkg/drain/drain_test.go: whether an API server serves evictions, which shows in its answer. Servers that
// serve them in policy/v1beta1 alone are older than 1.22.
func TestUpstream_evictionSupport(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	for name, served := range map[string]bool{"evictions are served": true, "evictions are not served": false} {
		rows.Run(t, name, func(t *testing.T) {
			t.Parallel()
			api := serve(fakeapi.New())
			api.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "foo", UID: "u1"}})
			transport := answers(func(req *http.Request) (*http.Response, error) {
				if served || !strings.HasSuffix(req.URL.Path, "/eviction") {
					return api.client.RoundTrip(req)
				}
				body := io.NopCloser(strings.NewReader("404 page not found\n"))
				return &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, Body: body, Request: req}, nil
			})
			cluster, err := New(Config{Host: fakeapi.Host, Transport: transport})
			if err != nil {
				t.Fatal(err)
			}
			err = cluster.Evict(t.Context(), &snapshot.Pod{Namespace: "app", Name: "foo", UID: "u1"}, new(int64(0)))
			if errors.Is(err, ErrNoEvictions) == served || served && err != nil {
				t.Errorf("it ends with %v", err)
			}
			if _, there := fakeapi.Get[*corev1.Pod](api.Server, "app", "foo"); there == served {
				t.Errorf("the pod is there: %t", there)
			}
		})
	}
}

// TestUpstream_evictionBudgets has the fact of TestEviction there that follows from status.disruptedPods.
func TestUpstream_evictionBudgets(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	rows.Run(t, "more than 2,000 disrupted pods", func(t *testing.T) {
		t.Parallel()
		for disrupted, refused := range map[int]bool{2000: false, 2001: true} {
			api, status := serve(fakeapi.New()), policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DisruptionsAllowed: 1, DisruptedPods: map[string]metav1.Time{}}
			for n := range disrupted {
				status.DisruptedPods[fmt.Sprintf("pod-%d", n)] = metav1.NewTime(time.Unix(1, 0))
			}
			api.Add(&policyv1.PodDisruptionBudget{
				ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "foo"},
				Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}}, Status: status,
			})
			budgets, err := api.connect(t).Budgets(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			guarding := budgets.Guarding(&snapshot.Pod{Namespace: "app", Name: "web", Ready: true})
			if got := slices.ContainsFunc(guarding, func(b *snapshot.Budget) bool { return b.Allowed < 1 }); got != refused || len(guarding) != 1 {
				t.Errorf("%d are disrupted, and %s refuse: %t", disrupted, snapshot.BudgetNames(guarding), got)
			}
			// Its controller will have seen them, and the answer is no lack of rights.
			api.Add(&corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "web", UID: "u1"},
				Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
			})
			err = api.connect(t).Evict(t.Context(), &snapshot.Pod{Namespace: "app", Name: "web", UID: "u1"}, nil)
			if held := new(HeldError); errors.As(err, &held) != refused || !refused && err != nil {
				t.Errorf("%d are disrupted, and the eviction ends with %v", disrupted, err)
			}
		}
	})
}
