// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"maps"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// arrivals lists the pods that DaemonSets create on nodes which their templates fit after the change and
// not before it: a taint is removed, or a label comes. They compete with the replacements for room
// (k8s.io/kubernetes v1.37.2 pkg/controller/daemon/daemon_controller.go, podsShouldBeOnNode). Each is like
// one that the DaemonSet has elsewhere: of one without any pod it is not known what its pods ask for.
func (e *evaluation) arrivals(nodes []string) []placement.Eviction {
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(name string) bool { return !e.opens(name) })
	if len(nodes) == 0 || len(e.snapshot.Daemons) == 0 {
		return nil
	}
	like, there := e.daemonPods()
	var out []placement.Eviction
	for _, uid := range slices.SortedFunc(maps.Keys(like), func(a, b types.UID) int { return strings.Compare(string(a), string(b)) }) {
		for _, name := range nodes {
			if there[daemonOn{uid, name}] {
				continue
			}
			if scheduling := e.arrival(like[uid], name); scheduling != nil {
				pod := *like[uid]
				pod.Node, pod.Ready, pod.Since, pod.UID = "", false, math.MaxInt64, ""
				out = append(out, placement.Eviction{Pod: &pod, Scheduling: scheduling, Arrives: true})
			}
		}
	}
	return out
}

// opens reports whether a node may take pods after the change that it did not take before.
func (e *evaluation) opens(name string) bool {
	if e.change.Drains[name] || e.change.Closed[name] {
		return false
	}
	if _, relabelled := e.change.Labels[name]; relabelled {
		return true
	}
	before, after := e.taints(name)
	for i := range before {
		if !slices.ContainsFunc(after, same(before[i])) {
			return true
		}
	}
	return false
}

// arrival is how the pod will be scheduled that the DaemonSet of a pod like this one creates on a node,
// nil where the change lets it create none.
func (e *evaluation) arrival(like *snapshot.Pod, name string) *snapshot.Scheduling {
	_, change, planned := e.planned(like, e.snapshot.Owner(like))
	now, next := e.daemon(like, nil), e.daemon(like, nil)
	if planned && change.Sure {
		next = e.daemon(like, change)
	}
	node, gate := e.node(name), e.comparison == ComparisonOn
	labels := node.labels
	if node.relabelled {
		labels = node.newLabels
	}
	fitted := placement.UntoleratedTaint(now.Tolerations, node.before, gate) == nil && e.nodes().Selects(now, name, node.labels)
	if fitted || placement.UntoleratedTaint(next.Tolerations, node.after, gate) != nil || !e.nodes().Selects(next, name, labels) {
		return nil
	}
	return e.successor(next, name)
}

type daemonOn struct {
	daemon types.UID
	node   string
}

// daemonPods returns a pod of each DaemonSet whose template is known, and on which nodes they run.
func (e *evaluation) daemonPods() (like map[types.UID]*snapshot.Pod, there map[daemonOn]bool) {
	like, there = map[types.UID]*snapshot.Pod{}, map[daemonOn]bool{}
	for node, pods := range e.snapshot.Pods {
		for _, pod := range pods {
			if pod.Controller == nil || pod.Completed || e.snapshot.Daemons[pod.Controller.UID] == nil {
				continue
			}
			there[daemonOn{pod.Controller.UID, node}] = true
			if one := like[pod.Controller.UID]; one == nil || pod.Compare(one) < 0 {
				like[pod.Controller.UID] = pod
			}
		}
	}
	return like, there
}
