// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

type lister func(context.Context, metav1.ListOptions) (runtime.Object, error)

// nodesBy is a collection of nodes that reads with the given function.
func nodesBy(list lister) *collection[*snapshot.Node] {
	return newCollection(kind[*snapshot.Node]{
		plural: "nodes", list: list,
		watch:       func(context.Context, metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil },
		slim:        slimOf(slimNode),
		key:         func(n *snapshot.Node) string { return n.Name },
		itemVersion: func(n *snapshot.Node) string { return n.ResourceVersion },
	})
}

// page is a list of nodes by name, at a version.
func page(version, next string, names ...string) *corev1.NodeList {
	l := &corev1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: version, Continue: next}}
	for _, n := range names {
		l.Items = append(l.Items, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n, ResourceVersion: version}})
	}
	return l
}

func size[T any](c *collection[T]) int {
	items, _ := c.all()
	return len(items)
}

func TestLoad_listsOnceHoweverManyAsk(t *testing.T) {
	t.Parallel()
	var lists atomic.Int32
	started, release := make(chan struct{}), make(chan struct{})
	c := nodesBy(func(context.Context, metav1.ListOptions) (runtime.Object, error) {
		if lists.Add(1) == 1 {
			close(started)
		}
		<-release
		return page("5", "", "n1", "n2"), nil
	})
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if err := c.load(t.Context()); err != nil || size(c) != 2 {
				t.Errorf("got %d nodes, %v", size(c), err)
			}
		})
	}
	<-started
	close(release)
	all.Wait()
	if n := lists.Load(); n != 1 {
		t.Errorf("listed %d times", n)
	}
}

func TestLoad_remembersAClusterOutOfReachForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lists, down := 0, true
		c := nodesBy(func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			lists++
			if down {
				return nil, apierrors.NewServiceUnavailable("down")
			}
			return page("5", "", "n1"), nil
		})
		if err := c.load(t.Context()); !errors.Is(err, ErrUnreachable) || lists != reading.tries {
			t.Fatalf("got %v after %d tries", err, lists)
		}
		down = false
		for range 200 {
			if err := c.load(t.Context()); !errors.Is(err, ErrUnreachable) || lists != reading.tries {
				t.Fatalf("got %v after %d tries: the failure must be remembered", err, lists)
			}
		}
		time.Sleep(failureMemory + time.Second)
		if err := c.load(t.Context()); err != nil || size(c) != 1 {
			t.Errorf("got %v: the failure must be forgotten by now", err)
		}
	})
}

func TestLoad_remembersNoOtherFailure(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{
		"no permission":           apierrors.NewForbidden(corev1.Resource("nodes"), "", errors.New("no")),
		"the caller has given up": context.Canceled,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lists := 0
			c := nodesBy(func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				if lists++; lists == 1 {
					return nil, failure
				}
				return page("5", "", "n1"), nil
			})
			if err := c.load(t.Context()); !errors.Is(err, failure) || lists != 1 {
				t.Fatalf("got %v after %d tries", err, lists)
			}
			if err := c.load(t.Context()); err != nil {
				t.Errorf("got %v at the second load", err)
			}
		})
	}
}

func TestRead_beginsAnewWhenThePagesExpire(t *testing.T) {
	t.Parallel()
	expired := apierrors.NewResourceExpired("the provided continue parameter is too old")
	tests := []struct {
		name string
		// expires is how many attempts expire at their second page.
		expires int
		wrong   bool
	}{
		{name: "pages that do not expire"},
		{name: "pages that expire once", expires: 1},
		{name: "pages that expire twice", expires: 2},
		{name: "pages that always expire", expires: 3, wrong: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			attempt := 0
			c := nodesBy(func(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
				if o.Limit != firstPage {
					t.Errorf("a page of %d", o.Limit)
				}
				if o.Continue == "" {
					attempt++
					return page(strconv.Itoa(attempt), "next", fmt.Sprintf("first-%d", attempt)), nil
				}
				if attempt <= tt.expires {
					return nil, expired
				}
				return page(strconv.Itoa(attempt), "", "second"), nil
			})
			err := c.load(t.Context())
			if tt.wrong {
				if !apierrors.IsResourceExpired(err) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			_, half := c.get("first-1")
			if size(c) != 2 || half != (tt.expires == 0) || c.version != strconv.Itoa(tt.expires+1) {
				t.Errorf("got %d nodes at version %s, with the first attempt's: %t", size(c), c.version, half)
			}
		})
	}
}

// step is what happens to one node.
type step struct {
	how     string // put, remove or offer
	version string
}

func TestCollection_keepsTheNewest(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		steps []step
		// want is the version that is known at the end, "" for none.
		want string
		// seen is the version that the watch has come to.
		seen string
	}{
		{name: "the watch moves on", steps: []step{{"put", "11"}, {"put", "12"}}, want: "12", seen: "12"},
		{name: "an answer to a write overtakes the watch", steps: []step{{"offer", "15"}, {"put", "12"}}, want: "15", seen: "12"},
		{name: "the watch catches up with an answer", steps: []step{{"offer", "15"}, {"put", "12"}, {"put", "15"}, {"put", "16"}}, want: "16", seen: "16"},
		{name: "an answer that is older than the watch is dropped", steps: []step{{"put", "15"}, {"offer", "12"}}, want: "15", seen: "15"},
		{name: "a removal", steps: []step{{"remove", "11"}}, seen: "11"},
		{name: "an answer that comes after the removal is of what is gone", steps: []step{{"put", "12"}, {"remove", "16"}, {"offer", "15"}}, want: "", seen: "16"},
		{name: "an answer about what is made after the removal is taken", steps: []step{{"put", "12"}, {"remove", "16"}, {"offer", "17"}}, want: "17", seen: "16"},
		{name: "a removal older than an answer: the node was made anew", steps: []step{{"offer", "15"}, {"remove", "12"}}, want: "15", seen: "12"},
		{name: "a node made anew after its removal", steps: []step{{"remove", "11"}, {"put", "12"}}, want: "12", seen: "12"},
		{name: "numbers are compared as numbers", steps: []step{{"put", "99"}, {"offer", "100"}, {"offer", "98"}}, want: "100", seen: "99"},
		{name: "versions that are no numbers count by arrival", steps: []step{{"put", "xyz"}, {"offer", "abc"}}, want: "abc", seen: "xyz"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := nodesBy(func(context.Context, metav1.ListOptions) (runtime.Object, error) { return page("10", "", "n1"), nil })
			if err := c.load(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, s := range tt.steps {
				n := &snapshot.Node{Name: "n1", ResourceVersion: s.version}
				switch s.how {
				case "put":
					c.show(versionedObject[*snapshot.Node]{item: n, version: s.version})
				case "remove":
					c.show(versionedObject[*snapshot.Node]{item: n, version: s.version, gone: true})
				default:
					c.offer(n)
				}
			}
			got := ""
			if n, ok := c.get("n1"); ok {
				got = n.ResourceVersion
			}
			if got != tt.want || c.version != tt.seen {
				t.Errorf("known at %q, watched to %q, want %q, %q", got, c.version, tt.want, tt.seen)
			}
		})
	}
}

func TestCollection_beforeItIsLoaded(t *testing.T) {
	t.Parallel()
	c := nodesBy(nil)
	c.offer(&snapshot.Node{Name: "n1", ResourceVersion: "1"})
	c.forget("n1")
	if _, ok := c.get("n1"); ok || size(c) != 0 {
		t.Error("a collection that is not loaded must not look like one of a single node")
	}
}

func TestCollection_ofItemsWithoutVersionsTakesThemAsTheyCome(t *testing.T) {
	t.Parallel()
	c := newCollection(kind[*snapshot.Pod]{
		plural: "pods", key: (*snapshot.Pod).Key, slim: slimOf(newSlimmer().pod),
		list: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return &corev1.PodList{}, nil },
	})
	if err := c.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.show(versionedObject[*snapshot.Pod]{item: &snapshot.Pod{Namespace: "a", Name: "p", Node: "n1"}, version: "12"})
	c.show(versionedObject[*snapshot.Pod]{item: &snapshot.Pod{Namespace: "a", Name: "p", Node: "n2"}, version: "11"})
	if p, _ := c.get("a/p"); p.Node != "n2" {
		t.Errorf("got %s", p.Node)
	}
	c.show(versionedObject[*snapshot.Pod]{item: &snapshot.Pod{Namespace: "a", Name: "p"}, version: "13", gone: true})
	if size(c) != 0 {
		t.Error("the pod is still there")
	}
}

func TestAwait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := nodesBy(func(context.Context, metav1.ListOptions) (runtime.Object, error) { return page("10", ""), nil })
		if err := c.load(t.Context()); err != nil {
			t.Fatal(err)
		}
		there := func() bool { _, ok := c.get("n3"); return ok }
		done := make(chan error)
		go func() { done <- c.await(t.Context(), there) }()
		for i := range 4 {
			synctest.Wait()
			select {
			case err := <-done:
				t.Fatalf("returned %v before n3 is there, after %d nodes", err, i)
			default:
			}
			c.show(versionedObject[*snapshot.Node]{item: &snapshot.Node{Name: fmt.Sprintf("n%d", i)}, version: strconv.Itoa(11 + i)})
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := c.await(t.Context(), there); err != nil {
			t.Errorf("a condition that holds already: %v", err)
		}
		why := errors.New("interrupted")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { done <- c.await(ctx, func() bool { return false }) }()
		synctest.Wait()
		cancel(why)
		if err := <-done; !errors.Is(err, why) {
			t.Errorf("got %v, want the reason why the context ended", err)
		}
	})
}
