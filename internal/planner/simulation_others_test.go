// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// disturb makes a change of another writer, which must not keep the plan from its end.
// Others delete pods, which their controllers recreate, change foreign tolerations, which
// rolls pods, set and remove foreign taints, add nodes, and remove retained entries.
// One of them writes taints without a guard: it sends back a list that it read before
// an owned taint was added.
func (c *simulation) disturb() {
	w, n := c.workloads[c.r.IntN(len(c.workloads))], c.nodes[c.r.IntN(len(c.nodes))]
	switch c.r.IntN(14) {
	case 0, 1, 2, 3:
		if pods := c.of(w); len(pods) > 0 {
			p := pods[c.r.IntN(len(pods))]
			c.tell("  another writer deletes %s", p.Name)
			if c.remove(p); w.Kind == "Deployment" {
				// Its ReplicaSet, old or new, does not wait for anything.
				c.create(w, p.template, 0)
			}
		}
	case 4, 5:
		c.writeForeign(w)
	case 6:
		c.cover(w)
	case 7:
		ours := func(x corev1.Taint) bool { return strings.HasPrefix(x.Key, "k") }
		if at := slices.IndexFunc(n.Taints, ours); at >= 0 {
			c.taintForeign(n, n.Taints[at])
		}
	case 8, 9:
		c.retire(w)
	case 10:
		if added := len(c.nodes); added < 6 {
			c.tell("  a node joins")
			c.nodes = append(c.nodes, &snapshot.Node{Name: fmt.Sprintf("%s%d", pick(c.r, "a", "b"), added+2), Labels: map[string]string{}})
			c.nodes[added].Labels["pool"] = c.nodes[added].Name[:1]
		}
	default:
		c.taintForeign(n, foreignTaints[c.r.IntN(len(foreignTaints))])
	}
	c.evict()
}

// foreignTaints are those of other writers. Every workload has a foreign
// toleration for the first one. The last one is a cordon, which goes again.
var foreignTaints = []corev1.Taint{
	{Key: "sys", Effect: corev1.TaintEffectNoExecute}, {Key: "mood", Effect: corev1.TaintEffectPreferNoSchedule}, cordon,
}

var cordon = corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}

// forPods returns the tolerations of new pods of a template: the DaemonSet controller
// adds one for cordons, and others.
func (w *simWorkload) forPods(template []corev1.Toleration) []corev1.Toleration {
	if w.Kind == "DaemonSet" {
		return append(slices.Clone(template), corev1.Toleration{Key: cordon.Key, Operator: corev1.TolerationOpExists, Effect: cordon.Effect})
	}
	return slices.Clone(template)
}

// taintForeign sets a taint, or removes it where it is.
func (c *simulation) taintForeign(n *snapshot.Node, t corev1.Taint) {
	if at := taint.Find(n.Taints, taint.IDOf(t)); at >= 0 {
		c.tell("  another writer removes %s from %s", taint.Format(t), n.Name)
		n.Taints = slices.Delete(slices.Clone(n.Taints), at, at+1)
		return
	}
	c.tell("  another writer sets %s on %s", taint.Format(t), n.Name)
	n.Taints = slices.Insert(slices.Clone(n.Taints), c.r.IntN(len(n.Taints)+1), t)
}

// writeForeign adds an entry anywhere in the list of a workload, or removes one.
func (c *simulation) writeForeign(w *simWorkload) {
	t := corev1.Toleration{Key: pick(c.r, "foreign-1", "foreign-2"), Operator: corev1.TolerationOpExists}
	is := func(one corev1.Toleration) bool { return toleration.Equal(one, t) }
	if !toleration.Contains(w.foreign, t) {
		c.giveForeign(w, t)
		return
	}
	c.tell("  another writer takes %s from %s", t.Key, w.Name)
	c.write(w, slices.DeleteFunc(slices.Clone(w.Tolerations), is))
	w.foreign = slices.DeleteFunc(w.foreign, is)
}

// retire is another resource that has switched its taints.
func (c *simulation) retire(w *simWorkload) {
	var named []taint.ID
	for _, mark := range w.Record {
		named = append(named, taint.ID{Key: mark.Key, Effect: mark.Effect})
	}
	merged := Tolerations{Workload: c.observe(w), Claim: toleration.Claim{Named: named, Known: []record.Seal{{}}}}.Merge(c.look(), eviction.ComparisonUnknown)
	if merged.Changed {
		c.tell("  another writer leaves %s with %s", w.Name, toleration.Format(merged.Tolerations))
		c.write(w, merged.Tolerations)
		w.Record = merged.Record
	}
}

// cover adds an entry that may cover what the plan is about, and that stays.
func (c *simulation) cover(w *simWorkload) {
	t := corev1.Toleration{Key: pick(c.r, "k1", "k2"), Operator: corev1.TolerationOpExists}
	if !toleration.Contains(w.foreign, t) {
		c.giveForeign(w, t)
	}
}

func (c *simulation) giveForeign(w *simWorkload, t corev1.Toleration) {
	c.tell("  another writer gives %s to %s", taint.FormatToleration(t), w.Name)
	c.write(w, slices.Insert(slices.Clone(w.Tolerations), c.r.IntN(len(w.Tolerations)+1), t))
	w.foreign = append(w.foreign, t)
}

// quiet removes what other writers only meant to leave for a while.
func (c *simulation) quiet() {
	for _, n := range c.nodes {
		if taint.Find(n.Taints, taint.IDOf(cordon)) >= 0 {
			c.taintForeign(n, cordon)
		}
	}
}
