// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// TestWarnings_printNoCommandOfPipelines: a user who may annotate a MachineSet writes the autoscaler's annotation, and Azure
// Pipelines take "##vso[" for a command anywhere in a line.
func TestWarnings_printNoCommandOfPipelines(t *testing.T) {
	t.Parallel()
	o := Observed{Set: &Set{Namespace: "a", Name: "b", UID: "u", CapacityTaints: "##vso[task.setvariable variable=told]x\n::error::y"}}
	d := Desired{Claim: taint.Claim{Owner: "me", Generation: "g", Taints: []corev1.Taint{{Key: "team", Effect: corev1.TaintEffectNoSchedule}}}, Rollout: Rollout{Strategy: TemplateOnly}}
	warned := Warnings(o, d)
	if len(warned) == 0 {
		t.Fatal("it does not warn")
	}
	for _, one := range warned {
		if strings.Contains(one, "##vso[") || strings.Contains(one, "\n") || strings.Contains(one, "::error") {
			t.Error(one)
		}
	}
}
