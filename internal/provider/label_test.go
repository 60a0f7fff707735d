// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func TestModel_labelsWarningsByWhatTheBlockNames(t *testing.T) {
	t.Parallel()
	text := types.StringValue
	for name, tt := range map[string]struct {
		block model
		// environment is the variable that is set.
		environment string
		want        string
	}{
		"a block that names nothing":                      {},
		"a block that names nothing, with an environment": {environment: "KUBE_HOST"},
		"an owner":                           {block: model{Owner: text("team-a")}, want: "owner team-a"},
		"the default owner":                  {block: model{Owner: text("terraform")}},
		"a context":                          {block: model{ConfigContext: text("east")}, want: "context east"},
		"a context and an owner":             {block: model{ConfigContext: text("east"), Owner: text("team-a")}, want: "context east, owner team-a"},
		"a context with a line break":        {block: model{ConfigContext: text("a\nb")}, want: "context a b"},
		"a host":                             {block: model{Host: text("https://api.east:6443/")}, want: "host api.east:6443"},
		"a host behind a proxy with a path":  {block: model{Host: text("https://rancher/k8s/clusters/c-1")}, want: "host rancher/k8s/clusters/c-1"},
		"a host without a scheme":            {block: model{Host: text("api.east:6443")}, want: "host api.east:6443"},
		"a host with a password":             {block: model{Host: text("https://me:p@ss@api.east")}, want: "host api.east"},
		"a host that is not known":           {block: model{Host: types.StringUnknown()}},
		"a kubeconfig":                       {block: model{ConfigPath: text("east.yaml")}, want: "config_path east.yaml"},
		"one context of another kubeconfig":  {block: model{ConfigPath: text("east.yaml"), ConfigContext: text("admin")}, want: "context admin, config_path east.yaml"},
		"the content of a kubeconfig":        {block: model{ConfigPath: text("users:\n- {name: a, user: {token: secret}}"), Owner: text("team-a")}, want: "owner team-a"},
		"the default kubeconfig":             {block: model{ConfigPath: text("~/.kube/config")}},
		"a context of the default one":       {block: model{ConfigPath: text("~/.kube/config"), ConfigContext: text("east")}, want: "context east"},
		"the default one beside a variable":  {block: model{ConfigPath: text("~/.kube/config")}, environment: "KUBE_CONFIG_PATH", want: "config_path ~/.kube/config"},
		"the default one in a pod":           {block: model{ConfigPath: text("~/.kube/config")}, environment: "KUBERNETES_SERVICE_HOST", want: "config_path ~/.kube/config"},
		"several kubeconfigs, one not known": {block: model{ConfigPaths: types.ListValueMust(types.StringType, []attr.Value{text("a"), types.StringUnknown(), text("b")})}, want: "config_paths a:b"},
		"a snapshot":                         {block: model{Snapshot: text("east.snapshot")}, want: "snapshot east.snapshot"},
	} {
		environment := map[string]string{tt.environment: "x"}
		got := tt.block.label(func(variable string) (string, bool) {
			value, set := environment[variable]
			return value, set
		})
		if got != tt.want {
			t.Errorf("%s: the label is %q, want %q", name, got, tt.want)
		}
	}
}
