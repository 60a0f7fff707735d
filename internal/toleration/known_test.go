// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package toleration

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// TestMerge_whichResourceRemovesRetiringEntries lets one resource leave a toleration retiring, and another one
// whose taint has gone look at what stands there then.
func TestMerge_whichResourceRemovesRetiringEntries(t *testing.T) {
	t.Parallel()
	const object, elsewhere = "Deployment/shop/web", "Deployment/shop/other"
	list, live := tols(t, "a=1:NoExecute", "z Exists"), []corev1.Taint{{Key: "a", Value: "1", Effect: corev1.TaintEffectNoExecute}}
	owner := Claim{Owner: "theirs", Generation: "g1", Seal: record.Seal{Nonce: "secret"}, Tolerations: list[:1]}.On(object)
	wanted := Merge(list[1:], nil, owner, nil, true)
	owner.Tolerations = nil
	retired := Merge(wanted.Tolerations, wanted.Record, owner, live, true)
	if !Retiring(retired.Record) || Retiring(wanted.Record) {
		t.Fatalf("the record is %v, and was %v", retired.Record, wanted.Record)
	}
	known := []record.Seal{{Nonce: "another"}, {Nonce: "secret"}}
	holds := record.Seal{Nonce: "secret", Epoch: 3, Held: record.Held{}}
	holds.Held.Hold(owner.Seal, retired.Record[0].Sealed())
	for name, tt := range map[string]struct {
		record Record
		change func(mark *Mark)
		known  []record.Seal
		object string
		goes   bool
	}{
		"its resource is known":                        {record: retired.Record, known: known, goes: true},
		"its resource is known, and holds it":          {record: retired.Record, known: []record.Seal{holds}, goes: true},
		"its resource is known, and holds it no more":  {record: retired.Record, known: []record.Seal{{Nonce: "secret", Epoch: 3, Held: record.Held{}}}},
		"its resource is known, and has just left it":  {record: retired.Record, known: []record.Seal{{Nonce: "secret", Held: record.Held{}}}, goes: true},
		"its resource is not known":                    {record: retired.Record, known: known[:1]},
		"no resource is known":                         {record: retired.Record},
		"the record of another object":                 {record: retired.Record, known: known, object: elsewhere},
		"the mark of one that is wanted says retiring": {record: wanted.Record, known: known, change: func(m *Mark) { m.Retiring = true }},
		"the proof is that of another toleration":      {record: retired.Record, known: known, change: func(m *Mark) { m.Key, m.Operator, m.Value, m.Effect = "z", "Exists", "", "" }},
		"no proof":           {record: retired.Record, known: known, change: func(m *Mark) { m.Proof = "" }},
		"one that is wanted": {record: wanted.Record, known: known},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			marks := append(Record(nil), tt.record...)
			if tt.change != nil {
				tt.change(&marks[0])
			}
			on := object
			if tt.object != "" {
				on = tt.object
			}
			named := []taint.ID{{Key: "a", Effect: corev1.TaintEffectNoExecute}, {Key: "z", Effect: corev1.TaintEffectNoExecute}}
			got := Merge(retired.Tolerations, marks, Claim{Named: named, Known: tt.known}.On(on), nil, true)
			if goes := len(got.Removed) == 1; goes != tt.goes || got.Changed != tt.goes {
				t.Errorf("removed: %v, changed: %t", got.Removed, got.Changed)
			}
			if !tt.goes || len(tt.known) == 0 {
				return
			}
			if needed := Merge(retired.Tolerations, marks, Claim{Named: named, Known: tt.known}.On(on), live, true); needed.Changed {
				t.Errorf("a live taint needs it, and it becomes %v with %v", needed.Tolerations, needed.Record)
			}
		})
	}

	// Its own resource takes it away, and one that an earlier build has marked.
	old := append(Record(nil), retired.Record...)
	old[0].Proof = wanted.Record[0].Proof
	for _, marks := range []Record{retired.Record, old} {
		if got := Merge(retired.Tolerations, marks, owner, nil, true); len(got.Removed) != 1 {
			t.Errorf("its own resource leaves it: %v", got)
		}
	}
}

// TestClaim_Proves asks by the seals of other resources of the configuration.
func TestClaim_Proves(t *testing.T) {
	t.Parallel()
	const object = "Deployment/shop/web"
	mark := marks(t, "a=1:NoExecute of theirs/g1")[0]
	mark.Proof = record.Seal{Nonce: "secret"}.On(object).Proof(mark.Sealed().Parts...)
	claim := Claim{Known: []record.Seal{{Nonce: "another", Resource: "theirs"}, {Nonce: "secret", Resource: "theirs"}, {Nonce: "another", Resource: "unrelated"}}}
	for name, tt := range map[string]struct {
		id, object string
		want       bool
	}{
		"the resource that has written it": {"theirs", object, true},
		"on another object":                {"theirs", "Deployment/shop/db", false},
		"another resource":                 {"unrelated", object, false},
		"a resource that is not known":     {"me", object, false},
	} {
		if got := claim.Proves(tt.id, tt.object, mark); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestClaim_Current has the generations of a resource that others know.
func TestClaim_Current(t *testing.T) {
	t.Parallel()
	live, earlier, unnamed := record.Seal{Resource: "theirs", Generation: "g2", Live: true}, record.Seal{Resource: "theirs", Generation: "g1"}, record.Seal{Resource: "theirs", Live: true}
	unrelated := record.Seal{Resource: "unrelated", Generation: "g9", Live: true}
	for name, tt := range map[string]struct {
		known []record.Seal
		want  map[string]bool
		all   bool
	}{
		"none is known":                          {nil, map[string]bool{}, false},
		"those of another resource do not count": {[]record.Seal{unrelated}, map[string]bool{}, false},
		"one of an earlier run":                  {[]record.Seal{earlier, unrelated}, map[string]bool{"g1": true}, false},
		"one of the run that made the plan":      {[]record.Seal{live, earlier}, map[string]bool{"g1": true, "g2": true}, true},
		"a seal without a generation":            {[]record.Seal{unnamed}, map[string]bool{}, false},
	} {
		if got, all := (Claim{Known: tt.known}).Current("theirs"); all != tt.all || !maps.Equal(got, tt.want) || got == nil {
			t.Errorf("%s: %v, all: %t", name, got, all)
		}
	}
}
