// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// A drain of n1, where web-1 runs. web-2 comes after the outage.
func TestDrainNodes_outlastsAnAPIServerThatIsOutOfReach(t *testing.T) {
	t.Parallel()
	const outage, timeout = 20 * time.Minute, time.Hour
	desired := func(r fakeapi.Request) bool { return r.Resource == "replicasets" && r.Verb == "get" }
	for name, tt := range map[string]struct {
		fails func(fakeapi.Request) bool
		fault fakeapi.Fault
		// lasts is how long, and comes when there is a replacement, 0 for never.
		lasts, comes time.Duration
		ends         string
	}{
		"it gives no answer to the question how many pods there are to be": {fails: desired, fault: fakeapi.NoAnswer, lasts: outage, comes: outage + time.Minute},
		"it answers that with an error":                                    {fails: desired, fault: http.StatusServiceUnavailable, lasts: outage, comes: outage + time.Minute},
		"it gives no answer to evictions":                                  {fails: func(r fakeapi.Request) bool { return r.Subresource == "eviction" }, fault: fakeapi.NoAnswer, lasts: outage, comes: outage + time.Minute},
		"it gives no answer when the record is removed":                    {fails: func(r fakeapi.Request) bool { return r.Resource == "nodes" && r.Write() }, fault: fakeapi.NoAnswer, lasts: outage, comes: time.Minute},
		"until the time is over": {
			fails: desired, fault: fakeapi.NoAnswer, lasts: 2 * timeout,
			ends: "waiting for replacements: ReplicaSet shop/web: 1 of 1 pods not ready on other nodes: context deadline exceeded, while the API server was out of reach: get ReplicaSet/web: no answer within 30s: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newDrainScene(t, hostNode("n1"), hostNode("n2"))
				s.set("web", 1)
				s.onNode("web-1", "n1", ofSet("web"))
				var evicting atomic.Pointer[time.Time]
				fault := func(r fakeapi.Request) fakeapi.Fault {
					if began := evicting.Load(); began != nil && tt.fails(r) && time.Since(*began) < tt.lasts {
						return tt.fault
					}
					return fakeapi.None
				}
				s.read = fault
				s.before = func(_ *drainScene, r fakeapi.Request) int {
					if r.Subresource == "eviction" && evicting.CompareAndSwap(nil, new(time.Now())) && tt.comes > 0 {
						time.AfterFunc(tt.comes, func() { s.onNode("web-2", "n2", ofSet("web")) })
					}
					return int(fault(r))
				}
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()
				cluster := s.api.follow(t, true)
				began := time.Now()
				err := s.drain(ctx, cluster, Drain{NodeDrain: planner.NodeDrain{Nodes: []string{"n1"}}, AwaitReplacements: true})
				took := time.Since(began)
				if tt.ends == "" && (err != nil || took < outage || took > outage+10*time.Minute) {
					t.Errorf("it ends after %s with %v", took, err)
				}
				if tt.ends != "" && (!errors.Is(err, context.DeadlineExceeded) || took != timeout || !strings.HasPrefix(err.Error(), tt.ends)) {
					t.Errorf("it ends after %s with %v", took, err)
				}
				told := slices.ContainsFunc(s.done, func(said string) bool {
					return strings.HasPrefix(said, "the API server is out of reach, and the drain waits for it: ")
				})
				if told == strings.Contains(name, "evictions") {
					t.Errorf("the progress is %q", s.done)
				}
			})
		})
	}
}

// Credentials that expire are no outage: another run needs others.
func TestDrainNodes_doesNotWaitForCredentials(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newDrainScene(t, hostNode("n1"), hostNode("n2"))
		s.set("web", 1)
		s.onNode("web-1", "n1", ofSet("web"))
		s.read = func(r fakeapi.Request) fakeapi.Fault {
			if r.Resource == "replicasets" && r.Verb == "get" {
				return http.StatusUnauthorized
			}
			return fakeapi.None
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err := s.drain(ctx, s.api.follow(t, true), Drain{NodeDrain: planner.NodeDrain{Nodes: []string{"n1"}}, AwaitReplacements: true})
		if !errors.Is(err, kube.ErrUnauthorized) || ctx.Err() != nil {
			t.Errorf("it ends with %v", err)
		}
	})
}

// The first eviction is never answered, and the time is over before the first round is.
func TestDrainNodes_namesPodsWhereTheFirstRoundDoesNotEnd(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		pods    []string
		timeout time.Duration
		waiting []string
	}{
		"one pod":                       {[]string{"db"}, 20 * time.Second, []string{"pod shop/db is being evicted"}},
		"one of two":                    {[]string{"db", "web"}, 20 * time.Second, []string{"is being evicted", "has not been evicted yet"}},
		"the second, after the first":   {[]string{"db", "web"}, 40 * time.Second, []string{"cannot be evicted yet: ", "is being evicted"}},
		"the first, for the third time": {[]string{"db"}, 80 * time.Second, []string{"pod shop/db cannot be evicted yet: no answer within 30s: "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newDrainScene(t, hostNode("n1"))
				for _, pod := range tt.pods {
					s.onNode(pod, "n1")
				}
				s.before = func(_ *drainScene, r fakeapi.Request) int {
					if r.Subresource == "eviction" {
						return int(fakeapi.NoAnswer)
					}
					return 0
				}
				ctx, cancel := context.WithTimeout(t.Context(), tt.timeout)
				defer cancel()
				err := s.drain(ctx, s.api.follow(t, true), Drain{NodeDrain: planner.NodeDrain{Nodes: []string{"n1"}}})
				stopped := new(DrainError)
				errors.As(err, &stopped)
				for _, want := range tt.waiting {
					if len(stopped.Waiting) != len(tt.pods) || !strings.Contains(strings.Join(stopped.Waiting, "\n"), want) || stopped.Node != "n1" {
						t.Errorf("it ends with %q of node %q, waiting for %q", err, stopped.Node, stopped.Waiting)
					}
				}
			})
		})
	}
}

// The time is over in the middle of the first look for replacements.
func TestDrainNodes_namesWhatIsMissingWhereTheFirstLookDoesNotEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := cordonedNode(hostNode("n1"))
		n.Annotations = map[string]string{snapshot.AwaitedAnnotation: strings.ReplaceAll(webAwaited, `"pods":1`, `"pods":2`)}
		s := newDrainScene(t, n, hostNode("n2"))
		s.set("web", 2)
		s.onNode("web-1", "n1", ofSet("web"))
		s.read = func(r fakeapi.Request) fakeapi.Fault {
			if r.Resource == "replicasets" && r.Verb == "get" {
				return fakeapi.NoAnswer
			}
			return fakeapi.None
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		err := s.drain(ctx, s.api.follow(t, true), Drain{NodeDrain: planner.NodeDrain{Nodes: []string{"n1"}}, AwaitReplacements: true})
		stopped := new(DrainError)
		if !errors.As(err, &stopped) || !slices.Equal(stopped.Missing, []Replacement{{Workload: "ReplicaSet shop/web", Missing: 2, Wanted: 2}}) {
			t.Errorf("it ends with %q, and misses %+v", err, stopped.Missing)
		}
	})
}
