// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// world is nodes and workloads that are changed as the steps say, the pods of
// which follow their template when a step waits for them.
type world struct {
	t         *testing.T
	nodes     []*snapshot.Node
	workloads []*workload.Workload
	pods      map[string]*snapshot.Pod
}

// wish is what is wanted of the world: taints and labels of the nodes of pool
// "gpu", and for each workload whether it is meant and pinned.
type wish struct {
	taints, labels string
	workloads      map[string]string // "", "tolerates" or "pinned"
	release        bool
}

const wanted, pinned = "tolerates", "pinned"

func newWorld(t *testing.T, names ...string) *world {
	t.Helper()
	w := &world{t: t, pods: map[string]*snapshot.Pod{}}
	for _, n := range []string{"a", "b"} {
		w.nodes = append(w.nodes, &snapshot.Node{Name: n, Labels: map[string]string{"pool": "gpu"}})
	}
	w.nodes = append(w.nodes, &snapshot.Node{Name: "z", Labels: map[string]string{"pool": "web"}})
	for _, name := range names {
		one := &workload.Workload{
			Ref: workload.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: name}, Observed: true, Wants: 1,
			Tolerations: []corev1.Toleration{{Key: "foreign", Operator: corev1.TolerationOpExists}},
		}
		kind, _ := workload.Lookup("apps/v1", "Deployment")
		one.Path, one.Pods = kind.Path, []snapshot.WorkloadKey{one.Owner()}
		w.workloads = append(w.workloads, one)
		w.follow(one)
	}
	return w
}

// follow makes the pods of a workload anew, on the first node that takes them.
func (w *world) follow(one *workload.Workload) {
	w.t.Helper()
	s := &snapshot.Scheduling{Tolerations: slices.Clone(one.Tolerations), NodeSelector: maps.Clone(one.NodeSelector)}
	pod := &snapshot.Pod{
		Namespace: one.Namespace, Name: one.Name + "-0", UID: types.UID(one.Name), Scheduling: s,
		Controller: &snapshot.Controller{Owner: one.Owner().Owner, UID: types.UID("owner-" + one.Name)},
	}
	for _, n := range w.nodes {
		if w.takes(n, pod) {
			pod.Node = n.Name
			w.pods[one.Name] = pod
			return
		}
	}
	w.t.Fatalf("no node takes the pods of %s, which tolerate %s and require %s", one.Name, toleration.Format(s.Tolerations), label.Format(s.NodeSelector))
}

func (w *world) takes(n *snapshot.Node, p *snapshot.Pod) bool {
	for key, value := range p.Scheduling.NodeSelector {
		if n.Labels[key] != value {
			return false
		}
	}
	return !slices.ContainsFunc(n.Taints, func(t corev1.Taint) bool {
		return taint.FirstMatch(p.Scheduling.Tolerations, t, false) < 0
	})
}

func (w *world) node(name string) **snapshot.Node {
	at := slices.IndexFunc(w.nodes, func(n *snapshot.Node) bool { return n.Name == name })
	return &w.nodes[at]
}

func (w *world) snapshot() *snapshot.Snapshot {
	s := &snapshot.Snapshot{Nodes: map[string]*snapshot.Node{}, Pods: map[string][]*snapshot.Pod{}}
	for _, n := range w.nodes {
		s.Nodes[n.Name] = n
	}
	for _, p := range w.pods {
		s.Pods[p.Node] = append(s.Pods[p.Node], p)
	}
	return s
}

func (w *world) change(want wish) Change {
	w.t.Helper()
	target := pool(w.t, "gpu")
	claim := taint.Claim{Owner: "me", Generation: "g2", Taints: taintsOf(w.t, strings.Fields(want.taints)...), Release: want.release}
	labels := label.Claim{Owner: "me", Generation: "g2", Labels: map[string]string{}, Release: want.release}
	for one := range strings.FieldsSeq(want.labels) {
		key, value, _ := strings.Cut(one, "=")
		labels.Labels[key] = value
	}
	c := Change{Nodes: []NodeTaints{{Target: target, Claim: claim}}, Labels: []NodeLabels{{Target: target, Claim: labels}}}
	for _, one := range w.workloads {
		how := want.workloads[one.Name]
		t := Tolerations{Workload: one, Claim: toleration.Claim{Owner: "me", Generation: "g2", Release: how == "" || want.release}, Pin: label.Claim{Owner: "me", Generation: "g2"}}
		// A workload that is taken out gives up its entries even where its pods need them.
		t.RemoveImmediately = how == "" && !want.release
		for _, x := range claim.Taints {
			t.Claim.Tolerations = append(t.Claim.Tolerations, taint.TolerationFor(x))
		}
		if how == pinned {
			t.Pin.Labels = labels.Labels
		}
		t.Pin.Release = t.Claim.Release
		c.Workloads = append(c.Workloads, t)
	}
	return c
}

// carryOut takes the first step, looks again, and asks again, and returns the
// steps. After each of them no pod may be where it does not tolerate a taint, and no pod
// may require a label that no node has.
func (w *world) carryOut(want wish) []string {
	w.t.Helper()
	var done []string
	for range 50 {
		plan := Order(w.snapshot(), w.change(want), eviction.ComparisonOff)
		if len(plan.Refusals)+len(plan.Conflicts) > 0 {
			w.t.Fatalf("refused: %v %v", plan.Refusals, plan.Conflicts)
		}
		if len(plan.Steps) == 0 {
			return done
		}
		step := plan.Steps[0]
		done = append(done, step.String())
		w.take(step)
		w.safe(step.String())
	}
	w.t.Fatalf("there is no end to it: %v", done)
	return nil
}

func (w *world) take(step Step) {
	w.t.Helper()
	switch step.Kind {
	case Label, Unlabel:
		for _, s := range step.Labels.Switches {
			n := *s.Node
			n.Labels, n.LabelRecord = s.Merged.Labels, s.Merged.Record
			*w.node(n.Name) = &n
		}
	case ApplyTaints:
		for _, s := range step.Nodes.Switches {
			n := *s.Node
			n.Taints, n.Record = s.Merged.Taints, s.Merged.Record
			*w.node(n.Name) = &n
		}
	case Wait:
		w.follow(step.Workload)
	default:
		one := *step.Workload
		one.Tolerations, one.Record = step.Merged.Tolerations, step.Merged.Record
		one.NodeSelector, one.LabelRecord = step.Pins.Labels, step.Pins.Record
		at := slices.IndexFunc(w.workloads, func(o *workload.Workload) bool { return o.Name == one.Name })
		w.workloads[at] = &one
	}
}

func (w *world) safe(after string) {
	w.t.Helper()
	for name, p := range w.pods {
		for _, t := range (*w.node(p.Node)).Taints {
			if t.Effect == corev1.TaintEffectNoExecute && taint.FirstMatch(p.Scheduling.Tolerations, t, false) < 0 {
				w.t.Errorf("after %q the pod of %s is evicted by %s", after, name, taint.Format(t))
			}
		}
		homeless := !slices.ContainsFunc(w.nodes, func(n *snapshot.Node) bool {
			return slices.Sorted(maps.Keys(p.Scheduling.NodeSelector)) == nil || w.takes(n, p)
		})
		if homeless {
			w.t.Errorf("after %q no node would take the pod of %s, which requires %s", after, name, label.Format(p.Scheduling.NodeSelector))
		}
	}
}

func TestOrder_evictsNoPod(t *testing.T) {
	t.Parallel()
	both := map[string]string{"web": wanted, "job": pinned}
	tests := []struct {
		name     string
		from, to wish
		steps    []string
	}{
		{
			name: "creating: labels, tolerations and pins in one write, the pods, the taints",
			to:   wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: both},
			steps: []string{
				"label 2 nodes", "add tolerations to Deployment shop/web", "add tolerations and a node selector to Deployment shop/job",
				"wait for 1 pod of Deployment shop/web", "wait for 1 pod of Deployment shop/job", "change taints of 2 nodes",
			},
		},
		{
			name: "changing a value: the old toleration stays until the taints are switched",
			from: wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: both},
			to:   wish{taints: "team=b:NoExecute", labels: "dedicated=gpu", workloads: both},
			steps: []string{
				"add tolerations to Deployment shop/web", "add tolerations to Deployment shop/job",
				"wait for 1 pod of Deployment shop/web", "wait for 1 pod of Deployment shop/job", "change taints of 2 nodes",
				"remove tolerations from Deployment shop/web", "remove tolerations from Deployment shop/job",
			},
		},
		{
			name: "changing key and effect of a taint, and the key of a label, whose old one goes last",
			from: wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: both},
			to:   wish{taints: "group=a:NoSchedule", labels: "reserved=gpu", workloads: both},
			steps: []string{
				"label 2 nodes", "add tolerations to Deployment shop/web", "add tolerations and a node selector to Deployment shop/job",
				"wait for 1 pod of Deployment shop/web", "wait for 1 pod of Deployment shop/job", "change taints of 2 nodes",
				"remove tolerations from Deployment shop/web", "remove tolerations from Deployment shop/job", "remove labels from 2 nodes",
			},
		},
		{
			name: "pinning what is there already is labels and one rollout",
			from: wish{taints: "team=a:NoExecute", workloads: map[string]string{"job": wanted}},
			to:   wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"job": pinned}},
			steps: []string{
				"label 2 nodes", "add a node selector to Deployment shop/job", "wait for 1 pod of Deployment shop/job",
			},
		},
		{
			name: "removing a label: unpin, wait for the pods, and then the label",
			from: wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"job": pinned}},
			to:   wish{taints: "team=a:NoExecute", workloads: map[string]string{"job": pinned}},
			steps: []string{
				"remove a node selector from Deployment shop/job", "wait for 1 pod of Deployment shop/job", "remove labels from 2 nodes",
			},
		},
		{
			name: "taking a workload out: its pods leave with the next rollout, and nothing else changes",
			from: wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: both},
			to:   wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"web": wanted}},
			steps: []string{
				"remove tolerations and a node selector from Deployment shop/job",
			},
		},
		{
			name: "removing one taint of two needs no rollout before the switch",
			from: wish{taints: "team=a:NoExecute zone=x:NoSchedule", workloads: map[string]string{"web": wanted}},
			to:   wish{taints: "team=a:NoExecute", workloads: map[string]string{"web": wanted}},
			steps: []string{
				"change taints of 2 nodes", "remove tolerations from Deployment shop/web",
			},
		},
		{
			name: "destroying: taints, tolerations and pins in one write, the pods, the labels",
			from: wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: both},
			to:   wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: both, release: true},
			steps: []string{
				"change taints of 2 nodes", "remove tolerations from Deployment shop/web", "remove tolerations and a node selector from Deployment shop/job",
				"wait for 1 pod of Deployment shop/job", "remove labels from 2 nodes",
			},
		},
		{
			name: "what is as wanted needs no step",
			from: wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: both},
			to:   wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: both},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			names := maps.Clone(tt.from.workloads)
			if names == nil {
				names = map[string]string{}
			}
			maps.Copy(names, tt.to.workloads)
			w := newWorld(t, slices.SortedFunc(maps.Keys(names), func(a, b string) int { return strings.Compare(b, a) })...)
			w.carryOut(tt.from)
			if diff := cmp.Diff(tt.steps, w.carryOut(tt.to)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if again := w.carryOut(tt.to); len(again) > 0 {
				t.Errorf("carrying it out again does %v", again)
			}
			w.carryOut(wish{taints: tt.to.taints, labels: tt.to.labels, workloads: tt.to.workloads, release: true})
			for _, n := range w.nodes {
				if len(n.Taints)+len(n.Record)+len(n.LabelRecord) > 0 || len(n.Labels) != 1 {
					t.Errorf("node %s keeps %v %v", n.Name, n.Taints, n.Labels)
				}
			}
			for _, one := range w.workloads {
				if len(one.Tolerations) != 1 || len(one.Record)+len(one.LabelRecord)+len(one.NodeSelector) > 0 {
					t.Errorf("%s keeps %s %v", one.Name, toleration.Format(one.Tolerations), one.NodeSelector)
				}
			}
		})
	}
}

// TestOrder_showsAllStepsBeforeTheFirst: what a plan shows beforehand is what is
// then done, step by step.
func TestOrder_showsAllStepsBeforeTheFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "job")
	from := wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"job": pinned}}
	for _, to := range []wish{
		from,
		{taints: "team=b:NoSchedule", labels: "reserved=gpu", workloads: map[string]string{"job": pinned}},
		{taints: "team=b:NoSchedule", labels: "reserved=gpu", workloads: map[string]string{"job": pinned}, release: true},
	} {
		var shown []string
		for _, step := range Order(w.snapshot(), w.change(to), eviction.ComparisonOff).Steps {
			shown = append(shown, string(step.Kind))
		}
		var done []string
		for _, step := range w.carryOut(to) {
			verb, _, _ := strings.Cut(strings.Replace(step, "remove labels", string(Unlabel), 1), " ")
			kind, other := map[string]StepKind{"add": Expand, "change": ApplyTaints, "remove": Contract}[verb]
			if !other {
				kind = StepKind(verb)
			}
			done = append(done, string(kind))
		}
		if diff := cmp.Diff(shown, done); diff != "" {
			t.Errorf("shown and done differ (-shown +done):\n%s", diff)
		}
	}
}

func TestOrder_refusesWhatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*world)
		labels string
		want   string
	}{
		{"a label that is there with another value", func(w *world) { w.nodes[1].Labels["dedicated"] = "web" }, "dedicated=gpu", "b: dedicated has web of no owner"},
		{"a label that another resource has marked", func(w *world) {
			w.nodes[0].Labels["dedicated"] = "gpu"
			w.nodes[0].LabelRecord = label.Record{{Key: "dedicated", Owner: "other", Generation: "g9"}}
		}, "dedicated=gpu", "a: dedicated has gpu of other"},
		{"labels that take nodes out of the selector", func(w *world) {
			for _, n := range w.nodes[:2] {
				n.LabelRecord = label.Record{{Key: "pool", Owner: "me", Generation: "g2"}}
			}
		}, "pool=other", "a: with its new labels"},
		{"taking away the label by which nodes are selected", func(w *world) {
			for _, n := range w.nodes[:2] {
				n.LabelRecord = label.Record{{Key: "pool", Owner: "me", Generation: "g2"}}
			}
		}, "", "a: with its new labels"},
		{"a pin where the template requires another value", func(w *world) { w.workloads[0].NodeSelector = map[string]string{"dedicated": "web"} }, "dedicated=gpu", "job: dedicated has web of no owner"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "job")
			tt.change(w)
			plan := Order(w.snapshot(), w.change(wish{labels: tt.labels, workloads: map[string]string{"job": pinned}}), eviction.ComparisonOff)
			var got []string
			conflict := func(c *label.Conflict) string {
				owner := c.Owner
				if owner == "" {
					owner = "no owner"
				}
				return c.Key + " has " + c.Value + " of " + owner
			}
			for _, r := range plan.Refusals {
				if r.Label != nil {
					r.Why = conflict(r.Label)
				}
				got = append(got, r.Node+": "+r.Why)
			}
			for _, c := range plan.Conflicts {
				got = append(got, c.Workload.Name+": "+conflict(c.Pin))
			}
			if len(got) == 0 || !strings.HasPrefix(got[0], tt.want) {
				t.Errorf("refused for %q, want %q", got, tt.want)
			}
		})
	}
}
