// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Client reaches the server as one process does: what happens to its requests happens to
// no other client. It implements http.RoundTripper.
type Client struct {
	server *Server

	mu    sync.Mutex
	fault func(Request) Fault
	after func(Request, int)
	lag   func(metav1.Object) time.Duration
	sent  int
	// ctx ends when the process is killed.
	ctx context.Context //nolint:containedctx // It is the life of a process.
	end context.CancelFunc
}

// Client returns a client.
func (s *Server) Client() *Client {
	ctx, end := context.WithCancel(context.Background())
	return &Client{server: s, ctx: ctx, end: end}
}

// Request is what a fault is decided by.
type Request struct {
	// Number counts the client's requests from 1.
	Number                                 int
	Verb, Resource, Subresource, Namespace string
	Name                                   string
	DryRun                                 bool
}

// Write reports whether the request must change something.
func (r Request) Write() bool { return !r.DryRun && writes(r.Verb, r.Resource) }

// String names the request.
func (r Request) String() string {
	return fmt.Sprintf("request %d (%s)", r.Number, AuditEvent{Verb: r.Verb, Resource: r.Resource, Subresource: r.Subresource, Namespace: r.Namespace, Name: r.Name})
}

// Fault is what happens to a request. A number above 0 is a status that is answered
// without carrying the request out; 429 and 503 come with Retry-After.
type Fault int

const (
	// None carries the request out.
	None Fault = 0
	// CutBefore breaks the connection before the request is carried out.
	CutBefore Fault = -1
	// CutAfter carries the request out and breaks the connection before the answer.
	CutAfter Fault = -2
	// NoAnswer neither carries the request out nor ever answers it.
	NoAnswer Fault = -3
	// Kill ends the process instead of sending the request: neither this nor any later
	// request reaches the server, and open watches break.
	Kill Fault = -4
	// KillAfter carries the request out and ends the process before the answer.
	KillAfter Fault = -5
)

// ErrKilled is the error of every request of a process that has been killed. A real process
// would not live to see it.
var ErrKilled = errors.New("the process was killed")

// OnRequest sets what decides about each request, watches included. It is called for one
// request at a time and must not wait.
func (c *Client) OnRequest(fault func(Request) Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = fault
}

// OnAnswer sets what is called with the status of a request that has been carried out,
// before its answer is returned. It may wait, and is called for several requests in parallel.
func (c *Client) OnAnswer(after func(r Request, status int)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.after = after
}

// OnEvent sets how long watches delay the event of an object, and the events after it. Like
// what decides about a request, it is called for one at a time and must not wait.
func (c *Client) OnEvent(lag func(object metav1.Object) time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lag = lag
}

// delay returns how long to delay the event of an object.
func (c *Client) delay(object metav1.Object) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lag == nil {
		return 0
	}
	return c.lag(object)
}

// Sent returns how many requests the process has sent.
func (c *Client) Sent() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent
}

// Context ends when the process is killed.
func (c *Client) Context() context.Context { return c.ctx }

// Killed reports whether the process has been killed.
func (c *Client) Killed() bool {
	return c.ctx.Err() != nil
}

// Kill ends the process.
func (c *Client) Kill() { c.end() }

// decide counts a request and returns what happens to it.
func (c *Client) decide(q *query) (Request, Fault, func(Request, int)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent++
	r := Request{Number: c.sent, Verb: q.verb, Resource: q.resource.Resource, Subresource: q.subresource, Namespace: q.key.namespace, Name: q.key.name, DryRun: q.dryRun()}
	if c.fault == nil {
		return r, None, c.after
	}
	return r, c.fault(r), c.after
}

// RoundTrip carries a request out. Where the request's context ends first, it returns the
// cause, as net/http does.
func (c *Client) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Context().Err() != nil {
		return nil, context.Cause(r.Context())
	}
	if c.Killed() {
		return nil, ErrKilled
	}
	q, err := parse(r)
	if err != nil {
		return nil, err
	}
	request, fault, after := c.decide(q)
	switch {
	case fault == CutBefore:
		return nil, syscall.ECONNRESET
	case fault == NoAnswer:
		select {
		case <-r.Context().Done():
			return nil, context.Cause(r.Context())
		case <-c.ctx.Done():
			return nil, ErrKilled
		}
	case fault == Kill:
		c.Kill()
		return nil, ErrKilled
	case fault > 0:
		return c.respond(injected(int(fault)), q, func() {})
	}
	ctx, cancel := context.WithCancel(r.Context())
	q.http, q.delay = r.WithContext(ctx), c.delay
	answer := c.server.serve(q)
	if after != nil {
		after(request, answer.code)
	}
	switch {
	case fault == CutAfter:
		cancel()
		return nil, syscall.ECONNRESET
	case fault == KillAfter:
		cancel()
		c.Kill()
		return nil, ErrKilled
	case r.Context().Err() != nil:
		// The client has given up while the request was carried out.
		cancel()
		return nil, context.Cause(r.Context())
	}
	return c.respond(answer, q, cancel)
}

// respond turns an answer into an HTTP response.
func (c *Client) respond(answer *response, q *query, cancel context.CancelFunc) (*http.Response, error) {
	out := &http.Response{
		StatusCode: answer.code, Status: strconv.Itoa(answer.code) + " " + http.StatusText(answer.code),
		Proto: "HTTP/2.0", ProtoMajor: 2, Header: http.Header{}, Request: q.http,
	}
	if answer.retryAfter > 0 {
		out.Header.Set("Retry-After", strconv.Itoa(answer.retryAfter))
	}
	if answer.stream != nil {
		media, _ := negotiate(q.accept, q.kind.Custom)
		out.Header.Set("Content-Type", media+";stream=watch")
		if media == jsonMedia {
			out.Header.Set("Content-Type", media)
		}
		out.Body = c.stream(answer, cancel)
		return out, nil
	}
	defer cancel()
	body, media, err := answer.encode(q)
	if err != nil {
		return nil, err
	}
	out.Header.Set("Content-Type", media)
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return out, nil
}

// stream passes on the events of a watch until the client ends it or is killed.
func (c *Client) stream(answer *response, cancel context.CancelFunc) io.ReadCloser {
	reader, writer := io.Pipe()
	over := make(chan struct{})
	go func() {
		defer close(over)
		answer.stream(writer)
		_ = writer.Close()
	}()
	go func() {
		select {
		case <-c.ctx.Done():
			_ = writer.CloseWithError(ErrKilled)
			cancel()
		case <-over:
		}
	}()
	return &watchBody{reader, cancel}
}

// watchBody ends its watch when it is closed.
type watchBody struct {
	*io.PipeReader
	cancel context.CancelFunc
}

// Close ends the watch.
func (b *watchBody) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}

// injected is an answer that a test puts in place of the server's.
func injected(code int) *response {
	seconds := 0
	if code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable {
		seconds = 1
	}
	answer := failure(apierrors.NewGenericServerResponse(code, "", schema.GroupResource{}, "", "injected by the test", seconds, false))
	return answer
}
