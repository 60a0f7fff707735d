// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
	"testing"
)

// Proxy stands between the provider and the API server. It counts requests and
// can spoil one of them.
type Proxy struct {
	// URL is what the provider connects to. It is served over TLS: client-go
	// sends no credentials otherwise.
	URL string
	ca  string

	mu       sync.Mutex
	requests []Request
	fault    func(Request) Fault
	after    func(Request)
}

// Request is one request that came to the proxy.
type Request struct {
	// Number counts from 0.
	Number int
	Method string
	Path   string
	Watch  bool
}

// Write says whether the request changes something.
func (r Request) Write() bool { return r.Method != http.MethodGet }

// Fault is what happens to a request.
type Fault int

// The faults: a status in place of an answer, a connection that breaks before
// the request reaches the API server, and one that breaks after it has been
// carried out.
const (
	None      Fault = 0
	CutBefore Fault = -1
	CutAfter  Fault = -2
)

// Proxy starts a proxy that ends with the test.
func (c *Cluster) Proxy(t testing.TB) *Proxy {
	t.Helper()
	target, err := url.Parse(c.REST.Host)
	must(t, err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(c.CA(t)))
	p := &Proxy{}
	reverse := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}},
		FlushInterval: -1,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { hangUp(w) },
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, reverse) }))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	p.URL = server.URL
	p.ca = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	return p
}

// Provider returns a provider block that leads through the proxy, with the
// documented rights.
func (p *Proxy) Provider(t testing.TB, c *Cluster) map[string]any {
	t.Helper()
	return map[string]any{"host": p.URL, "token": c.Token(t), "cluster_ca_certificate": p.ca}
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request, reverse http.Handler) {
	p.mu.Lock()
	request := Request{Number: len(p.requests), Method: r.Method, Path: r.URL.Path, Watch: r.URL.Query().Get("watch") != ""}
	p.requests = append(p.requests, request)
	fault, after := p.fault, p.after
	p.mu.Unlock()
	spoil := None
	if fault != nil {
		spoil = fault(request)
	}
	switch {
	case spoil == CutBefore:
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
	if after != nil {
		after(request)
	}
}

// status is the body that the API server would send with a code.
func status(code int) string {
	reasons := map[int]string{401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 409: "Conflict", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable"}
	return `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"injected by the test","reason":"` + reasons[code] + `","code":` + strconv.Itoa(code) + `}`
}

// hangUp closes the connection without an answer.
func hangUp(w http.ResponseWriter) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		return
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

// After sets what is called when a request has been answered.
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
