// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodesdata

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

func TestPick(t *testing.T) {
	t.Parallel()
	all := []*snapshot.Node{
		{Name: "a", Labels: map[string]string{"pool": "gpu"}, Taints: []corev1.Taint{{Key: "k", Value: "v", Effect: corev1.TaintEffectNoExecute}}},
		{Name: "b", Labels: map[string]string{"pool": "gpu"}, Taints: []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}},
		{Name: "c", Labels: map[string]string{"pool": "cpu"}},
	}
	text := types.StringValue
	cases := []struct {
		name     string
		selector string
		taint    *filter
		want     []string
	}{
		{"nothing asked for is every node", "", nil, []string{"a", "b", "c"}},
		{"a selector leaves out what it does not match", "pool=cpu", nil, []string{"c"}},
		{"a key alone matches any value and effect", "", &filter{Key: text("k")}, []string{"a", "b"}},
		{"an effect must be the same", "", &filter{Key: text("k"), Effect: text("NoSchedule")}, []string{"b"}},
		{"a value must be the same", "", &filter{Key: text("k"), Value: text("v")}, []string{"a"}},
		{"an empty value means a taint without one", "", &filter{Key: text("k"), Value: text("")}, []string{"b"}},
		{"selector and taint must both match", "pool=cpu", &filter{Key: text("k")}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			selector, err := labels.Parse(c.selector)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, n := range pick(all, selector, c.taint) {
				got = append(got, n.Name)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFromNode(t *testing.T) {
	t.Parallel()
	added := metav1.NewTime(time.Date(2026, 3, 4, 5, 6, 7, 0, time.FixedZone("CET", 3600)))
	const ours, foreign, unwanted = "ours", "foreign", "unwanted"
	n := &snapshot.Node{
		Name: "a", Labels: map[string]string{"pool": "gpu"}, Machine: "openshift-machine-api/a",
		Taints: []corev1.Taint{
			{Key: unwanted, Effect: corev1.TaintEffectNoSchedule},
			{Key: ours, Value: "v", Effect: corev1.TaintEffectNoSchedule},
			{Key: foreign, Effect: corev1.TaintEffectNoExecute, TimeAdded: &added},
		},
		Record: taint.Record{
			{Key: ours, Effect: corev1.TaintEffectNoSchedule, Owner: "terraform/x"},
			{Key: unwanted, Effect: corev1.TaintEffectNoSchedule, Owner: "terraform/y", Absent: true},
		},
	}
	text, null := types.StringValue, types.StringNull()
	want := nodeModel{
		Name: text("a"), Labels: map[string]types.String{"pool": text("gpu")}, Machine: text("openshift-machine-api/a"),
		Taints: []taintModel{
			{Key: text(foreign), Value: null, Effect: text("NoExecute"), TimeAdded: text("2026-03-04T04:06:07Z"), Owner: null},
			{Key: text(ours), Value: text("v"), Effect: text("NoSchedule"), TimeAdded: null, Owner: text("terraform/x")},
			{Key: text(unwanted), Value: null, Effect: text("NoSchedule"), TimeAdded: null, Owner: null},
		},
	}
	if diff := cmp.Diff(want, fromNode(n)); diff != "" {
		t.Error(diff)
	}
	if n.Taints[0].Key != unwanted {
		t.Error("the shared snapshot was sorted in place")
	}
}
