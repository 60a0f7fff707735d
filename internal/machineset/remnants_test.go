// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// kept returns the record that a claim writes on a MachineSet for a Machine.
func kept(t *testing.T, claim taint.Claim, object, notation string, machines ...types.UID) RemnantRecord {
	t.Helper()
	r := Remnants{}
	for _, uid := range machines {
		r[uid] = taintsOf(t, notation)
	}
	return r.record(claim.On(object), nil)
}

// told returns a record in few words.
func told(r RemnantRecord) string {
	var out []string
	for _, one := range r {
		out = append(out, fmt.Sprintf("%s=%s:%s of %s on %v", one.Key, one.Value, one.Effect, one.Owner, one.Machines))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// TestNext_recordsWhatMachinesKeep in the patch that takes it out of the template, and until no
// machine has it.
func TestNext_recordsWhatMachinesKeep(t *testing.T) {
	t.Parallel()
	const left, mine = "team=a:NoSchedule", "team=a:NoSchedule of terraform/gpu on [uid]"
	others := taint.Claim{Owner: "terraform/other", Generation: "g9", Seal: record.Seal{Nonce: "theirs"}}
	for name, tt := range map[string]struct {
		strategy Strategy
		// taints are wanted, none to destroy; machine is what the Machine has.
		taints, machine string
		// marked is set where the template still has the taint, with our mark.
		marked bool
		// recorded is set where the record has it already, foreign where another resource
		// recorded something.
		recorded, foreign bool
		change            func(o *Observed, d *Desired)
		// want is the record that the first patch writes, none for an empty one, "no write" for
		// no patch of the record; template is set where the patch writes the template.
		want     string
		template bool
	}{
		"template_only with the template":               {strategy: TemplateOnly, taints: "crew=a:NoSchedule", machine: left, marked: true, want: mine, template: true},
		"beside what others recorded":                   {strategy: TemplateOnly, taints: "crew=a:NoSchedule", machine: left, marked: true, foreign: true, want: mine + ", team=a:NoSchedule of terraform/other on [uid]", template: true},
		"with the value that the Machine has":           {strategy: TemplateOnly, taints: "crew=a:NoSchedule", machine: "team=z:NoSchedule", marked: true, want: "team=z:NoSchedule of terraform/gpu on [uid]", template: true},
		"not what no Machine has":                       {strategy: TemplateOnly, taints: "crew=a:NoSchedule", marked: true, want: "no write", template: true},
		"nothing that is recorded":                      {strategy: TemplateOnly, taints: "crew=a:NoSchedule", machine: left, recorded: true, want: "no write", template: true},
		"nothing once no Machine has it":                {strategy: TemplateOnly, taints: "crew=a:NoSchedule", recorded: true, template: true},
		"nothing once the template has it again":        {strategy: TemplateOnly, taints: "team=a:NoSchedule", machine: left, recorded: true, template: true},
		"a destroy with template_only drops it":         {strategy: TemplateOnly, machine: left, recorded: true},
		"and records nothing":                           {strategy: TemplateOnly, machine: left, marked: true, want: "no write", template: true},
		"and leaves what others recorded":               {strategy: TemplateOnly, machine: left, recorded: true, foreign: true, want: "team=a:NoSchedule of terraform/other on [uid]"},
		"a MachineSet that is not selected any more":    {strategy: TemplateOnly, machine: left, marked: true, change: func(_ *Observed, d *Desired) { d.Unselected = true }, want: mine, template: true},
		"in_place keeps it until the Machine lacks it":  {strategy: InPlace, machine: left, recorded: true, want: "no write"},
		"and drops it then":                             {strategy: InPlace, recorded: true},
		"in_place leaves what it removes to the marker": {strategy: InPlace, taints: "crew=a:NoSchedule", machine: left, marked: true, want: "no write", template: true},
		"template_only takes over what a marker holds": {strategy: TemplateOnly, taints: "crew=a:NoSchedule", machine: left, want: mine, template: true, change: func(o *Observed, d *Desired) {
			marker := &Marker{ID: d.Claim.Owner, Strategy: Rolling, OriginalReplicas: 1, Retired: []string{"team:NoSchedule"}}
			marker.Proof = d.Claim.On(o.Set.Object()).Seal.Proof(marker.Sealed().Parts...)
			o.Set.Marker = marker
		}},
		"again where the proofs are those of a state that was lost": {strategy: TemplateOnly, taints: "crew=a:NoSchedule", machine: left, recorded: true, want: mine, template: true, change: func(o *Observed, d *Desired) {
			d.Claim.Seal = record.Seal{Nonce: "new", Epoch: 1, Held: record.Held{}}
			d.Claim.Seal.Held.Note(d.Claim.Seal.On(o.Set.Object()), o.Set.Remnants[0].Sealed())
		}},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			d := desire(t, tt.strategy, tt.taints)
			d.Claim.Seal = record.Seal{Nonce: "nonce"}
			o := fleet(1, nil)
			o.Machines[0].UID, o.Machines[0].Taints = "uid", taintsOf(t, tt.machine)
			if tt.marked {
				merged := taint.Merge(nil, nil, taint.Claim{Owner: d.Claim.Owner, Generation: d.Claim.Generation, Seal: d.Claim.Seal, Taints: taintsOf(t, left)}.On(o.Set.Object()))
				o.Set.Taints, o.Set.Record = merged.Taints, merged.Record
			}
			if tt.recorded {
				o.Set.Remnants = kept(t, d.Claim, o.Set.Object(), left, "uid")
			}
			if tt.foreign {
				o.Set.Remnants = append(o.Set.Remnants, kept(t, others, o.Set.Object(), left, "uid")...)
			}
			if tt.change != nil {
				tt.change(&o, &d)
			}
			w := firstWrite(Next(o, d, time.Time{}))
			got := "no write"
			if w != nil && w.Remnants != nil {
				got = told(*w.Remnants)
			}
			if got != tt.want {
				t.Errorf("it records %q, want %q", got, tt.want)
			}
			if template := w != nil && w.Template != nil; template != tt.template {
				t.Errorf("the patch writes the template: %t, want %t", template, tt.template)
			}
			if !Plan(o, d).Changes() {
				t.Error("the plan changes nothing")
			}
			settles(t, o, d)
		})
	}
}

// firstWrite returns the first patch of the MachineSet, nil for none.
func firstWrite(next Decision) *SetWrite {
	for _, i := range next.Intents {
		if i.Kind == WriteSet {
			return i.Set
		}
	}
	return nil
}

// settles carries a change out, and expects it to come to an end after which nothing changes.
func settles(t *testing.T, o Observed, d Desired) {
	t.Helper()
	c := &cloud{set: *o.Set, machines: o.Machines, nodes: o.Nodes}
	o.Set = &c.set
	for range 20 {
		next := Next(o, d, time.Time{})
		if next.Stop != "" {
			t.Fatalf("it stopped: %s", next.Stop)
		}
		if next.Done {
			if Plan(o, d).Changes() {
				t.Error("it is done, and the plan still changes something")
			}
			return
		}
		for _, i := range next.Intents {
			c.carry(i)
		}
		c.set.Observed = true
	}
	t.Errorf("it does not settle: the record is %s", told(o.Set.Remnants))
}

// TestRemnants_countByTheirProofAlone: a user who may patch a MachineSet may write its annotations,
// and must not have a taint removed from a machine that way.
func TestRemnants_countByTheirProofAlone(t *testing.T) {
	t.Parallel()
	const left = "team=a:NoSchedule"
	d := desire(t, InPlace, "crew=a:NoSchedule")
	d.Claim.Seal = record.Seal{Nonce: "nonce"}
	object := "MachineSet/openshift-machine-api/gpu"
	genuine := func(t *testing.T) Remnant { return kept(t, d.Claim, object, left, "uid")[0] }
	seen := genuine(t)
	seen.Proof = "lost"
	lost := func(c *taint.Claim) {
		c.Seal = record.Seal{Nonce: "n2", Epoch: 1, Held: record.Held{}}
		c.Seal.Held.Note(c.Seal.On(object), seen.Sealed())
	}
	for name, tt := range map[string]struct {
		forge func(t *testing.T) Remnant
		// taints are what the Machine has, its first taint the one in question.
		taints string
		claim  func(c *taint.Claim)
		counts bool
		// unproved is set where a plan warns that it cannot be proved.
		unproved bool
	}{
		"as it was written":     {forge: genuine, counts: true},
		"without a proof":       {forge: func(t *testing.T) Remnant { r := genuine(t); r.Proof = ""; return r }, unproved: true},
		"about another taint":   {forge: func(t *testing.T) Remnant { r := genuine(t); r.Key = "vendor"; return r }, taints: "vendor=a:NoSchedule", unproved: true},
		"about another effect":  {forge: func(t *testing.T) Remnant { r := genuine(t); r.Effect = "NoExecute"; return r }, taints: "team=a:NoExecute", unproved: true},
		"about another value":   {forge: func(t *testing.T) Remnant { r := genuine(t); r.Value = "b"; return r }, taints: "team=b:NoSchedule", unproved: true},
		"about another Machine": {forge: func(t *testing.T) Remnant { return kept(t, d.Claim, object, left, "another")[0] }},
		"about one Machine more": {forge: func(t *testing.T) Remnant {
			r := kept(t, d.Claim, object, left, "another")[0]
			r.Machines = append(r.Machines, "uid")
			return r
		}, unproved: true},
		"copied from another MachineSet": {forge: func(t *testing.T) Remnant {
			return kept(t, d.Claim, "MachineSet/openshift-machine-api/cpu", left, "uid")[0]
		}, unproved: true},
		"of another generation": {forge: func(t *testing.T) Remnant { r := genuine(t); r.Generation = "g0"; return r }, unproved: true},
		"of another owner":      {forge: func(t *testing.T) Remnant { r := genuine(t); r.Owner = "terraform/other"; return r }},
		"of a controller's taint": {forge: func(t *testing.T) Remnant {
			return kept(t, d.Claim, object, "node.kubernetes.io/unreachable:NoExecute", "uid")[0]
		}, taints: "node.kubernetes.io/unreachable:NoExecute", unproved: true},
		"for a create that takes over its id":  {forge: genuine, claim: func(c *taint.Claim) { c.Generation, c.Seal, c.TakeOver = "g2", record.Seal{Nonce: "n2"}, true }, unproved: true},
		"for a plan of a create":               {forge: genuine, claim: func(c *taint.Claim) { c.Generation, c.Seal, c.TakeOver = "", record.Seal{}, true }, unproved: true},
		"after the private state was lost":     {forge: func(t *testing.T) Remnant { r := genuine(t); r.Proof = "lost"; return r }, claim: lost, counts: true},
		"of another generation, after that":    {forge: func(t *testing.T) Remnant { r := genuine(t); r.Generation = "g0"; return r }, claim: lost, unproved: true},
		"that came after that":                 {forge: func(t *testing.T) Remnant { r := genuine(t); r.Proof = "later"; return r }, claim: lost, unproved: true},
		"of a Machine that lacks it by now":    {forge: genuine, taints: "crew=a:NoSchedule"},
		"without a generation in both of them": {forge: func(t *testing.T) Remnant { r := genuine(t); r.Generation = ""; return r }, claim: func(c *taint.Claim) { c.Generation, c.Seal = "", record.Seal{} }, unproved: true},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			d := d
			if tt.claim != nil {
				tt.claim(&d.Claim)
			}
			o := fleet(1, nil)
			has := left
			if tt.taints != "" {
				has = tt.taints
			}
			o.Machines[0].UID, o.Machines[0].Taints = "uid", taintsOf(t, has)
			o.Set.Remnants = RemnantRecord{tt.forge(t)}
			after := d.Merge(o.Set).on(o.Machines[0], nil).Apply(o.Machines[0].Taints)
			if removed := taint.Find(after, taint.IDOf(taintsOf(t, has)[0])) < 0; removed != tt.counts {
				t.Errorf("it is removed: %t, want %t", removed, tt.counts)
			}
			if left := Remaining(o, d); (len(left) > 0) != tt.counts {
				t.Errorf("what is removed is told as %v", left)
			}
			if left := Unproved(o, d); (len(left) > 0) != tt.unproved {
				t.Errorf("what cannot be proved is told as %v", left)
			}
			if next, _ := viewOf(o, d).remnants(); !o.Set.Remnants[0].of(d.Claim.On(object)) && next.String() != o.Set.Remnants.String() {
				t.Errorf("an entry of another owner is written anew: %s", next)
			}
		})
	}
}

// TestRemnants_areHandedOver from one claim to another, and nothing else.
func TestRemnants_areHandedOver(t *testing.T) {
	t.Parallel()
	from := taint.Claim{Owner: "terraform/gpu", Generation: "g1", Seal: record.Seal{Nonce: "n1"}}
	to := taint.Claim{Owner: "terraform/gpu", Generation: "g2", Seal: record.Seal{Nonce: "n2"}}
	other := taint.Claim{Owner: "terraform/other", Generation: "g1", Seal: record.Seal{Nonce: "n1"}}
	const object, elsewhere = "MachineSet/a/b", "MachineSet/a/c"
	r := slices.Concat(kept(t, from, object, "team=a:NoSchedule crew:NoSchedule", "u1", "u2"), kept(t, other, object, "x:NoSchedule", "u1"), kept(t, from, elsewhere, "y:NoSchedule", "u1"))
	handed, some := r.HandOver(object, from, to)
	if !some {
		t.Fatal("nothing is handed over")
	}
	proved := map[string]int{}
	for _, one := range handed {
		for name, claim := range map[string]taint.Claim{"from": from.On(object), "to": to.On(object), "other": other.On(object), "elsewhere": from.On(elsewhere)} {
			if one.of(claim) {
				proved[name]++
			}
		}
	}
	if want := map[string]int{"to": 2, "other": 1, "elsewhere": 1}; fmt.Sprint(proved) != fmt.Sprint(want) {
		t.Errorf("the entries are proved by %v, want %v", proved, want)
	}
	if again, some := handed.HandOver(object, from, to); some || again.String() != handed.String() {
		t.Errorf("it is handed over twice: %s", again)
	}
}

// TestParseRemnants_readsWhatIsWritten, in the same words whatever the order was.
func TestParseRemnants_readsWhatIsWritten(t *testing.T) {
	t.Parallel()
	claim := taint.Claim{Owner: "terraform/gpu", Generation: "g1", Seal: record.Seal{Nonce: "n1"}}
	r := kept(t, claim, "MachineSet/a/b", "team=a:NoSchedule team=a:NoExecute crew:NoSchedule", "u2", "u1")
	slices.Reverse(r)
	text := r.String()
	if !json.Valid([]byte(text)) || !strings.Contains(text, `"machines":["u1","u2"]`) {
		t.Fatalf("it writes %s", text)
	}
	read, err := ParseRemnants(text)
	if err != nil || read.String() != text || len(read) != 3 {
		t.Errorf("it reads %s, %v", read, err)
	}
	if none, err := ParseRemnants(""); err != nil || none.String() != "" {
		t.Errorf("no annotation is read as %s, %v", none, err)
	}
	if _, err := ParseRemnants(`[{"machines":"u1"}]`); err == nil || !strings.Contains(err.Error(), RemnantsAnnotation) {
		t.Errorf("a damaged one is read with the error %v", err)
	}
}

// TestRefuse_aRecordOfRemnantsThatNoAnnotationCanHold: the API server would refuse it after the
// plan. A destroy records nothing.
func TestRefuse_aRecordOfRemnantsThatNoAnnotationCanHold(t *testing.T) {
	t.Parallel()
	o, d := fleet(2000, nil), desire(t, TemplateOnly, "crew=a:NoSchedule")
	for i, m := range o.Machines {
		m.UID = types.UID(fmt.Sprintf("%036d", i))
		for key := range 4 {
			m.Taints = append(m.Taints, corev1.Taint{Key: fmt.Sprintf("team-%d", key), Effect: corev1.TaintEffectNoSchedule})
		}
	}
	for _, left := range o.Machines[0].Taints {
		d.Retired = append(d.Retired, taint.IDOf(left))
	}
	before := d.Claim
	before.Taints = o.Machines[0].Taints
	had := taint.Merge(nil, nil, before.On(o.Set.Object()))
	o.Set.Taints, o.Set.Record = had.Taints, had.Record
	got := Refuse(o, d)
	if len(got) != 1 || !strings.Contains(got[0].Why, RemnantsAnnotation+" would have") || got[0].Attribute != attributeStrategy {
		t.Errorf("it refuses with %v", got)
	}
	d.Claim.Release = true
	if got := Refuse(o, d); len(got) > 0 {
		t.Errorf("it refuses a destroy with %v", got)
	}
}

func TestParseRemnants_refusesTextThatCannotBePrinted(t *testing.T) {
	t.Parallel()
	for field, one := range map[string]Remnant{
		"owner":   {Key: "a", Effect: "NoSchedule", Owner: "x\n::error::y", Generation: "g"},
		"value":   {Key: "a", Effect: "NoSchedule", Value: "\u202e", Owner: "me", Generation: "g"},
		"machine": {Key: "a", Effect: "NoSchedule", Machines: []types.UID{"\x1b"}, Owner: "me", Generation: "g"},
	} {
		if got, err := ParseRemnants(RemnantRecord{one}.String()); err == nil {
			t.Errorf("%s: it is read as %v", field, got)
		}
	}
}

// FuzzParseRemnants: a user who may patch a MachineSet may write anything.
func FuzzParseRemnants(f *testing.F) {
	f.Add("")
	f.Add(`[{"key":"a","effect":"NoSchedule","value":"x","machines":["u"],"owner":"o","generation":"g","proof":"p"}]`)
	f.Add(`[{"owner":"o","generation":"g","entries":[{"key":"a","machines":null},{"key":"b","machines":["u","u"]}]}]`)
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRemnants(s)
		if err != nil {
			return
		}
		again, err := ParseRemnants(r.String())
		if err != nil || again.String() != r.String() {
			t.Fatalf("%q is written as %q, and read again as %q, %v", s, r, again, err)
		}
		o := fleet(1, func(o *Observed) { o.Set.Remnants = r })
		d := Desired{Claim: taint.Claim{Owner: "o", Generation: "g", Seal: record.Seal{Nonce: "n"}}, Rollout: Rollout{Strategy: InPlace}}
		if left := Remaining(o, d); len(left) > 0 {
			t.Fatalf("%q removes %v", s, left)
		}
	})
}
