// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"net/http"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// brokenConnection is a connection that ended in the middle of a read, in a
// form that client-go does not know: it would repeat such a read ten times, a
// second apart, before the provider's own retries, and a plan against a cluster
// that is down would take minutes. How often to try again is decided in one
// place, by patience.
type brokenConnection struct{}

// Error reports what happened.
func (brokenConnection) Error() string {
	return "the server closed the connection without an answer"
}

// noClientRetry returns immediately what client-go would repeat.
type noClientRetry struct {
	http.RoundTripper
}

// RoundTrip sends a request.
func (t noClientRetry) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	broken := err != nil && (utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err))
	if broken && r.Method == http.MethodGet && r.Context().Err() == nil {
		return resp, brokenConnection{}
	}
	return resp, err
}
