// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"
)

// bookmarkPeriod is about how often watches that want bookmarks get one.
const bookmarkPeriod = time.Minute

// watch answers a watch: the events after a version, or first all objects that there are.
func (s *Server) watch(q *query) *response {
	selected, err := q.selection()
	if err != nil {
		return failure(err)
	}
	if err := q.forbidden(); err != nil {
		return failure(err)
	}
	if err := s.reached(q); err != nil {
		return failure(err)
	}
	w := &watcher{server: s, query: q, selected: selected, bookmarks: q.values.Get("allowWatchBookmarks") == "true"}
	version, _ := strconv.ParseInt(q.values.Get("resourceVersion"), 10, 64) // Checked above.
	initial := q.values.Get("sendInitialEvents") == "true"
	switch {
	case version == 0 || initial:
		for _, o := range s.store.list(q.resource, q.key.namespace) {
			if selected.matches(o) {
				w.first = append(w.first, event{watch.Added, o})
			}
		}
		version = s.store.version
		if initial {
			w.first = append(w.first, event{watch.Bookmark, w.bookmark(version, map[string]string{metav1.InitialEventsAnnotationKey: "true"})})
		}
	case version < s.store.compacted:
		gone := apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", version, s.store.compacted)).ErrStatus
		gone.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		w.first, w.over = []event{{watch.Error, &gone}}, true
	}
	w.version = version
	return &response{code: 200, stream: w.stream}
}

// forbidden reports options that a watch does not have (k8s.io/apimachinery v0.37.2
// pkg/apis/meta/internalversion/validation/validation.go, ValidateListOptions).
func (q *query) forbidden() error {
	if q.values.Get("resourceVersionMatch") == "" || q.values.Get("sendInitialEvents") != "" {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: "meta.k8s.io", Kind: "ListOptions"}, "", field.ErrorList{
		field.Forbidden(field.NewPath("resourceVersionMatch"), "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"),
	})
}

type event struct {
	kind   watch.EventType
	object runtime.Object
}

// watcher is one watch.
type watcher struct {
	server    *Server
	query     *query
	selected  selection
	bookmarks bool
	version   int64
	// first are sent before all others; over is set where nothing comes after them.
	first []event
	over  bool
}

// stream sends events until the request or the server ends, or its time is over.
func (w *watcher) stream(out io.Writer) {
	send := w.sender(out)
	for _, e := range w.first {
		if send(e) != nil {
			return
		}
	}
	if w.over {
		return
	}
	var timeout <-chan time.Time
	if seconds, _ := strconv.Atoi(w.query.values.Get("timeoutSeconds")); seconds > 0 {
		timer := time.NewTimer(time.Duration(seconds) * time.Second)
		defer timer.Stop()
		timeout = timer.C
	}
	bookmarks := time.NewTicker(bookmarkPeriod)
	defer bookmarks.Stop()
	for {
		events, changed := w.next()
		for _, e := range events {
			w.wait(e)
			if send(e) != nil {
				return
			}
		}
		select {
		case <-changed:
		case <-bookmarks.C:
			if w.bookmarks && send(event{watch.Bookmark, w.bookmark(w.version, nil)}) != nil {
				return
			}
		case <-timeout:
			return
		case <-w.server.closed:
			return
		case <-w.query.http.Context().Done():
			return
		}
	}
}

// wait delays an event as the test wants, at most until the watch ends.
func (w *watcher) wait(e event) {
	delay := w.query.delay(mustAccess(e.object))
	if delay <= 0 {
		return
	}
	select {
	case <-time.After(delay):
	case <-w.server.closed:
	case <-w.query.http.Context().Done():
	}
}

// next returns what has happened since the last call.
func (w *watcher) next() ([]event, <-chan struct{}) {
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	var out []event
	for _, c := range w.server.store.since(w.query.resource, w.version) {
		if e, is := w.about(c); is {
			out = append(out, e)
		}
	}
	w.version = w.server.store.version
	return out, w.server.store.changed
}

// about returns what a change is for those who see only what a selector selects.
func (w *watcher) about(c change) (event, bool) {
	was := c.before != nil && w.selected.matches(c.before)
	is := c.event != watch.Deleted && w.selected.matches(c.object)
	switch {
	case was && is:
		return event{watch.Modified, c.object}, true
	case is:
		return event{watch.Added, c.object}, true
	case was && c.event == watch.Deleted:
		return event{watch.Deleted, c.object}, true
	case was:
		// The object as it was, with the version of the change.
		last := c.before.DeepCopyObject()
		mustAccess(last).SetResourceVersion(strconv.FormatInt(c.version, 10))
		return event{watch.Deleted, last}, true
	}
	return event{}, false
}

func (w *watcher) bookmark(version int64, annotations map[string]string) runtime.Object {
	kind := w.query.kind
	var object runtime.Object = &unstructured.Unstructured{}
	if !kind.Custom {
		object, _ = types.New(kind.GroupVersionKind) // A kind that is served.
	}
	object.GetObjectKind().SetGroupVersionKind(kind.GroupVersionKind)
	accessor := mustAccess(object)
	accessor.SetResourceVersion(strconv.FormatInt(version, 10))
	accessor.SetAnnotations(annotations)
	return object
}

// sender returns what writes events in the form that the request accepts.
func (w *watcher) sender(out io.Writer) func(event) error {
	media, metadata := negotiate(w.query.accept, w.query.kind.Custom)
	e, info := encoder(media)
	framed := info.StreamSerializer.NewFrameWriter(out)
	return func(one event) error {
		object := one.object
		if metadata && one.kind != watch.Error {
			object = partialOne(object)
		}
		raw, err := runtime.Encode(e, object)
		if err != nil {
			return err
		}
		sent := &metav1.WatchEvent{Type: string(one.kind), Object: runtime.RawExtension{Raw: raw}}
		if media == jsonMedia {
			line, err := json.Marshal(sent)
			if err != nil {
				return err
			}
			_, err = framed.Write(append(line, '\n'))
			return err
		}
		body, err := runtime.Encode(info.StreamSerializer.Serializer, sent)
		if err != nil {
			return err
		}
		_, err = framed.Write(body)
		return err
	}
}
