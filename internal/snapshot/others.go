// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// Others is what other resources of the same run are about to change. It is not known which change is made
// first. Nodes count with what others add, such as taints, and as long as the cluster does not show it
// without what opens them, such as a taint that others remove.
type Others struct {
	// Taints are those that others add, by node.
	Taints map[string][]corev1.Taint
	// Labels are those that others remove or change, by node, with the values before.
	Labels map[string]map[string]string
	// Closed holds the nodes that others drain or delete.
	Closed map[string]bool
	// Evicted are the pods that others evict or may evict, by node.
	Evicted map[string]map[types.UID]Departure
}

// Departure is the eviction of a pod.
type Departure struct {
	// After is the delay in seconds.
	After int64
	// Unsure is set where the pod may stay, Lost where its controller recreates no pod, Awaited where a node that the other
	// change brings takes what replaces it.
	Unsure, Lost, Awaited bool
}

// Empty reports whether others change nothing.
func (o *Others) Empty() bool {
	return o == nil || len(o.Taints)+len(o.Labels)+len(o.Closed)+len(o.Evicted) == 0
}

// Evicts reports whether others may evict pods.
func (o *Others) Evicts() bool { return o != nil && len(o.Evicted) > 0 }

// And returns both.
func (o *Others) And(more *Others) *Others { return Together(o, more) }

// Together returns all of them as one, nil where none changes anything.
func Together(all ...*Others) *Others {
	all = slices.DeleteFunc(slices.Clone(all), (*Others).Empty)
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	out := &Others{Taints: make(map[string][]corev1.Taint, len(all)), Labels: map[string]map[string]string{}, Closed: map[string]bool{}, Evicted: map[string]map[types.UID]Departure{}}
	for _, o := range all {
		for name, list := range o.Taints {
			if before, known := out.Taints[name]; known {
				out.Taints[name] = added(before, list)
			} else {
				out.Taints[name] = slices.Clip(list)
			}
		}
		maps.Copy(out.Closed, o.Closed)
		merge(out.Labels, o.Labels)
		merge(out.Evicted, o.Evicted)
	}
	return out
}

// merge adds maps by name to others of which it may change each.
func merge[K comparable, V any](into, more map[string]map[K]V) {
	for name, values := range more {
		if into[name] == nil {
			into[name] = make(map[K]V, len(values))
		}
		maps.Copy(into[name], values)
	}
}

// added adds taints to a list that does not hold them with the same value.
func added(list, more []corev1.Taint) []corev1.Taint {
	for _, t := range more {
		if !slices.ContainsFunc(list, func(other corev1.Taint) bool { return taint.IDOf(other) == taint.IDOf(t) && other.Value == t.Value }) {
			list = append(list, t)
		}
	}
	return list
}

// Tainted returns the taints of a node together with those that others add.
func (o *Others) Tainted(name string, list []corev1.Taint) []corev1.Taint {
	if o == nil {
		return list
	}
	return added(slices.Clone(list), o.Taints[name])
}

// Labelled returns the labels of a node without those that others remove or change.
func (o *Others) Labelled(name string, labels map[string]string) map[string]string {
	out := maps.Clone(labels)
	maps.DeleteFunc(out, func(key, value string) bool {
		before, goes := o.Labels[name][key]
		return goes && before == value
	})
	return out
}

// Beside returns the snapshot with what others are about to change.
func (s *Snapshot) Beside(others *Others) *Snapshot {
	if others.Empty() {
		return s
	}
	out := s.With(nil, nil)
	out.Others = others
	return out
}
