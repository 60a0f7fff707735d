// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubectlplugin_test

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kubectlplugin"
)

// contents are those of files in the place of a path: a kubeconfig, the same as JSON, and a key.
var contents = []string{
	"users:\n- user:\n    token: secret\n",
	`{"users":[{"user":{"token":"secret"}}]}`,
	"-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----\n",
}

// TestRun_contentInThePlaceOfAPathIsNotPrinted: --kubeconfig "$(cat FILE)" is a likely mistake, and the
// output of a pipeline is kept.
func TestRun_contentInThePlaceOfAPathIsNotPrinted(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		r := newReader(t, c)
		for _, flag := range []string{"kubeconfig", "client-certificate", "client-key", "certificate-authority", "server", "context", "cluster", "user", "tls-server-name", "proxy-url", "cache-dir"} {
			for _, content := range contents {
				for _, args := range []string{"preview nodes a k:NoExecute", "untolerated k:NoExecute", "tolerates deployment/web k:NoExecute", "snapshot -o " + t.TempDir() + "/file"} {
					// A flag is written to what the reader has.
					one := *r
					got := one.run(t, append(strings.Fields(args), "--"+flag, content)...)
					if strings.Contains(got.out+got.err, "secret") {
						t.Errorf("%s --%s: %s", args, flag, got)
					}
					if want := "error: --" + flag + " cannot be used: ("; got.code != 1 || !strings.HasPrefix(got.err, want) {
						t.Errorf("%s --%s: want %q and got\n%s", args, flag, want, got)
					}
				}
			}
		}
		if sent := r.log.Requests(); len(sent) > 0 {
			t.Errorf("it sends %v", sent)
		}
	})
}

// TestRun_contentOfAKubeconfigInKUBECONFIGIsNotPrinted: the variable is a list of paths. A list that is
// longer than any path is none of these.
//
//nolint:paralleltest // It sets the environment.
func TestRun_contentOfAKubeconfigInKUBECONFIGIsNotPrinted(t *testing.T) {
	for content, want := range map[string]string{
		contents[0]: "error: KUBECONFIG cannot be used: (",
		contents[1]: "error: KUBECONFIG cannot be used: (",
		strings.Repeat("/a/path/that/is/not/there:", 20): "",
	} {
		t.Setenv("KUBECONFIG", content)
		var out, err bytes.Buffer
		code := kubectlplugin.Run(t.Context(), []string{"preview", "nodes", "a", "k:NoExecute"}, "test", genericclioptions.NewConfigFlags(true), genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &err})
		if text := out.String() + err.String(); code != 1 || strings.Contains(text, "secret") || want != "" && !strings.HasPrefix(text, want) || want == "" && strings.Contains(text, "cannot be used") {
			t.Errorf("%.20q: want %q and got %d\n%s", content, want, code, text)
		}
	}
}
