// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubectlplugin

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
)

// quoted are the flags whose values errors of client-go quote.
var quoted = []string{"kubeconfig", "client-certificate", "client-key", "certificate-authority", "server", "context", "cluster", "user", "tls-server-name", "proxy-url", "cache-dir"}

// variable names the kubeconfigs that are read without --kubeconfig.
const variable = "KUBECONFIG"

// content returns an error where the content of a file, which can hold credentials, is in the place of
// its path: errors of client-go would print it.
func (p *plugin) content(cmd *cobra.Command) error {
	for _, name := range quoted {
		if f := cmd.Flags().Lookup(name); f != nil && kube.IsContent(f.Value.String()) {
			return unusable("--"+name, f.Value.String())
		}
	}
	// A list can be longer than a path.
	if list := os.Getenv(variable); *p.config.KubeConfig == "" && p.snapshot == "" && slices.ContainsFunc(filepath.SplitList(list), kube.IsContent) {
		return unusable(variable, list)
	}
	return nil
}

func unusable(name, value string) error {
	return fmt.Errorf("%s cannot be used: %s", name, kube.Shown(value))
}
