// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-log/tflog"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Bounds of a node's record: others can write annotations, and those of an object share 256 KiB.
const (
	mostRecords     = 500
	mostRecordBytes = 64 << 10
)

// awaited is a workload whose evicted pods a drain waits for, as a node's annotation has it.
type awaited struct {
	Group     string    `json:"group,omitempty"`
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Job       types.UID `json:"job,omitempty"`
	Pods      int       `json:"pods"`
}

// parseAwaited returns what an annotation records, and nothing of one that is damaged: a wait
// that is lost stops no drain.
func parseAwaited(annotation string) []awaited {
	var all, out []awaited
	if annotation == "" || len(annotation) > mostRecordBytes || json.Unmarshal([]byte(annotation), &all) != nil || len(all) > mostRecords {
		return nil
	}
	for _, one := range all {
		if one.Kind != "" && one.Namespace != "" && one.Name != "" && one.Pods > 0 {
			out = append(out, one)
		}
	}
	return out
}

// joined adds to what a drain waits for what an earlier one of its nodes has recorded.
func joined(expected []*replaced, recorded map[string][]awaited) []*replaced {
	known := map[snapshot.WorkloadKey]*replaced{}
	for _, r := range expected {
		known[r.controller] = r
	}
	for _, one := range slices.Concat(slices.Collect(maps.Values(recorded))...) {
		// The reference of a pod to its owner is made printable in the same way.
		key := snapshot.WorkloadKey{Namespace: one.Namespace, Owner: snapshot.OwnerOf(one.Group+"/v1", one.Kind, one.Name)}
		if one.Group == "" {
			key.Owner = snapshot.OwnerOf("v1", one.Kind, one.Name)
		}
		r := known[key]
		if r == nil {
			r = &replaced{key: key, controller: key, job: one.Job, nodes: map[string]bool{}}
			known[key], expected = r, append(expected, r)
		}
		r.wanted = max(r.wanted, one.Pods)
	}
	slices.SortFunc(expected, byTitle)
	return expected
}

// remember records on each node what the eviction of its pods makes the drain wait for, before
// the first one: a drain that is killed would not know of it.
func (d *draining) remember(ctx context.Context) error {
	for _, name := range d.drain.Nodes {
		var all []awaited
		for _, r := range d.expected {
			if r.nodes[name] && len(all) < mostRecords {
				c := r.controller
				all = append(all, awaited{Group: c.Group, Kind: c.Kind, Namespace: c.Namespace, Name: c.Name, Job: r.job, Pods: r.wanted})
			}
		}
		n, there := d.cluster.Node(name)
		if len(all) == 0 || !there {
			continue
		}
		for _, one := range d.recorded[name] {
			if !has(all, one) && len(all) < mostRecords {
				all = append(all, one)
			}
		}
		body, err := json.Marshal(all)
		if err != nil {
			return err
		}
		if len(body) > mostRecordBytes {
			tflog.Warn(ctx, "too many workloads to record on a node", map[string]any{"node": name, "workloads": len(all)})
			continue
		}
		if err := d.record(ctx, n, string(body)); err != nil {
			return err
		}
	}
	return nil
}

// has reports whether a record of the workload is among others.
func has(all []awaited, one awaited) bool {
	for _, other := range all {
		if other.Pods = one.Pods; other == one {
			return true
		}
	}
	return false
}

// forget removes what remember has written: there is nothing left to wait for.
func (d *draining) forget(ctx context.Context) error {
	for _, name := range d.drain.Nodes {
		if n, there := d.cluster.Node(name); there && n.Awaited != "" {
			if err := d.record(ctx, n, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *draining) record(ctx context.Context, n *snapshot.Node, awaited string) error {
	if n.Awaited == awaited {
		return nil
	}
	return ignore(d.cluster.RecordAwaited(ctx, n, awaited), kube.ErrNotFound)
}
