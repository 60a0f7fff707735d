// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package controllers

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// daemonTaints are those that pods of DaemonSets tolerate beside their template's (k8s.io/kubernetes
// v1.37.2 pkg/controller/daemon/util/daemonset_util.go, AddOrUpdateDaemonPodTolerations). None of these
// pods uses the network of its node.
var daemonTaints = []corev1.Taint{
	{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute},
	{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
	{Key: corev1.TaintNodeDiskPressure, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeMemoryPressure, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodePIDPressure, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule},
}

// daemons is a DaemonSet with its nodes and pods, as one step of its controller finds them.
type daemons struct {
	set *appsv1.DaemonSet
	// template makes the pods, and hash names it.
	template *corev1.PodTemplateSpec
	hash     string
	nodes    []*corev1.Node
	// pods are those of each node, also of nodes that are gone: those that are bound to it first, from the
	// oldest, without completed ones that terminate.
	pods map[string][]*corev1.Pod
	// run are the nodes that are to have a pod, and stay those whose pods go on.
	run, stay map[string]bool
	now       time.Time
	// failed has the pauses before failed pods are deleted.
	failed *flowcontrol.Backoff
}

// daemonSet takes one step as k8s.io/kubernetes v1.37.2 pkg/controller/daemon does: pods go where the template
// selects the node and tolerates its taints, and go on where the taints that it does not tolerate are of
// NoSchedule; then a rollout goes on. One that selects all pods does nothing. It returns when it must look again
// although nothing changes, if ever.
func daemonSet(api *fakeapi.Server, d *appsv1.DaemonSet, failed *flowcontrol.Backoff) (again time.Time) {
	if d.DeletionTimestamp != nil || apiequality.Semantic.DeepEqual(d.Spec.Selector, &metav1.LabelSelector{}) {
		return again
	}
	of := daemonsOf(api, d, failed)
	of = of.apply(api, of.manage)
	if d.Spec.UpdateStrategy.Type != appsv1.OnDeleteDaemonSetStrategyType {
		of = of.apply(api, of.roll)
	}
	if status := of.status(); !apiequality.Semantic.DeepEqual(d.Status, status) {
		d = d.DeepCopy()
		d.Status = status
		api.Put(d)
	}
	return of.next()
}

// apply carries out what a part of the step decides, and returns what is there then.
func (of daemons) apply(api *fakeapi.Server, decide func() (create []string, remove []*corev1.Pod)) daemons {
	create, remove := decide()
	if len(create)+len(remove) == 0 {
		return of
	}
	for _, p := range remove {
		api.Delete(p)
	}
	for _, node := range create {
		if forbidden(api, of.set.Namespace) {
			break
		}
		// Names are never used twice.
		p := podOf(of.set, "DaemonSet", fmt.Sprintf("%s-%s-%05d", of.set.Name, node, api.Created(pods)), of.template, of.hash)
		p.Spec.NodeName = node
		api.Put(p)
	}
	return daemonsOf(api, of.set, of.failed)
}

// daemonsOf finds the nodes and the pods of a DaemonSet.
func daemonsOf(api *fakeapi.Server, d *appsv1.DaemonSet, failed *flowcontrol.Backoff) daemons {
	template := d.Spec.Template.DeepCopy()
	for _, t := range daemonTaints {
		template.Spec.Tolerations = append(template.Spec.Tolerations, corev1.Toleration{Key: t.Key, Operator: corev1.TolerationOpExists, Effect: t.Effect})
	}
	of := daemons{
		set: d, template: template, hash: hash(api, d, &d.Spec.Template), nodes: fakeapi.View[*corev1.Node](api),
		pods: map[string][]*corev1.Pod{}, run: map[string]bool{}, stay: map[string]bool{}, now: time.Now(), failed: failed,
	}
	of.place()
	for _, p := range claim(api, d) {
		if node := target(p); node != "" && (!completed(p) || p.DeletionTimestamp == nil) {
			of.pods[node] = append(of.pods[node], p)
		}
	}
	for _, all := range of.pods {
		slices.SortFunc(all, func(a, b *corev1.Pod) int {
			return cmp.Or(unbound(a)-unbound(b), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
		})
	}
	return of
}

// place decides which nodes are to have a pod, and on which the pods go on (nodeShouldRunDaemonPod).
func (of daemons) place() {
	affinity := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: of.template.Spec})
	for _, n := range of.nodes {
		if matches, err := affinity.Match(n); err != nil || !matches || of.template.Spec.NodeName != "" && of.template.Spec.NodeName != n.Name {
			continue
		}
		of.run[n.Name], of.stay[n.Name] = true, true
		for _, t := range taint.Untolerated(n.Spec.Taints, of.template.Spec.Tolerations, false) {
			of.run[n.Name] = of.run[n.Name] && t.Effect == corev1.TaintEffectPreferNoSchedule
			of.stay[n.Name] = of.stay[n.Name] && t.Effect != corev1.TaintEffectNoExecute
		}
	}
}

// unbound is 1 for pods that are bound to no node.
func unbound(p *corev1.Pod) int {
	if p.Spec.NodeName == "" {
		return 1
	}
	return 0
}

func completed(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}

// manage returns the nodes that get a pod, and the pods that are deleted, whatever their template
// (podsShouldBeOnNode).
func (of daemons) manage() (create []string, remove []*corev1.Pod) {
	surge := of.count(of.surge(), 1) > 0
	for _, n := range of.nodes {
		all := of.pods[n.Name]
		if of.run[n.Name] && len(all) == 0 {
			create = append(create, n.Name)
			continue
		}
		var running []*corev1.Pod
		for _, p := range all {
			switch {
			case p.DeletionTimestamp != nil:
			case !of.stay[n.Name], p.Status.Phase == corev1.PodSucceeded, p.Status.Phase == corev1.PodFailed && of.endPause(n.Name):
				remove = append(remove, p)
			case p.Status.Phase == corev1.PodFailed:
			default:
				running = append(running, p)
			}
		}
		switch {
		case surge && len(running) == 0 && of.run[n.Name]:
			create = append(create, n.Name)
		case surge && len(running) > 1:
			remove = append(remove, of.surplus(running)...)
		case len(running) > 1:
			remove = append(remove, running[1:]...)
		}
	}
	return create, append(remove, of.stranded()...)
}

// stranded returns the pods that wait for a node that is gone (getUnscheduledPodsWithoutNode).
func (of daemons) stranded() (remove []*corev1.Pod) {
	there := map[string]bool{}
	for _, n := range of.nodes {
		there[n.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(of.pods)) {
		for _, p := range of.pods[name] {
			if !there[name] && p.Spec.NodeName == "" {
				remove = append(remove, p)
			}
		}
	}
	return remove
}

// surplus returns which of several pods of a node a surge deletes: all but the oldest of the newest template
// and the oldest one of another, and that one too where it is not ready or the new one is.
func (of daemons) surplus(running []*corev1.Pod) (remove []*corev1.Pod) {
	var newest, older *corev1.Pod
	for _, p := range running {
		switch current := p.Labels[hashLabel] == of.hash; {
		case current && newest == nil:
			newest = p
		case !current && older == nil:
			older = p
		default:
			remove = append(remove, p)
		}
	}
	if newest != nil && older != nil && (!ready(older) || of.available(newest)) {
		remove = append(remove, older)
	}
	return remove
}

// bounds returns how many pods a rollout may add, how many it may leave unavailable, and how many nodes
// are to have one (updatedDesiredNodeCounts).
func (of daemons) bounds() (surge, unavailable, wants int) {
	for _, run := range of.run {
		if run {
			wants++
		}
	}
	surge = of.count(of.surge(), wants)
	if rolling := of.set.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		unavailable = of.count(rolling.MaxUnavailable, wants)
	}
	if wants > 0 && surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return surge, unavailable, wants
}

func (of daemons) surge() *intstr.IntOrString {
	if rolling := of.set.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		return rolling.MaxSurge
	}
	return nil
}

func (daemons) count(value *intstr.IntOrString, of int) int {
	if value == nil {
		return 0
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(value, of, true)
	if err != nil {
		panic(err) // The API server accepts no such value.
	}
	return n
}

// roll returns what a rollout does next (rollingUpdate).
func (of daemons) roll() (create []string, remove []*corev1.Pod) {
	surge, unavailable, wants := of.bounds()
	if surge > 0 {
		return of.rollBySurge(surge, wants)
	}
	var replaced, candidates []*corev1.Pod
	for _, name := range of.places() {
		newest, older, one := of.pair(name)
		switch {
		case !one, (newest == nil) == (older == nil):
			unavailable--
		case newest != nil && !of.available(newest):
			unavailable--
		case newest != nil:
		case !of.available(older):
			replaced = append(replaced, older)
			unavailable--
		default:
			candidates = append(candidates, older)
		}
	}
	return nil, append(replaced, candidates[:min(max(unavailable, 0), len(candidates))]...)
}

// rollBySurge makes new pods beside those of an older template, and deletes these when the new ones are ready.
// Pods on nodes that are to have none go when as many are ready as there are nodes to run on.
func (of daemons) rollBySurge(surge, wants int) (create []string, remove []*corev1.Pod) {
	available := 0
	var leaving []*corev1.Pod
	var candidates []string
	for _, name := range of.places() {
		newest, older, one := of.pair(name)
		if !one {
			surge--
			continue
		}
		if p := cmp.Or(older, newest); p != nil && of.available(p) {
			available++
		}
		switch {
		case older == nil:
		case newest != nil && of.available(newest), newest == nil && !of.run[name] && !of.available(older):
			remove = append(remove, older)
		case newest != nil:
			surge--
		case !of.run[name]:
			leaving = append(leaving, older)
		case !of.available(older):
			create = append(create, name)
		default:
			candidates = append(candidates, name)
		}
	}
	remove = append(remove, leaving[:min(max(available-wants, 0), len(leaving))]...)
	return append(create, candidates[:min(max(surge, 0), len(candidates))]...), remove
}

// places are the nodes that have a pod or are to have one, by name.
func (of daemons) places() []string {
	names := map[string]bool{}
	for name := range of.pods {
		names[name] = true
	}
	for name, run := range of.run {
		if run {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// pair returns the pods of a node that do not terminate: one of the newest template and one of another.
// It is false where there are more of either, because a failed one is not deleted yet (findUpdatedPodsOnNode).
func (of daemons) pair(node string) (newest, older *corev1.Pod, one bool) {
	for _, p := range of.pods[node] {
		switch {
		case p.DeletionTimestamp != nil:
		case p.Labels[hashLabel] == of.hash && newest == nil:
			newest = p
		case p.Labels[hashLabel] != of.hash && older == nil:
			older = p
		default:
			return nil, nil, false
		}
	}
	return newest, older, true
}

// status counts nodes and their oldest pods (updateDaemonSetStatus).
func (of daemons) status() appsv1.DaemonSetStatus {
	out := appsv1.DaemonSetStatus{ObservedGeneration: of.set.Generation}
	for _, n := range of.nodes {
		all := of.pods[n.Name]
		switch {
		case !of.run[n.Name] && len(all) > 0:
			out.NumberMisscheduled++
		case of.run[n.Name]:
			out.DesiredNumberScheduled++
			if len(all) == 0 {
				continue
			}
			out.CurrentNumberScheduled++
			if all[0].Labels[hashLabel] == of.hash {
				out.UpdatedNumberScheduled++
			}
			if ready(all[0]) {
				out.NumberReady++
			}
			if of.available(all[0]) {
				out.NumberAvailable++
			}
		}
	}
	out.NumberUnavailable = out.DesiredNumberScheduled - out.NumberAvailable
	return out
}
