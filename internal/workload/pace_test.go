// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestPaceOf(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		surge, unavailable string
		wants              int
		want               *Pace
	}{
		"a surge is rounded up, and the unavailable pods down": {"25%", "25%", 3, &Pace{1, 0}},
		"numbers are taken as they are":                        {"2", "1", 4, &Pace{2, 1}},
		"one may be unavailable where none is surplus":         {"0", "10%", 4, &Pace{0, 1}},
		"a StatefulSet has no surge":                           {"", "50%", 4, &Pace{0, 2}},
		"what cannot be read is not known":                     {"many", "1", 4, nil},
	} {
		of := func(text string) *intstr.IntOrString {
			if text == "" {
				return nil
			}
			return new(intstr.Parse(text))
		}
		if diff := cmp.Diff(tt.want, paceOf(of(tt.surge), of(tt.unavailable), tt.wants)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
