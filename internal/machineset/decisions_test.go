// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// wantedTaint is what the template has, and oldTaint what machines had before.
const wantedTaint, oldTaint = "team=b:NoExecute", "team=a:NoExecute"

// scene is a MachineSet with the wanted template, in the middle of a rollout. Each machine
// is a name with words: old, deleting, failed, provisioning, nodeless, unready, bare (its node
// lacks the taint), stale (its node has the old one), joining, chosen. Without any it is new
// and serves.
func scene(t *testing.T, strategy Strategy, replicas, original, surge int, machines ...string) Observed {
	t.Helper()
	s := &Set{
		Namespace: OperatorNamespace, Name: "gpu", Replicas: replicas, Observed: true, Reconciled: true, Taints: taintsOf(t, wantedTaint),
		Record: taint.Record{{Key: "team", Effect: "NoExecute", Owner: "terraform/gpu", Generation: "g1"}},
		Marker: &Marker{ID: "terraform/gpu", Strategy: strategy, OriginalReplicas: original, Surge: surge},
	}
	o := Observed{Set: s, Nodes: map[string]*snapshot.Node{}}
	for _, line := range machines {
		words := strings.Fields(line)
		m := &Machine{Namespace: s.Namespace, Name: words[0], UID: types.UID(words[0]), Phase: phaseRunning, Node: "node-" + words[0], Taints: taintsOf(t, wantedTaint)}
		n := &snapshot.Node{Name: m.Node, Ready: true, Taints: taintsOf(t, wantedTaint)}
		for _, word := range words[1:] {
			switch word {
			case "old":
				m.Taints, n.Taints = taintsOf(t, oldTaint), taintsOf(t, oldTaint)
			case "deleting":
				m.Deleting = true
			case "failed":
				m.Phase = phaseFailed
			case "provisioning":
				m.Phase = "Provisioning"
			case "unborn":
				m.Phase = ""
			case "nodeless":
				m.Node = ""
			case "unready":
				n.Ready = false
			case "bare":
				n.Taints = nil
			case "stale":
				n.Taints = taintsOf(t, oldTaint)
			case "joining":
				n.Taints = append(n.Taints, corev1.Taint{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoSchedule})
			case "initialized":
				// nodelink has not added it again.
				m.Taints = append(m.Taints, corev1.Taint{Key: "node.cluster.x-k8s.io/uninitialized", Effect: corev1.TaintEffectNoSchedule})
			case "others":
				m.Taints, n.Taints = append(m.Taints, taintsOf(t, "vendor=x:NoSchedule")...), append(n.Taints, taintsOf(t, "vendor=y:NoSchedule")...)
			case "chosen":
				m.MarkedForDeletion = true
			default:
				t.Fatalf("%q is not known", word)
			}
		}
		o.Machines = append(o.Machines, m)
		if m.Node != "" {
			o.Nodes[m.Node] = n
		}
	}
	return o
}

// decided writes a decision.
func decided(d Decision) string {
	var parts []string
	for _, i := range d.Intents {
		one := string(i.Kind)
		switch {
		case i.Node != nil:
			one += " " + i.Node.Name + " " + taint.FormatAll(i.Taints)
		case i.Machine != nil:
			one += " " + i.Machine.Name
		case i.Set != nil && i.Set.Replicas != nil:
			one += fmt.Sprintf(" to %d", *i.Set.Replicas)
		}
		if i.Set != nil && i.Set.MarkerChanges && i.Set.Marker == nil {
			one += " without marker"
		}
		parts = append(parts, one)
	}
	for _, w := range d.Waiting {
		parts = append(parts, w.Machine.Name+" "+w.Why)
	}
	switch {
	case d.Done:
		parts = append(parts, "done")
	case d.Last:
		parts = append(parts, "last")
	case d.Stop != "":
		parts = append(parts, "stop")
	}
	return strings.Join(parts, ", ")
}

const ends = "write_set without marker, last"

func TestNext_decidesByWhatThereIs(t *testing.T) {
	t.Parallel()
	by := func(change func(*Rollout)) func(*Desired) { return func(d *Desired) { change(&d.Rollout) } }
	for name, tt := range map[string]struct {
		strategy                  Strategy
		replicas, original, surge int
		machines                  []string
		desired                   func(*Desired)
		set                       func(*Set)
		want                      string
	}{
		// Rolling.
		"rolling: all that serves and is new ends it":                {strategy: Rolling, replicas: 2, machines: []string{"a", "b"}, want: ends},
		"rolling: a new one that does not serve is waited for":       {strategy: Rolling, replicas: 2, machines: []string{"a", "b provisioning"}, want: "b is Provisioning"},
		"rolling: one that the controller owes is waited for":        {strategy: Rolling, replicas: 2, machines: []string{"a"}, want: ""},
		"rolling: one too many is waited for":                        {strategy: Rolling, replicas: 1, machines: []string{"a", "b"}, want: ""},
		"rolling: one that is being deleted is waited for":           {strategy: Rolling, replicas: 1, machines: []string{"a", "b old deleting"}, want: "b is being deleted"},
		"rolling: as many go as may be missing":                      {strategy: Rolling, replicas: 3, machines: []string{"a old", "b old", "c old"}, want: "delete a"},
		"rolling: two go where two may be missing":                   {strategy: Rolling, replicas: 3, machines: []string{"a old", "b old", "c old"}, desired: by(func(r *Rollout) { r.MaxUnavailable = 2 }), want: "delete a, delete b"},
		"rolling: none goes while one is missing":                    {strategy: Rolling, replicas: 2, machines: []string{"a old", "b old deleting", "c provisioning"}, want: "c is Provisioning, b is being deleted"},
		"rolling: none goes while the controller owes one":           {strategy: Rolling, replicas: 2, machines: []string{"a old"}, want: ""},
		"rolling: none goes while there are too many":                {strategy: Rolling, replicas: 1, machines: []string{"a old", "b old"}, want: ""},
		"rolling: one that does not serve goes first":                {strategy: Rolling, replicas: 2, machines: []string{"a old", "b old unready"}, want: "delete b"},
		"rolling: one that does not serve goes alone":                {strategy: Rolling, replicas: 3, machines: []string{"a old", "b old unready", "c old unready"}, want: "delete b"},
		"rolling: none that serves goes where one does not":          {strategy: Rolling, replicas: 2, machines: []string{"a old", "b unready"}, want: "b has a node that is not ready"},
		"rolling: a controller that has not seen the template waits": {strategy: Rolling, replicas: 2, machines: []string{"a old", "b old"}, set: func(s *Set) { s.Observed = false }, want: ""},
		"rolling: a new machine that has failed stops it":            {strategy: Rolling, replicas: 2, machines: []string{"a old", "b failed"}, want: "stop"},
		"rolling: an old machine that has failed goes":               {strategy: Rolling, replicas: 2, machines: []string{"a old", "b old failed"}, want: "delete b"},

		// The parts that a new machine lacks.
		"lacks: a phase":                                           {strategy: Rolling, replicas: 1, machines: []string{"a unborn"}, want: "a is not provisioned yet"},
		"lacks: a node":                                            {strategy: Rolling, replicas: 1, machines: []string{"a nodeless"}, want: "a has no node"},
		"lacks: a node that is ready":                              {strategy: Rolling, replicas: 1, machines: []string{"a unready"}, want: "a has a node that is not ready"},
		"lacks: the taint on its node":                             {strategy: Rolling, replicas: 1, machines: []string{"a bare"}, want: "a has a node without " + wantedTaint},
		"lacks: a node that has joined":                            {strategy: Rolling, replicas: 1, machines: []string{"a joining"}, want: "a has a node with node.kubernetes.io/not-ready:NoSchedule"},
		"a Machine has what initializing removes":                  {strategy: Rolling, replicas: 1, machines: []string{"a initialized"}, want: ends},
		"a node with the old value is written":                     {strategy: Rolling, replicas: 1, machines: []string{"a stale"}, want: "write_node node-a " + wantedTaint},
		"what others have changed on a node is no concern of ours": {strategy: Rolling, replicas: 1, machines: []string{"a others"}, want: ends},

		// In place.
		"in place: one machine at a time":           {strategy: InPlace, replicas: 2, machines: []string{"b old", "a old"}, want: "write_machine a, write_node node-a " + wantedTaint},
		"in place: a node that lacks it alone":      {strategy: InPlace, replicas: 2, machines: []string{"a", "b bare"}, want: "write_node node-b " + wantedTaint},
		"in place: a machine without a node":        {strategy: InPlace, replicas: 1, machines: []string{"a old nodeless"}, want: "write_machine a"},
		"in place: nothing left":                    {strategy: InPlace, replicas: 1, machines: []string{"a"}, want: ends},
		"in place: a machine that has failed":       {strategy: InPlace, replicas: 1, machines: []string{"a failed"}, want: ends},
		"in place: a controller that has not seen":  {strategy: InPlace, replicas: 1, machines: []string{"a"}, set: func(s *Set) { s.Observed = false }, want: ""},
		"in place: old ones before it has seen":     {strategy: InPlace, replicas: 1, machines: []string{"a old"}, set: func(s *Set) { s.Observed = false }, want: "write_machine a, write_node node-a " + wantedTaint},
		"in place: one that is being deleted stays": {strategy: InPlace, replicas: 1, machines: []string{"a", "b old deleting"}, want: ends},

		// Surge.
		"surge: the added are waited for":               {strategy: Surge, replicas: 4, original: 3, surge: 1, machines: []string{"a old", "b old", "c old", "d provisioning"}, want: "d is Provisioning"},
		"surge: what is owed is waited for":             {strategy: Surge, replicas: 4, original: 3, surge: 1, machines: []string{"a old", "b old", "c old"}, want: ""},
		"surge: as many go as were added":               {strategy: Surge, replicas: 4, original: 3, surge: 1, machines: []string{"a old", "b old", "c old", "d"}, want: "delete a"},
		"surge: no more than are left beside the last":  {strategy: Surge, replicas: 5, original: 3, surge: 2, machines: []string{"a old", "b old", "c old", "d", "e"}, want: "delete a"},
		"surge: the last are chosen":                    {strategy: Surge, replicas: 4, original: 3, surge: 1, machines: []string{"a old", "b", "c", "d"}, want: "choose a"},
		"surge: the chosen are not chosen again":        {strategy: Surge, replicas: 5, original: 3, surge: 2, machines: []string{"a old chosen", "b old", "c", "d", "e"}, want: "choose b"},
		"surge: the last go by scaling down":            {strategy: Surge, replicas: 4, original: 3, surge: 1, machines: []string{"a old chosen", "b", "c", "d"}, want: "write_set to 3"},
		"surge: down again it waits for the last":       {strategy: Surge, replicas: 3, original: 3, surge: 1, machines: []string{"a old chosen deleting", "b", "c", "d"}, want: "a is being deleted"},
		"surge: down again it ends":                     {strategy: Surge, replicas: 3, original: 3, surge: 1, machines: []string{"b", "c", "d"}, want: ends},
		"surge: scaled down too early it adds again":    {strategy: Surge, replicas: 3, original: 3, surge: 1, machines: []string{"a old", "b", "c"}, want: "write_set to 4"},
		"surge: it adds no more than is allowed":        {strategy: Surge, replicas: 3, original: 3, surge: 3, machines: []string{"a old", "b old", "c old"}, want: "write_set to 4"},
		"surge: another strategy adds what it had":      {strategy: Surge, replicas: 3, original: 3, surge: 2, machines: []string{"a old", "b old", "c old"}, desired: by(func(r *Rollout) { r.Strategy = InPlace }), want: "write_set to 5"},
		"surge: while too many are there none is added": {strategy: Surge, replicas: 3, original: 3, surge: 1, machines: []string{"a old", "b", "c", "d"}, want: ""},
		"surge: a count of another owner stops it":      {strategy: Surge, replicas: 2, original: 3, surge: 1, machines: []string{"a old", "b"}, want: "stop"},
		"surge: a new one that has failed stops it":     {strategy: Surge, replicas: 4, original: 3, surge: 1, machines: []string{"a old", "b old", "c old", "d failed"}, want: "stop"},

		// Scale to zero.
		"zero: old ones that are not deleted yet are waited for": {strategy: ScaleToZero, original: 2, machines: []string{"a old", "b old deleting"}, want: "b is being deleted, a is not being deleted yet"},
		"zero: once all are being deleted it scales back":        {strategy: ScaleToZero, original: 2, machines: []string{"a old deleting", "b old deleting"}, want: "write_set to 2"},
		"zero: with removed it waits until they are gone":        {strategy: ScaleToZero, original: 2, machines: []string{"a old deleting"}, desired: by(func(r *Rollout) { r.Removed = true }), want: "a is being deleted"},
		"zero: with removed it scales back when they are gone":   {strategy: ScaleToZero, original: 2, desired: by(func(r *Rollout) { r.Removed = true }), want: "write_set to 2"},
		"zero: back again it waits for the new":                  {strategy: ScaleToZero, replicas: 2, original: 2, machines: []string{"a"}, want: ""},
		"zero: back again it ends":                               {strategy: ScaleToZero, replicas: 2, original: 2, machines: []string{"a", "b"}, want: ends},
		"zero: back with old ones it goes down again":            {strategy: ScaleToZero, replicas: 2, original: 2, machines: []string{"a old", "b old"}, want: "write_set to 0"},
		"zero: back with old ones another strategy begins":       {strategy: ScaleToZero, replicas: 2, original: 2, machines: []string{"a old", "b old"}, desired: by(func(r *Rollout) { r.Strategy, r.MaxUnavailable = Rolling, 1 }), want: "write_set"},
		"zero: back with a new one that has failed it stops":     {strategy: ScaleToZero, replicas: 2, original: 2, machines: []string{"a", "b failed"}, desired: by(func(r *Rollout) { r.Strategy = InPlace }), want: "stop"},
		"zero: at zero another strategy goes on with it":         {strategy: ScaleToZero, original: 2, desired: by(func(r *Rollout) { r.Strategy, r.MaxUnavailable = Rolling, 1 }), want: "write_set to 2"},
		"zero: with too many it waits":                           {strategy: ScaleToZero, replicas: 1, original: 1, machines: []string{"a old", "b old"}, want: ""},
		"zero: of none it ends":                                  {strategy: ScaleToZero, want: ends},
		"zero: a count of another owner stops it":                {strategy: ScaleToZero, replicas: 1, original: 2, machines: []string{"a old"}, want: "stop"},

		// Rollouts of others, and strategies that have changed.
		"a rollout of another resource stops it":            {strategy: Rolling, replicas: 1, machines: []string{"a old"}, set: func(s *Set) { s.Marker.ID = "another" }, want: "stop"},
		"another strategy that has nothing left settles":    {strategy: InPlace, replicas: 1, machines: []string{"a provisioning"}, desired: by(func(r *Rollout) { r.Strategy = Rolling }), want: "a is Provisioning"},
		"another strategy takes the place of one in place":  {strategy: InPlace, replicas: 2, machines: []string{"a old", "b"}, desired: by(func(r *Rollout) { r.Strategy = Rolling }), want: "write_set"},
		"without a marker what is coming is not waited for": {strategy: Rolling, replicas: 2, machines: []string{"a provisioning"}, set: func(s *Set) { s.Marker = nil }, want: "done"},
		"without a marker an old machine begins it":         {strategy: Rolling, replicas: 1, machines: []string{"a old"}, set: func(s *Set) { s.Marker = nil }, want: "write_set"},
		"without a marker template_only is done":            {strategy: TemplateOnly, replicas: 1, machines: []string{"a old"}, set: func(s *Set) { s.Marker = nil }, want: "done"},
		"a marker that has gone stops it":                   {strategy: Rolling, replicas: 1, machines: []string{"a old"}, desired: func(d *Desired) { d.Begun = &Marker{ID: "terraform/gpu", Strategy: Rolling} }, set: func(s *Set) { s.Marker = nil }, want: "stop"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := scene(t, tt.strategy, tt.replicas, tt.original, tt.surge, tt.machines...)
			if tt.set != nil {
				tt.set(o.Set)
			}
			d := desire(t, tt.strategy, wantedTaint)
			if tt.desired != nil {
				tt.desired(&d)
			}
			if diff := cmp.Diff(tt.want, decided(Next(o, d, time.Unix(0, 0)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestNext_beginsWithTheTemplateAndTheMarker in one write, and with the count where that changes.
func TestNext_beginsWithTheTemplateAndTheMarker(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	for name, tt := range map[string]struct {
		strategy Strategy
		maxSurge int
		machines []string
		replicas int
		// to is the count, -1 where it is not written; surge and marked are what the marker has.
		to, surge int
		marked    bool
	}{
		"template_only":                 {strategy: TemplateOnly, machines: []string{"a old", "b old"}, replicas: 2, to: -1},
		"in place":                      {strategy: InPlace, machines: []string{"a old", "b old"}, replicas: 2, to: -1, marked: true},
		"rolling":                       {strategy: Rolling, machines: []string{"a old", "b old"}, replicas: 2, to: -1, marked: true},
		"rolling without machines":      {strategy: Rolling, to: -1},
		"surge":                         {strategy: Surge, maxSurge: 1, machines: []string{"a old", "b old"}, replicas: 2, to: 3, surge: 1, marked: true},
		"surge by more than are old":    {strategy: Surge, maxSurge: 5, machines: []string{"a old", "b"}, replicas: 2, to: 3, surge: 1, marked: true},
		"surge by more than are wanted": {strategy: Surge, maxSurge: 5, machines: []string{"a old", "b old", "c old"}, replicas: 2, to: 4, surge: 2, marked: true},
		"scale to zero":                 {strategy: ScaleToZero, machines: []string{"a old"}, replicas: 1, to: 0, marked: true},
		"rolling where all machines are as wanted": {strategy: Rolling, machines: []string{"a"}, replicas: 1, to: -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := scene(t, tt.strategy, tt.replicas, 0, 0, tt.machines...)
			o.Set.Marker, o.Set.Taints = nil, taintsOf(t, oldTaint)
			d := desire(t, tt.strategy, wantedTaint)
			d.Rollout.MaxSurge, d.Claim.Seal = tt.maxSurge, record.Seal{Nonce: "n"}
			got := Next(o, d, now)
			if len(got.Intents) != 1 || got.Intents[0].Kind != WriteSet || got.Intents[0].Set.Template == nil {
				t.Fatalf("it decides %s", decided(got))
			}
			w, to := got.Intents[0].Set, -1
			if w.Replicas != nil {
				to = *w.Replicas
			}
			if to != tt.to || (w.Marker != nil) != tt.marked || w.MarkerChanges != tt.marked {
				t.Fatalf("it writes the count %d and the marker %s", to, w.Marker)
			}
			if !tt.marked {
				return
			}
			want := Marker{ID: "terraform/gpu", Strategy: tt.strategy, OriginalReplicas: tt.replicas, Surge: tt.surge, TargetTaints: []string{wantedTaint}, StartedAt: now.Truncate(time.Second)}
			if !w.Marker.of(d.Claim.On(o.Set.Object())) {
				t.Error("the marker has no proof of its resource")
			}
			want.Proof = w.Marker.Proof
			if diff := cmp.Diff(want, *w.Marker); diff != "" {
				t.Errorf("the marker: %s", diff)
			}
		})
	}
}

// TestNext_namesTheTaintsOfTheLastChange in the marker of a rollout that goes on.
func TestNext_namesTheTaintsOfTheLastChange(t *testing.T) {
	t.Parallel()
	o := scene(t, InPlace, 1, 1, 0, "a old")
	o.Set.Taints = taintsOf(t, oldTaint)
	o.Set.Marker.TargetTaints, o.Set.Marker.Retired = []string{oldTaint}, []string{"gone:NoExecute"}
	got := Next(o, desire(t, InPlace, wantedTaint), time.Unix(0, 0))
	if len(got.Intents) != 1 || got.Intents[0].Set == nil || got.Intents[0].Set.Marker == nil {
		t.Fatalf("it decides %s", decided(got))
	}
	if diff := cmp.Diff([]string{wantedTaint}, got.Intents[0].Set.Marker.TargetTaints); diff != "" {
		t.Error(diff)
	}
}
