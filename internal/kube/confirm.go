// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// maxHostnames is how many nodes one label selector names. Proxies refuse addresses of more than 8 KB, and a
// label's value has up to 63 characters.
const maxHostnames = 50

// confirmations bounds the reads that confirm writes, and has calls of Settle share them.
type confirmations struct {
	mu sync.Mutex
	// settling is how many calls of Settle are under way, written how many nodes they were about so
	// far, and confirmed how many calls were confirmed.
	settling, written, confirmed int
	// open is the read that others may still join, nil for none.
	open *confirmation
}

// confirmation is one read that confirms the writes of one or more calls of Settle.
type confirmation struct {
	nodes []*snapshot.Node
	// done is closed once the nodes are read, or err is why not.
	done chan struct{}
	err  error
}

// begin notes that a call of Settle is under way until the returned function is called.
func (c *confirmations) begin() (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settling++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.settling--
	}
}

// join returns the read that confirms nodes, nil where the process may not confirm them. It is first where
// the caller is to make that read, and shared where other calls of Settle may yet join it.
func (c *confirmations) join(nodes []*snapshot.Node) (read *confirmation, first, shared bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil && c.confirmed >= firstConfirmations+c.written/nodesPerConfirmation {
		return nil, false, false
	}
	c.confirmed++
	if first = c.open == nil; first {
		c.open = &confirmation{done: make(chan struct{})}
	}
	c.open.nodes = append(c.open.nodes, nodes...)
	return c.open, first, c.settling > 1
}

// close ends that others may join a read.
func (c *confirmations) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = nil
}

// wrote counts nodes that were written.
func (c *confirmations) wrote(nodes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.written += nodes
}

// confirm reads the nodes that are known as they were written, in one request, as far as the process may
// still do so. Where siblings settle as well it waits for a moment, by which theirs have ended, and reads
// their nodes in the same request.
func (c *Cluster) confirm(ctx context.Context, written []*snapshot.Node, moment time.Duration) error {
	unchanged := slices.DeleteFunc(slices.Clone(written), func(n *snapshot.Node) bool {
		current, ok := c.nodes.get(n.Name)
		return !ok || current.ResourceVersion != n.ResourceVersion
	})
	c.confirmations.wrote(len(written))
	if len(unchanged) == 0 {
		return nil
	}
	read, first, shared := c.confirmations.join(unchanged)
	if read == nil {
		return nil
	}
	if first {
		if shared {
			pause(ctx, moment)
		}
		c.confirmations.close()
		read.err = c.readAgain(ctx, read.nodes)
		close(read.done)
		return read.err
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-read.done:
	}
	if read.err != nil {
		// The deadline of the sibling may be all that was wrong.
		return c.reread(ctx, unchanged)
	}
	return nil
}

// readAgain reads nodes: one by itself, several by one list.
func (c *Cluster) readAgain(ctx context.Context, nodes []*snapshot.Node) error {
	if len(nodes) == 1 {
		return c.reread(ctx, nodes)
	}
	items, whole, err := c.listAgain(ctx, nodes)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		current, ok := items[n.Name]
		switch {
		case ok:
			c.nodes.offer(current)
		case whole:
			c.nodes.forget(n.Name)
		default:
			// It is gone, or has another label by now.
			err = errors.Join(err, c.reread(ctx, []*snapshot.Node{n}))
		}
	}
	return err
}

// listAgain lists nodes by name: these alone where a label selector can name them, else the whole list.
func (c *Cluster) listAgain(ctx context.Context, nodes []*snapshot.Node) (items map[string]*snapshot.Node, whole bool, err error) {
	selector, ok := byHostname(nodes)
	if !ok {
		items, _, err = c.nodes.read(ctx)
		return items, true, wrap("list nodes", err)
	}
	items = map[string]*snapshot.Node{}
	err = writing.do(ctx, bounded(func(ctx context.Context) error {
		// Without a limit the API server answers from its cache.
		list, err := c.client.core.Nodes().List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err == nil {
			for i := range list.Items {
				items[list.Items[i].Name] = slimNode(&list.Items[i])
			}
		}
		return err
	}))
	return items, false, wrap("list nodes", err)
}

// byHostname returns a label selector of nodes by the label that every kubelet sets, false where one has
// none, or where they are too many.
func byHostname(nodes []*snapshot.Node) (selector string, ok bool) {
	if len(nodes) > maxHostnames {
		return "", false
	}
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = n.Labels[corev1.LabelHostname]
	}
	requirement, err := labels.NewRequirement(corev1.LabelHostname, selection.In, names)
	if err != nil || slices.Contains(names, "") {
		return "", false
	}
	return requirement.String(), true
}
