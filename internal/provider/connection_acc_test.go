// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccProvider_connects reads a node of a real cluster by each way to connect.
func TestAccProvider_connects(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	node := acctest.Name(t, "node")
	c.Node(t, acctest.Node{Name: node, Labels: map[string]string{"pool": node}, Quiet: true})
	certificate, key, der := clientCertificate(t)
	strict := knowsByCertificate(t, c, der)
	tunnel, tunnelled := tunnels(t)
	token := c.Token(t)
	credentials := `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"` + token + `"}}`
	at := map[string]any{"host": c.REST.Host, "cluster_ca_certificate": c.CA(t)}
	for name, provider := range map[string]map[string]any{
		"a token":      acctest.With(at, map[string]any{"token": token}),
		"a kubeconfig": {"config_path": c.Kubeconfig(t)},
		"a kubeconfig and its context": {
			"config_paths": []any{c.Kubeconfig(t)}, "config_context": "test", "config_context_cluster": "test", "config_context_auth_info": "test",
		},
		"a client certificate": acctest.With(strict, map[string]any{"client_certificate": certificate, "client_key": key}),
		"a command that prints credentials": acctest.With(at, map[string]any{"exec": map[string]any{
			"api_version": "client.authentication.k8s.io/v1", "command": "sh", "args": []any{"-c", `echo "$CREDENTIALS"`}, "env": map[string]any{"CREDENTIALS": credentials},
		}}),
		"a proxy":                acctest.With(at, map[string]any{"token": token, "proxy_url": tunnel}),
		"the name of the server": acctest.With(at, map[string]any{"token": token, "tls_server_name": "kubernetes.default.svc"}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, d := (&acctest.Terraform{Provider: provider}).Data(t, "kubetaint_nodes", map[string]any{"selector": "pool=" + node})
			if d.Errors() != "" {
				t.Fatal(d.Errors())
			}
			if nodes, _ := got["nodes"].([]any); len(nodes) != 1 || !strings.Contains(fmt.Sprint(nodes...), "name:"+node) {
				t.Errorf("read %v", got["nodes"])
			}
			if name == "a proxy" && tunnelled.Load() == 0 {
				t.Error("nothing went through the proxy")
			}
		})
	}
	for name, changed := range map[string]map[string]any{
		"without credentials":              {},
		"with a command that prints none":  {"exec": map[string]any{"api_version": "client.authentication.k8s.io/v1", "command": "sh", "args": []any{"-c", "echo nothing"}}},
		"with a server of another name":    {"token": token, "tls_server_name": "another.example.com"},
		"with a proxy that does not serve": {"token": token, "proxy_url": "http://127.0.0.1:1"},
	} {
		t.Run(name+" it is an error", func(t *testing.T) {
			t.Parallel()
			_, d := (&acctest.Terraform{Provider: acctest.With(at, changed)}).Data(t, "kubetaint_nodes", map[string]any{"selector": "pool=" + node})
			if d.Errors() == "" {
				t.Fatal("it connects")
			}
			if strings.Contains(d.Errors(), token) {
				t.Error("the error tells the token")
			}
		})
	}
}

// tunnels is a proxy that counts its tunnels.
func tunnels(t *testing.T) (url string, count *atomic.Int64) {
	t.Helper()
	count = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "only CONNECT", http.StatusMethodNotAllowed)
			return
		}
		there, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", r.Host)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer there.Close()
		w.WriteHeader(http.StatusOK)
		here, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer here.Close()
		count.Add(1)
		go func() { _, _ = io.Copy(there, here) }()
		_, _ = io.Copy(here, there)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL, count
}
