// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"strings"
	"testing"
)

func TestParseMarker(t *testing.T) {
	t.Parallel()
	if m, err := ParseMarker(""); m != nil || err != nil {
		t.Errorf("no annotation is %v and %v", m, err)
	}
	if _, err := ParseMarker(`{"originalReplicas":`); err == nil || !strings.Contains(err.Error(), MarkerAnnotation) {
		t.Errorf("what is cut off gives %v, and the error should name the annotation", err)
	}
	if m, err := ParseMarker(`{"id":"me","strategy":"scale_to_zero"}`); err == nil || !strings.Contains(err.Error(), "originalReplicas is missing") {
		t.Errorf("without its count it is %v and %v, and zero would be taken for one", m, err)
	}
	if m, err := ParseMarker((&Marker{ID: "me", Strategy: ScaleToZero}).String()); err != nil || m.ID != "me" || m.OriginalReplicas != 0 {
		t.Errorf("a count of zero is read as %v and %v", m, err)
	}
}

func TestRestore(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		marker   *Marker
		replicas int
		want     *int
	}{
		"a set at zero gets its count back":           {&Marker{ID: "me", Strategy: ScaleToZero, OriginalReplicas: 3}, 0, new(3)},
		"one that has it already does not":            {&Marker{ID: "me", Strategy: ScaleToZero, OriginalReplicas: 3}, 3, nil},
		"a count that somebody else has set stays":    {&Marker{ID: "me", Strategy: ScaleToZero, OriginalReplicas: 3}, 5, nil},
		"somebody else's rollout is left to them":     {&Marker{ID: "other", Strategy: ScaleToZero, OriginalReplicas: 3}, 0, nil},
		"the extra machines of a surge stay":          {&Marker{ID: "me", Strategy: Surge, OriginalReplicas: 3, Surge: 1}, 4, nil},
		"a set at zero without a rollout is as it is": {nil, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := Restore(&Set{Replicas: tt.replicas, Marker: tt.marker}, "me")
			if (w == nil) != (tt.want == nil) || w != nil && (*w.Replicas != *tt.want || w.MarkerChanges || w.Template != nil) {
				t.Errorf("it writes %+v, want the count %v alone", w, tt.want)
			}
		})
	}
}
