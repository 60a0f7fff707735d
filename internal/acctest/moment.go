// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"net/url"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Moment returns the cluster as it is now, for providers and recordings in this process: the API server
// lists all kinds as they were at one resource version, watches show nothing, and a request that is
// repeated gets the same answer. Other tests change the cluster meanwhile, and these changes would
// otherwise decide whether two ways of reading it agree. What API servers can still list is minutes old.
func (c *Cluster) Moment(t testing.TB) *Cluster {
	t.Helper()
	onward, err := c.onward()
	must(t, err)
	nodes, err := c.Admin.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{Limit: 1})
	must(t, err)
	at, reading := *c, &moment{onward: onward, to: c.REST.Host, version: nodes.ResourceVersion, answers: map[string]*answered{}}
	at.REST = &rest.Config{Host: serveInProcess(t, reading), Transport: reading}
	return &at
}

// moment is the transport to a cluster as it was at one resource version.
type moment struct {
	onward      http.RoundTripper
	to, version string

	mu      sync.Mutex
	answers map[string]*answered
}

// answered is an answer that is given again.
type answered struct {
	http.Response
	body []byte
}

func (m *moment) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Get("watch") != "" {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {r.Header.Get("Accept")}}, Body: silence(r.Context().Done()), Request: r}, nil
	}
	request, err := m.request(r)
	if err != nil {
		return nil, err
	}
	if r.Method != http.MethodGet {
		return m.onward.RoundTrip(request)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := cmp.Or(r.Header.Get("Accept"), "any") + " " + request.URL.RequestURI()
	if m.answers[key] == nil {
		answer, err := m.onward.RoundTrip(request)
		if err != nil || answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode >= http.StatusInternalServerError {
			return answer, err
		}
		body, err := io.ReadAll(answer.Body)
		if err := cmp.Or(err, answer.Body.Close()); err != nil {
			return nil, err
		}
		m.answers[key] = &answered{Response: *answer, body: body}
	}
	again := m.answers[key].Response
	again.Header, again.Request, again.Body = again.Header.Clone(), r, io.NopCloser(bytes.NewReader(m.answers[key].body))
	return &again, nil
}

// request returns a request to the cluster. API servers read the resource version of a get as the oldest
// one that will do, and take none with the rest of a list, which is of the version of its first page.
func (m *moment) request(r *http.Request) (*http.Request, error) {
	to, err := http.NewRequestWithContext(r.Context(), r.Method, m.to+r.URL.Path, r.Body)
	if err != nil {
		return nil, err
	}
	to.Header, to.ContentLength = r.Header.Clone(), r.ContentLength
	query := r.URL.Query()
	if r.Method == http.MethodGet && query.Get("continue") == "" {
		query.Set("resourceVersion", m.version)
		query.Set("resourceVersionMatch", string(metav1.ResourceVersionMatchExact))
	}
	to.URL.RawQuery = query.Encode()
	return to, nil
}

// unpin takes out of an address what Moment adds to requests of the provider.
func unpin(address *url.URL) {
	query := address.Query()
	if query.Get("resourceVersionMatch") == string(metav1.ResourceVersionMatchExact) {
		query.Del("resourceVersion")
		query.Del("resourceVersionMatch")
		address.RawQuery = query.Encode()
	}
}

// silence is the answer to a watch that shows nothing until its request ends.
type silence <-chan struct{}

func (s silence) Read([]byte) (int, error) {
	<-s
	return 0, io.EOF
}

// Close does nothing: clients that close an answer cancel its request, too.
func (s silence) Close() error { return nil }
