// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"
)

// ErrReadOnly is the error of a request that could change something, on a connection that only reads.
var ErrReadOnly = errors.New("this connection only reads")

// NewReader prepares a connection as kubectl's flags describe it, on which no request but reads
// leaves the process. It sends nothing.
func NewReader(rc *rest.Config, userAgent string) (*Cluster, error) {
	cfg := ReadOnly(nil)(rc)
	cfg.UserAgent = userAgent
	tune(cfg)
	return connect(cfg)
}

// ReadOnly returns the function by which cli-runtime changes a configuration before each use: after
// another such function, nil for none, it refuses every request that is no read.
func ReadOnly(after func(*rest.Config) *rest.Config) func(*rest.Config) *rest.Config {
	return func(rc *rest.Config) *rest.Config {
		if after != nil {
			rc = after(rc)
		}
		out := rest.CopyConfig(rc)
		out.Wrap(func(inner http.RoundTripper) http.RoundTripper { return reads{inner} })
		return out
	}
}

// Through returns the function by which cli-runtime changes a configuration, to one of another server
// that is reached by a transport, without credentials.
func Through(host string, transport http.RoundTripper) func(*rest.Config) *rest.Config {
	return func(*rest.Config) *rest.Config { return &rest.Config{Host: host, Transport: transport} }
}

// ownRights is where the API server is asked for the rights of the credentials. It is asked by a POST, and
// keeps nothing of it.
const ownRights = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"

// reads lets no request through that could change something. It goes by the method, so that a new
// call to the API server is refused until it is reviewed.
type reads struct{ http.RoundTripper }

// RoundTrip sends a read. Errors: ErrReadOnly.
func (t reads) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet && (r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, ownRights)) {
		return nil, fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, ErrReadOnly)
	}
	return t.RoundTripper.RoundTrip(r)
}

// WrappedRoundTripper returns the transport within, for client-go to find its way through.
func (t reads) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }
