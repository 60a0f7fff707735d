// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

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

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// followed runs a test against a followed cluster, on a clock of its own, and
// ends the watches afterwards.
func followed(t *testing.T, api *fakeAPI, test func(t *testing.T, c *Cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		api.more = make(chan struct{}) // A channel of the test's own clock.
		c := api.connect(t)
		release, err := c.Follow(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		api.requests()
		test(t, c)
		release()
		release() // A second call must do nothing.
		time.Sleep(linger + time.Second)
		synctest.Wait()
		if c.follower.stop != nil {
			t.Error("the watch outlives its users")
		}
	})
}

func known(c *Cluster, name string) string {
	n, ok := c.Node(name)
	if !ok {
		return "gone"
	}
	return taint.FormatAll(n.Taints)
}

func TestFollow_keepsNodesCurrent(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(apiNode("n1"))
	followed(t, api, func(t *testing.T, c *Cluster) {
		api.edit("n1", func(n *corev1.Node) { n.Spec.Taints = apiNode("", "a:NoExecute").Spec.Taints })
		synctest.Wait()
		if got := known(c, "n1"); got != "a:NoExecute" {
			t.Errorf("known as %s", got)
		}
		api.remove("n1")
		synctest.Wait()
		if got := known(c, "n1"); got != "gone" {
			t.Errorf("known as %s", got)
		}
		done := make(chan error)
		go func() { done <- c.WaitForNode(t.Context(), "n2") }()
		synctest.Wait()
		api.mu.Lock()
		api.store("ADDED", apiNode("n2"))
		api.mu.Unlock()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if requests := api.requests(); len(requests) > 0 {
			t.Errorf("sent %v: the watch is enough", requests)
		}
	})
}

func TestFollow_isSharedAndOutlivesItsUsersForAMoment(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(apiNode("n1"))
	followed(t, api, func(t *testing.T, c *Cluster) {
		again, err := c.Follow(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		stop := c.follower.ctx
		again()
		time.Sleep(2 * linger)
		if stop.Err() != nil {
			t.Error("the watch ended although the first user still needs it")
		}
		if requests := api.requests(); len(requests) > 0 {
			t.Errorf("sent %v", requests)
		}
	})
}

func TestFollow_listsPodsAnew(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(apiNode("n1"))
	api.lists["/api/v1/pods"] = &corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, ListMeta: metav1.ListMeta{ResourceVersion: "100"}}
	followed(t, api, func(t *testing.T, c *Cluster) {
		if err := c.pods.load(t.Context()); err != nil {
			t.Fatal(err)
		}
		release, err := c.Follow(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		release()
		if diff := cmp.Diff([]string{"GET pods 200", "GET pods 200"}, api.requests()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestFollow_failsWhereTheClusterDoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := newFakeAPI(apiNode("n1"))
		api.fault = func(string, string, int) *fault { return &fault{status: http.StatusForbidden} }
		c := api.connect(t)
		if _, err := c.Follow(t.Context(), false); !errors.Is(err, ErrForbidden) {
			t.Errorf("got %v", err)
		}
	})
}

// watching is a collection whose lists and watches are counted.
type watching struct {
	*collection[*eviction.Node]
	lists, watches atomic.Int32
}

func newWatching(t *testing.T, open func(nth int) (watch.Interface, error)) *watching {
	t.Helper()
	w := &watching{}
	w.collection = nodesBy(func(context.Context, metav1.ListOptions) (runtime.Object, error) {
		w.lists.Add(1)
		return page("10", "", "n1"), nil
	})
	w.watch = func(context.Context, metav1.ListOptions) (watch.Interface, error) {
		return open(int(w.watches.Add(1)))
	}
	if err := w.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestFollow_listsAgainWhenTheHistoryIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gone := apierrors.NewResourceExpired("too old resource version").Status()
		w := newWatching(t, func(nth int) (watch.Interface, error) {
			f := watch.NewFakeWithChanSize(1, false)
			if nth == 1 {
				f.Error(&gone)
			}
			return f, nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		w.follow(ctx)
		synctest.Wait()
		if lists, watches := w.lists.Load(), w.watches.Load(); lists != 2 || watches != 2 {
			t.Errorf("%d lists and %d watches, want 2 and 2, at once", lists, watches)
		}
		cancel()
		synctest.Wait()
	})
}

// The watch does not show again what it has shown while a list was under way.
func TestFollow_losesNothingThatHappensWhileAListIsRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		events := watch.NewFake()
		w := newWatching(t, func(int) (watch.Interface, error) { return events, nil })
		ctx, cancel := context.WithCancel(t.Context())
		w.follow(ctx)
		synctest.Wait()
		reading, read := make(chan struct{}), make(chan struct{})
		w.list = func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			close(reading)
			<-read
			return page("12", "", "n1", "n2", "n3"), nil
		}
		done := make(chan error)
		go func() { done <- w.refresh(ctx) }()
		<-reading
		at := func(name, version string) *corev1.Node { return &page(version, "", name).Items[0] }
		// The list knows of the first of these already, as of version 12.
		events.Delete(at("n2", "11"))
		events.Delete(at("n1", "13"))
		events.Add(at("n4", "14"))
		synctest.Wait()
		close(read)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		var names []string
		all, _ := w.all()
		for _, n := range all {
			names = append(names, n.Name)
		}
		slices.Sort(names)
		if diff := cmp.Diff([]string{"n2", "n3", "n4"}, names); diff != "" || w.version != "14" || w.meanwhile != nil {
			t.Errorf("at version %s: %s", w.version, diff)
		}
		cancel()
		synctest.Wait()
	})
}

func TestFollow_doesNotListWithoutEndWhereItMayNotWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWatching(t, func(int) (watch.Interface, error) {
			return nil, apierrors.NewForbidden(corev1.Resource("nodes"), "", errors.New("no"))
		})
		ctx, cancel := context.WithCancel(logr.NewContext(t.Context(), logr.Discard()))
		w.follow(ctx)
		time.Sleep(5 * time.Minute)
		// 0, 1, 2, 4, 8, 16, 30, 30, ... s apart: 6 in the first 31 s, and then
		// one every 30 s.
		if n := w.lists.Load(); n < 5 || n > 20 {
			t.Errorf("%d lists in five minutes", n)
		}
		cancel()
		synctest.Wait()
	})
}

func TestSettle(t *testing.T) {
	t.Parallel()
	const moment = 250 * time.Millisecond
	tests := []struct {
		name string
		// meanwhile happens after the write and before Settle is called.
		meanwhile func(*fakeAPI)
		// during happens within the moment.
		during   func(*fakeAPI)
		mute     bool
		want     string
		requests []string
		takes    time.Duration
	}{
		{name: "the watch shows the write", want: "a:NoExecute", takes: moment},
		{
			name: "somebody without a guard takes it away within the moment", takes: moment,
			during: func(a *fakeAPI) { a.edit("n1", func(n *corev1.Node) { n.Spec.Taints = nil }) },
		},
		{name: "the node goes away within the moment", during: func(a *fakeAPI) { a.remove("n1") }, want: "gone", takes: moment},
		{name: "the watch shows nothing and the node is read", mute: true, want: "a:NoExecute", requests: []string{"GET n1 200"}, takes: seenTimeout + moment},
		{
			name: "the watch shows nothing and the node is gone", mute: true, meanwhile: func(a *fakeAPI) { a.remove("n1") },
			want: "gone", requests: []string{"GET n1 404"}, takes: seenTimeout + moment,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			api := newFakeAPI(apiNode("n1"))
			followed(t, api, func(t *testing.T, c *Cluster) {
				api.mu.Lock()
				api.mute = tt.mute
				api.mu.Unlock()
				written, err := c.EditNode(t.Context(), "n1", func(*eviction.Node) (*NodeEdit, error) {
					return &NodeEdit{Taints: apiNode("", "a:NoExecute").Spec.Taints}, nil
				})
				if err != nil {
					t.Fatal(err)
				}
				if tt.meanwhile != nil {
					tt.meanwhile(api)
				}
				api.requests()
				if tt.during != nil {
					time.AfterFunc(moment/2, func() { tt.during(api) })
				}
				start := time.Now()
				nodes, err := c.Settle(t.Context(), []*eviction.Node{written}, moment)
				if err != nil {
					t.Fatal(err)
				}
				got := "gone"
				if len(nodes) > 0 {
					got = taint.FormatAll(nodes[0].Taints)
				}
				if got != tt.want {
					t.Errorf("settled as %q, want %q", got, tt.want)
				}
				if took := time.Since(start); took != tt.takes {
					t.Errorf("took %s, want %s", took, tt.takes)
				}
				if requests := api.requests(); !slices.Equal(requests, tt.requests) {
					t.Errorf("sent %s, want %s", strings.Join(requests, ", "), strings.Join(tt.requests, ", "))
				}
			})
		})
	}
}

func TestSettle_endsWithItsContext(t *testing.T) {
	t.Parallel()
	for name, version := range map[string]string{"while the watch is behind": "999", "within the moment": "1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := newFakeAPI(apiNode("n1"))
			followed(t, api, func(t *testing.T, c *Cluster) {
				why := errors.New("interrupted")
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { cancel(why) })
				written := &eviction.Node{Name: "n1", ResourceVersion: version}
				if _, err := c.Settle(ctx, []*eviction.Node{written}, 2*time.Second); !errors.Is(err, why) {
					t.Errorf("got %v, want the reason why the context ended", err)
				}
			})
		})
	}
}
