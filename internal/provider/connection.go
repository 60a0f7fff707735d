// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
)

// variables are the environment variables that stand in for attributes which
// the block leaves out, those of the hashicorp/kubernetes provider.
var variables = map[string]string{
	"config_path":              "KUBE_CONFIG_PATH",
	"config_paths":             "KUBE_CONFIG_PATHS",
	"config_context":           "KUBE_CTX",
	"config_context_cluster":   "KUBE_CTX_CLUSTER",
	"config_context_auth_info": "KUBE_CTX_AUTH_INFO",
	"host":                     "KUBE_HOST",
	"token":                    "KUBE_TOKEN",
	"username":                 "KUBE_USER",
	"password":                 "KUBE_PASSWORD",
	"client_certificate":       "KUBE_CLIENT_CERT_DATA",
	"client_key":               "KUBE_CLIENT_KEY_DATA",
	"cluster_ca_certificate":   "KUBE_CLUSTER_CA_CERT_DATA",
	"tls_server_name":          "KUBE_TLS_SERVER_NAME",
	"insecure":                 "KUBE_INSECURE",
	"proxy_url":                "KUBE_PROXY_URL",
}

const connectionSummary = "Unable to configure the connection to the cluster"

// connection is the part of the block that reports how to reach the cluster, with
// the environment in the places that the block leaves out.
type connection struct {
	config kube.Config
	// known is false while any of it is not known.
	known bool
	// paths is the attribute that the kubeconfig's paths come from, "" where
	// there are none.
	paths string
	// from holds, by attribute, the environment variable that its value is
	// taken from.
	from map[string]string
}

// connection fills in the environment. A value that is in the block, an empty
// one included, wins over the environment.
func (m model) connection(ctx context.Context, lookup func(string) (string, bool), diags *diag.Diagnostics) connection {
	r := &reader{lookup: lookup, diags: diags, c: connection{known: true, from: map[string]string{}}}
	config := kube.Config{
		Paths:           r.kubeconfigs(ctx, m),
		Context:         r.text("config_context", m.ConfigContext),
		ContextCluster:  r.text("config_context_cluster", m.ConfigContextCluster),
		ContextAuthInfo: r.text("config_context_auth_info", m.ConfigContextAuthInfo),

		Host:                 r.text("host", m.Host),
		Token:                r.text("token", m.Token),
		Username:             r.text("username", m.Username),
		Password:             r.text("password", m.Password),
		ClientCertificate:    r.text("client_certificate", m.ClientCertificate),
		ClientKey:            r.text("client_key", m.ClientKey),
		ClusterCACertificate: r.text("cluster_ca_certificate", m.ClusterCACertificate),
		TLSServerName:        r.text("tls_server_name", m.TLSServerName),
		Insecure:             r.flag("insecure", m.Insecure),
		ProxyURL:             r.text("proxy_url", m.ProxyURL),
		Exec:                 r.exec(ctx, m.Exec),
	}
	config.Empty = r.c.config.Empty
	r.c.config = config
	return r.c
}

// report turns an error of the connection into one at the attribute that it
// comes from.
func (c connection) report(err error, diags *diag.Diagnostics) {
	mistake := new(kube.ConfigError)
	if !errors.As(err, &mistake) {
		diags.AddError(connectionSummary, "The connection could not be made. Check the provider block.\n\nOriginal error: "+err.Error())
		return
	}
	attribute := mistake.Attribute
	if attribute == "config_path" || attribute == "config_paths" {
		// Package kube sees only how many paths there are.
		attribute = c.paths
	}
	if attribute == "" {
		diags.AddError(connectionSummary, mistake.Message)
		return
	}
	detail := mistake.Message
	if variable := c.from[attribute]; variable != "" {
		detail += fmt.Sprintf("\n\nThe provider block leaves out %s, and its value comes from the environment variable %s.", attribute, variable)
	}
	diags.AddAttributeError(path.Root(attribute), connectionSummary, detail)
}

// reader collects a connection.
type reader struct {
	lookup func(string) (string, bool)
	diags  *diag.Diagnostics
	c      connection
}

// environment returns the value of the attribute's variable. An empty one is none, but shows that
// a user meant a cluster: a secret of a pipeline that is missing must not lead to the cluster in
// which the pipeline runs.
func (r *reader) environment(attribute string) string {
	value, present := r.lookup(variables[attribute])
	if present {
		r.c.from[attribute] = variables[attribute]
	}
	r.empty(attribute, present && value == "")
	return value
}

func (r *reader) text(attribute string, v types.String) string {
	switch {
	case r.unknown(v):
		return ""
	case v.IsNull():
		return r.environment(attribute)
	default:
		r.empty(attribute, v.ValueString() == "")
		return v.ValueString()
	}
}

// empty notes an attribute that has an empty value.
func (r *reader) empty(attribute string, empty bool) {
	if empty && r.c.config.Empty == "" {
		r.c.config.Empty = attribute
	}
}

func (r *reader) flag(attribute string, v types.Bool) bool {
	if r.unknown(v) || !v.IsNull() {
		return v.ValueBool()
	}
	value := r.environment(attribute)
	if value == "" {
		return false
	}
	on, err := strconv.ParseBool(value)
	if err != nil {
		r.c.report(&kube.ConfigError{Attribute: attribute, Message: "It is neither true nor false: use one of these."}, r.diags)
	}
	return on
}

// kubeconfigs returns the paths of the block, either attribute, before those of
// the environment. In the environment, one path wins over several.
func (r *reader) kubeconfigs(ctx context.Context, m model) []string {
	if r.unknown(m.ConfigPath) || r.unknown(m.ConfigPaths, m.ConfigPaths.Elements()...) {
		return nil
	}
	var paths []string
	switch {
	case !m.ConfigPath.IsNull():
		r.c.paths, paths = "config_path", []string{m.ConfigPath.ValueString()}
	case !m.ConfigPaths.IsNull():
		r.c.paths = "config_paths"
		r.diags.Append(m.ConfigPaths.ElementsAs(ctx, &paths, false)...)
	case r.environment("config_path") != "":
		r.c.paths, paths = "config_path", []string{r.environment("config_path")}
	default:
		// SplitList splits by os.PathListSeparator.
		r.c.paths, paths = "config_paths", filepath.SplitList(r.environment("config_paths"))
		r.empty("config_paths", len(paths) > 0 && !slices.ContainsFunc(paths, func(p string) bool { return p != "" }))
	}
	var named []string
	for _, p := range paths {
		if p != "" {
			named = append(named, p)
		}
	}
	r.empty(r.c.paths, len(named) == 0 && (!m.ConfigPath.IsNull() || !m.ConfigPaths.IsNull()))
	return named
}

func (r *reader) exec(ctx context.Context, v types.Object) *kube.Exec {
	if r.unknown(v) || v.IsNull() {
		return nil
	}
	var m execModel
	r.diags.Append(v.As(ctx, &m, basetypes.ObjectAsOptions{})...)
	unknown := r.unknown(m.APIVersion) || r.unknown(m.Command) || r.unknown(m.Args, m.Args.Elements()...)
	for _, value := range m.Env.Elements() {
		unknown = r.unknown(value) || unknown
	}
	if r.unknown(m.Env) || unknown {
		return nil
	}
	exec := &kube.Exec{APIVersion: m.APIVersion.ValueString(), Command: m.Command.ValueString(), Env: map[string]string{}}
	r.diags.Append(m.Args.ElementsAs(ctx, &exec.Args, false)...)
	// A variable that is null is one that is not set, as elsewhere in a configuration.
	set := map[string]*string{}
	r.diags.Append(m.Env.ElementsAs(ctx, &set, false)...)
	for name, value := range set {
		if value != nil {
			exec.Env[name] = *value
		}
	}
	return exec
}

// unknown notes and reports whether a value or an element of it is not known yet.
func (r *reader) unknown(v attr.Value, elements ...attr.Value) bool {
	unknown := v.IsUnknown()
	for _, e := range elements {
		unknown = unknown || e.IsUnknown()
	}
	if unknown {
		r.c.known = false
	}
	return unknown
}
