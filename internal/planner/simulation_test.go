// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"fmt"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// simulation is a small cluster: nodes, workloads and their pods, a scheduler,
// the controllers of workloads and the one that evicts by taints. Everything that
// a controller can do next is a move of its own, so that the moves of several, of
// other writers and of the one who carries out a plan can come in any order.
type simulation struct {
	r         *rand.Rand
	nodes     []*snapshot.Node
	workloads []*simWorkload
	pods      []*simPod
	made      int
	// story is what happened so far, and evicted what must not have.
	story   []string
	evicted []string
}

// simWorkload is a workload, and how its controller goes about it.
type simWorkload struct {
	workload.Workload
	// seen is the template by which the controller acts: it learns of a new one
	// only when it looks.
	seen []corev1.Toleration
	// nodes is the node selector.
	nodes map[string]string
	// surge and unavailable bound a Deployment's rollout.
	surge, unavailable int
	// slots are the revisions of which a StatefulSet makes its pods anew.
	slots [][]corev1.Toleration
	// foreign are the entries that are not owned.
	foreign []corev1.Toleration
}

// simPod is a pod, and which template it was made of.
type simPod struct {
	snapshot.Pod
	of       *simWorkload
	template []corev1.Toleration
	// slot is the ordinal in a StatefulSet, and the number of the node in a
	// DaemonSet.
	slot int
}

// move is one thing that a controller can do.
type move struct {
	what string
	do   func()
}

func (c *simulation) tell(format string, args ...any) {
	c.story = append(c.story, fmt.Sprintf(format, args...))
}

// move makes one of the possible moves, and reports whether there is one.
func (c *simulation) move() bool {
	moves := c.moves()
	if len(moves) == 0 {
		return false
	}
	m := moves[c.r.IntN(len(moves))]
	c.tell("  %s", m.what)
	m.do()
	c.evict()
	return true
}

func (c *simulation) moves() []move {
	var out []move
	for _, w := range c.workloads {
		if !w.Observed {
			out = append(out, move{w.Name + " is observed", func() { w.seen, w.Observed = slices.Clone(w.Tolerations), true }})
		}
		switch w.Kind {
		case "Deployment":
			out = append(out, c.rollDeployment(w)...)
		case "StatefulSet":
			out = append(out, c.rollStatefulSet(w)...)
		case "DaemonSet":
			out = append(out, c.rollDaemonSet(w)...)
		}
	}
	for _, p := range c.pods {
		switch {
		case p.Terminating:
			out = append(out, move{p.Name + " is gone", func() { c.pods = slices.DeleteFunc(c.pods, func(one *simPod) bool { return one == p }) }})
		case p.Node == "":
			if fit := c.fit(p); len(fit) > 0 {
				node := fit[c.r.IntN(len(fit))]
				out = append(out, move{p.Name + " goes to " + node.Name, func() { p.Node = node.Name }})
			}
		}
	}
	return out
}

// fit returns the nodes on which the scheduler can put a pod.
func (c *simulation) fit(p *simPod) []*snapshot.Node {
	var out []*snapshot.Node
	for i, n := range c.nodes {
		own := p.of.Kind != "DaemonSet" || p.slot == i
		if own && labels.SelectorFromSet(p.of.nodes).Matches(labels.Set(n.Labels)) && welcomes(n, p.Scheduling.Tolerations) {
			out = append(out, n)
		}
	}
	return out
}

// welcomes reports whether new pods with these tolerations fit a node.
func welcomes(n *snapshot.Node, tolerations []corev1.Toleration) bool {
	return !slices.ContainsFunc(taint.Untolerated(n.Taints, tolerations, false), func(t corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule })
}

// bears reports whether pods with these tolerations keep running on a node.
func bears(n *snapshot.Node, tolerations []corev1.Toleration) bool {
	return !slices.ContainsFunc(n.Taints, func(t corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoExecute && toleration.Lasts(tolerations, t, false) != toleration.Forever
	})
}

// evict does in one step what the taint-eviction controller and, by its template, the
// DaemonSet controller do immediately.
func (c *simulation) evict() {
	for _, p := range c.pods {
		n := c.node(p.Node)
		switch {
		case n == nil || p.Terminating:
		case !bears(n, p.Scheduling.Tolerations):
			c.evicted = append(c.evicted, fmt.Sprintf("%s with %s is evicted from %s with %s", p.Name, toleration.Format(p.Scheduling.Tolerations), n.Name, taint.FormatAll(n.Taints)))
			c.remove(p)
		case p.of.Kind == "DaemonSet" && !bears(n, p.of.seen):
			c.evicted = append(c.evicted, fmt.Sprintf("%s is deleted by its DaemonSet with %s from %s with %s", p.Name, toleration.Format(p.of.seen), n.Name, taint.FormatAll(n.Taints)))
			c.remove(p)
		}
	}
}

func (c *simulation) node(name string) *snapshot.Node {
	at := slices.IndexFunc(c.nodes, func(n *snapshot.Node) bool { return n.Name == name })
	if at < 0 {
		return nil
	}
	return c.nodes[at]
}

// create makes a pod that waits for a node.
func (c *simulation) create(w *simWorkload, template []corev1.Toleration, slot int) {
	c.made++
	c.pods = append(c.pods, &simPod{
		Pod: snapshot.Pod{
			Namespace: w.Namespace, Name: fmt.Sprintf("%s-%d", w.Name, c.made), Controller: &snapshot.Controller{Owner: w.Owner().Owner},
			Scheduling: &snapshot.Scheduling{Tolerations: w.forPods(template), NodeSelector: w.nodes},
		},
		of: w, template: template, slot: slot,
	})
}

// remove begins to delete a pod. A pod without a node is deleted immediately.
func (c *simulation) remove(p *simPod) {
	if p.Terminating = true; p.Node == "" {
		c.pods = slices.DeleteFunc(c.pods, func(one *simPod) bool { return one == p })
	}
}

func (c *simulation) removing(p *simPod) move {
	return move{p.Name + " is replaced", func() { c.remove(p) }}
}

// of returns the pods of a workload, those that are being deleted left out.
func (c *simulation) of(w *simWorkload, also ...func(*simPod) bool) []*simPod {
	return slices.DeleteFunc(slices.Clone(c.pods), func(p *simPod) bool {
		return p.of != w || p.Terminating || slices.ContainsFunc(also, func(is func(*simPod) bool) bool { return !is(p) })
	})
}

func runs(p *simPod) bool  { return p.Node != "" }
func waits(p *simPod) bool { return p.Node == "" }
func isNew(p *simPod) bool { return slices.EqualFunc(p.template, p.of.seen, toleration.Equal) }
func isOld(p *simPod) bool { return !isNew(p) }

// rollDeployment follows pkg/controller/deployment/rolling.go of k8s.io/kubernetes
// v1.37.1: new pods up to the surge; old ones that do not run go first, and then
// those that run, as far as enough run beside them.
func (c *simulation) rollDeployment(w *simWorkload) []move {
	var out []move
	live, fresh, available := c.of(w), c.of(w, isNew), c.of(w, runs)
	wants := int(w.Wants)
	if len(fresh) < wants && len(live) < wants+w.surge {
		out = append(out, move{w.Name + " makes a pod", func() { c.create(w, w.seen, 0) }})
	}
	spare := len(live) - (wants - w.unavailable) - len(c.of(w, isNew, waits))
	if old := c.of(w, isOld, waits); spare > 0 && len(old) > 0 {
		out = append(out, c.removing(old[0]))
	} else if old := c.of(w, isOld, runs); spare > 0 && len(old) > 0 && len(available) > wants-w.unavailable {
		out = append(out, c.removing(old[c.r.IntN(len(old))]))
	}
	return out
}

// rollStatefulSet follows pkg/controller/statefulset/stateful_set_control.go with
// ordered pods: a pod that does not run blocks all others, and a pod that another
// writer has deleted is recreated from the same template.
func (c *simulation) rollStatefulSet(w *simWorkload) []move {
	for slot := range w.slots {
		at := slices.IndexFunc(c.pods, func(p *simPod) bool { return p.of == w && p.slot == slot })
		switch {
		case at < 0:
			return []move{{w.Name + " makes a pod", func() { c.create(w, w.slots[slot], slot) }}}
		case c.pods[at].Terminating || c.pods[at].Node == "":
			return nil
		}
	}
	old := c.of(w, isOld)
	if len(old) == 0 {
		return nil
	}
	last := slices.MaxFunc(old, func(a, b *simPod) int { return a.slot - b.slot })
	return []move{{last.Name + " is replaced", func() {
		w.slots[last.slot] = w.seen
		c.remove(last)
	}}}
}

// rollDaemonSet follows pkg/controller/daemon: a pod for each node that takes it
// by the template, old ones replaced one at a time.
func (c *simulation) rollDaemonSet(w *simWorkload) []move {
	whole := true
	for i, n := range c.nodes {
		there := slices.ContainsFunc(c.pods, func(p *simPod) bool { return p.of == w && p.slot == i })
		running := len(c.of(w, runs, func(p *simPod) bool { return p.slot == i })) > 0
		wanted := w.wantedOn(n)
		if whole = whole && (!wanted || running); wanted && !there {
			return []move{{w.Name + " makes a pod for " + n.Name, func() { c.create(w, w.seen, i) }}}
		}
	}
	for _, p := range c.of(w, waits) {
		if isOld(p) || !bears(c.nodes[p.slot], w.seen) {
			return []move{c.removing(p)}
		}
	}
	if old := c.of(w, isOld, runs); whole && len(old) > 0 {
		return []move{c.removing(old[c.r.IntN(len(old))])}
	}
	return nil
}

// wantedOn reports whether a DaemonSet runs a pod on a node.
func (w *simWorkload) wantedOn(n *snapshot.Node) bool {
	return labels.SelectorFromSet(w.nodes).Matches(labels.Set(n.Labels)) && welcomes(n, w.forPods(w.seen))
}

// settle runs the controllers until none can act, and reports whether it comes to that.
func (c *simulation) settle() bool {
	for range 2000 {
		if !c.move() {
			return true
		}
	}
	return false
}

// look takes a snapshot that nothing changes any more.
func (c *simulation) look() *snapshot.Snapshot {
	s := &snapshot.Snapshot{Nodes: map[string]*snapshot.Node{}, Pods: map[string][]*snapshot.Pod{}}
	for _, n := range c.nodes {
		one := *n
		s.Nodes[n.Name] = &one
	}
	for _, p := range c.pods {
		one := p.Pod
		if one.Node == "" {
			s.Waiting = append(s.Waiting, &one)
		} else {
			s.Pods[one.Node] = append(s.Pods[one.Node], &one)
		}
	}
	return s
}

// observe returns a workload as it stands.
func (c *simulation) observe(w *simWorkload) *workload.Workload {
	one := w.Workload
	if one.Kind == "DaemonSet" {
		one.Wants, one.MissingFollow = 0, true
		for _, n := range c.nodes {
			if w.wantedOn(n) {
				one.Wants++
			}
		}
	}
	return &one
}

// write gives a workload another list.
func (c *simulation) write(w *simWorkload, list []corev1.Toleration) {
	if !slices.EqualFunc(w.Tolerations, list, toleration.Equal) {
		w.Tolerations, w.Observed = list, false
	}
}
