// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package label

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// setOf reads "a=1 b=2" as labels.
func setOf(s string) map[string]string {
	out := map[string]string{}
	for one := range strings.FieldsSeq(s) {
		key, value, _ := strings.Cut(one, "=")
		out[key] = value
	}
	return out
}

// recordOf reads "a:me/g1" as marks.
func recordOf(s string) Record {
	var out Record
	for one := range strings.FieldsSeq(s) {
		key, of, _ := strings.Cut(one, ":")
		owner, generation, _ := strings.Cut(of, "/")
		out = append(out, Mark{Key: key, Owner: owner, Generation: generation})
	}
	return out
}

func written(r Record) string {
	out := make([]string, len(r))
	for i, m := range r {
		out[i] = m.Key + ":" + m.Owner + "/" + m.Generation
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestMerge(t *testing.T) {
	t.Parallel()
	me := func(labels string) Claim { return Claim{Owner: "me", Generation: "g2", Labels: setOf(labels)} }
	with := func(c Claim, change func(*Claim)) Claim {
		change(&c)
		return c
	}
	tests := []struct {
		name, labels, record string
		claim                Claim
		// want and marks are what stands there afterwards.
		want, marks string
		unchanged   bool
		conflict    *Conflict
		takenOver   string
	}{
		{name: "a label that is not there is added and marked", labels: "foreign=1", claim: me("pool=gpu"), want: "foreign=1 pool=gpu", marks: "pool:me/g2"},
		{name: "an empty value is a value", claim: me("role="), want: "role=", marks: "role:me/g2"},
		{name: "a label without an owner with the same value is left as it is, without a mark", labels: "pool=gpu", claim: me("pool=gpu"), want: "pool=gpu", unchanged: true},
		{name: "a label without an owner with the same value gets no mark by the write of another", labels: "pool=gpu", claim: me("pool=gpu zone=a"), want: "pool=gpu zone=a", marks: "zone:me/g2"},
		{name: "a label without an owner with another value is a conflict", labels: "pool=web", claim: me("pool=gpu more=1"), want: "pool=web", unchanged: true, conflict: &Conflict{Key: "pool", Value: "web"}},
		{name: "a label of another resource is a conflict, even with the same value", labels: "pool=gpu", record: "pool:other/g9", claim: me("pool=gpu"), want: "pool=gpu", marks: "pool:other/g9", unchanged: true, conflict: &Conflict{Key: "pool", Owner: "other", Value: "gpu"}},
		{name: "ours as wanted changes nothing", labels: "pool=gpu", record: "pool:me/g2", claim: me("pool=gpu"), want: "pool=gpu", marks: "pool:me/g2", unchanged: true},
		{name: "ours with another value is set back", labels: "pool=web", record: "pool:me/g2", claim: me("pool=gpu"), want: "pool=gpu", marks: "pool:me/g2"},
		{name: "ours that another writer has removed comes back", record: "pool:me/g2", claim: me("pool=gpu"), want: "pool=gpu", marks: "pool:me/g2"},
		{name: "ours that is no longer wanted goes", labels: "pool=gpu zone=a", record: "pool:me/g2 zone:me/g2", claim: me("zone=a"), want: "zone=a", marks: "zone:me/g2"},
		{name: "ours that is no longer wanted stays where it is to be kept", labels: "pool=gpu zone=a", record: "pool:me/g2 zone:me/g2", claim: with(me("zone=a"), func(c *Claim) { c.Keep = true }), want: "pool=gpu zone=a", marks: "pool:me/g2 zone:me/g2", unchanged: true},
		{name: "ours goes whatever value another writer has given it", labels: "pool=stolen", record: "pool:me/g2", claim: with(me("pool=gpu"), func(c *Claim) { c.Release = true }), want: ""},
		{name: "a mark without a label goes", labels: "foreign=1", record: "pool:me/g2", claim: with(me(""), func(c *Claim) { c.Release = true }), want: "foreign=1"},
		{name: "a release leaves what is not ours", labels: "pool=gpu zone=a foreign=1", record: "pool:me/g2 zone:other/g9", claim: with(me("pool=gpu zone=a foreign=1"), func(c *Claim) { c.Release = true }), want: "zone=a foreign=1", marks: "zone:other/g9"},
		{name: "an update leaves what an earlier create of the same resource has marked", labels: "pool=gpu", record: "pool:me/g1", claim: me("pool=gpu"), want: "pool=gpu", marks: "pool:me/g1", unchanged: true, conflict: &Conflict{Key: "pool", Owner: "me", Value: "gpu"}},
		{name: "a create takes over what an earlier one has marked", labels: "pool=gpu", record: "pool:me/g1", claim: with(me("pool=gpu"), func(c *Claim) { c.TakeOver = true }), want: "pool=gpu", marks: "pool:me/g2", takenOver: "pool"},
		{name: "a create takes over nothing that it does not want", labels: "pool=gpu zone=a", record: "pool:me/g1 zone:me/g1", claim: with(me("pool=gpu"), func(c *Claim) { c.TakeOver = true }), want: "pool=gpu zone=a", marks: "pool:me/g2 zone:me/g1", takenOver: "pool"},
		{name: "the zero claim owns nothing", labels: "pool=gpu", record: "pool:me/", claim: Claim{}, want: "pool=gpu", marks: "pool:me/", unchanged: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Merge(setOf(tt.labels), recordOf(tt.record), tt.claim)
			if diff := cmp.Diff(setOf(tt.want), got.Labels); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if written(got.Record) != tt.marks {
				t.Errorf("marks are %q, want %q", written(got.Record), tt.marks)
			}
			if got.Changed == tt.unchanged {
				t.Errorf("changed: %v", got.Changed)
			}
			if strings.Join(got.TakenOver, " ") != tt.takenOver {
				t.Errorf("taken over %v, want %q", got.TakenOver, tt.takenOver)
			}
			switch {
			case tt.conflict == nil && len(got.Conflicts) > 0, tt.conflict != nil && len(got.Conflicts) != 1:
				t.Fatalf("conflicts %v, want %v", got.Conflicts, tt.conflict)
			case tt.conflict != nil && got.Conflicts[0] != *tt.conflict:
				t.Fatalf("conflict %v, want %v", got.Conflicts[0], *tt.conflict)
			}
			if again := Merge(got.Labels, got.Record, tt.claim); again.Changed {
				t.Error("merging again changes something")
			}
		})
	}
}

// TestMerge_keepsItsPromisesWhateverItIsGiven: what is not owned stays, a merge
// ends after one, and a release after it gives back what was there.
func TestMerge_keepsItsPromisesWhateverItIsGiven(t *testing.T) {
	t.Parallel()
	key := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	set := rapid.MapOfN(key, rapid.SampledFrom([]string{"", "1", "2"}), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		before := set.Draw(t, "labels")
		var foreign Record
		for _, k := range rapid.SliceOfDistinct(key, rapid.ID).Draw(t, "marked") {
			foreign = append(foreign, Mark{Key: k, Owner: "other", Generation: "g9"})
		}
		claim := Claim{Owner: "me", Generation: "g2", Labels: set.Draw(t, "wanted")}
		merged := Merge(before, foreign, claim)
		if again := Merge(merged.Labels, merged.Record, claim); again.Changed {
			t.Fatal("merging again changes something")
		}
		for k, v := range before {
			if merged.Labels[k] != v {
				t.Fatalf("%s=%s was there before and is lost", k, v)
			}
		}
		claim.Release = true
		given := Merge(merged.Labels, merged.Record, claim)
		if !maps.Equal(given.Labels, before) || given.Record.String() != foreign.String() {
			t.Fatalf("a release leaves %v with %s, not %v", given.Labels, given.Record, before)
		}
	})
}

func TestReserved(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]bool{
		"pool":                                                    false,
		"example.com/pool":                                        false,
		"kubernetes.io.example.com/pool":                          false,
		"notkubernetes.io/pool":                                   false,
		"node-role.kubernetes.io/infra":                           false,
		"node-role.kubernetes.io/control-plane":                   true,
		"node-role.kubernetes.io/master":                          true,
		"node-restriction.kubernetes.io/team":                     false,
		"example.com.node-restriction.kubernetes.io/team":         false,
		"node.kubernetes.io/exclude-from-external-load-balancers": false,
		"node.kubernetes.io/instance-type":                        true,
		"kubernetes.io/hostname":                                  true,
		"topology.kubernetes.io/zone":                             true,
		"feature.node.kubernetes.io/cpu":                          true,
		"kueue.x-k8s.io/queue":                                    false,
		"k8s.io/pool":                                             true,
		"node.cluster.k8s.io/pool":                                true,
	} {
		if why, got := Reserved(key); got != want {
			t.Errorf("%s is reserved: %v (%s)", key, got, why)
		}
	}
}

func TestRecord_isReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	record := recordOf("b:me/g1 a:other/g2")
	again, err := ParseRecord(record.String())
	if err != nil || written(again) != written(record) {
		t.Fatalf("%v became %v (%v)", record, again, err)
	}
	for _, damaged := range []string{"{", `[{"key":"a","owner":"\u001b[2K","generation":"g1"}]`} {
		if _, err := ParseRecord(damaged); err == nil || !strings.Contains(err.Error(), OwnedAnnotation) {
			t.Errorf("%s: got error %v, want one that names the annotation", damaged, err)
		}
	}
}
