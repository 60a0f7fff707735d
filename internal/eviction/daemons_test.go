// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// template makes a DaemonSet's template known.
func (w world) template(name string, spec corev1.PodSpec) world {
	if w.Daemons == nil {
		w.Daemons = map[types.UID]*snapshot.Daemon{}
	}
	w.Daemons[types.UID("DaemonSet-"+name)] = snapshot.DaemonOf(&spec)
	return w
}

func labelling(node string, labels map[string]string) Scenario {
	return Scenario{Labels: map[string]map[string]string{node: labels}}
}

func TestEvaluate_theTemplateOfADaemonSetDecidesBesideItsPods(t *testing.T) {
	t.Parallel()
	x := exists("x", noEx)
	agent := func(tolerations ...corev1.Toleration) *snapshot.Pod {
		return pod("agent-1", "n1", ownedBy("DaemonSet", "agent"), pinned("n1"), tolerating(tolerations...))
	}
	on := func(p *snapshot.Pod, template []corev1.Toleration, taints ...string) world {
		return newWorld(node("n1", taints...), node("n2")).run(p).template("agent", corev1.PodSpec{Tolerations: template})
	}
	planning := func(change Scenario, sure bool, before, after []corev1.Toleration) Scenario {
		change.Tolerations = map[snapshot.WorkloadKey]Planned{{Namespace: "app", Owner: snapshot.Owner{Group: "apps", Kind: "DaemonSet", Name: "agent"}}: {Before: before, After: after, Sure: sure}}
		return change
	}
	change := tainting("n1", "x=1:NoExecute")
	runOne(t, []oneCase{
		{name: "a pod that tolerates what the template tolerates stays", world: on(agent(x), []corev1.Toleration{x}), change: change, want: "stays"},
		{
			name: "a pod that tolerates what the template does not is deleted, and not made again", world: on(agent(x), nil), change: change,
			want: "evicted_now", notReschedulabe: true, gone: true, reason: "its DaemonSet's template does not tolerate x=1:NoExecute, even if the pod does; not recreated until the node's taints and labels allow it",
		},
		{
			name: "a pod older than the template is evicted, and made again by the template", world: on(agent(), []corev1.Toleration{x}), change: change,
			want: "evicted_now", reason: "does not tolerate x=1:NoExecute",
		},
		{
			name: "how long the template tolerates does not matter to the controller", world: on(agent(x), []corev1.Toleration{lasting(x, 0)}), change: change, want: "stays",
		},
		{
			name: "a pod that tolerates it for a while is deleted at once by the template", world: on(agent(lasting(x, 30)), nil), change: change,
			want: "evicted_now", notReschedulabe: true, gone: true, reason: "its DaemonSet's template does not tolerate",
		},
		{
			name: "what the template did not tolerate before is being deleted anyway", world: on(agent(exists("", "")), nil, "y:NoExecute"), change: tainting("n1", "y:NoExecute", "x=1:NoExecute"),
			want: "stays", reason: "its DaemonSet's template does not tolerate y:NoExecute, which is already on the node: this change does not affect it",
		},
		{name: "a taint that goes lets the pod stay", world: on(agent(exists("", "")), nil, "y:NoExecute"), change: tainting("n1"), want: "stays"},
		{
			name: "under NoSchedule the pod stays and is mis-scheduled by the template", world: on(agent(exists("x", "NoSchedule")), nil), change: tainting("n1", "x=1:NoSchedule"),
			want: "stays", misscheduled: true, reason: "its DaemonSet counts it as mis-scheduled",
		},
		{name: "or is not, by the template", world: on(agent(), []corev1.Toleration{exists("x", "NoSchedule")}), change: tainting("n1", "x=1:NoSchedule"), want: "stays"},
		{name: "the tolerations that every such pod gets count", world: on(agent(exists("", "")), nil), change: tainting("n1", "node.kubernetes.io/unreachable:NoExecute", "node.kubernetes.io/unschedulable:NoSchedule"), want: "stays"},
		{
			name: "a template that is planned to tolerate saves", want: "stays",
			world: on(agent(x), nil), change: planning(change, true, nil, []corev1.Toleration{x}),
		},
		{
			name: "one that is not sure to come first does not", want: "unknown",
			world: on(agent(x), nil), change: planning(change, false, nil, []corev1.Toleration{x}), reason: "it is not known whether the tolerations that this plan gives",
		},
		{
			name: "a gate that is not known makes it unknown", want: "unknown", misscheduled: true, reason: "its DaemonSet's template has a toleration with Lt or Gt",
			world: on(agent(exists("x", "")), []corev1.Toleration{greaterThan("x", "0")}), change: change,
		},
		{
			name: "a gate that is known does not", want: "stays", gate: ComparisonOn,
			world: on(agent(exists("x", "")), []corev1.Toleration{greaterThan("x", "0")}), change: change,
		},
		{name: "what is being deleted is not deleted by it", world: on(pod("agent-1", "n1", ownedBy("DaemonSet", "agent"), terminating), nil), change: change, want: "stays", reason: "is already being deleted"},
		{name: "a drain leaves it, whatever its template says", world: on(agent(x), nil), change: draining("n1"), want: "stays", reason: "a drain does not evict"},
		{name: "a template that is not known leaves it to the pod", world: newWorld(node("n1")).run(agent(x)), change: change, want: "stays"},
	})
}

func TestEvaluate_podsDeletedByLabels(t *testing.T) {
	t.Parallel()
	gpu := func() *snapshot.Node { return &snapshot.Node{Name: "n1", Labels: map[string]string{"pool": "gpu"}} }
	plain := func() *snapshot.Node { return &snapshot.Node{Name: "n1", Labels: map[string]string{"zone": "a"}} }
	other := &snapshot.Node{Name: "n2", Labels: map[string]string{"pool": "gpu"}}
	agent := func(template corev1.PodSpec, at *snapshot.Node, nodes ...*snapshot.Node) world {
		return newWorld(append(nodes, at)...).run(pod("agent-1", "n1", ownedBy("DaemonSet", "agent"), pinned("n1"))).template("agent", template)
	}
	selects := corev1.PodSpec{NodeSelector: map[string]string{"pool": "gpu"}}
	unless := corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "dedicated", Operator: corev1.NodeSelectorOpDoesNotExist}}}},
	}}}}
	runOne(t, []oneCase{
		{
			name: "a DaemonSet's pod leaves where its template selects the node no more", world: agent(selects, gpu()), change: labelling("n1", map[string]string{"pool": "cpu"}),
			want: "evicted_now", notReschedulabe: true, gone: true, reason: "its DaemonSet does not select the node by its new labels",
		},
		{
			name: "also by a label that comes", world: agent(unless, plain()), change: labelling("n1", map[string]string{"zone": "a", "dedicated": "x"}),
			want: "evicted_now", notReschedulabe: true, gone: true, reason: "does not select the node by its new labels",
		},
		{name: "and stays where it still does", world: agent(selects, gpu()), change: labelling("n1", map[string]string{"pool": "gpu", "new": "x"}), want: "stays"},
		{name: "what was not selected before is not deleted by it", world: agent(selects, plain()), change: labelling("n1", map[string]string{"zone": "b"}), want: "stays"},
		{name: "a template for one node by name is not touched", world: agent(corev1.PodSpec{NodeName: "n1"}, plain()), change: labelling("n1", map[string]string{"zone": "b"}), want: "stays"},
		{
			name: "another pod stays, and goes elsewhere when it is recreated", world: newWorld(gpu(), other).run(pod("p", "n1", selecting("pool", "gpu"))), change: labelling("n1", nil),
			want: "stays", reason: "requires labels that its node does not have any more",
		},
		{
			name: "or nowhere", world: newWorld(gpu()).run(pod("p", "n1", selecting("pool", "gpu"))), change: labelling("n1", nil),
			want: "stays", notReschedulabe: true, reason: "could not be scheduled on this node again, nor on any other: the cluster has no other node",
		},
		{name: "one that does not require the label stays without a word", world: newWorld(gpu()).run(pod("p", "n1")), change: labelling("n1", nil), want: "stays"},
		{name: "a taint that stands already is no matter of labels", world: newWorld(node("n1", "a:NoExecute")).run(pod("p", "n1")), change: labelling("n1", nil), want: "stays"},
	})
}

func TestDaemonTolerations_addWhatTheControllerAdds(t *testing.T) {
	t.Parallel()
	builtin := []string{
		"node.kubernetes.io/not-ready Exists:NoExecute", "node.kubernetes.io/unreachable Exists:NoExecute", "node.kubernetes.io/disk-pressure Exists:NoSchedule",
		"node.kubernetes.io/memory-pressure Exists:NoSchedule", "node.kubernetes.io/pid-pressure Exists:NoSchedule", "node.kubernetes.io/unschedulable Exists:NoSchedule",
	}
	for name, tt := range map[string]struct {
		own  []corev1.Toleration
		host bool
		want []string
	}{
		"to none":                     {want: builtin},
		"one more on the host's net":  {host: true, want: append(append([]string{}, builtin...), "node.kubernetes.io/network-unavailable Exists:NoSchedule")},
		"behind what is there":        {own: []corev1.Toleration{exists("x", noEx)}, want: append([]string{"x Exists:NoExecute"}, builtin...)},
		"in the place of its own end": {own: []corev1.Toleration{lasting(exists("node.kubernetes.io/not-ready", noEx), 30)}, want: builtin},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, one := range DaemonTolerations(tt.own, tt.host) {
				got = append(got, taint.FormatToleration(one))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
