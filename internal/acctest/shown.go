// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// shownByWatches is what watches have carried through a proxy.
type shownByWatches struct {
	mu      sync.Mutex
	streams []*bytes.Buffer // one a watch: what belongs together is not torn apart
	more    chan struct{}   // closed when more has been carried, nil without a waiter
}

// through remembers what a handler sends.
func (s *shownByWatches) through(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stream := new(bytes.Buffer)
		s.mu.Lock()
		s.streams = append(s.streams, stream)
		s.mu.Unlock()
		h.ServeHTTP(carrier{w, s, stream}, r)
	})
}

// await reports whether a text is carried within a time.
func (s *shownByWatches) await(text string, patience time.Duration) bool {
	late := time.After(patience)
	for {
		s.mu.Lock()
		carried := slices.ContainsFunc(s.streams, func(b *bytes.Buffer) bool { return bytes.Contains(b.Bytes(), []byte(text)) })
		if s.more == nil {
			s.more = make(chan struct{})
		}
		more := s.more
		s.mu.Unlock()
		if carried {
			return true
		}
		select {
		case <-more:
		case <-late:
			return false
		}
	}
}

// String is the end of what each watch has carried.
func (s *shownByWatches) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for n, stream := range s.streams {
		fmt.Fprintf(&b, "watch %d: %s\n", n+1, ending(stream.String()))
	}
	return b.String()
}

// carrier forwards immediately what it is given, and remembers it from then on.
type carrier struct {
	http.ResponseWriter
	shown  *shownByWatches
	stream *bytes.Buffer
}

// Unwrap lets http.ResponseController flush.
func (c carrier) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Write returns when the other side has been sent it.
func (c carrier) Write(b []byte) (int, error) {
	n, err := c.ResponseWriter.Write(b)
	if err == nil {
		err = http.NewResponseController(c.ResponseWriter).Flush()
	}
	c.shown.mu.Lock()
	defer c.shown.mu.Unlock()
	c.stream.Write(b[:n])
	if c.shown.more != nil {
		close(c.shown.more)
		c.shown.more = nil
	}
	return n, err
}
