// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
)

func TestConnection(t *testing.T) {
	t.Parallel()
	text := func(s string) tftypes.Value { return tftypes.NewValue(tftypes.String, s) }
	everything := map[string]string{
		"KUBE_CONFIG_PATH": "/env/config", "KUBE_CTX": "env-context", "KUBE_CTX_CLUSTER": "env-cluster", "KUBE_CTX_AUTH_INFO": "env-user",
		"KUBE_HOST": "https://env", "KUBE_TOKEN": "env-token", "KUBE_USER": "env-name", "KUBE_PASSWORD": "env-password",
		"KUBE_CLIENT_CERT_DATA": "env-cert", "KUBE_CLIENT_KEY_DATA": "env-key", "KUBE_CLUSTER_CA_CERT_DATA": "env-ca",
		"KUBE_TLS_SERVER_NAME": "env-server", "KUBE_INSECURE": "true", "KUBE_PROXY_URL": "http://env",
	}
	two := tftypes.NewValue(stringList, []tftypes.Value{text("/a"), text("/b")})
	cases := []struct {
		name        string
		block       values
		environment map[string]string
		want        kube.Config
	}{
		{"an empty block takes everything from the environment", nil, everything, kube.Config{
			Paths: []string{"/env/config"}, Context: "env-context", ContextCluster: "env-cluster", ContextAuthInfo: "env-user",
			Host: "https://env", Token: "env-token", Username: "env-name", Password: "env-password",
			ClientCertificate: "env-cert", ClientKey: "env-key", ClusterCACertificate: "env-ca",
			TLSServerName: "env-server", Insecure: true, ProxyURL: "http://env",
		}},
		{"the block wins over the environment", values{
			"config_path": "/block", "config_context": "c", "config_context_cluster": "cc", "config_context_auth_info": "ca",
			"host": "https://block", "token": "t", "username": "u", "password": "p", "client_certificate": "cert", "client_key": "key",
			"cluster_ca_certificate": "ca", "tls_server_name": "s", "insecure": false, "proxy_url": "http://block",
		}, everything, kube.Config{
			Paths: []string{"/block"}, Context: "c", ContextCluster: "cc", ContextAuthInfo: "ca",
			Host: "https://block", Token: "t", Username: "u", Password: "p",
			ClientCertificate: "cert", ClientKey: "key", ClusterCACertificate: "ca", TLSServerName: "s", ProxyURL: "http://block",
		}},
		{"an empty string in the block switches the environment off", values{"token": ""}, map[string]string{"KUBE_TOKEN": "env-token"}, kube.Config{Empty: "token"}},
		{"an empty path is not the cluster of the pod", values{"config_path": ""}, map[string]string{"KUBE_CONFIG_PATH": "/env"}, kube.Config{Empty: "config_path"}},
		{"several paths of the block win over one of the environment", values{"config_paths": two}, map[string]string{"KUBE_CONFIG_PATH": "/env"}, kube.Config{Paths: []string{"/a", "/b"}}},
		{"one path of the environment wins over several of it", nil, map[string]string{"KUBE_CONFIG_PATH": "/env", "KUBE_CONFIG_PATHS": "/x"}, kube.Config{Paths: []string{"/env"}}},
		{"several paths of the environment are split, empty ones left out", nil, map[string]string{"KUBE_CONFIG_PATHS": "/x" + string(os.PathListSeparator) + string(os.PathListSeparator) + "/y"}, kube.Config{Paths: []string{"/x", "/y"}}},
		{"an empty variable is none, and names no cluster", nil, map[string]string{"KUBE_HOST": "", "KUBE_INSECURE": ""}, kube.Config{Empty: "host"}},
		{"KUBECONFIG is not read", nil, map[string]string{"KUBECONFIG": "/home/config"}, kube.Config{}},
		{"exec is taken with its arguments and environment, without variables that are null", values{"exec": execBlock(
			tftypes.NewValue(stringList, []tftypes.Value{text("get-token"), text("x")}),
			tftypes.NewValue(stringMap, map[string]tftypes.Value{"REGION": text("eu"), "PROFILE": tftypes.NewValue(tftypes.String, nil)}),
		)}, nil, kube.Config{Exec: &kube.Exec{APIVersion: "client.authentication.k8s.io/v1", Command: "login", Args: []string{"get-token", "x"}, Env: map[string]string{"REGION": "eu"}}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, raw := block(t, c.block)
			var m model
			var diags diag.Diagnostics
			diags.Append((&tfsdk.Config{Raw: raw, Schema: s}).Get(context.Background(), &m)...)
			got := m.connection(context.Background(), func(name string) (string, bool) { value, is := c.environment[name]; return value, is }, &diags)
			if diags.HasError() {
				t.Fatalf("unexpected errors: %v", diags)
			}
			if !got.known {
				t.Error("the connection is not known")
			}
			if diff := cmp.Diff(c.want, got.config); diff != "" {
				t.Error(diff)
			}
		})
	}
}
