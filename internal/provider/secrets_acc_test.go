// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccProvider_secretsAreNowhere looks for the credentials in all that a run leaves
// behind: what it prints, its plan, its state, and the log with everything that the
// provider can log. The API server accepts them and then does not.
func TestAccProvider_secretsAreNowhere(t *testing.T) {
	t.Parallel()
	c, cli := acctest.Connect(t), acctest.NewCLI(t)
	node := acctest.Name(t, "node")
	c.Node(t, acctest.Node{Name: node, Quiet: true})
	log := cli.Logged()
	secrets := map[string]string{"the token": c.Token(t), "one that is wrong": "kubetaint-test-0123456789abcdef", "a password": "kubetaint-test-password"}
	for name, value := range map[string]string{"KUBE_HOST": c.REST.Host, "KUBE_TOKEN": secrets["the token"], "KUBE_CLUSTER_CA_CERT_DATA": c.CA(t), "TF_LOG_PROVIDER": "TRACE"} {
		cli.Env(name, value)
	}
	cli.Write(nil, `resource "kubetaint_node_taints" "this" {
  node_name = "`+node+`"
  taints    = [{ key = "team", value = "a", effect = "NoExecute" }]
}
`)
	printed := cli.MustRun("plan", "-out=plan") + cli.MustRun("show", "-json", "plan") + cli.MustRun("apply", "plan")
	printed += string(cli.State())
	cli.Env("KUBE_TOKEN", secrets["one that is wrong"])
	out, ok := cli.Run("apply", "-auto-approve", "-replace=kubetaint_node_taints.this")
	if ok {
		t.Fatalf("the API server takes any token:\n%s", out)
	}
	printed += out
	cli.Env("KUBE_TOKEN", "")
	cli.Env("KUBE_USER", "kubetaint")
	cli.Env("KUBE_PASSWORD", secrets["a password"])
	if out, ok = cli.Run("apply", "-auto-approve", "-replace=kubetaint_node_taints.this"); ok {
		t.Fatalf("the API server takes any password:\n%s", out)
	}
	printed += out + log()
	if !strings.Contains(printed, "team") || !strings.Contains(printed, "[TRACE]") && !strings.Contains(printed, "[DEBUG]") {
		t.Fatal("there is nothing to look at")
	}
	for name, secret := range secrets {
		if strings.Contains(printed, secret) {
			t.Errorf("%s is shown or stored", name)
		}
	}
	cli.Env("KUBE_USER", "")
	cli.Env("KUBE_PASSWORD", "")
	cli.Env("KUBE_TOKEN", secrets["the token"])
	cli.MustRun("destroy", "-auto-approve")
}
