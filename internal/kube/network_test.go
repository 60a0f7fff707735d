// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// The same as the table of EditNode, once over a real connection that is really
// cut: what net/http and client-go make of it is not for us to guess.
func TestEditNode_overARealConnectionThatIsCutAfterTheWrite(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"without an answer":            "",
		"in the middle of its headers": "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n",
		"in the middle of its body":    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"kind\":",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := newServer(apiNode("n1", "z:NoSchedule"))
			c, err := New(Config{Host: cutting(t, api, answer)})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Nodes(t.Context()); err != nil {
				t.Fatal(err)
			}
			version := api.Version()
			if _, err := c.EditNode(t.Context(), "n1", wantGPU); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"GET nodes 200", "PATCH n1 200", "PATCH n1 409", "GET n1 200"}, api.requests()); diff != "" {
				t.Error(diff)
			}
			if got := api.taints("n1"); got != "z:NoSchedule, dedicated=gpu:NoExecute" || api.Version() != version+1 {
				t.Errorf("the taints are %s after %d writes", got, api.Version()-version)
			}
		})
	}
}

// cutting serves an API that carries the first patch out, answers with this much, and cuts
// the connection. It returns its address.
func cutting(t *testing.T, api *testServer, answer string) string {
	t.Helper()
	there, err := url.Parse(fakeapi.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(there)
	proxy.Transport = api.client
	var patches atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPatch || patches.Add(1) > 1 {
			proxy.ServeHTTP(w, r)
			return
		}
		proxy.ServeHTTP(httptest.NewRecorder(), r)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = conn.Write([]byte(answer))
		_ = conn.Close()
	}))
	t.Cleanup(server.Close)
	return server.URL
}
