// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// recreating returns a snapshot for a change that has pods recreated.
func recreating(t *testing.T, c *Cluster) (*snapshot.Snapshot, error) {
	t.Helper()
	s, err := c.Snapshot(t.Context())
	if err != nil {
		return s, err
	}
	return c.Judge(t.Context(), s, func(*snapshot.Snapshot) Needs { return Needs{Recreates: true} })
}

func TestJudge_listsQuotasAndLimitRangesForNewPodsAlone(t *testing.T) {
	t.Parallel()
	bare, owned := podOf("a", "bare"), podOf("a", "owned")
	bare.Controller, owned.Controller = nil, &snapshot.Controller{Owner: snapshot.Owner{Group: "apps", Kind: "ReplicaSet", Name: "web"}, UID: "web"}
	both := []string{"GET limitranges 200", "GET resourcequotas 200"}
	for name, tt := range map[string]struct {
		needs  Needs
		denied string
		want   []string
		judged int
		// quotas and ranges are whether snapshots have them.
		quotas, ranges bool
	}{
		"no pod is evicted":                   {judged: 1},
		"a pod without a controller is":       {needs: Needs{Evicted: []*snapshot.Pod{bare}}, judged: 1},
		"a pod with one is":                   {needs: Needs{Evicted: []*snapshot.Pod{bare, owned}}, want: both, judged: 2, quotas: true, ranges: true},
		"a rollout replaces pods":             {needs: Needs{Recreates: true}, want: both, judged: 2, quotas: true, ranges: true},
		"pods that stay are placed":           {needs: Needs{Places: true}, want: both[:1], judged: 2, ranges: true},
		"no right to list ResourceQuotas":     {needs: Needs{Recreates: true}, denied: "resourcequotas", want: []string{both[0], "GET resourcequotas 403"}, judged: 2, ranges: true},
		"no right to list LimitRanges":        {needs: Needs{Recreates: true}, denied: "limitranges", want: []string{"GET limitranges 403", both[1]}, judged: 2, quotas: true},
		"no right, and pods that stay placed": {needs: Needs{Places: true}, denied: "limitranges", want: []string{"GET limitranges 403"}, judged: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := town()
				api.fault = onLists(403, tt.denied)
				c := api.connect(t)
				first, err := c.Snapshot(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				api.requests()
				// Many resources are planned in parallel, and later ones read nothing again.
				for range 2 {
					var all sync.WaitGroup
					for range 10 {
						all.Go(func() {
							judged := 0
							s, err := c.Judge(t.Context(), first, func(*snapshot.Snapshot) Needs { judged++; return tt.needs })
							if err != nil || judged != tt.judged || (s.Quotas != nil) != tt.quotas || (s.LimitRanges != nil) != tt.ranges {
								t.Errorf("got %v, judged %d times, quotas %v, LimitRanges %v", err, judged, s.Quotas, s.LimitRanges)
							}
						})
					}
					all.Wait()
				}
				got := api.requests()
				slices.Sort(got)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
				if later, err := c.Snapshot(t.Context()); err != nil || (later.Quotas != nil) != tt.quotas || (later.LimitRanges != nil) != tt.ranges {
					t.Errorf("a later snapshot has quotas %v and LimitRanges %v: %v", later.Quotas, later.LimitRanges, err)
				}
			})
		})
	}
}

// A decision in the middle of an apply, and a data source, list again what was read before, and nothing else.
func TestRefresh_listsAgainOnlyTheListsThatWereRead(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		needs Needs
		want  []string
	}{
		"no pod is recreated":       {want: []string{"GET poddisruptionbudgets 200"}},
		"pods that stay are placed": {needs: Needs{Places: true}, want: []string{"GET limitranges 200", "GET poddisruptionbudgets 200"}},
		"pods are recreated":        {needs: Needs{Recreates: true}, want: []string{"GET limitranges 200", "GET poddisruptionbudgets 200", "GET resourcequotas 200"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := town()
				c := api.connect(t)
				s, err := c.Snapshot(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if _, err := c.Judge(t.Context(), s, func(*snapshot.Snapshot) Needs { return tt.needs }); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * shelfLife)
				api.requests()
				if _, err := c.SnapshotToDecide(t.Context()); err != nil {
					t.Fatal(err)
				}
				got := slices.DeleteFunc(api.requests(), func(r string) bool { return r == "GET daemonsets 200" })
				slices.Sort(got)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// A quota that comes while nothing needs quotas counts as soon as something does.
func TestJudge_readsQuotasAsTheyAreWhenNeeded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := town()
		c := api.connect(t)
		if _, err := c.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
		api.Add(&corev1.ResourceQuota{ObjectMeta: owned("pods", ""), Status: corev1.ResourceQuotaStatus{Hard: quantities("pods", "3")}})
		if s, err := recreating(t, c); err != nil || len(s.Quotas["app"]) != 1 || s.LimitRanges == nil {
			t.Errorf("quotas %v, LimitRanges %v: %v", s.Quotas, s.LimitRanges, err)
		}
		api.fault = func(fakeapi.Request, int) fakeapi.Fault { return 500 }
		if s, err := recreating(t, c); err != nil || len(s.Quotas["app"]) != 1 {
			t.Errorf("what was read is asked for again: %v", err)
		}
	})
}
