// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// TestUpstream_defaultTolerationSeconds has the facts of TestForgivenessAdmission in
// k8s.io/kubernetes v1.37.2 plugin/pkg/admission/defaulttolerationseconds/admission_test.go.
// A running pod has both default tolerations, because its template had no tolerations. The
// next pod has what the plug-in makes of the new template. The order differs from that
// there, where the defaults come last: no other toleration of a case matches their taints.
func TestUpstream_defaultTolerationSeconds(t *testing.T) {
	t.Parallel()
	notReady := exists(corev1.TaintNodeNotReady, noEx)
	unreachable := exists(corev1.TaintNodeUnreachable, noEx)
	foo := lasting(equal("foo", "bar", corev1.TaintEffectNoSchedule), 700)
	anyEffect := lasting(exists(corev1.TaintNodeUnreachable, ""), 700)
	everything := lasting(exists("", ""), 700)
	defaults := []corev1.Toleration{lasting(notReady, 300), lasting(unreachable, 300)}
	rows := upstream.Cases(t)
	for name, tt := range map[string]struct{ template, want []corev1.Toleration }{
		"no tolerations":                      {nil, defaults},
		"a toleration of another taint":       {[]corev1.Toleration{foo}, append(slices.Clone(defaults), foo)},
		"one of not-ready":                    {[]corev1.Toleration{lasting(notReady, 700)}, []corev1.Toleration{lasting(notReady, 700), lasting(unreachable, 300)}},
		"one of unreachable":                  {[]corev1.Toleration{lasting(unreachable, 700)}, []corev1.Toleration{lasting(unreachable, 700), lasting(notReady, 300)}},
		"both":                                {[]corev1.Toleration{lasting(notReady, 700), lasting(unreachable, 700)}, []corev1.Toleration{lasting(notReady, 700), lasting(unreachable, 700)}},
		"one of unreachable, of every effect": {[]corev1.Toleration{anyEffect}, []corev1.Toleration{anyEffect, lasting(notReady, 300)}},
		"one of everything":                   {[]corev1.Toleration{everything}, []corev1.Toleration{everything}},
	} {
		rows.Run(t, name, func(t *testing.T) {
			t.Parallel()
			got := Planned{After: tt.template}.OfPod(defaults)
			if diff := cmp.Diff(toleration.Sort(tt.want), toleration.Sort(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
