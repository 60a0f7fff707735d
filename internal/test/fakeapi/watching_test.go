// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
)

// watching is a watch that a script has begun.
type watching struct {
	cancel context.CancelFunc
	step   step
	next   func() (kind string, object []byte, err error)
	media  string
}

func (p *play) begin(t *testing.T, s step) string {
	t.Helper()
	// A watch that does not show what a script waits for fails the test.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	resp := p.send(t, ctx, s, s.args[1])
	w := &watching{step: s, cancel: func() { cancel(); _ = resp.Body.Close() }}
	if resp.StatusCode != http.StatusOK {
		defer w.cancel()
		raw, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatalf("%s: %s", s.line, err)
		}
		return p.head(resp) + p.n.body(t, s, resp.Header.Get("Content-Type"), raw)
	}
	w.media, _, _ = strings.Cut(resp.Header.Get("Content-Type"), ";")
	w.next = eventsIn(w.media, resp.Body)
	if before := p.watches[s.args[0]]; before != nil {
		before.cancel()
	}
	p.watches[s.args[0]] = w
	return p.head(resp)
}

// eventsIn returns what reads events one by one.
func eventsIn(media string, body io.ReadCloser) func() (string, []byte, error) {
	if media == runtime.ContentTypeJSON {
		decoder := json.NewDecoder(body)
		return func() (string, []byte, error) {
			var e struct {
				Type   string
				Object json.RawMessage
			}
			err := decoder.Decode(&e)
			return e.Type, e.Object, err
		}
	}
	info, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), media)
	stream := info.StreamSerializer
	decoder := streaming.NewDecoder(stream.NewFrameReader(body), stream.Serializer)
	return func() (string, []byte, error) {
		e := &metav1.WatchEvent{}
		_, _, err := decoder.Decode(nil, e)
		return e.Type, e.Object.Raw, err
	}
}

// events reads as many events as a step says, or all until the end. How many bookmarks come
// while nothing happens is a matter of time: one stands for all, and none counts but the one
// that ends the initial events.
func (p *play) events(t *testing.T, s step) string {
	t.Helper()
	w, count := p.watches[s.args[0]], -1
	if s.method == "EVENTS" {
		count, _ = strconv.Atoi(s.args[1])
	}
	var out strings.Builder
	last := ""
	for count != 0 {
		kind, object, err := w.next()
		if s.method == "END" && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
			out.WriteString("< the end\n")
			break
		}
		if err != nil {
			t.Fatalf("%s: %s", s.line, err)
		}
		line := "< " + kind + " " + p.n.body(t, w.step, w.media, object)
		if kind == "BOOKMARK" && (line == last || count > 0 && !strings.Contains(line, metav1.InitialEventsAnnotationKey)) {
			continue
		}
		last = line
		out.WriteString(line)
		count--
	}
	return out.String()
}
