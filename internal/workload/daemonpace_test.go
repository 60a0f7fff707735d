// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestDaemonPaceOf(t *testing.T) {
	t.Parallel()
	of := func(text string) *intstr.IntOrString {
		v := intstr.Parse(text)
		return &v
	}
	rolling := func(surge, unavailable *intstr.IntOrString) appsv1.DaemonSetUpdateStrategy {
		return appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType, RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxSurge: surge, MaxUnavailable: unavailable}}
	}
	for name, tt := range map[string]struct {
		strategy appsv1.DaemonSetUpdateStrategy
		want     *Pace
	}{
		"nothing is set":                 {appsv1.DaemonSetUpdateStrategy{}, &Pace{Unavailable: 1}},
		"numbers":                        {rolling(of("0"), of("3")), &Pace{Unavailable: 3}},
		"a percentage is rounded up":     {rolling(nil, of("21%")), &Pace{Unavailable: 3}},
		"so is one of the surge":         {rolling(of("21%"), of("0")), &Pace{Surge: 3}},
		"neither may be":                 {rolling(of("0"), of("0")), &Pace{Unavailable: 1}},
		"it replaces none":               {appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}, nil},
		"a surge that no number is":      {rolling(of("many"), nil), nil},
		"nor are those that may be gone": {rolling(nil, of("many")), nil},
	} {
		if diff := cmp.Diff(tt.want, daemonPaceOf(tt.strategy, 10)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
