// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"errors"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// TestHold_onlyWhatIsWanted: a mark of what an apply has given up is there at its end only where
// another writer has written it back, with a proof that still counted in that apply.
func TestHold_onlyWhatIsWanted(t *testing.T) {
	t.Parallel()
	const object = "Node/n1"
	seal := record.Seal{Nonce: "n"}
	tainted := taint.Claim{Owner: "me", Generation: "g", Seal: seal, Taints: taintsOf(t, "given-up:NoExecute", "kept:NoExecute")}
	labelled := label.Claim{Owner: "me", Generation: "g", Seal: seal, Labels: map[string]string{"given-up": "a", "kept": "a"}}
	n := &snapshot.Node{Name: "n1"}
	n.Record = taint.Merge(nil, nil, tainted.On(object)).Record
	n.LabelRecord = label.Merge(nil, nil, labelled.On(object)).Record
	set := &machineset.Set{Namespace: "a", Name: "b"}
	set.LabelRecord = label.Merge(nil, nil, labelled.On(set.Object())).Record
	for name, hold := range map[string]func(held record.Held, all, meant bool){
		"taints of a node": func(held record.Held, all, meant bool) {
			d := NodeTaints{Target: Target{Names: []string{"n1"}}, Claim: tainted}
			if !all {
				d.Claim.Taints = taintsOf(t, "kept:NoExecute")
			}
			if !meant {
				d.Target.Names = []string{"n2"}
			}
			d.Hold([]*snapshot.Node{n}, held)
		},
		"labels of a node": func(held record.Held, all, meant bool) {
			d := NodeLabels{Target: Target{Names: []string{"n1"}}, Claim: labelled}
			if !all {
				d.Claim.Labels = map[string]string{"kept": "a"}
			}
			if !meant {
				d.Target.Names = []string{"n2"}
			}
			d.Hold([]*snapshot.Node{n}, held)
		},
		"labels of a MachineSet": func(held record.Held, all, meant bool) {
			d := DesiredSets{Target: machineset.Target{Namespace: "a", Name: "b"}, Labels: labelled}
			if !all {
				d.Labels.Labels = map[string]string{"kept": "a"}
			}
			if !meant {
				d.Target.Name = "c"
			}
			d.Hold([]machineset.Observed{{Set: set}}, held)
		},
	} {
		for _, tt := range []struct {
			all, meant bool
			want       int
		}{{true, true, 2}, {false, true, 1}, {true, false, 0}} {
			held := record.Held{}
			if hold(held, tt.all, tt.meant); len(held) != tt.want {
				t.Errorf("%s, wanted %t, of an object that is meant %t: %d marks are held, want %d", name, tt.all, tt.meant, len(held), tt.want)
			}
		}
	}
}

// TestHold_whatIsDamagedKeepsWhatItHad has a node and a MachineSet whose records cannot be read,
// beside others.
func TestHold_whatIsDamagedKeepsWhatItHad(t *testing.T) {
	t.Parallel()
	damaged := errors.New("damaged")
	n, set := &snapshot.Node{Name: "n1", RecordErr: damaged, LabelRecordErr: damaged}, &machineset.Set{Namespace: "a", Name: "b", RecordErr: damaged, LabelRecordErr: damaged}
	had := record.Held{}
	for _, object := range []string{"Node/n1", set.Object(), "Node/n2", "MachineSet/a/c"} {
		had.Note(record.Seal{Nonce: "n", Object: object}, record.Sealed{})
	}
	for _, tt := range []struct {
		held record.Held
		want int
	}{{had, 1}, {record.Held{}, 0}, {nil, 1}} {
		seal := record.Seal{Nonce: "n", Epoch: 1, Held: tt.held}
		for _, meant := range []bool{true, false} {
			target, sets := Target{Names: []string{"n1"}}, machineset.Target{Namespace: "a", Name: "b"}
			if !meant {
				target.Names, sets.Name = []string{"n3"}, "d"
			}
			for name, hold := range map[string]func(held record.Held){
				"taints of a node": func(held record.Held) {
					NodeTaints{Target: target, Claim: taint.Claim{Seal: seal}}.Hold([]*snapshot.Node{n}, held)
				},
				"labels of a node": func(held record.Held) {
					NodeLabels{Target: target, Claim: label.Claim{Seal: seal}}.Hold([]*snapshot.Node{n}, held)
				},
				"taints of a MachineSet": func(held record.Held) {
					one := *set
					one.LabelRecordErr = nil
					DesiredSets{Target: sets, Desired: machineset.Desired{Claim: taint.Claim{Seal: seal}}}.Hold([]machineset.Observed{{Set: &one}}, held)
				},
				"labels of a MachineSet": func(held record.Held) {
					one := *set
					one.RecordErr = nil
					DesiredSets{Target: sets, Labels: label.Claim{Seal: seal}}.Hold([]machineset.Observed{{Set: &one}}, held)
				},
			} {
				held := record.Held{}
				if hold(held); len(held) != tt.want {
					t.Errorf("%s, of an object that is meant %t: %d marks are held, want %d", name, meant, len(held), tt.want)
				}
			}
		}
	}
}

// TestForget_namesakesKeepTheirMarks has workloads of one name and of kinds of one name, in three
// groups, of one resource: after an apply, what is held of one is not forgotten when another is
// looked at. earlier are the proofs of builds that left groups out.
func TestForget_namesakesKeepTheirMarks(t *testing.T) {
	t.Parallel()
	for _, earlier := range []bool{false, true} {
		held, seal := record.Held{}, record.Seal{Nonce: "secret", Epoch: 1, Held: record.Held{}}
		var all []Tolerations
		for _, apiVersion := range []string{"apps/v1", "apps.kruise.io/v1beta1", "apps.example.com/v1"} {
			w := &workload.Workload{Ref: workload.Ref{APIVersion: apiVersion, Kind: "DaemonSet", Namespace: "shop", Name: "agent"}}
			one := Tolerations{Workload: w, Claim: toleration.Claim{Owner: "me", Generation: "g", Seal: seal, Tolerations: []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpExists}}}}
			if _, known := workload.Lookup(apiVersion, "DaemonSet"); !known {
				one.Claim.Path = "spec.template.spec.tolerations"
			}
			claim := one.claim()
			if earlier {
				claim = one.Claim.On(w.String())
			}
			merged := toleration.Merge(nil, nil, claim, nil, true)
			w.Tolerations, w.Record = merged.Tolerations, merged.Record
			for _, mark := range w.Record {
				claim.Hold(mark, held)
			}
			all = append(all, one)
		}
		Forget(all, held)
		for i := range all {
			all[i].Claim.Seal.Epoch, all[i].Claim.Seal.Held, all[i].Claim.Tolerations = 2, held, nil
			if !all[i].claim().Owns(all[i].Workload.Record) {
				t.Errorf("%s, of an earlier build: %t: its mark is forgotten", all[i].Workload.APIVersion, earlier)
			}
			if merged := all[i].Merge(&snapshot.Snapshot{}, eviction.ComparisonOff); len(merged.Tolerations) > 0 {
				t.Errorf("%s, of an earlier build: %t: its toleration stays", all[i].Workload.APIVersion, earlier)
			}
		}
		// Marks of a build that has groups prove nothing on a namesake.
		if copied := all[1].Workload.Record; !earlier && all[2].claim().Owns(copied) {
			t.Error("a mark that is copied to a namesake is believed")
		}
	}
}

// TestTolerations_Hold has a workload with tolerations and pins of two resources, one of whose
// tolerations retires, after an apply and at the next look at it.
func TestTolerations_Hold(t *testing.T) {
	t.Parallel()
	w := &workload.Workload{Ref: workload.Ref{Kind: "Deployment", Namespace: "shop", Name: "web"}}
	change := func(nonce string, keys ...string) Tolerations {
		seal := record.Seal{Nonce: nonce, Epoch: 1, Held: record.Held{}}
		out := Tolerations{Workload: w, Claim: toleration.Claim{Owner: nonce, Generation: nonce, Seal: seal}, Pin: label.Claim{Owner: nonce, Generation: nonce, Seal: seal, Labels: map[string]string{}}}
		for _, key := range keys {
			out.Claim.Tolerations = append(out.Claim.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
			out.Pin.Labels[key] = "a"
		}
		return out
	}
	write := func(c Tolerations, live ...corev1.Taint) {
		merged, pins := toleration.Merge(w.Tolerations, w.Record, c.claim(), live, true), c.MergePins()
		w.Tolerations, w.Record, w.NodeSelector, w.LabelRecord = merged.Tolerations, merged.Record, pins.Labels, pins.Record
	}
	write(change("other", "theirs"))
	write(change("me", "retires", "stays"))
	write(change("me", "stays"), corev1.Taint{Key: "retires", Effect: corev1.TaintEffectNoExecute})
	held := record.Held{}
	change("me", "stays").Hold(held)
	if len(held) != 3 || len(w.Record) != 3 || len(w.LabelRecord) != 2 {
		t.Fatalf("%d are held of %s and %s, want 3", len(held), w.Record, w.LabelRecord)
	}
	next := change("me", "stays")
	next.Claim.Seal.Epoch, next.Claim.Seal.Held = 2, held
	for name, tt := range map[string]struct {
		look func(w workload.Workload) *workload.Workload
		want int
	}{
		"as it was":             {func(w workload.Workload) *workload.Workload { return &w }, 3},
		"what retires has gone": {func(w workload.Workload) *workload.Workload { w.Record = w.Record[:2]; return &w }, 2},
		"a record is damaged": {func(w workload.Workload) *workload.Workload {
			w.Record, w.RecordErr = nil, errors.New("damaged")
			return &w
		}, 3},
		"the other is damaged": {func(w workload.Workload) *workload.Workload {
			w.LabelRecord, w.LabelRecordErr = nil, errors.New("damaged")
			return &w
		}, 3},
		"it is made anew":        {func(w workload.Workload) *workload.Workload { w.Record, w.LabelRecord = nil, nil; return &w }, 0},
		"the pin has gone":       {func(w workload.Workload) *workload.Workload { w.LabelRecord = nil; return &w }, 2},
		"it is another workload": {func(w workload.Workload) *workload.Workload { w.Name = "other"; return &w }, 3},
	} {
		still := maps.Clone(held)
		next.Workload = tt.look(*w)
		if Forget([]Tolerations{next}, still); len(still) != tt.want {
			t.Errorf("%s: %d are still held, want %d", name, len(still), tt.want)
		}
	}
}

// TestTolerations_Hold_ofImports holds what was imported without a mark, as long as it is there without one.
func TestTolerations_Hold_ofImports(t *testing.T) {
	t.Parallel()
	w := aWorkload(t, "Deployment", "web", "x:NoExecute", "y:NoExecute")
	own := tolerate(t, w, "x:NoExecute", "y:NoExecute")
	own.Claim.Seal = record.Seal{Nonce: "n", Epoch: 1, Held: record.Held{}}
	own.Claim.Imported = map[toleration.ID][]string{}
	for _, one := range w.Tolerations {
		id := toleration.IDOf(one)
		own.Claim.Imported[id] = []string{""}
		own.Claim.Seal.Held.Note(own.claim().Seal, id.Unmarked(own.Claim.Path))
	}
	held := HoldAll([]Tolerations{own})
	if len(held) != 2 {
		t.Fatalf("%d are held, want 2", len(held))
	}
	if Forget([]Tolerations{own}, held); len(held) != 2 {
		t.Errorf("%d are still held, want 2", len(held))
	}
	w.Tolerations = w.Tolerations[:1]
	if Forget([]Tolerations{own}, held); len(held) != 1 {
		t.Errorf("once one has gone %d are still held, want 1", len(held))
	}
	if other := HoldAll([]Tolerations{own, tolerate(t, aWorkload(t, "Deployment", "db"))}); len(other) != 1 {
		t.Errorf("%d of two workloads are held, want 1", len(other))
	}
}

// TestHold_ofImportedTaints holds what was imported without a mark on a node, as long as the node is targeted.
func TestHold_ofImportedTaints(t *testing.T) {
	t.Parallel()
	n := aNode(t, "a", "gpu", "x:NoExecute")
	id := taint.IDOf(n.Taints[0])
	for name, want := range map[string]int{"a": 1, "b": 0} {
		d := desire(t, Target{Name: name}, "x:NoExecute")
		d.Claim.Seal, d.Claim.Imported = record.Seal{Nonce: "n", Epoch: 1, Held: record.Held{}}, map[taint.ID][]string{id: {""}}
		d.Claim.Seal.Held.Note(d.Claim.OnNode(n.Name, n.UID).Seal, id.Unmarked())
		held := record.Held{}
		if d.Hold([]*snapshot.Node{n}, held); len(held) != want {
			t.Errorf("where node %s is targeted %d are held, want %d", name, len(held), want)
		}
	}
}

// TestTolerations_Created has a ConfigMap that the resource created for two components, or that another writer made.
func TestTolerations_Created(t *testing.T) {
	t.Parallel()
	w := &workload.Workload{Ref: workload.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "openshift-monitoring", Name: "cluster-monitoring-config", Component: "prometheusK8s"}, Config: &workload.Config{}}
	own := Tolerations{Workload: w, Claim: toleration.Claim{Owner: "me", Generation: "g", Seal: record.Seal{Nonce: "n", Epoch: 1, Held: record.Held{}}}}
	proof, proved := own.Created()
	if proof == "" || proved {
		t.Fatalf("before it is created the proof is %q, proved %t", proof, proved)
	}
	beside, elsewhere := *w, *w
	beside.Component, elsewhere.Name = "alertmanagerMain", "other"
	for name, tt := range map[string]struct {
		change  func(c *Tolerations)
		created string
		proved  bool
	}{
		"as it was created":           {func(*Tolerations) {}, proof, true},
		"of another component":        {func(c *Tolerations) { c.Workload = &beside }, proof, true},
		"a copy on another ConfigMap": {func(c *Tolerations) { c.Workload = &elsewhere }, proof, false},
		"by another resource":         {func(c *Tolerations) { c.Claim.Seal.Nonce = "other" }, proof, false},
		"by another resource that is known": {func(c *Tolerations) {
			c.Claim.Known, c.Claim.Seal.Nonce = []record.Seal{{Nonce: "x"}, own.Claim.Seal}, "other"
		}, proof, true},
		"by a resource without proofs":            {func(c *Tolerations) { c.Claim.Seal.Nonce = "" }, proof, false},
		"by one without proofs that is not known": {func(c *Tolerations) { c.Claim.Known, c.Claim.Seal = []record.Seal{{Nonce: "x"}}, record.Seal{} }, proof, false},
		"by another writer":                       {func(*Tolerations) {}, "made up", false},
		"without its annotation":                  {func(*Tolerations) {}, "", false},
	} {
		one := own
		tt.change(&one)
		created := *one.Workload
		created.Config = &workload.Config{Created: tt.created}
		one.Workload = &created
		if _, got := one.Created(); got != tt.proved {
			t.Errorf("%s: proved %t", name, got)
		}
	}
	w.Config.Created = proof
	held := HoldAll([]Tolerations{own})
	if Forget([]Tolerations{own}, held); len(held) != 1 {
		t.Errorf("%d are held of a ConfigMap that it has created, want 1", len(held))
	}
	later := own
	later.Claim.Seal.Epoch, later.Claim.Seal.Held = 2, held
	if _, proved := later.Created(); !proved {
		t.Error("it is not proved in the next apply")
	}
	w.Config.Created = ""
	if Forget([]Tolerations{own}, held); len(held) != 0 {
		t.Errorf("%d are held of one that was created anew", len(held))
	}
}
