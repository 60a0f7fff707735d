// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
)

const (
	// pageBuffer pages at most are decoded ahead, which bounds the memory that is not yet
	// stripped.
	pageBuffer = 1

	// failureMemory is how long a failed load is remembered: two hundred
	// resources should not each wait for the same dead cluster.
	failureMemory = 15 * time.Second

	// maxRelistDelay bounds the growing distance between lists that a broken
	// watch asks for.
	maxRelistDelay = 30 * time.Second
)

// kind is how a collection reads one kind of object.
type kind[T any] struct {
	plural string
	list   func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch  func(context.Context, metav1.ListOptions) (watch.Interface, error)
	// slim returns what is kept of an object, and false for an object of another kind.
	slim func(runtime.Object) (T, bool)
	key  func(T) string
	// itemVersion is the resource version of an item, nil where items do not
	// keep theirs because nothing of this kind is ever written.
	itemVersion func(T) string
}

// slimOf slims objects of one type.
func slimOf[O runtime.Object, T any](slim func(O) T) func(runtime.Object) (T, bool) {
	return func(o runtime.Object) (item T, is bool) {
		one, is := o.(O)
		if is {
			item = slim(one)
		}
		return item, is
	}
}

// collection holds all objects of one kind. It is loaded once, on first need,
// and from then on changes only while it is followed.
type collection[T any] struct {
	kind[T]
	// patience is that of the process at a moment.
	patience func() retryPolicy
	// begin is called before everything is listed, and atLeast returns a version that the first
	// list must not be older than, "" for none. They are nil where nothing is read otherwise.
	begin   func()
	atLeast func() string

	loading sync.Mutex // held while a load runs, so that there is only one

	mu       sync.RWMutex
	items    map[string]T
	loaded   bool
	version  string // the newest that a list or the watch has shown
	revision int    // grows with every change of items
	changed  chan struct{}
	loadedAt time.Time
	failure  error
	failedAt time.Time
	// pendingEvents is what the watch has shown while lists were under way, of which there
	// are reloads now. Answers to writes are not in it: the watch is yet to show them.
	pendingEvents []versionedObject[T]
	reloads       int
}

// versionedObject is one object as it was at a resource version, or that it was gone by then.
type versionedObject[T any] struct {
	item    T
	gone    bool
	version string
}

func newCollection[T any](k kind[T]) *collection[T] {
	return &collection[T]{kind: k, changed: make(chan struct{}), patience: func() retryPolicy { return reading }}
}

// load reads everything, once per process however many ask.
func (c *collection[T]) load(ctx context.Context) error {
	c.loading.Lock()
	defer c.loading.Unlock()
	c.mu.RLock()
	loaded, failure := c.loaded, c.failure
	if time.Since(c.failedAt) > failureMemory {
		failure = nil
	}
	c.mu.RUnlock()
	if loaded {
		return nil
	}
	if failure != nil {
		return failure
	}
	return c.reload(ctx)
}

// refresh reads everything again, even where it has been read before.
func (c *collection[T]) refresh(ctx context.Context) error {
	c.loading.Lock()
	defer c.loading.Unlock()
	return c.reload(ctx)
}

// listedBefore reports whether the collection has been listed, and that before a
// moment.
func (c *collection[T]) listedBefore(moment time.Time) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.loaded && c.loadedAt.Before(moment)
}

// reload reads everything again. The caller holds loading or is the follower.
func (c *collection[T]) reload(ctx context.Context) error {
	if c.begin != nil {
		c.begin()
	}
	c.mu.Lock()
	c.reloads++
	c.mu.Unlock()
	items, version, err := c.latest(ctx)
	err = wrap("list "+c.plural, err)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.caughtUp()
	if err != nil {
		// One caller's own deadline says nothing about the cluster.
		if OutOfReach(err) && ctx.Err() == nil {
			c.failure, c.failedAt = err, time.Now()
		}
		return err
	}
	c.items, c.version, c.loaded, c.failure = items, version, true, nil
	c.loadedAt = time.Now()
	// The watch went on while the list was read, and does not show again what it has
	// shown: without it, what came since would be missing and what went would stay.
	for _, s := range c.pendingEvents {
		if older(version, s.version) {
			c.take(s)
		}
	}
	c.notify()
	return nil
}

// caughtUp drops what no caller needs any more. The caller holds mu.
func (c *collection[T]) caughtUp() {
	if c.reloads--; c.reloads == 0 {
		c.pendingEvents = nil
	}
}

// follow keeps the loaded collection current until the context ends. A watch
// that is taken up again goes on where the last one stopped.
func (c *collection[T]) follow(ctx context.Context) {
	go func() {
		delay := time.Duration(0)
		for ctx.Err() == nil {
			started := time.Now()
			if c.receive(ctx) {
				return
			}
			// The history is gone: only a new list is current. A watch that
			// never comes, because it is not permitted, must not turn into list
			// upon list.
			if time.Since(started) > maxRelistDelay {
				delay = 0
			}
			pause(ctx, delay)
			delay = min(max(2*delay, time.Second), maxRelistDelay)
			_ = c.reload(ctx) // A failure is remembered for those who ask, and tried again here.
		}
	}()
}

// receive applies watch events until the watch ends for good; false means that only a new
// list has what there is: the place to resume from is too old, or the watch has shown
// an object of another kind.
func (c *collection[T]) receive(ctx context.Context) bool {
	c.mu.RLock()
	from := c.version
	c.mu.RUnlock()
	w, err := watchtools.NewRetryWatcherWithContext(ctx, from, watcher(func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
		opts.AllowWatchBookmarks = true
		return c.watch(ctx, opts)
	}))
	if err != nil {
		return false
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		switch event.Type {
		case watch.Added, watch.Modified, watch.Deleted:
			item, is := c.slim(event.Object)
			if !is {
				return false
			}
			c.show(versionedObject[T]{item: item, version: versionOf(event.Object), gone: event.Type == watch.Deleted})
		case watch.Error:
			if err := apierrors.FromObject(event.Object); apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
				return false
			}
		case watch.Bookmark:
		}
	}
	return ctx.Err() != nil
}

type watcher func(context.Context, metav1.ListOptions) (watch.Interface, error)

func (w watcher) WatchWithContext(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	return w(ctx, opts)
}

// show takes what the watch says of one object.
func (c *collection[T]) show(s versionedObject[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reloads > 0 {
		c.pendingEvents = append(c.pendingEvents, s)
	}
	if c.take(s) {
		c.notify()
	}
}

// take stores it, and reports whether anything is different by that. The caller holds mu.
func (c *collection[T]) take(s versionedObject[T]) bool {
	c.version = s.version
	if !c.newer(s.item) {
		return false
	}
	if s.gone {
		delete(c.items, c.key(s.item))
	} else {
		c.items[c.key(s.item)] = s.item
	}
	return true
}

// offer stores the answer to a write or a read, which can overtake the watch, or
// come after it: what is not known any more, and not newer than what the watch has
// shown, was removed meanwhile, and nothing would ever remove it again.
func (c *collection[T]) offer(item T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.items == nil || !c.newer(item) {
		return
	}
	if _, known := c.items[c.key(item)]; !known && c.itemVersion != nil && !older(c.version, c.itemVersion(item)) {
		return
	}
	c.items[c.key(item)] = item
	c.notify()
}

// forget drops an object that a read did not find.
func (c *collection[T]) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.items, key)
	c.notify()
}

// newer reports that what is known of an object is not newer than this. The
// caller holds mu.
func (c *collection[T]) newer(item T) bool {
	if c.itemVersion == nil {
		return true
	}
	known, ok := c.items[c.key(item)]
	return !ok || !older(c.itemVersion(item), c.itemVersion(known))
}

// seen reports whether the watch has come as far as this resource version.
func (c *collection[T]) seen(version string) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return !older(c.version, version)
}

// notify wakes all who wait. The caller holds mu.
func (c *collection[T]) notify() {
	c.revision++
	close(c.changed)
	c.changed = make(chan struct{})
}

// get returns one object as it is known now.
func (c *collection[T]) get(key string) (T, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	item, ok := c.items[key]
	return item, ok
}

// all returns every object, in no order, and the revision.
func (c *collection[T]) all() ([]T, int) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	out := make([]T, 0, len(c.items))
	for _, item := range c.items {
		out = append(out, item)
	}
	return out, c.revision
}

// at grows with every change.
func (c *collection[T]) at() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.revision
}

// byKey returns every object by its key.
func (c *collection[T]) byKey() map[string]T {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return maps.Clone(c.items)
}

// next returns when something has changed.
func (c *collection[T]) next(ctx context.Context) {
	_, before := c.all()
	_ = c.await(ctx, func() bool { // The end of the context is no error.
		_, now := c.all()
		return now != before
	})
}

// await returns when the condition holds, which is tried after every change.
func (c *collection[T]) await(ctx context.Context, holds func() bool) error {
	for {
		c.mu.RLock()
		changed := c.changed
		c.mu.RUnlock()
		if holds() {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		}
	}
}

func versionOf(o runtime.Object) string {
	accessor, err := meta.Accessor(o)
	if err != nil {
		return ""
	}
	return accessor.GetResourceVersion()
}

// older compares resource versions as KEP-5504 allows. Versions that cannot be
// compared are never older: then the order of arrival counts.
func older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
