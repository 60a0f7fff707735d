// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"net/http"
	"slices"
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

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// followed runs a test in a bubble, against a cluster that is followed.
func followed(t *testing.T, nodes []*corev1.Node, test func(t *testing.T, api *testServer, c *Cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		api := newServer(nodes...)
		c := api.connect(t)
		release, err := c.Follow(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		api.requests()
		test(t, api, c)
		release()
		release() // A second call must do nothing.
		time.Sleep(linger + time.Second)
		synctest.Wait()
		if c.follower.stop != nil {
			t.Error("the watch outlives its users")
		}
	})
}

// oneNode is a cluster of one node without taints.
func oneNode() []*corev1.Node { return []*corev1.Node{apiNode("n1")} }

func known(c *Cluster, name string) string {
	n, ok := c.Node(name)
	if !ok {
		return "gone"
	}
	return taint.FormatAll(n.Taints)
}

func TestFollow_keepsNodesCurrent(t *testing.T) {
	t.Parallel()
	followed(t, oneNode(), func(t *testing.T, api *testServer, c *Cluster) {
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
		api.Put(apiNode("n2"))
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
	followed(t, oneNode(), func(t *testing.T, api *testServer, c *Cluster) {
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
	followed(t, oneNode(), func(t *testing.T, api *testServer, c *Cluster) {
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
		api := newServer(apiNode("n1"))
		api.fault = func(fakeapi.Request, int) fakeapi.Fault { return http.StatusForbidden }
		c := api.connect(t)
		if _, err := c.Follow(t.Context(), false); !errors.Is(err, ErrForbidden) {
			t.Errorf("got %v", err)
		}
	})
}

// watching is a collection whose lists and watches are counted.
type watching struct {
	*collection[*snapshot.Node]
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
		if diff := cmp.Diff([]string{"n2", "n3", "n4"}, names); diff != "" || w.version != "14" || w.pendingEvents != nil {
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
		// 0, 1, 2, 4, 8, 16, 30, 30, ... s apart: 6 in the first 31s, and then
		// one every 30s.
		if n := w.lists.Load(); n < 5 || n > 20 {
			t.Errorf("%d lists in five minutes", n)
		}
		cancel()
		synctest.Wait()
	})
}
