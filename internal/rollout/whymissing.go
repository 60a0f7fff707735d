// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"slices"
	"time"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// askFor bounds the questions why pods are not ready, once the time of a drain is over.
const askFor = 10 * time.Second

// askWhy finds out why the pods of the missing replacements are not ready, as the last look has found them.
func (d *draining) askWhy(ctx context.Context) {
	const most = 20
	if d.seen == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askFor)
	defer cancel()
	for i, r := range d.behind[:min(most, len(d.behind))] {
		d.missing[i].Why = d.why(ctx, r)
	}
}

// why returns why pods of a workload are not ready on other nodes.
func (d *draining) why(ctx context.Context, r *replaced) string {
	for _, p := range slices.SortedFunc(slices.Values(r.pods(d.seen)), (*snapshot.Pod).Compare) {
		switch {
		case p.Node != "" && d.leaves(d.seen, p) && !returned(d.seen, p):
			return "pod " + p.Name + " runs on " + d.place(p.Node)
		case !p.Ready:
			if why := d.cluster.WhyNotReady(ctx, p); why != "" {
				return "pod " + p.Name + ": " + why
			}
			return "pod " + p.Name + " is not ready"
		}
	}
	return "its controller has not created them"
}

// place words a node that is no place for a replacement. Another user may uncordon a drained one.
func (d *draining) place(node string) string {
	n := d.seen.Nodes[node]
	uncordoned, drained := n != nil && !n.Unschedulable, slices.Contains(d.drain.Nodes, node)
	switch {
	case drained && uncordoned:
		return "the drained node " + node + " again, which has been uncordoned"
	case uncordoned:
		return "node " + node + ", which joined during the drain"
	}
	return "the drained node " + node + " again"
}
