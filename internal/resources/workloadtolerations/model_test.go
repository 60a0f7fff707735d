// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

func TestTarget_showIsACommandThatFindsIt(t *testing.T) {
	t.Parallel()
	tiers := labels.SelectorFromSet(labels.Set{"tier": "gpu"})
	for want, of := range map[string]target{
		"kubectl get deployment web -n shop -o yaml":                             {Ref: workload.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}},
		"kubectl get deployment -l 'tier=gpu' -n shop -o yaml":                   {Ref: workload.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop"}, Selector: tiers},
		"kubectl get config.imageregistry.operator.openshift.io cluster -o yaml": {Ref: workload.Ref{APIVersion: "imageregistry.operator.openshift.io/v1", Kind: "Config", Name: "cluster"}},
	} {
		if got := of.show(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := whose(target{}, false); got != "a workload" {
		t.Errorf("what is not known is %q", got)
	}
}
