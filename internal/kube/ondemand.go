// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// onDemand remembers what was read of controllers because their pods are evicted. Each of them is read once.
type onDemand[K comparable, V any] struct {
	mu    sync.Mutex
	found map[K]V
	asked map[types.UID]bool
	reads int
}

// at returns how often controllers were read: what all returns differs where this does.
func (d *onDemand[K, V]) at() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reads
}

// all returns what was found.
func (d *onDemand[K, V]) all() map[K]V {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.found)
}

// learn reads the controllers that were not read yet. What read finds none of is not asked for again. Errors: those of
// read.
func (d *onDemand[K, V]) learn(needed unread, read func(unread) (map[K]V, error)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	unknown := maps.Clone(needed)
	maps.DeleteFunc(unknown, func(uid types.UID, _ types.NamespacedName) bool { return d.asked[uid] })
	if len(unknown) == 0 {
		return nil
	}
	found, err := read(unknown)
	if err != nil {
		return err
	}
	if d.asked == nil {
		d.asked, d.found = map[types.UID]bool{}, map[K]V{}
	}
	d.reads++
	for uid := range unknown {
		d.asked[uid] = true
	}
	maps.Copy(d.found, found)
	return nil
}
