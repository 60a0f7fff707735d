// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// atOnce is how many nodes' pods are listed in parallel.
const atOnce = 5

// somePods are the pods of single nodes, for as long as this process has not begun to list all pods.
type somePods struct {
	reading Reading
	// count is how many pods the cluster has.
	count once[int]

	mu sync.Mutex
	// closed is set once all pods are listed, in place of those of single nodes.
	closed bool
	known  map[string]*podsOfNode
	// lists counts those of the process, and newest is the newest version that one has shown.
	lists  int
	newest string
	// running are the lists under way.
	running sync.WaitGroup
}

// podsOfNode are the pods of one node once done is closed.
type podsOfNode struct {
	done   chan struct{}
	listed time.Time
	pods   []*snapshot.Pod
	err    error
}

// close ends the lists of single nodes: all pods are about to be listed. It returns when no list
// is under way, so that none is newer than the list of all pods, which takes the place of what they have shown.
func (s *somePods) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.running.Wait()
	s.mu.Lock()
	s.known = nil
	s.mu.Unlock()
}

// seen returns the newest version that a list has shown, "" for none.
func (s *somePods) seen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newest
}

// missing returns the nodes whose pods are not known as they were after a moment.
func (s *somePods) missing(names []string, moment time.Time) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		known := s.known[name]
		return known != nil && !known.listed.Before(moment)
	})
}

// take claims the lists that are missing, if the rule allows them in a cluster of so many pods:
// of is all nodes' pods, mine those that the caller is to list.
func (s *somePods) take(names []string, moment time.Time, pods int) (of, mine map[string]*podsOfNode, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	missing := s.missing(names, moment)
	if s.closed || s.reading == ReadCheaper && !nodesFirst(len(missing), s.lists, pods) {
		return nil, nil, false
	}
	if s.known == nil {
		s.known = map[string]*podsOfNode{}
	}
	mine, of = map[string]*podsOfNode{}, map[string]*podsOfNode{}
	for _, name := range missing {
		mine[name] = &podsOfNode{done: make(chan struct{}), listed: time.Now()}
		s.known[name] = mine[name]
	}
	for _, name := range names {
		of[name] = s.known[name]
	}
	s.lists += len(mine)
	s.running.Add(len(mine))
	return of, mine, true
}

// end notes what a list has shown.
func (s *somePods) end(name string, one *podsOfNode, version string) {
	s.mu.Lock()
	if one.err != nil && s.known[name] == one {
		delete(s.known, name)
	}
	if s.newest == "" || older(s.newest, version) {
		s.newest = version
	}
	s.mu.Unlock()
	close(one.done)
	s.running.Done()
}

// SnapshotOfNodes returns the cluster as it is known now with the pods of these nodes alone, each
// node as it was when it was listed. It has nothing of what else a verdict on evicted pods needs:
// no owners, PodDisruptionBudgets, volumes and admission. It is false where all pods are read
// already, or where that is cheaper. Errors: those of the API server.
func (c *Cluster) SnapshotOfNodes(ctx context.Context, names []string) (*snapshot.Snapshot, bool, error) {
	if err := c.nodes.load(ctx); err != nil {
		return nil, false, err
	}
	moment := c.staleBefore()
	all, worth, err := c.worthNodes(ctx, names, moment)
	if err != nil || !worth {
		return nil, false, err
	}
	of, mine, ok := c.some.take(names, moment, all)
	if !ok {
		return nil, false, nil
	}
	c.listNodes(ctx, mine)
	var pods []*snapshot.Pod
	for name, one := range of {
		select {
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		case <-one.done:
		}
		switch _, own := mine[name]; {
		case one.err != nil && own:
			return nil, false, one.err
		case one.err != nil:
			return nil, false, nil //nolint:nilerr // Another caller's deadline may be all that was wrong.
		}
		pods = append(pods, one.pods...)
	}
	return c.partOf(ctx, names, pods)
}

// worthNodes reports whether it may be cheaper to list the pods of nodes alone, and returns how
// many pods the cluster has. It asks for that only where it can matter, and once.
func (c *Cluster) worthNodes(ctx context.Context, names []string, moment time.Time) (pods int, worth bool, err error) {
	nodes, _ := c.nodes.all()
	s := &c.some
	s.mu.Lock()
	missing, lists := len(s.missing(names, moment)), s.lists
	closed := s.closed || s.reading == ReadAllPods
	s.mu.Unlock()
	if closed || s.reading == ReadNodesFirst {
		return 0, !closed, nil
	}
	if !nodesFirst(missing, lists, len(nodes)*podsPerNode) {
		return 0, false, nil
	}
	pods, err = s.count.get(ctx, func() (int, error) { return c.countPods(ctx) })
	return pods, err == nil, err
}

// countPods asks for one pod, and how many there are beside it. Where a server does not tell, all pods
// are read.
func (c *Cluster) countPods(ctx context.Context) (int, error) {
	n := 0
	page, err := c.listPods(ctx, metav1.ListOptions{Limit: 1})
	if err == nil {
		n = len(page.Items)
		if page.RemainingItemCount != nil {
			n += int(*page.RemainingItemCount)
		}
	}
	return n, err
}

// listPods sends one request.
func (c *Cluster) listPods(ctx context.Context, o metav1.ListOptions) (*podPage, error) {
	var page *podPage
	err := c.patience().do(ctx, bounded(func(ctx context.Context) error {
		list, err := c.client.pods.list(ctx, o)
		if err == nil {
			page = list.(*podPage) //nolint:forcetypeassert // It reads into one.
		}
		return err
	}))
	return page, wrap("list pods", err)
}

// listNodes lists the pods of nodes, a few at a time. There is no limit in such a request: the API server would
// take it past its cache, to look through the pods of all nodes (k8s.io/apiserver v0.37.2
// pkg/storage/cacher/delegator, ShouldDelegateList).
func (c *Cluster) listNodes(ctx context.Context, nodes map[string]*podsOfNode) {
	slots := semaphore.NewWeighted(atOnce)
	var wg sync.WaitGroup
	for name, one := range nodes {
		wg.Go(func() {
			version := ""
			defer func() { c.some.end(name, one, version) }()
			if one.err = slots.Acquire(ctx, 1); one.err != nil {
				return
			}
			defer slots.Release(1)
			page, err := c.listPods(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + name})
			if one.err = err; err == nil {
				version = page.ResourceVersion
				for _, pod := range page.Items {
					one.pods = append(one.pods, pod.Pod)
				}
			}
		})
	}
	wg.Wait()
}

// partOf puts a snapshot together of some nodes' pods, with the templates of their DaemonSets.
func (c *Cluster) partOf(ctx context.Context, names []string, pods []*snapshot.Pod) (*snapshot.Snapshot, bool, error) {
	if slices.ContainsFunc(pods, func(p *snapshot.Pod) bool { return p.Controller != nil && p.Controller.DaemonSet() }) {
		known, _ := workload.Lookup("", daemonSet)
		if _, err := c.controllersOf(ctx, known); err != nil && !errors.Is(err, ErrForbidden) {
			return nil, false, err
		}
	}
	nodes, _ := c.nodes.all()
	s := assemble(nodes, pods, c.daemons(), surroundings{})
	s.Only = map[string]bool{}
	for _, name := range names {
		s.Only[name] = true
	}
	return s, true, nil
}

// staleBefore is the moment before which what was read is too old for a plan, in the middle of an
// apply: what this process has written since may have changed it.
func (c *Cluster) staleBefore() time.Time {
	moment := time.Now().Add(-shelfLife)
	if wrote := c.wrote.Load(); wrote != nil && wrote.After(moment) {
		moment = *wrote
	}
	return moment
}
