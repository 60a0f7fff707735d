// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

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
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Pods      int    `json:"pods"`
}

// parseAwaited returns what an annotation records, and an error where no drain has written all of
// it. The readable entries are returned all the same: a drain must not lose those. Errors quote
// nothing of the annotation.
func parseAwaited(annotation string) ([]awaited, error) {
	if annotation == "" {
		return nil, nil
	}
	if len(annotation) > mostRecordBytes {
		return nil, fmt.Errorf("it has %d bytes, and a drain writes at most %d", len(annotation), mostRecordBytes)
	}
	var all, out []awaited
	if err := json.Unmarshal([]byte(annotation), &all); err != nil {
		return nil, errors.New("it is no JSON list of workloads")
	}
	if len(all) > mostRecords {
		return nil, fmt.Errorf("it has %d entries, and a drain writes at most %d", len(all), mostRecords)
	}
	var damaged error
	for i, one := range all {
		switch why := one.damage(); {
		case why == "":
			out = append(out, one)
		case damaged == nil:
			damaged = fmt.Errorf("entry %d of %d %s", i+1, len(all), why)
		}
	}
	return out, damaged
}

// damage returns why no drain has written an entry, and nothing where one may have.
func (a awaited) damage() string {
	switch {
	case a.Kind == "" || a.Name == "":
		return "names no workload"
	case len(validation.IsDNS1123Label(a.Namespace)) > 0:
		return "has no namespace"
	case a.Pods <= 0:
		return "has no number of pods"
	case a.Kind == "DaemonSet" || a.Group == batchv1.GroupName && a.Kind == "CronJob":
		return "is of a kind that no drain waits for"
	}
	return ""
}

// DamagedAwaited returns why what an earlier drain has recorded on a node cannot be read as a
// whole. It returns nil for a node that is not cordoned, whose record is not read.
func DamagedAwaited(n *snapshot.Node) error {
	if !n.Unschedulable {
		return nil
	}
	_, err := parseAwaited(n.Awaited)
	return err
}

// joined adds to what a drain waits for what an earlier one of its nodes has recorded. A kubelet
// may write such a record, so believable bounds what of it is waited for.
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
			r = &replaced{key: key, controller: key, nodes: map[string]bool{}}
			known[key], expected = r, append(expected, r)
		}
		r.wanted = max(r.wanted, one.Pods)
	}
	slices.SortFunc(expected, byTitle)
	return expected
}

// believable lowers what is wanted to what a record can justify:
//   - what this drain has observed itself,
//   - the replicas of a controller of Kubernetes,
//   - the current pods of other workloads, and of those whose replicas cannot be read: a kind with
//     replicas need not create pods.
func (r *replaced) believable(pods, desired int, known bool) {
	if known {
		r.wanted = min(r.wanted, desired)
	}
	if !known || !r.createsPods() {
		r.wanted = min(r.wanted, max(r.observed, pods))
	}
}

// createsPods reports whether the controller is one of Kubernetes that creates as many pods as its
// object has replicas.
func (r *replaced) createsPods() bool {
	switch c := r.controller; c.Group {
	case appsv1.GroupName:
		return c.Kind == "Deployment" || c.Kind == "ReplicaSet" || c.Kind == "StatefulSet"
	case batchv1.GroupName:
		return c.Kind == "Job"
	case corev1.GroupName:
		return c.Kind == "ReplicationController"
	}
	return false
}

// remember records on each node what the eviction of its pods makes the drain wait for, before
// the first one: a drain that is killed would not know of it.
func (d *draining) remember(ctx context.Context) error {
	for _, name := range d.drain.Nodes {
		var all []awaited
		for _, r := range d.expected {
			if r.nodes[name] && len(all) < mostRecords {
				c := r.controller
				all = append(all, awaited{Group: c.Group, Kind: c.Kind, Namespace: c.Namespace, Name: c.Name, Pods: r.wanted})
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
			logger(ctx).WarnContext(ctx, "too many workloads to record on a node", "node", name, "workloads", len(all))
			continue
		}
		err = d.record(ctx, n, string(body))
		if errors.Is(err, kube.ErrInvalid) {
			// Others have filled the node's annotations. A drain that is not killed needs no record.
			logger(ctx).WarnContext(ctx, "no room to record what a drain waits for", "node", name, "error", err.Error())
			continue
		}
		if err != nil {
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
