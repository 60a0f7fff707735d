// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// kubeconfig has two contexts, one of them current.
const kubeconfig = `
apiVersion: v1
kind: Config
current-context: one
contexts:
- {name: one, context: {cluster: c1, user: u1}}
- {name: two, context: {cluster: c2, user: u2}}
clusters:
- {name: c1, cluster: {server: "https://one.example.com:6443"}}
- {name: c2, cluster: {server: "https://two.example.com:6443"}}
users:
- {name: u1, user: {token: token-one}}
- {name: u2, user: {token: token-two}}
`

func write(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// pair makes a certificate and its key in PEM.
func pair(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	rawKey, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: rawKey}))
}

func TestConfig(t *testing.T) {
	t.Parallel()
	file := write(t, kubeconfig)
	first := write(t, "apiVersion: v1\nkind: Config\ncurrent-context: two\n")
	certificate, key := pair(t)
	const host = "https://api.example.com:6443"
	cases := []struct {
		name  string
		cfg   Config
		check func(*rest.Config) bool
	}{
		{"the current context of a kubeconfig is used", Config{Paths: []string{file}}, func(r *rest.Config) bool {
			return r.Host == "https://one.example.com:6443" && r.BearerToken == "token-one"
		}},
		{"another context can be named", Config{Paths: []string{file}, Context: "two"}, func(r *rest.Config) bool {
			return r.Host == "https://two.example.com:6443" && r.BearerToken == "token-two"
		}},
		{"another cluster can be named", Config{Paths: []string{file}, ContextCluster: "c2"}, func(r *rest.Config) bool {
			return r.Host == "https://two.example.com:6443" && r.BearerToken == "token-one"
		}},
		{"another user can be named", Config{Paths: []string{file}, ContextAuthInfo: "u2"}, func(r *rest.Config) bool {
			return r.Host == "https://one.example.com:6443" && r.BearerToken == "token-two"
		}},
		{"kubeconfigs are merged, the first one winning", Config{Paths: []string{first, file}}, func(r *rest.Config) bool { return r.BearerToken == "token-two" }},
		{"a host takes the place of the kubeconfig's address", Config{Paths: []string{file}, Host: host}, func(r *rest.Config) bool { return r.Host == host && r.BearerToken == "token-one" }},
		{"a token takes the place of the kubeconfig's", Config{Paths: []string{file}, Token: "mine"}, func(r *rest.Config) bool { return r.BearerToken == "mine" }},
		{"a host and a token are enough", Config{Host: host, Token: "mine"}, func(r *rest.Config) bool { return r.Host == host && r.BearerToken == "mine" }},
		{"a user name and a password are enough", Config{Host: host, Username: "u", Password: "p"}, func(r *rest.Config) bool { return r.Username == "u" && r.Password == "p" }},
		{"a client certificate is taken with its key", Config{Host: host, ClientCertificate: certificate, ClientKey: key, ClusterCACertificate: certificate}, func(r *rest.Config) bool {
			return string(r.CertData) == certificate && string(r.KeyData) == key && string(r.CAData) == certificate && !r.Insecure
		}},
		{"certificates of the server can be left unchecked", Config{Host: host, Insecure: true}, func(r *rest.Config) bool { return r.Insecure }},
		{"the server's name can be another one", Config{Host: host, TLSServerName: "other"}, func(r *rest.Config) bool { return r.ServerName == "other" }},
		{"a proxy is used for every request", Config{Host: host, ProxyURL: "http://proxy.example.com:3128"}, func(r *rest.Config) bool {
			request, err := http.NewRequest(http.MethodGet, host, nil)
			if err != nil || r.Proxy == nil {
				return false
			}
			proxy, err := r.Proxy(request)
			return err == nil && proxy.String() == "http://proxy.example.com:3128"
		}},
		{"a command is run without a terminal", Config{Host: host, Exec: &Exec{APIVersion: "client.authentication.k8s.io/v1", Command: "login", Args: []string{"x"}, Env: map[string]string{"A": "b"}}}, func(r *rest.Config) bool {
			e := r.ExecProvider
			return e != nil && e.Command == "login" && e.Args[0] == "x" && e.Env[0] == clientcmdapi.ExecEnvVar{Name: "A", Value: "b"} && e.InteractiveMode == clientcmdapi.NeverExecInteractiveMode
		}},
		{"the user agent is told", Config{Host: host, UserAgent: "me/1"}, func(r *rest.Config) bool { return r.UserAgent == "me/1" }},
		{"a connection is not waited for without end", Config{Host: host}, func(r *rest.Config) bool { return r.Dial != nil }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := c.cfg.rest()
			if err != nil {
				t.Fatal(err)
			}
			if !c.check(got) {
				t.Errorf("got %s", got)
			}
			if _, err := New(c.cfg); err != nil {
				t.Errorf("no cluster can be made of it: %v", err)
			}
		})
	}
}

func TestConfigErrors(t *testing.T) {
	t.Parallel()
	file := write(t, kubeconfig)
	certificate, key := pair(t)
	other, _ := pair(t)
	const host = "https://api.example.com:6443"
	cases := []struct {
		name      string
		cfg       Config
		attribute string
		message   string
	}{
		{"a kubeconfig that is missing", Config{Paths: []string{"/nonexistent/config"}}, "config_path", `The kubeconfig "/nonexistent/config" cannot be read`},
		{"one of several that is missing", Config{Paths: []string{file, "/nonexistent/config"}}, "config_paths", `"/nonexistent/config" cannot be read`},
		{"a directory in the place of a kubeconfig", Config{Paths: []string{t.TempDir()}}, "config_path", "cannot be read"},
		{"a kubeconfig that is no YAML", Config{Paths: []string{write(t, "{")}}, "config_path", "cannot be understood"},
		{"a kubeconfig that is empty", Config{Paths: []string{write(t, "")}}, "config_path", `has no context ""`},
		{"a context that the kubeconfig does not have", Config{Paths: []string{file}, Context: "three"}, "config_context", `has no context "three": it has "one", "two"`},
		{"a cluster that the kubeconfig does not have", Config{Paths: []string{file}, ContextCluster: "c3"}, "config_context_cluster", `has no cluster "c3": it has "c1", "c2"`},
		{"a user that the kubeconfig does not have", Config{Paths: []string{file}, ContextAuthInfo: "u3"}, "config_context_auth_info", `has no user "u3": it has "u1", "u2"`},
		{"a context whose cluster is missing", Config{Paths: []string{write(t, kubeconfig+"\n"), write(t, "{contexts: [{name: four, context: {cluster: c4, user: u1}}]}")}, Context: "four"}, "config_context", `The context "four" names the cluster "c4", which the kubeconfig does not have: it has "c1", "c2".`},
		{"a current context whose cluster is missing", Config{Paths: []string{write(t, "{current-context: four, contexts: [{name: four, context: {cluster: c4}}]}")}}, "config_path", `The context "four" names the cluster "c4", which the kubeconfig does not have: it has none.`},
		{"a context without a cluster", Config{Paths: []string{write(t, "{current-context: four, contexts: [{name: four, context: {user: u}}]}")}}, "config_path", `The context "four" names the cluster "", which`},
		{"a context whose user is missing", Config{Paths: []string{write(t, kubeconfig+"\n"), write(t, "{contexts: [{name: four, context: {cluster: c1, user: u4}}]}")}, Context: "four"}, "config_context", `The context "four" names the user "u4", which the kubeconfig does not have: it has "u1", "u2".`},
		{"a host that is no address", Config{Host: "https://a b"}, "host", `"https://a b" is not the address of an API server`},
		{"a proxy without a scheme", Config{Host: host, ProxyURL: "proxy.example.com:3128"}, "proxy_url", "is not the address of a proxy"},
		{"a certificate that is not decoded", Config{Host: host, ClusterCACertificate: "LS0tLS1CRUdJTg=="}, "cluster_ca_certificate", "base64decode"},
		{"a client certificate with the key of another", Config{Host: host, ClientCertificate: other, ClientKey: key}, "client_certificate", "does not match client_key"},
		{"a client certificate without a key", Config{Host: host, ClientCertificate: certificate}, "host", "The connection is not complete"},
		{"certificates that are given and left unchecked", Config{Host: host, ClusterCACertificate: certificate, Insecure: true}, "host", "insecure"},
		{"a token beside a password", Config{Host: host, Token: "t", Username: "u", Password: "p"}, "host", "more than one authentication method"},
	}
	for _, c := range cases {
		t.Run(c.name+" is an error", func(t *testing.T) {
			t.Parallel()
			_, err := New(c.cfg)
			mistake := new(ConfigError)
			if !errors.As(err, &mistake) {
				t.Fatalf("got %v, want a ConfigError", err)
			}
			if mistake.Attribute != c.attribute || !strings.Contains(mistake.Message, c.message) {
				t.Errorf("got %q at %q, want %q at %q", mistake.Message, mistake.Attribute, c.message, c.attribute)
			}
		})
	}
}

func TestConfigErrors_printNoUserNameAndNoPassword(t *testing.T) {
	t.Parallel()
	const host = "https://api.example.com:6443"
	proxied := func(server, proxy string) string {
		return write(t, "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c}}], clusters: [{name: c, cluster: {server: '"+server+"', proxy-url: '"+proxy+"'}}]}")
	}
	cases := []struct {
		name      string
		cfg       Config
		attribute string
		message   string
	}{
		{"a proxy without a scheme", Config{Host: host, ProxyURL: "user:secret@proxy:3128"}, "proxy_url", `"proxy:3128" is not`},
		{"a proxy with an unknown scheme", Config{Host: host, ProxyURL: "ftp://user:secret@proxy:3128"}, "proxy_url", `"ftp://proxy:3128" is not`},
		{"a proxy with a port that is none", Config{Host: host, ProxyURL: "http://user:secret@proxy:port"}, "proxy_url", `"http://proxy:port" is not`},
		{"a proxy with a slash in the password", Config{Host: host, ProxyURL: "http://user:secret/secret@proxy"}, "proxy_url", `"http://proxy" is not`},
		{"a proxy with an at sign in the password", Config{Host: host, ProxyURL: "user:secret@secret@proxy"}, "proxy_url", `"proxy" is not`},
		{"a proxy with a wrong escape in the password", Config{Host: host, ProxyURL: "http://user:%secret@proxy"}, "proxy_url", `"http://proxy" is not`},
		{"a proxy with a scheme in the password", Config{Host: host, ProxyURL: "user:secret://secret@proxy"}, "proxy_url", `"proxy" is not`},
		{"a proxy with a token alone", Config{Host: host, ProxyURL: "ftp://secret@proxy"}, "proxy_url", `"ftp://proxy" is not`},
		{"a host that is no address", Config{Host: "https://user:secret@a b"}, "host", `"https://a b" is not`},
		{"a host with a slash in the password", Config{Host: "https://user:secret/secret@api"}, "host", `"https://api" is not`},
		{"a host without a scheme", Config{Host: "user:secret/secret@api"}, "host", `"api" is not`},
		{"a kubeconfig's proxy without a scheme", Config{Paths: []string{proxied(host, "user:secret@proxy:3128")}}, "config_path", "The connection is not complete"},
		{"a kubeconfig's proxy with an unknown scheme", Config{Paths: []string{proxied(host, "ftp://user:secret@proxy:3128")}}, "config_path", "The connection is not complete"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := New(c.cfg)
			mistake := new(ConfigError)
			if !errors.As(err, &mistake) {
				t.Fatalf("got %v, want a ConfigError", err)
			}
			if mistake.Attribute != c.attribute || !strings.Contains(mistake.Message, c.message) {
				t.Errorf("got %q at %q, want %q at %q", mistake.Message, mistake.Attribute, c.message, c.attribute)
			}
			for _, part := range []string{"user:", "secret"} {
				if strings.Contains(mistake.Message, part) {
					t.Errorf("%q holds %q", mistake.Message, part)
				}
			}
		})
	}
}

// A file's content in the place of its path is a likely mistake, and diagnostics end in logs.
func TestConfigErrors_printNoContent(t *testing.T) {
	t.Parallel()
	const host = "https://api.example.com:6443"
	file := write(t, kubeconfig)
	secret := "{kind: Config, users: [{name: u, user: {token: secret}}]}"
	cases := []struct {
		name      string
		cfg       Config
		attribute string
		message   string
	}{
		{"a kubeconfig", Config{Paths: []string{kubeconfig + "secret"}}, "config_path", "look like the content of a file"},
		{"a kubeconfig on one line", Config{Paths: []string{secret}}, "config_path", "look like the content of a file"},
		{"a kubeconfig among paths", Config{Paths: []string{file, "secret\n"}}, "config_paths", "look like the content of a file"},
		{"a key in a kubeconfig in the place of its path", Config{Paths: []string{write(t, `{current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], clusters: [{name: c, cluster: {server: "https://c"}}], users: [{name: u, user: {client-certificate: "secret\nsecret", client-key: "secret\nsecret"}}]}`)}}, "config_path", "look like the content of a file"},
		{"a certificate in a kubeconfig in the place of its path", Config{Paths: []string{write(t, `{current-context: c, contexts: [{name: c, context: {cluster: c}}], clusters: [{name: c, cluster: {server: "https://c", certificate-authority: "secret\nsecret"}}]}`)}}, "config_path", "look like the content of a file"},
		{"a token in a kubeconfig in the place of its path", Config{Paths: []string{write(t, `{current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], clusters: [{name: c, cluster: {server: "https://c"}}], users: [{name: u, user: {tokenFile: "secret\nsecret"}}]}`)}}, "config_path", "look like the content of a file"},
		{"a token", Config{Paths: []string{strings.Repeat("secret", 100)}}, "config_path", "600 characters"},
		{"a path with a null byte", Config{Paths: []string{"secret\x00" + kubeconfig}}, "config_path", "look like the content of a file"},
		{"a kubeconfig as a host", Config{Host: kubeconfig + "secret"}, "host", "is not the address of an API server"},
		{"a kubeconfig as a proxy", Config{Host: host, ProxyURL: "secret\n"}, "proxy_url", "is not the address of a proxy"},
		{"a kubeconfig as a server's name", Config{Host: host, TLSServerName: "secret\n"}, "tls_server_name", "is not the name of a server"},
		{"a kubeconfig as a command", Config{Host: host, Exec: &Exec{APIVersion: "client.authentication.k8s.io/v1", Command: "secret\n"}}, "exec", "is not the name of a command"},
		{"a kubeconfig as a context", Config{Paths: []string{file}, Context: "secret\n"}, "config_context", "has no context"},
		{"a kubeconfig as a cluster", Config{Paths: []string{file}, ContextCluster: secret}, "config_context_cluster", "has no cluster"},
		{"a kubeconfig as a user", Config{Paths: []string{file}, ContextAuthInfo: secret}, "config_context_auth_info", "has no user"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := New(c.cfg)
			mistake := new(ConfigError)
			if !errors.As(err, &mistake) || mistake.Attribute != c.attribute || !strings.Contains(mistake.Message, c.message) {
				t.Fatalf("got %v at %q, want %q at %q", err, mistake.Attribute, c.message, c.attribute)
			}
			if strings.Contains(mistake.Message, "secret") {
				t.Errorf("the message shows the content: %s", mistake.Message)
			}
		})
	}
}

// TestConfigUnreadable needs a user whom permissions bind.
func TestConfigUnreadable(t *testing.T) {
	t.Parallel()
	file := write(t, kubeconfig)
	if err := os.Chmod(file, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(file); err == nil {
		t.Skip("this user may read every file")
	}
	_, err := New(Config{Paths: []string{file}})
	if mistake := new(ConfigError); !errors.As(err, &mistake) || mistake.Attribute != "config_path" {
		t.Errorf("got %v, want an error at config_path", err)
	}
}

// The tests below change the environment and are not run in parallel.

func TestConfigNothing(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	home := t.TempDir()
	file := filepath.Join(home, ".kube", "config")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("KUBECONFIG", file)
	_, err := New(Config{})
	mistake := new(ConfigError)
	if !errors.As(err, &mistake) || mistake.Attribute != "" || !strings.Contains(mistake.Message, "No cluster is configured") {
		t.Errorf("KUBECONFIG and ~/.kube/config must not be read by themselves, got %v", err)
	}
	cfg, err := Config{Host: "https://api.example.com"}.rest()
	if err != nil || cfg.BearerToken != "" {
		t.Errorf("a host must not be filled up from KUBECONFIG, got %s, %v", cfg, err)
	}
}

// Otherwise a run would reach the cluster that the pod of its runner is in.
func TestConfig_withoutAClusterIsNotTheOneOfThePod(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	for attribute, cfg := range map[string]Config{
		"token":                    {Token: "t"},
		"username":                 {Username: "u", Password: "p"},
		"password":                 {Password: "p"},
		"client_certificate":       {ClientCertificate: "c", ClientKey: "k"},
		"client_key":               {ClientKey: "k"},
		"cluster_ca_certificate":   {ClusterCACertificate: "c"},
		"tls_server_name":          {TLSServerName: "api"},
		"proxy_url":                {ProxyURL: "http://proxy"},
		"insecure":                 {Insecure: true},
		"exec":                     {Exec: &Exec{Command: "login"}},
		"config_context":           {Context: "prod"},
		"config_context_cluster":   {ContextCluster: "prod"},
		"config_context_auth_info": {ContextAuthInfo: "me"},
	} {
		_, err := New(cfg)
		mistake := new(ConfigError)
		if !errors.As(err, &mistake) || mistake.Attribute != attribute || !strings.Contains(mistake.Message, "neither host nor config_path") {
			t.Errorf("%s alone: got %v at %q", attribute, err, mistake.Attribute)
		}
	}
}

// A value that is empty by mistake, as from a secret that is not there, does not choose the pod's cluster.
func TestConfig_anEmptyValueIsNotTheClusterOfThePod(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	for _, attribute := range []string{"host", "config_path", "config_paths", "token"} {
		_, err := New(Config{Empty: attribute})
		mistake := new(ConfigError)
		if !errors.As(err, &mistake) || mistake.Attribute != attribute || !strings.HasPrefix(mistake.Message, attribute+" is empty, and neither host nor config_path names a cluster.") {
			t.Errorf("%s: got %v at %q", attribute, err, mistake.Attribute)
		}
	}
}

func TestConfigHome(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "config"), []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	cfg, err := Config{Paths: []string{"~/config"}}.rest()
	if err != nil || cfg.BearerToken != "token-one" {
		t.Errorf("~/ must be the home directory, got %s, %v", cfg, err)
	}
	if got, err := ExpandPath("~other/config"); err != nil || got != "~other/config" {
		t.Errorf("another user's home is not expanded, got %q, %v", got, err)
	}
}

func TestConfigInCluster(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	if _, err := os.Stat("/var/run/secrets/kubernetes.io/serviceaccount/token"); err == nil {
		t.Skip("this test runs inside a cluster")
	}
	_, err := New(Config{})
	mistake := new(ConfigError)
	if !errors.As(err, &mistake) || !strings.Contains(mistake.Message, "The service account of this pod cannot be used") {
		t.Errorf("got %v, want an error about the service account", err)
	}
}
