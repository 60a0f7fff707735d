// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// seeds returns how many seeds a simulation tries: KUBETAINT_SEEDS=40 tries more than the few.
func seeds(t *testing.T, few uint64) uint64 {
	t.Helper()
	given := os.Getenv("KUBETAINT_SEEDS")
	if given == "" {
		return few
	}
	n, err := strconv.ParseUint(given, 10, 32)
	if err != nil {
		t.Fatalf("KUBETAINT_SEEDS: %v", err)
	}
	return n
}

// cloud is a small Machine API: one MachineSet, and controllers that do one thing
// at a time in random order, with the habits of the real ones: missing machines are
// all created immediately, surplus ones all deleted immediately, a deleted machine is
// replaced immediately, and nodelink only adds.
type cloud struct {
	r   *rand.Rand
	set Set
	// seen is the MachineSet as its controller knows it, which may be as it was.
	seen     Set
	machines []*Machine
	nodes    map[string]*snapshot.Node
	named    int
	made     int
	// edits are how often another writer still changes something in the middle.
	edits int
	// going is the largest number of machines that were being deleted in parallel.
	going   int
	deleted int
}

func newCloud(seed uint64, replicas int, taints ...corev1.Taint) *cloud {
	c := &cloud{r: rand.New(rand.NewPCG(seed, 1)), set: Set{Namespace: "openshift-machine-api", Name: "gpu", UID: "u", Replicas: replicas, Taints: taints}, nodes: map[string]*snapshot.Node{}}
	for c.step() {
	}
	c.made = 0
	return c
}

// observed is a copy, as a read of the API server gives one.
func (c *cloud) observed() Observed {
	set := c.set
	o := Observed{Set: &set, Nodes: map[string]*snapshot.Node{}}
	for _, m := range c.machines {
		copied := *m
		o.Machines = append(o.Machines, &copied)
	}
	for name, n := range c.nodes {
		copied := *n
		o.Nodes[name] = &copied
	}
	return o
}

// step lets one controller do one thing, and reports whether there was one.
func (c *cloud) step() bool {
	moves := c.moves()
	if len(moves) == 0 {
		return false
	}
	moves[c.r.IntN(len(moves))]()
	return true
}

func (c *cloud) moves() []func() {
	var out []func()
	if len(c.live()) != c.seen.Replicas {
		out = append(out, c.sync)
	}
	if !c.set.Observed {
		out = append(out, func() { c.seen, c.set.Observed = c.set, true })
	}
	for _, m := range c.machines {
		n := c.nodes[m.Node]
		switch {
		case m.Deleting && m.Node != "":
			out = append(out, func() { delete(c.nodes, m.Node); m.Node = "" })
		case m.Deleting:
			out = append(out, func() { c.machines = slices.DeleteFunc(c.machines, func(o *Machine) bool { return o == m }) })
		case m.Phase == "":
			out = append(out, func() { m.Phase = "Provisioning" })
		case m.Phase == "Provisioning":
			out = append(out, func() {
				m.Phase, m.Node = phaseRunning, "node-"+m.Name
				c.nodes[m.Node] = &snapshot.Node{Name: m.Node, Taints: []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}}
			})
		case n != nil && !n.Ready:
			out = append(out, func() {
				n.Ready, n.Taints = true, slices.DeleteFunc(slices.Clone(n.Taints), taint.Joining)
			})
		}
		if n != nil && !m.Deleting && (slices.ContainsFunc(m.Taints, func(t corev1.Taint) bool { return taint.Find(n.Taints, taint.IDOf(t)) < 0 }) || !hasAll(n.Labels, m.Labels)) {
			out = append(out, func() { c.link(m, n) })
		}
	}
	return out
}

func (c *cloud) live() []*Machine {
	return slices.DeleteFunc(slices.Clone(c.machines), func(m *Machine) bool { return m.Deleting })
}

// sync is the MachineSet controller.
func (c *cloud) sync() {
	live := c.live()
	for range c.seen.Replicas - len(live) {
		c.made, c.named = c.made+1, c.named+1
		c.machines = append(c.machines, &Machine{Name: fmt.Sprintf("m%d", c.named), UID: types.UID(fmt.Sprint(c.named)), Taints: slices.Clone(c.seen.Taints), Labels: maps.Clone(c.seen.NodeLabels)})
	}
	c.r.Shuffle(len(live), func(i, j int) { live[i], live[j] = live[j], live[i] })
	slices.SortStableFunc(live, func(a, b *Machine) int { return priority(b) - priority(a) })
	for _, m := range live[:max(0, len(live)-c.seen.Replicas)] {
		m.Deleting = true
	}
}

// priority is that of the policy Random.
func priority(m *Machine) int {
	switch {
	case m.MarkedForDeletion || m.Failed():
		return 50
	case m.Node == "":
		return 40
	}
	return 20
}

// link is the nodelink controller.
func (c *cloud) link(m *Machine, n *snapshot.Node) {
	taints := slices.Clone(n.Taints)
	for _, t := range m.Taints {
		if taint.Find(taints, taint.IDOf(t)) < 0 {
			taints = append(taints, t)
		}
	}
	n.Taints = taints
	n.Labels = label.Apply(n.Labels, setting(m.Labels))
}

// hasAll reports whether labels have all of others.
func hasAll(labels, others map[string]string) bool {
	for key, value := range others {
		if now, there := labels[key]; !there || now != value {
			return false
		}
	}
	return true
}

// setting are the changes that set labels.
func setting(labels map[string]string) map[string]*string {
	out := map[string]*string{}
	for key, value := range labels {
		out[key] = &value
	}
	return out
}

// carry writes one intent, as a patch does.
func (c *cloud) carry(i Intent) {
	find := func() *Machine {
		at := slices.IndexFunc(c.machines, func(m *Machine) bool { return m.Name == i.Machine.Name })
		if at < 0 {
			return &Machine{} // It is gone meanwhile.
		}
		return c.machines[at]
	}
	switch i.Kind {
	case WriteSet:
		if t := i.Set.Template; t != nil {
			c.set.Taints, c.set.Record = t.Taints, t.Record
		}
		if r := i.Set.Remnants; r != nil {
			c.set.Remnants, c.set.RecordErr = ParseRemnants(r.String())
		}
		if l := i.Set.Labels; l != nil {
			c.set.NodeLabels, c.set.LabelRecord = label.Apply(c.set.NodeLabels, l.Changes), l.Record
		}
		c.set.Observed = false
		if i.Set.Replicas != nil {
			c.set.Replicas = *i.Set.Replicas
		}
		if i.Set.MarkerChanges {
			// As it is read again from the annotation.
			c.set.Marker, c.set.MarkerErr = ParseMarker(i.Set.Marker.String())
		}
	case WriteMachine:
		if m := find(); i.Labels != nil {
			m.Labels = label.Apply(m.Labels, i.Labels)
		} else {
			m.Taints = i.Taints
		}
	case WriteNode:
		if n := c.nodes[i.Node.Name]; n == nil {
			// It is gone meanwhile.
			return
		} else if i.Labels != nil {
			n.Labels = label.Apply(n.Labels, i.Labels)
		} else {
			n.Taints = i.Taints
		}
	case Choose:
		find().MarkedForDeletion = true
	case Delete:
		find().Deleting = true
		c.deleted++
	}
}

// serving counts the machines whose nodes are ready and stay.
func (c *cloud) serving() int {
	count := 0
	for _, m := range c.live() {
		if n := c.nodes[m.Node]; n != nil && n.Ready {
			count++
		}
	}
	return count
}

// run carries a rollout out while the controllers do their work, until it is done,
// or is killed before the write of this number. It checks least at each moment.
func (c *cloud) run(t *testing.T, d Desired, killBefore, least int) (writes int, done bool) {
	t.Helper()
	for range 10_000 {
		if d.Cycle && c.set.Marker != nil {
			d.Begun = c.set.Marker
		}
		decision := Next(c.observed(), d, time.Unix(0, 0))
		if decision.Stop != "" {
			t.Fatalf("it stopped: %s", decision.Stop)
		}
		if decision.Done {
			return writes, true
		}
		for _, i := range decision.Intents {
			if writes == killBefore {
				return writes, false
			}
			writes++
			if i.Reason == "" {
				t.Fatalf("no reason is given for %s", i.Kind)
			}
			c.carry(i)
			c.check(t, least)
			for range c.r.IntN(3) {
				c.step()
				c.check(t, least)
			}
			c.meddle()
		}
		if decision.Last {
			return writes, true
		}
		if len(decision.Intents) == 0 && !c.step() {
			t.Fatalf("it waits for %v, and nothing happens any more", decision.Waiting)
		}
		c.check(t, least)
	}
	t.Fatal("it never ends")
	return 0, false
}

// meddle lets another writer change taints and labels that are not owned: in the template, in a
// machine or on its node.
func (c *cloud) meddle() {
	if c.edits == 0 || c.r.IntN(3) > 0 {
		return
	}
	c.edits--
	edit := func(taints []corev1.Taint) []corev1.Taint {
		t := corev1.Taint{Key: fmt.Sprintf("foreign-%d", c.r.IntN(3)), Value: fmt.Sprint(c.r.IntN(2)), Effect: corev1.TaintEffectNoSchedule}
		out := slices.DeleteFunc(slices.Clone(taints), func(o corev1.Taint) bool { return o.MatchTaint(&t) })
		if c.r.IntN(3) == 0 {
			return out
		}
		return append(out, t)
	}
	relabel := func(labels map[string]string) map[string]string {
		key := fmt.Sprintf("foreign-%d", c.r.IntN(3))
		if c.r.IntN(3) == 0 {
			return label.Apply(labels, map[string]*string{key: nil})
		}
		return label.Apply(labels, setting(map[string]string{key: fmt.Sprint(c.r.IntN(2))}))
	}
	m, n := &Machine{}, &snapshot.Node{}
	if len(c.machines) > 0 {
		m = c.machines[c.r.IntN(len(c.machines))]
	}
	if there := c.nodes[m.Node]; there != nil {
		n = there
	}
	switch c.r.IntN(6) {
	case 0:
		c.set.Taints, c.set.Observed = edit(c.set.Taints), false
	case 1:
		c.set.NodeLabels, c.set.Observed = relabel(c.set.NodeLabels), false
	case 2:
		m.Taints = edit(m.Taints)
	case 3:
		n.Taints = edit(n.Taints)
	case 4:
		m.Labels = relabel(m.Labels)
	case 5:
		n.Labels = relabel(n.Labels)
	}
}

func (c *cloud) check(t *testing.T, least int) {
	t.Helper()
	c.going = max(c.going, len(c.machines)-len(c.live()))
	if got := c.serving(); got < least {
		t.Fatalf("%d machines serve, and at least %d should", got, least)
	}
}

// want expects that everything agrees, and that nothing of the rollout is left.
func (c *cloud) want(t *testing.T, replicas int, taints []corev1.Taint) {
	t.Helper()
	for c.step() {
	}
	if c.set.Replicas != replicas || len(c.machines) != replicas || c.set.Marker != nil {
		t.Fatalf("there are %d machines of %d, want %d; the marker is %v", len(c.machines), c.set.Replicas, replicas, c.set.Marker)
	}
	sorted := func(taints []corev1.Taint) string { return taint.FormatAll(taint.Sort(slices.Clone(taints))) }
	want := sorted(taints)
	if got := sorted(c.set.Taints); got != want {
		t.Fatalf("the template has %q, want %q", got, want)
	}
	for _, m := range c.machines {
		if got, onNode := sorted(m.Taints), sorted(c.nodes[m.Node].Taints); got != want || onNode != want {
			t.Fatalf("%s has %q and its node %q, want %q", m.Name, got, onNode, want)
		}
	}
}
