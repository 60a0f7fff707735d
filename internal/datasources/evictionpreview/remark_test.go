// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/preview"
)

func TestRemark_machineSets(t *testing.T) {
	t.Parallel()
	named := machineset.Target{Namespace: "openshift-machine-api", Name: "gpu"}
	matching := machineset.Target{Namespace: "openshift-machine-api", Selector: labels.SelectorFromSet(labels.Set{"role": "none"})}
	for name, tt := range map[string]struct {
		target  machineset.Target
		matched int
		doubts  []string
		want    string
		fails   bool
	}{
		"a MachineSet that there is not":        {named, 0, nil, `Unable to preview MachineSet "openshift-machine-api/gpu"`, true},
		"a selector that matches nothing":       {matching, 0, nil, `No MachineSet matches "role=none": applying dedicated=gpu:NoExecute changes nothing`, false},
		"a rollout that may not go through":     {named, 1, []string{"it is refused"}, "The rollout of MachineSet \"openshift-machine-api/gpu\" may not go through\n  it is refused", false},
		"nothing where nothing holds it up":     {named, 1, nil, "", false},
		"the first of many doubts, and no more": {named, 1, strings.Fields(strings.Repeat("doubt ", 21)), "may not go through\n" + strings.TrimSuffix(strings.Repeat("  doubt\n", 20), "\n"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			remark(preview.WhatIf{
				MachineSets: &preview.MachineSets{Target: tt.target}, Matched: tt.matched, Doubts: tt.doubts, Report: &eviction.Report{},
				Taints: []corev1.Taint{{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoExecute}},
			}, &diags)
			text := ""
			for _, d := range diags {
				text += d.Summary() + "\n" + d.Detail() + "\n"
			}
			if diags.HasError() != tt.fails || !strings.Contains(text, tt.want) || tt.want == "" && text != "" || strings.Count(text, "doubt\n") > 20 {
				t.Errorf("it says %s", text)
			}
		})
	}
}
