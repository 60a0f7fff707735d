// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"bytes"
	"context"
	"encoding/pem"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Proxy stands between the provider and the API server. It counts requests and
// can spoil one of them.
type Proxy struct {
	// URL is what the provider connects to. It is served over TLS: client-go
	// sends no credentials otherwise.
	URL string
	// ca is "" where nothing listens at URL: requests to an in-memory API server stay in
	// this process.
	ca string

	mu       sync.Mutex
	requests []Request
	types    map[string]string
	fault    func(Request) Fault
	after    func(Request)
	reword   func(path string, answer []byte) []byte

	// watched is closed when the first watch has come, and nil where requests
	// go as they come. turn is held by the write whose turn it is.
	watched chan struct{}
	once    sync.Once
	turn    sync.Mutex

	// shown is nil where no test asks what watches have carried.
	shown *shownByWatches
}

// watchPatience is how long writes wait for a watch that does not come. It only
// keeps a test from hanging.
const watchPatience = 5 * time.Second

// Request is one request that came to the proxy.
type Request struct {
	// Number counts from 0.
	Number int
	Method string
	Path   string
	Watch  bool
	// Status is what the API server answered, for After and while writes go in
	// turn; 0 where it is not known, as of a watch.
	Status int
}

// Write reports whether the request changes something: to ask what one may do does not.
func (r Request) Write() bool {
	return r.Method != http.MethodGet && !strings.HasPrefix(r.Path, "/apis/authorization.k8s.io/")
}

// Fault is what happens to a request.
type Fault int

// The faults: a status in place of an answer, a connection that breaks before
// the request reaches the API server, one that breaks after it has been carried
// out, and what the API server answers where it serves no such kind.
const (
	None      Fault = 0
	CutBefore Fault = -1
	CutAfter  Fault = -2
	Unserved  Fault = -3
)

// Proxy starts a proxy that ends with the test.
func (c *Cluster) Proxy(t testing.TB) *Proxy {
	t.Helper()
	target, err := url.Parse(c.REST.Host)
	must(t, err)
	onward, err := c.onward()
	must(t, err)
	p := &Proxy{types: map[string]string{}}
	reverse := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			if p.rewording() != nil {
				r.Out.Header.Del("Accept-Encoding")
			}
		},
		Transport:     onward,
		FlushInterval: -1,
		ModifyResponse: func(r *http.Response) error {
			p.mu.Lock()
			p.types[r.Request.Method+" "+r.Request.URL.Path] = r.Header.Get("Content-Type")
			p.mu.Unlock()
			return p.answer(r)
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { hangUp(w) },
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, reverse) })
	if c.api != nil {
		p.URL = serveInProcess(t, served{handler})
		return p
	}
	server := httptest.NewUnstartedServer(handler)
	light, err := lightTLS()
	must(t, err)
	server.TLS = light.Clone()
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	p.URL = server.URL
	p.ca = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	return p
}

// Types returns the media types of the API server's last answers, by method and path.
func (p *Proxy) Types() map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.types)
}

// Provider returns a provider block that leads through the proxy, with the
// documented rights.
func (p *Proxy) Provider(t testing.TB, c *Cluster) map[string]any {
	t.Helper()
	block := map[string]any{"host": p.URL, "token": c.Token(t)}
	if p.ca != "" {
		block["cluster_ca_certificate"] = p.ca
	}
	return block
}

// Reword has the answers to lists and gets say something else. It must be set before the
// first request.
func (p *Proxy) Reword(reword func(path string, answer []byte) []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reword = reword
}

func (p *Proxy) rewording() func(string, []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reword
}

// answer replaces an answer by the desired one.
func (p *Proxy) answer(r *http.Response) error {
	reword := p.rewording()
	if reword == nil || r.Request.Method != http.MethodGet || r.Request.URL.Query().Get("watch") != "" {
		return nil
	}
	said, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	said = reword(r.Request.URL.Path, said)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(said)), int64(len(said))
	r.Header.Set("Content-Length", strconv.Itoa(len(said)))
	return nil
}

// InTurn puts requests into an order that is the same in every run, although
// the provider watches and writes several nodes in parallel: writes are held until a
// watch has come, and go one at a time. What After sets is called before an answer
// is sent to the client, unless it is that of a watch, which does not end, and before the
// next write is let through. InTurn must be called before the first request.
func (p *Proxy) InTurn() {
	p.watched = make(chan struct{})
}

// Showing remembers what watches carry from now on, and must be called before the first
// request. The function that it returns waits until one has carried a text to the provider:
// while requests go in turn, what a test changes in After is then known before the
// answer is.
func (p *Proxy) Showing(t testing.TB) (shown func(text string)) {
	t.Helper()
	p.shown = &shownByWatches{}
	return func(text string) {
		t.Helper()
		if !p.shown.await(text, patience) {
			t.Errorf("no watch has shown %q within %s; they showed last:\n%s", text, patience, p.shown)
		}
	}
}

// await returns when it is a write's turn.
func (p *Proxy) await(r *http.Request) {
	select {
	case <-p.watched:
	case <-r.Context().Done():
	case <-time.After(watchPatience):
	}
	p.turn.Lock()
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request, reverse http.Handler) {
	request := Request{Method: r.Method, Path: r.URL.Path, Watch: r.URL.Query().Get("watch") != ""}
	inTurn := p.watched != nil
	if inTurn && request.Write() {
		p.await(r)
		defer p.turn.Unlock()
	}
	p.mu.Lock()
	request.Number = len(p.requests)
	p.requests = append(p.requests, request)
	fault, after := p.fault, p.after
	p.mu.Unlock()
	if inTurn && request.Watch {
		p.once.Do(func() { close(p.watched) })
	}
	var once sync.Once
	answered := func(code int) {
		once.Do(func() {
			if after != nil {
				request.Status = code
				after(request)
			}
		})
	}
	defer answered(0)
	reverse = p.passing(request, reverse, answered)
	spoil := None
	if fault != nil {
		spoil = fault(request)
	}
	switch {
	case spoil == CutBefore:
		hangUp(w)
	case spoil == Unserved:
		http.NotFound(w, r)
	case spoil == CutAfter && request.Watch:
		// A watch is carried out when it has begun: it would not end by itself.
		ctx, begun := context.WithCancel(r.Context())
		defer begun()
		reverse.ServeHTTP(beginning{httptest.NewRecorder(), begun}, r.WithContext(ctx))
		hangUp(w)
	case spoil == CutAfter:
		reverse.ServeHTTP(httptest.NewRecorder(), r)
		hangUp(w)
	case spoil > 0:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(spoil))
		_, _ = w.Write([]byte(status(int(spoil))))
	default:
		reverse.ServeHTTP(w, r)
	}
}

// passing is a handler that forwards answers as desired.
func (p *Proxy) passing(r Request, h http.Handler, answered func(code int)) http.Handler {
	switch {
	case r.Watch && p.shown != nil:
		return p.shown.through(h)
	case !r.Watch && p.watched != nil:
		return heldBack(h, answered)
	}
	return h
}

// heldBack passes an answer on when then has returned.
func heldBack(h http.Handler, then func(code int)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, r)
		then(answer.Code)
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	})
}

// beginning tells when an answer begins.
type beginning struct {
	*httptest.ResponseRecorder
	begun func()
}

// WriteHeader is called with the first byte.
func (b beginning) WriteHeader(code int) {
	b.ResponseRecorder.WriteHeader(code)
	b.begun()
}

// status is the body that the API server would send with a code.
func status(code int) string {
	reasons := map[int]string{401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 409: "Conflict", 422: "Invalid", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable"}
	return `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"injected by the test","reason":"` + reasons[code] + `","code":` + strconv.Itoa(code) + `}`
}

// hangUp closes the connection without an answer.
func hangUp(w http.ResponseWriter) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	if conn, _, err := hijacker.Hijack(); err == nil {
		_ = conn.Close()
	}
}

// Spoil sets what happens to requests from now on and forgets those so far.
func (p *Proxy) Spoil(fault func(Request) Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.requests = fault, nil
}

// After sets what is called when a request has been answered, or spoiled.
func (p *Proxy) After(f func(Request)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.after, p.requests = f, nil
}

// Requests returns the requests since the last call of Spoil or After.
func (p *Proxy) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Request(nil), p.requests...)
}
