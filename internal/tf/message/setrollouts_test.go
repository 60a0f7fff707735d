// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

func TestAboutSets_isAboutWhatComesOrElseAboutWhatGoes(t *testing.T) {
	t.Parallel()
	old, fresh := corev1.Taint{Key: "team", Effect: corev1.TaintEffectNoSchedule}, corev1.Taint{Key: "team", Effect: corev1.TaintEffectNoExecute}
	ours := []taint.ID{taint.IDOf(old), taint.IDOf(fresh)}
	for name, tt := range map[string]struct {
		before, after []corev1.Taint
		want          string
	}{
		"an effect that changes": {before: []corev1.Taint{old}, after: []corev1.Taint{fresh}, want: "team:NoExecute"},
		"a taint that goes":      {before: []corev1.Taint{old}, want: "team:NoSchedule"},
		"a taint that comes":     {after: []corev1.Taint{fresh}, want: "team:NoExecute"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one := machineset.Affected{
				Observed: machineset.Observed{Set: &machineset.Set{Taints: tt.before}},
				Effect:   machineset.Effect{Template: machineset.Template{Merged: taint.Merged{Taints: tt.after}, Ours: ours}},
			}
			if got := taint.FormatAll(AboutSets("Applying", []machineset.Affected{one}, "").Taints); got != tt.want {
				t.Errorf("it is about %q, want %q", got, tt.want)
			}
		})
	}
}
