// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"errors"
	"fmt"
	"net/http"

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

// reads lets no request through that could change something. It goes by the method, so that a new
// call to the API server is refused until somebody has thought of it.
type reads struct{ http.RoundTripper }

// RoundTrip sends a read. Errors: ErrReadOnly.
func (t reads) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		return nil, fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, ErrReadOnly)
	}
	return t.RoundTripper.RoundTrip(r)
}

// WrappedRoundTripper returns the transport within, for client-go to find its way through.
func (t reads) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }
