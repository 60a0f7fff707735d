// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func approvals(t *testing.T, entries ...string) []Approval {
	t.Helper()
	out := make([]Approval, len(entries))
	for i, entry := range entries {
		a, err := ParseApproval(entry)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = a
	}
	return out
}

func TestParseApproval(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]Approval{
		"shop/Deployment/web":          {"shop", "Deployment", "web"},
		"shop/Deployment/*":            {"shop", "Deployment", "*"},
		"shop/*":                       {"shop", "*", "*"},
		"shop/*/*":                     {"shop", "*", "*"},
		"shop/*/web":                   {"shop", "*", "web"},
		"*/DaemonSet/*":                {"*", "DaemonSet", "*"},
		"*/*":                          {"*", "*", "*"},
		"ml/Pod/jupyter-anna":          {"ml", "Pod", "jupyter-anna"},
		"ml/PyTorchJob/train.v2":       {"ml", "PyTorchJob", "train.v2"},
		"ml/Kind-of-9/a":               {"ml", "Kind-of-9", "a"},
		"kube-system/Pod/etcd-m1.corp": {"kube-system", "Pod", "etcd-m1.corp"},
	} {
		got, err := ParseApproval(entry)
		if err != nil {
			t.Errorf("%s: %v", entry, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", entry, diff)
		}
		if again, err := ParseApproval(got.String()); err != nil || again != got {
			t.Errorf("%s is written as %s, which is %+v (%v)", entry, got, again, err)
		}
	}
	if got := approvals(t, "shop/*/*")[0].String(); got != "shop/*" {
		t.Errorf("a whole namespace is written as %s", got)
	}
	for entry, says := range map[string]string{
		"":                              "such as shop/Deployment/web",
		"*":                             "such as shop/Deployment/web",
		"shop":                          "such as shop/Deployment/web",
		"shop/":                         "such as shop/Deployment/web",
		"shop/web":                      "it names no kind: write shop/Deployment/web, shop/Deployment/* or shop/*",
		"Deployment/web":                "such as shop/Deployment/web",
		"apps/v1/Deployment/web":        "such as shop/Deployment/web",
		"shop/Deployment/web/":          "such as shop/Deployment/web",
		"shop/Deployment/":              "name",
		"/Deployment/web":               "namespace",
		"shop//web":                     "kind",
		"shop/Deployment/web-*":         "name",
		"shop/Deployment/Web":           "name",
		"sh*/*":                         "namespace",
		"Shop/Deployment/web":           "namespace",
		"shop.eu/Deployment/web":        "namespace",
		"shop/Deploy ment/web":          "kind",
		"shop/apps.Deployment/web":      "kind",
		" shop/Deployment/web":          "namespace",
		"shop/Deployment/web ":          "name",
		"shop/Deployment/${each.value}": "name",
		"shop/Deployment/we\"b":         "name",
		"shop/deployment/web":           "kind",
		"shop/Deployment/**":            "name",
	} {
		if got, err := ParseApproval(entry); err == nil {
			t.Errorf("%q is read as %+v", entry, got)
		} else if !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %q does not contain %q", entry, err, says)
		}
	}
}

func TestApproval_covers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		entry, workload string
		want            bool
	}{
		"the workload itself":                          {"shop/Deployment/web", "shop/Deployment/web", true},
		"another name":                                 {"shop/Deployment/web", "shop/Deployment/web-2", false},
		"another kind":                                 {"shop/Deployment/web", "shop/StatefulSet/web", false},
		"another namespace":                            {"shop/Deployment/web", "shop-2/Deployment/web", false},
		"every name of the kind":                       {"shop/Deployment/*", "shop/Deployment/api", true},
		"every name of the kind, not of another one":   {"shop/Deployment/*", "shop/Pod/api", false},
		"a whole namespace":                            {"shop/*", "shop/Pod/debug", true},
		"a whole namespace, not one that begins alike": {"shop/*", "shop-2/Pod/debug", false},
		"a kind in every namespace":                    {"*/DaemonSet/*", "logging/DaemonSet/fluent", true},
		"a kind in every namespace, not another kind":  {"*/DaemonSet/*", "logging/Deployment/fluent", false},
		"every workload":                               {"*/*", "shop/Deployment/web", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := approvals(t, tt.entry)[0].Covers(approvals(t, tt.workload)[0]); got != tt.want {
				t.Errorf("%s covers %s: %t", tt.entry, tt.workload, got)
			}
		})
	}
}

// The API server validates neither kinds nor names in owner references: the entry for a pod must approve its
// workload alone, whatever they hold.
func TestApprovalFor_namesTheWorkloadOrThePodItself(t *testing.T) {
	t.Parallel()
	p := &snapshot.Pod{Namespace: "shop", Name: "web-5d-x1"}
	for name, tt := range map[string]struct {
		owner snapshot.Owner
		want  string
	}{
		"a Deployment":                         {snapshot.OwnerOf("apps/v1", "Deployment", "web"), "shop/Deployment/web"},
		"a custom kind":                        {snapshot.OwnerOf("kubeflow.org/v1", "PyTorchJob", "train"), "shop/PyTorchJob/train"},
		"no controller":                        {snapshot.Owner{}, "shop/Pod/web-5d-x1"},
		"an owner whose name is a star":        {snapshot.OwnerOf("apps/v1", "Deployment", "*"), "shop/Pod/web-5d-x1"},
		"an owner whose kind is a star":        {snapshot.OwnerOf("apps/v1", "*", "web"), "shop/Pod/web-5d-x1"},
		"an owner with a slash":                {snapshot.OwnerOf("apps/v1", "Deployment", "web/x"), "shop/Pod/web-5d-x1"},
		"an owner whose name ends the string":  {snapshot.OwnerOf("apps/v1", "Deployment", `web", "*/*`), "shop/Pod/web-5d-x1"},
		"an owner whose name is a template":    {snapshot.OwnerOf("apps/v1", "Deployment", "${file(1)}"), "shop/Pod/web-5d-x1"},
		"an owner whose kind has line breaks":  {snapshot.OwnerOf("apps/v1", "Deployment\n*", "web"), "shop/Pod/web-5d-x1"},
		"an owner whose name is in upper case": {snapshot.OwnerOf("apps/v1", "Deployment", "WEB"), "shop/Pod/web-5d-x1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := ApprovalFor(p, tt.owner).String(); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
