// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// rediscoverAfter is how long the answer that the cluster does not serve a kind is believed.
const rediscoverAfter = 3 * time.Second

// rediscovery remembers when the cluster was last asked again what it serves, by the kind that
// was not found.
type rediscovery struct {
	mu sync.Mutex
	at map[schema.GroupKind]time.Time
}

// mapping finds out the resource of a kind that a user names. What the cluster serves is in
// memory; where the kind is not there, the cluster is asked again, because the same apply may
// have installed its CustomResourceDefinition since. Errors: those of meta.RESTMapper.
func (c *Cluster) mapping(ctx context.Context, gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	found, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if !meta.IsNoMatchError(err) {
		return found, err
	}
	c.rediscovered.mu.Lock()
	defer c.rediscovered.mu.Unlock()
	if last, asked := c.rediscovered.at[gvk.GroupKind()]; !asked || time.Since(last) > rediscoverAfter {
		if c.rediscovered.at == nil {
			c.rediscovered.at = map[schema.GroupKind]time.Time{}
		}
		c.rediscovered.at[gvk.GroupKind()] = time.Now()
		c.mapper.ResetWithContext(ctx)
	}
	// Another call may have asked in the meantime.
	return c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
}
