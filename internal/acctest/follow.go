// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
)

// source is where objects of a kind are listed and watched, by a typed client or by
// the dynamic one.
type source[L runtime.Object] interface {
	List(ctx context.Context, opts metav1.ListOptions) (L, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
}

// follow lists objects and then shows each change of them, one after the other, until
// the function that it returns is called. That one waits until all is shown that has
// happened by then: a watch tells of it a moment later, and what is still on its way
// when it is stopped is lost.
func follow[L runtime.Object](t testing.TB, objects source[L], opts metav1.ListOptions, begin func(L), visit func(watch.EventType, runtime.Object)) (stop func()) {
	t.Helper()
	list, err := objects.List(t.Context(), opts)
	must(t, err)
	begin(list)
	shown := sightings{}
	version, err := shown.begin(list)
	must(t, err)
	// The API server ends a watch whose reader is too slow: it goes on from what was seen.
	watcher, err := watchtools.NewRetryWatcherWithContext(t.Context(), version, again[L]{objects, opts})
	must(t, err)
	var wg sync.WaitGroup
	var stopped, ended atomic.Bool
	wg.Go(func() {
		defer ended.Store(true)
		for event := range watcher.ResultChan() {
			object, err := meta.Accessor(event.Object)
			if event.Type == watch.Error || err != nil {
				continue
			}
			visit(event.Type, event.Object)
			shown.note(object, event.Type == watch.Deleted)
		}
		if !stopped.Load() && t.Context().Err() == nil {
			t.Errorf("the watch after %T has ended: what came after that was not seen", list)
		}
	})
	return func() {
		t.Helper()
		last, err := objects.List(t.Context(), opts)
		must(t, err)
		Until(t, "the watch has shown what has happened", func(ctx context.Context) (bool, error) {
			if ended.Load() {
				return true, nil
			}
			missing, err := shown.missing(last)
			sawLast(ctx, "the watch has yet to show", missing)
			return missing == "", err
		})
		stopped.Store(true)
		watcher.Stop()
		wg.Wait()
	}
}

// again watches with the same options from another version.
type again[L runtime.Object] struct {
	objects source[L]
	opts    metav1.ListOptions
}

// WatchWithContext is called for each watch.
func (a again[L]) WatchWithContext(ctx context.Context, from metav1.ListOptions) (watch.Interface, error) {
	opts := a.opts
	opts.ResourceVersion, opts.AllowWatchBookmarks = from.ResourceVersion, from.AllowWatchBookmarks
	return a.objects.Watch(ctx, opts)
}

// sightings are the versions in which objects were seen last.
type sightings struct {
	mu   sync.Mutex
	last map[types.UID]sighting
}

type sighting struct {
	version string
	gone    bool
}

// begin takes what a list has, and returns its version.
func (s *sightings) begin(list runtime.Object) (version string, err error) {
	s.last = map[types.UID]sighting{}
	objects, version, err := listed(list)
	for _, one := range objects {
		s.note(one, false)
	}
	return version, err
}

func (s *sightings) note(object metav1.Object, gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last[object.GetUID()] = sighting{object.GetResourceVersion(), gone}
}

// missing names an object of which not all that has led to a list has been seen, "" for
// none. A watch tells of an object's changes in their order: the last one is enough.
func (s *sightings) missing(list runtime.Object) (string, error) {
	objects, version, err := listed(list)
	if err != nil {
		return "all of it", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	there := map[types.UID]bool{}
	for _, one := range objects {
		there[one.GetUID()] = true
		seen, known := s.last[one.GetUID()]
		if !known {
			return one.GetName(), nil
		}
		if order, err := resourceversion.CompareResourceVersion(seen.version, one.GetResourceVersion()); err != nil || order < 0 {
			return one.GetName() + " in version " + one.GetResourceVersion(), err
		}
	}
	for uid, seen := range s.last {
		if there[uid] || seen.gone {
			continue
		}
		// It has gone, which is not seen yet, or has come since.
		if order, err := resourceversion.CompareResourceVersion(seen.version, version); err != nil || order <= 0 {
			return "the end of the object with the UID " + string(uid), err
		}
	}
	return "", nil
}

// listed returns the objects of a list, and its version.
func listed(list runtime.Object) (objects []metav1.Object, version string, err error) {
	whole, err := meta.ListAccessor(list)
	if err != nil {
		return nil, "", err
	}
	err = meta.EachListItem(list, func(one runtime.Object) error {
		object, err := meta.Accessor(one)
		objects = append(objects, object)
		return err
	})
	return objects, whole.GetResourceVersion(), err
}
