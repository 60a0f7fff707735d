// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
)

// defaultKubeconfig is the file that kubectl uses as well.
const defaultKubeconfig = "~/.kube/config"

// label returns the values of the block that distinguish it from other blocks of the configuration:
// the cluster that it names, and its owner. A provider does not see its alias or other blocks, and each
// block is a process of its own. It is "" for a block that takes its cluster from the environment, as
// at most one cluster of a run is. The same holds for the default kubeconfig where the environment
// names none.
func (m model) label(lookup func(string) (string, bool)) string {
	var parts []string
	add := func(attribute, value string) {
		// The content of a file can hold credentials.
		if value != "" && (attribute == "context" || !kube.IsContent(value)) {
			parts = append(parts, attribute+" "+printable.Line(value))
		}
	}
	add("context", m.ConfigContext.ValueString())
	if owner := m.Owner.ValueString(); owner != defaultOwner {
		add("owner", owner)
	}
	add("host", address(m.Host.ValueString()))
	if path := m.ConfigPath.ValueString(); path != defaultKubeconfig || namesCluster(lookup) {
		add("config_path", path)
	}
	add("config_paths", joined(m.ConfigPaths))
	add("snapshot", m.Snapshot.ValueString())
	return strings.Join(parts, ", ")
}

// address returns the part of a URL that names the server, without a scheme and a password.
func address(host string) string {
	if _, after, found := strings.Cut(host, "://"); found {
		host = after
	}
	return strings.TrimRight(host[strings.LastIndex(host, "@")+1:], "/")
}

// joined returns the known texts of a list.
func joined(list types.List) string {
	var out []string
	for _, one := range list.Elements() {
		if text, is := one.(types.String); is && text.ValueString() != "" {
			out = append(out, text.ValueString())
		}
	}
	return strings.Join(out, ":")
}

// namesCluster reports whether the environment names a cluster, or is that of a pod.
func namesCluster(lookup func(string) (string, bool)) bool {
	for _, variable := range []string{"KUBE_CONFIG_PATH", "KUBE_CONFIG_PATHS", "KUBE_HOST", "KUBERNETES_SERVICE_HOST"} {
		if value, _ := lookup(variable); value != "" {
			return true
		}
	}
	return false
}
