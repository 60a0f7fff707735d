// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"
)

// latest lists everything, and again where the list is older than what this process has read of
// some objects before: what is read in two ways must not mix two moments unnoticed.
func (c *collection[T]) latest(ctx context.Context) (items map[string]T, version string, err error) {
	c.mu.RLock()
	seen := ""
	if c.atLeast != nil && !c.loaded {
		seen = c.atLeast()
	}
	c.mu.RUnlock()
	for range 2 {
		if items, version, err = c.read(ctx); err != nil || seen == "" || !older(version, seen) {
			return items, version, err
		}
	}
	return nil, "", fmt.Errorf("the API server answers with resource version %s, and has answered with %s before: it is behind, or was restored from a backup", version, seen)
}

// read lists everything.
func (c *collection[T]) read(ctx context.Context) (items map[string]T, version string, err error) {
	err = pages(ctx, c.patience(), false, func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		page, err := c.list(ctx, opts)
		if err == nil {
			if list, accessErr := meta.ListAccessor(page); accessErr == nil {
				version = list.GetResourceVersion()
			}
		}
		return page, err
	}, func() {
		items = map[string]T{}
	}, func(o runtime.Object) error {
		item, is := c.slim(o)
		if !is {
			return fmt.Errorf("read a list of %s: it holds a %T", c.plural, o)
		}
		items[c.key(item)] = item
		return nil
	})
	if err != nil {
		// The pager may still be at work on a page: version is not to be read.
		return nil, "", err
	}
	return items, version, nil
}

// pages lists page by page and calls visit for each object. When the pages' continuation expires on the way,
// the list goes on with the rest as it is by then, where it may; else pages calls begin and does so anew.
//
// A list that goes on mixes two moments. That is right where each object counts by itself, as the metadata of
// ReplicaSets does: kinds are listed at different moments in any case, and no object comes twice. Pods are
// counted: one that was replaced in between would come twice, or not at all. What is followed by a watch cannot
// go on either: the watch would begin at the moment of the first page, which has expired.
func pages(ctx context.Context, p retryPolicy, goesOn bool, list pager.ListPageFunc, begin func(), visit func(runtime.Object) error) error {
	for attempt := 1; ; attempt++ {
		begin()
		all := pager.New(paged(p, goesOn, list))
		all.PageBufferSize = pageBuffer
		err := all.EachListItem(ctx, metav1.ListOptions{}, visit)
		if attempt == 3 || !apierrors.IsResourceExpired(err) {
			return err
		}
	}
}
