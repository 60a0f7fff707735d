// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// daemonCase is a DaemonSet's template and a node with labels and taints. The
// controller runs a pod on the node, and continues to run the one that is there.
type daemonCase struct {
	name           string
	spec           corev1.PodSpec
	node           string
	labels         map[string]string
	taints         []string
	run, continues bool
}

// daemonCases are the facts about which nodes run pods in k8s.io/kubernetes v1.37.2
// pkg/controller/daemon/daemon_controller_test.go: TestNodeShouldRunDaemonPod, and the
// tests of whole DaemonSets, there and in update_test.go, that ask the same of nodes of two kinds.
func daemonCases() []daemonCase {
	const controlPlane = "node-role.kubernetes.io/control-plane"
	production := map[string]string{"name": "simple-daemon", "type": "production"}
	blue := map[string]string{"color": "blue", "speed": "fast"}
	tolerating := corev1.PodSpec{Tolerations: []corev1.Toleration{{Key: "dedicated", Value: "user1", Effect: corev1.TaintEffectNoSchedule}}}
	selects := func(labels map[string]string) corev1.PodSpec { return corev1.PodSpec{NodeSelector: labels} }
	named := func(spec corev1.PodSpec, name string) corev1.PodSpec {
		spec.NodeName = name
		return spec
	}
	return []daemonCase{
		// TestNodeShouldRunDaemonPod. Room, ports and a closed node are the scheduler's business.
		{name: "fits", spec: templateAsking("50M", 0), labels: production, run: true, continues: true},
		{name: "asks for more than the node has", spec: templateAsking("200M", 0), labels: production, run: true, continues: true},
		{name: "names another node", spec: named(templateAsking("50M", 0), "other-node"), labels: production},
		{name: "asks for a port that is taken", spec: templateAsking("0", 666), labels: production, run: true, continues: true},
		{name: "asks for more than is left", spec: templateAsking("100M", 0), labels: production, run: true, continues: true},
		{name: "asks for what is left", spec: templateAsking("50M", 0), labels: production, run: true, continues: true},
		{name: "selects other labels", spec: selects(map[string]string{"name": "simple-daemon", "type": "test"}), labels: production},
		{name: "selects the labels", spec: selects(production), labels: production, run: true, continues: true},
		{name: "requires another label", spec: templateRequiring("type", "test"), labels: production},
		{name: "requires the label", spec: templateRequiring("type", "production"), labels: production, run: true, continues: true},
		{name: "closed node", spec: templateAsking("50M", 0), labels: production, taints: []string{"node.kubernetes.io/unschedulable:NoSchedule"}, run: true, continues: true},

		{name: "TestSimpleDaemonSetLaunchesPods", run: true, continues: true},
		{name: "TestOneNodeDaemonLaunchesPod", run: true, continues: true},
		{name: "TestNotReadyNodeDaemonDoesLaunchPod: a condition alone", run: true, continues: true},
		{name: "TestInsufficientCapacityNodeDaemonDoesNotUnscheduleRunningPod", spec: templateAsking("75M", 0), run: true, continues: true},
		{name: "TestInsufficientCapacityNodeSufficientCapacityWithNodeLabelDaemonLaunchPod: the small node", spec: selects(blue)},
		{name: "TestInsufficientCapacityNodeSufficientCapacityWithNodeLabelDaemonLaunchPod: the large node", spec: selects(blue), labels: blue, run: true, continues: true},
		{name: "TestNetworkUnavailableNodeDaemonLaunchesPod: a condition alone", run: true, continues: true},
		{name: "TestPortConflictWithSameDaemonPodDoesNotDeletePod", spec: templateAsking("0", 666), run: true, continues: true},
		{name: "TestNoPortConflictNodeDaemonLaunchesPod", spec: templateAsking("0", 6662), run: true, continues: true},
		{name: "TestSelectorDaemonLaunchesPods: another node", spec: selects(blue)},
		{name: "TestSelectorDaemonLaunchesPods: a selected node", spec: selects(blue), labels: blue, run: true, continues: true},
		{name: "TestSelectorDaemonDeletesUnselectedPods", spec: selects(blue), labels: map[string]string{"color": "red", "speed": "fast"}},
		{name: "TestSelectorDaemonDealsWithExistingPods: another node", spec: selects(blue)},
		{name: "TestSelectorDaemonDealsWithExistingPods: a selected node", spec: selects(blue), labels: blue, run: true, continues: true},
		{name: "TestBadSelectorDaemonDoesNothing", spec: selects(map[string]string{"color": "red", "speed": "fast"}), labels: blue},
		{name: "TestNameDaemonSetLaunchesPods", spec: named(corev1.PodSpec{}, "node-0"), node: "node-0", run: true, continues: true},
		{name: "TestBadNameDaemonSetDoesNothing", spec: named(corev1.PodSpec{}, "node-10"), node: "node-0"},
		{name: "TestNameAndSelectorDaemonSetLaunchesPods", spec: named(selects(blue), "node-6"), node: "node-6", labels: blue, run: true, continues: true},
		{name: "TestInconsistentNameSelectorDaemonSetDoesNothing", spec: named(selects(blue), "node-0"), node: "node-0"},
		{name: "TestSelectorDaemonSetLaunchesPods", spec: selects(blue), labels: blue, run: true, continues: true},
		{name: "TestNodeAffinityDaemonLaunchesPods: another node", spec: templateRequiring("color", "blue")},
		{name: "TestNodeAffinityDaemonLaunchesPods: a node with the label", spec: templateRequiring("color", "blue"), labels: blue, run: true, continues: true},
		{name: "TestNoScheduleTaintedDoesntEvicitRunningIntolerantPod", taints: []string{"dedicated=user1:NoSchedule"}, continues: true},
		{name: "TestNoExecuteTaintedDoesEvicitRunningIntolerantPod", taints: []string{"dedicated=user1:NoExecute"}},
		{name: "TestTaintedNodeDaemonDoesNotLaunchIntolerantPod", taints: []string{"dedicated=user1:NoSchedule"}, continues: true},
		{name: "TestTaintedNodeDaemonLaunchesToleratePod", spec: tolerating, taints: []string{"dedicated=user1:NoSchedule"}, run: true, continues: true},
		{name: "TestNotReadyNodeDaemonLaunchesPod", taints: []string{"node.kubernetes.io/not-ready:NoExecute"}, run: true, continues: true},
		{name: "TestUnreachableNodeDaemonLaunchesPod", taints: []string{"node.kubernetes.io/unreachable:NoExecute"}, run: true, continues: true},
		{name: "TestNodeDaemonLaunchesToleratePod", spec: tolerating, run: true, continues: true},
		{name: "TestTaintPressureNodeDaemonLaunchesPod", taints: []string{
			"node.kubernetes.io/disk-pressure:NoSchedule", "node.kubernetes.io/memory-pressure:NoSchedule", "node.kubernetes.io/pid-pressure:NoSchedule",
		}, run: true, continues: true},
		{name: "TestUpdateNode: before the label", spec: selects(blue)},
		{name: "TestUpdateNode: after the label", spec: selects(blue), labels: blue, run: true, continues: true},
		{name: "TestUpdateNode: before the taint is removed", taints: []string{"dedicated=user1:NoSchedule"}, continues: true},
		{name: "TestUpdateNode: after the taint is removed", run: true, continues: true},
		{name: "TestUpdateNode: room does not decide", spec: templateAsking("200M", 0), run: true, continues: true},
		{name: "TestDaemonKillFailedPods: its pod runs", run: true, continues: true},
		{name: "TestDaemonKillFailedPods: no pod is there", run: true, continues: true},
		{name: "TestDaemonSetUpdatesPodsNotMatchTainstWithMaxSurge: with the toleration", spec: corev1.PodSpec{Tolerations: []corev1.Toleration{exists(controlPlane, "")}}, taints: []string{controlPlane + ":NoSchedule"}, run: true, continues: true},
		{name: "TestDaemonSetUpdatesPodsNotMatchTainstWithMaxSurge: without it", taints: []string{controlPlane + ":NoSchedule"}, continues: true},
	}
}

func templateAsking(memory string, port int32) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}},
		Ports:     []corev1.ContainerPort{{HostPort: port}},
	}}}
}

func templateRequiring(key, value string) corev1.PodSpec {
	return corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}},
	}}}}}}
}

func TestUpstream_daemonController(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	for _, tt := range daemonCases() {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			one := pod("agent", "n", ownedBy("DaemonSet", "agent"))
			w := newWorld().run(one)
			w.Daemons = map[types.UID]*snapshot.Daemon{one.Controller.UID: snapshot.DaemonOf(&tt.spec)}
			e := newEvaluation(w.Snapshot, Scenario{}, ComparisonOff)
			template := e.daemon(one, nil)
			name, taints := tt.node, taintsOf(tt.taints...)
			if name == "" {
				name = "n"
			}
			selected := e.nodes().Selects(template, name, tt.labels)
			if run := selected && placement.UntoleratedTaint(template.Tolerations, taints, false) == nil; run != tt.run {
				t.Errorf("runs a pod: %t, want %t", run, tt.run)
			}
			if continues := selected && untolerated(template.Tolerations, taints, false) == nil; continues != tt.continues {
				t.Errorf("continues to run its pod: %t, want %t", continues, tt.continues)
			}
		})
	}
}

// TestUpstream_daemonControllerDeletes has what two of these cases mean for a pod that
// runs: the controller deletes it, whatever the pod itself tolerates.
func TestUpstream_daemonControllerDeletes(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	for effect, want := range map[string]string{"NoSchedule": "stays", "NoExecute": "evicted_now"} {
		rows.Run(t, effect, func(t *testing.T) {
			t.Parallel()
			one := pod("agent", "n", ownedBy("DaemonSet", "agent"), tolerating(exists("", "")))
			w := newWorld(node("n")).run(one)
			w.Daemons = map[types.UID]*snapshot.Daemon{one.Controller.UID: {}}
			if got := verdictOf(only(t, Evaluate(w.Snapshot, tainting("n", "dedicated=user1:"+effect), ComparisonOff))); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}
