// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadsdata

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

func TestConcerns(t *testing.T) {
	t.Parallel()
	names := func(all ...string) types.Set {
		var elements []attr.Value
		for _, name := range all {
			elements = append(elements, types.StringValue(name))
		}
		return types.SetValueMust(types.StringType, elements)
	}
	all := types.SetNull(types.StringType)
	pods := []*snapshot.Pod{
		{Namespace: "shop", Name: "web", Labels: labels.Set{"app": "web"}},
		{Namespace: "shop", Name: "db", Labels: labels.Set{"app": "db"}},
		{Namespace: "ops", Name: "tool"},
	}
	cases := []struct {
		name string
		m    model
		want []string
	}{
		{"nothing asked for is every pod", model{Namespaces: all}, []string{"web", "db", "tool"}},
		{"namespaces leave out the others", model{Namespaces: names("ops", "none")}, []string{"tool"}},
		{"a selector is matched against the labels of pods", model{Namespaces: all, Selector: types.StringValue("app in (web,x)")}, []string{"web"}},
		{"both must match", model{Namespaces: names("ops"), Selector: types.StringValue("app=web")}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			concerns := c.m.concerns(t.Context(), &diags)
			if diags.HasError() {
				t.Fatal(diags)
			}
			var got []string
			for _, p := range pods {
				if concerns(p) {
					got = append(got, p.Name)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFromWorkload(t *testing.T) {
	t.Parallel()
	minute := int64(60)
	limited := corev1.Toleration{Key: "a", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &minute}
	everything := corev1.Toleration{Operator: corev1.TolerationOpExists}
	a := eviction.WorkloadAnswer{
		WorkloadKey: snapshot.WorkloadKey{Namespace: "shop", Owner: snapshot.Owner{Group: "apps", Kind: "Deployment", Name: "web"}},
		Pods:        3, Differ: true, Lasts: toleration.Untolerated, Uncertain: true,
		Taints: []eviction.TaintAnswer{
			{Taint: corev1.Taint{Key: "a", Value: "1", Effect: corev1.TaintEffectNoExecute}, Lasts: 60, Toleration: &limited, Shadowed: []corev1.Toleration{everything}},
			{Taint: corev1.Taint{Key: "b", Effect: corev1.TaintEffectNoSchedule}, Lasts: toleration.Untolerated, Uncertain: true},
			{Taint: corev1.Taint{Key: "c", Effect: corev1.TaintEffectNoSchedule}, Lasts: toleration.Forever, Toleration: &everything},
		},
	}
	text, number, yes, no := types.StringValue, types.Int64Value, types.BoolValue(true), types.BoolValue(false)
	want := workloadModel{
		Namespace: text("shop"), Kind: text("Deployment"), Name: text("web"), Pods: number(3), PodsDiffer: yes,
		Tolerates: no, ForSeconds: number(0), Uncertain: yes,
		Taints: []taintModel{
			{Taint: text("a=1:NoExecute"), Tolerates: yes, ForSeconds: number(60), Uncertain: no, Toleration: text("a Exists:NoExecute for 60s"), Shadowed: []types.String{text("Exists")}},
			{Taint: text("b:NoSchedule"), Tolerates: no, ForSeconds: number(0), Uncertain: yes, Toleration: types.StringNull(), Shadowed: []types.String{}},
			{Taint: text("c:NoSchedule"), Tolerates: yes, ForSeconds: types.Int64Null(), Uncertain: no, Toleration: text("Exists"), Shadowed: []types.String{}},
		},
	}
	if diff := cmp.Diff(want, fromWorkload(a)); diff != "" {
		t.Error(diff)
	}
}
