// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"sync"
	"syscall"
)

// served answers requests by a handler, as a server behind a connection does. A handler
// that panics with http.ErrAbortHandler breaks the connection.
type served struct{ http.Handler }

// RoundTrip returns the answer of the handler as soon as it begins.
func (s served) RoundTrip(r *http.Request) (*http.Response, error) {
	// The handlers of net/http/httputil look for a server before they panic.
	ctx, cancel := context.WithCancel(context.WithValue(r.Context(), http.ServerContextKey, &http.Server{}))
	reader, writer := io.Pipe()
	a := &pipedAnswer{header: http.Header{}, body: writer, begun: make(chan struct{}), broken: make(chan struct{})}
	context.AfterFunc(ctx, func() { _ = writer.CloseWithError(context.Cause(ctx)) })
	go func() {
		defer func() {
			if reason := recover(); reason == http.ErrAbortHandler { //nolint:errorlint // It is what was thrown, and wraps nothing.
				close(a.broken)
				_ = writer.CloseWithError(io.ErrUnexpectedEOF)
			} else if reason != nil {
				panic(reason)
			}
		}()
		s.ServeHTTP(a, r.WithContext(ctx))
		a.WriteHeader(http.StatusOK)
		_ = writer.Close()
	}()
	select {
	case <-a.begun:
		return &http.Response{
			StatusCode: a.code, Status: strconv.Itoa(a.code) + " " + http.StatusText(a.code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: a.sent, ContentLength: -1, Body: pipedBody{reader, cancel}, Request: r,
		}, nil
	case <-a.broken:
		cancel()
		return nil, syscall.ECONNRESET
	case <-ctx.Done():
		cancel()
		return nil, r.Context().Err()
	}
}

// pipedAnswer is where a handler writes its answer.
type pipedAnswer struct {
	header http.Header
	body   *io.PipeWriter

	once   sync.Once
	code   int
	sent   http.Header
	begun  chan struct{}
	broken chan struct{}
}

// Header is sent by the first call of WriteHeader or Write.
func (a *pipedAnswer) Header() http.Header { return a.header }

// WriteHeader begins the answer.
func (a *pipedAnswer) WriteHeader(code int) {
	a.once.Do(func() {
		a.code, a.sent = code, a.header.Clone()
		close(a.begun)
	})
}

// Write returns when the client has read.
func (a *pipedAnswer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(b)
}

// Flush has nothing to do: Write buffers nothing.
func (a *pipedAnswer) Flush() { a.WriteHeader(http.StatusOK) }

// pipedBody ends the request when it is closed.
type pipedBody struct {
	*io.PipeReader
	cancel context.CancelFunc
}

// Close ends the request.
func (b pipedBody) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}
