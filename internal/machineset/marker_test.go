// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
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

// A user who may patch MachineSets may write the annotation.
func TestParseMarker_refusesWhatNoRolloutWrites(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ marker, want string }{
		"a negative count":                            {`{"strategy":"scale_to_zero","originalReplicas":-4}`, "originalReplicas is -4"},
		"a count beyond an int32":                     {`{"strategy":"rolling","originalReplicas":5000000000}`, "originalReplicas is 5000000000"},
		"a negative number that is added":             {`{"strategy":"surge","originalReplicas":3,"surge":-1}`, "surge is -1"},
		"more than an int32 is added":                 {`{"strategy":"surge","originalReplicas":3,"surge":3000000000}`, "surge is 3000000000"},
		"more is added than there was":                {`{"strategy":"surge","originalReplicas":3,"surge":2000}`, "surge is 2000"},
		"a sum beyond an int32":                       {`{"strategy":"surge","originalReplicas":2147483647,"surge":1}`, "surge is 1"},
		"machines added by a strategy that adds none": {`{"strategy":"rolling","originalReplicas":3,"surge":1}`, "surge is 1"},
		"a strategy that there is not":                {`{"strategy":"recreate","originalReplicas":3}`, `strategy is "recreate"`},
		"no strategy":                                 {`{"originalReplicas":3}`, `strategy is ""`},
		"an id that cannot be printed":                {`{"id":"x\n::error::y","strategy":"rolling","originalReplicas":3}`, `"x : : error::y"`},
		"a taint that cannot be printed":              {`{"strategy":"rolling","originalReplicas":3,"targetTaints":["a\u202e:NoExecute"]}`, "cannot be printed"},
		"one that leaves no marker":                   {`{"strategy":"template_only","originalReplicas":3}`, `strategy is "template_only"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := ParseMarker(tt.marker)
			if _, damaged := errors.AsType[*record.DamagedError](err); m != nil || !damaged || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("it is read as %+v with the error %v, which should say %q", m, err, tt.want)
			}
		})
	}
}

func FuzzParseMarker(f *testing.F) {
	f.Add((&Marker{ID: "me", Strategy: Surge, OriginalReplicas: 3, Surge: 1, TargetTaints: []string{"a=b:NoSchedule"}, Retired: []string{"c:NoExecute"}}).String(), 4, 3)
	f.Add(`{"strategy":"surge","originalReplicas":3,"surge":2000}`, 3, 3)
	f.Fuzz(func(t *testing.T, annotation string, replicas, machines int) {
		m, err := ParseMarker(annotation)
		if m == nil || err != nil {
			return
		}
		s := &Set{Marker: m, Replicas: max(0, replicas), Observed: true}
		o := Observed{Set: s}
		for i := range max(0, min(machines, 9)) {
			o.Machines = append(o.Machines, &Machine{Name: fmt.Sprint(i), Taints: []corev1.Taint{{Key: "old", Effect: "NoSchedule"}}})
		}
		d := Desired{Claim: taint.Claim{Owner: m.ID, Generation: "g"}, Retired: []taint.ID{{Key: "old", Effect: "NoSchedule"}}, Rollout: Rollout{Strategy: m.Strategy, MaxSurge: 1, MaxUnavailable: 1}}
		most := max(s.Replicas, m.OriginalReplicas+d.Rollout.MaxSurge)
		for _, i := range Next(o, d, m.StartedAt).Intents {
			if i.Set != nil && i.Set.Replicas != nil && (*i.Set.Replicas < 0 || *i.Set.Replicas > most) {
				t.Errorf("it scales from %d to %d", s.Replicas, *i.Set.Replicas)
			}
		}
	})
}

func TestNext_addsNoMoreThanMaxSurge(t *testing.T) {
	t.Parallel()
	old := []*Machine{{Name: "a", Taints: []corev1.Taint{{Key: "old", Effect: "NoSchedule"}}}}
	d := Desired{Claim: taint.Claim{Owner: "me", Generation: "g"}, Retired: []taint.ID{{Key: "old", Effect: "NoSchedule"}}, Rollout: Rollout{Strategy: Surge, MaxSurge: 1}}
	s := &Set{Namespace: "n", Name: "gpu", Replicas: 3, Observed: true, Marker: &Marker{ID: "me", Strategy: Surge, OriginalReplicas: 3, Surge: 3}}
	got := Next(Observed{Set: s, Machines: old}, d, time.Time{})
	if len(got.Intents) != 1 || *got.Intents[0].Set.Replicas != 4 || got.Intents[0].Set.Marker.Surge != 1 {
		t.Errorf("it does %+v, and is to add one machine and to write so", got)
	}
	// Another writer has scaled the set down when one machine was left to replace.
	d.Rollout.MaxSurge = 3
	if got := Next(Observed{Set: s, Machines: old}, d, time.Time{}); len(got.Intents) != 1 || *got.Intents[0].Set.Replicas != 4 || got.Intents[0].Set.Marker.Surge != 1 {
		t.Errorf("for one old machine it does %+v", got)
	}
	d.Rollout.MaxSurge = 1
	// max_surge was lowered while they serve: they go as the rollout ends.
	s.Replicas = 6
	if got := Next(Observed{Set: s, Machines: old}, d, time.Time{}); got.Stop != "" || len(got.Intents) > 0 && got.Intents[0].Set != nil {
		t.Errorf("a set that has the machines does %+v", got)
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
		"a count that another writer has set stays":   {&Marker{ID: "me", Strategy: ScaleToZero, OriginalReplicas: 3}, 5, nil},
		"another owner's rollout is left to them":     {&Marker{ID: "other", Strategy: ScaleToZero, OriginalReplicas: 3}, 0, nil},
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

// A marker that another writer has written names no taint of a controller as retired: machines
// would lose it.
func TestMarker_retiresNoTaintOfAController(t *testing.T) {
	t.Parallel()
	m := Marker{Retired: []string{"node.kubernetes.io/unreachable:NoExecute", "team:NoExecute", "a b:NoExecute", "team:Nonsense", "team"}}
	if diff := cmp.Diff([]taint.ID{{Key: "team", Effect: "NoExecute"}}, m.retired()); diff != "" {
		t.Error(diff)
	}
}

// TestDesired_Merge_aCycleRetiresNothing: its id can be guessed, and it has no proofs.
func TestDesired_Merge_aCycleRetiresNothing(t *testing.T) {
	t.Parallel()
	cycle := Desired{Claim: taint.Claim{Owner: "terraform/cycle_machine_set/a/b"}, Cycle: true}
	set := &Set{Namespace: "a", Name: "b", Marker: &Marker{ID: cycle.Claim.Owner, Strategy: Rolling, Retired: []string{"quarantine:NoExecute"}}}
	if got := cycle.Merge(set).Ours; len(got) > 0 {
		t.Errorf("a marker that any user can write makes %v the action's", got)
	}
}
