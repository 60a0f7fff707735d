// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// pool returns nodes as kubelets register them.
func pool(size int) []*corev1.Node {
	var all []*corev1.Node
	for n := range size {
		node := apiNode("n" + strconv.Itoa(n))
		node.Labels = map[string]string{corev1.LabelHostname: node.Name}
		all = append(all, node)
	}
	return all
}

// settled settles nodes in parallel, each in a call of its own, and returns each as it is then.
func settled(t *testing.T, c *Cluster, nodes []*snapshot.Node, of func(n int) context.Context) (out []string, errs []error) {
	t.Helper()
	out, errs = make([]string, len(nodes)), make([]error, len(nodes))
	var all sync.WaitGroup
	for n, node := range nodes {
		all.Go(func() {
			var now []*snapshot.Node
			now, errs[n] = c.Settle(of(n), []*snapshot.Node{node}, 100*time.Millisecond)
			out[n] = "gone"
			if len(now) > 0 {
				out[n] = taint.FormatAll(now[0].Taints)
			}
		})
	}
	all.Wait()
	return out, errs
}

// TestSettle_siblingsShareOneRead: the watch holds back what another writer does to one node, that another one
// has gone, and that a third has lost its label. One request shows all of it to the siblings.
func TestSettle_siblingsShareOneRead(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		nodes    []*corev1.Node
		requests []string
	}{
		"by the label of kubelets": {pool(10), []string{"GET nodes 200", "GET n3 404", "GET n4 200"}},
		"without labels": {func() []*corev1.Node {
			nodes := pool(10)
			for _, n := range nodes {
				n.Labels = nil
			}
			return nodes
		}(), []string{"GET nodes 200"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			followed(t, tc.nodes, func(t *testing.T, api *testServer, c *Cluster) {
				var written []*snapshot.Node
				for _, n := range tc.nodes {
					written = append(written, tainted(t, c, n.Name))
				}
				api.requests()
				api.holdBack(written[9].ResourceVersion, time.Minute)
				time.AfterFunc(time.Millisecond, func() {
					api.edit("n2", func(n *corev1.Node) { n.Spec.Taints = nil })
					api.remove("n3")
					api.edit("n4", func(n *corev1.Node) { n.Labels, n.Spec.Taints = nil, nil })
				})
				got, errs := settled(t, c, written, func(int) context.Context { return t.Context() })
				want := slices.Repeat([]string{"a:NoExecute"}, 10)
				want[2], want[3], want[4] = "", "gone", ""
				if !slices.Equal(got, want) || errors.Join(errs...) != nil {
					t.Errorf("settled as %q: %v", got, errors.Join(errs...))
				}
				requests := api.requests()
				slices.Sort(requests[1:])
				slices.Sort(tc.requests[1:])
				if !slices.Equal(requests, tc.requests) {
					t.Errorf("sent %s", strings.Join(requests, ", "))
				}
			})
		})
	}
}

// TestSettle_twoHundredSiblings: ten resources at a time, each of which writes a node, share two reads. As
// many calls are confirmed as one after the other.
func TestSettle_twoHundredSiblings(t *testing.T) {
	t.Parallel()
	const resources = 200
	nodes := pool(resources)
	followed(t, nodes, func(t *testing.T, api *testServer, c *Cluster) {
		for from := 0; from < resources; from += 10 {
			var written []*snapshot.Node
			for _, n := range nodes[from : from+10] {
				written = append(written, tainted(t, c, n.Name))
			}
			if _, errs := settled(t, c, written, func(int) context.Context { return t.Context() }); errors.Join(errs...) != nil {
				t.Fatal(errors.Join(errs...))
			}
		}
		if got := len(api.requests()) - resources; got > 2 {
			t.Errorf("%d writes were confirmed by %d reads", resources, got)
		}
		if got := c.confirmations.confirmed; got < firstConfirmations+resources/nodesPerConfirmation {
			t.Errorf("%d calls of %d were confirmed", got, resources)
		}
	})
}

// TestSettle_aSiblingsEndIsNotItsOwn: the resource that reads for all ends in the middle of it.
func TestSettle_aSiblingsEndIsNotItsOwn(t *testing.T) {
	t.Parallel()
	nodes := pool(2)
	followed(t, nodes, func(t *testing.T, api *testServer, c *Cluster) {
		why := errors.New("interrupted")
		ends, cancel := context.WithCancelCause(t.Context())
		api.fault = func(r fakeapi.Request, _ int) fakeapi.Fault {
			if r.Verb == "list" {
				cancel(why)
				return fakeapi.NoAnswer
			}
			return fakeapi.None
		}
		written := []*snapshot.Node{tainted(t, c, "n0"), tainted(t, c, "n1")}
		first := make(chan error)
		go func() {
			_, err := c.Settle(ends, written[:1], 100*time.Millisecond)
			first <- err
		}()
		// By the bubble's clock, the first one settles before the other, and reads for both.
		time.Sleep(time.Millisecond)
		api.requests()
		got, errs := settled(t, c, written[1:], func(int) context.Context { return t.Context() })
		if err := <-first; err == nil {
			t.Error("the first one did not end")
		}
		if errs[0] != nil || got[0] != "a:NoExecute" {
			t.Errorf("settled as %q: %v", got, errs)
		}
		if requests := api.requests(); !slices.Equal(requests, []string{"GET n1 200"}) {
			t.Errorf("sent %s", strings.Join(requests, ", "))
		}
	})
}

func TestByHostname(t *testing.T) {
	t.Parallel()
	named := func(hostnames ...string) (nodes []*snapshot.Node) {
		for _, name := range hostnames {
			nodes = append(nodes, &snapshot.Node{Labels: map[string]string{corev1.LabelHostname: name}})
		}
		return nodes
	}
	for name, tc := range map[string]struct {
		nodes []*snapshot.Node
		want  string
	}{
		"two nodes":                    {named("b", "a"), "kubernetes.io/hostname in (a,b)"},
		"one has no label":             {append(named("a"), &snapshot.Node{}), ""},
		"one has a label that is none": {named("a", "b,c"), ""},
		"more than an address holds":   {named(slices.Repeat([]string{"a"}, maxHostnames+1)...), ""},
	} {
		if got, ok := byHostname(tc.nodes); got != tc.want || ok != (tc.want != "") {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
	}
}

// TestEditNode_siblingsTakeTurns: each writes what it decides by the answer to the write before.
func TestEditNode_siblingsTakeTurns(t *testing.T) {
	t.Parallel()
	followed(t, pool(1), func(t *testing.T, api *testServer, c *Cluster) {
		var all sync.WaitGroup
		for n := range 10 {
			all.Go(func() {
				_, err := c.EditNode(t.Context(), "n0", func(node *snapshot.Node) (*NodeEdit, error) {
					return &NodeEdit{Taints: append(slices.Clone(node.Taints), apiNode("", fmt.Sprintf("k%d:NoSchedule", n)).Spec.Taints...)}, nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if got, want := api.requests(), slices.Repeat([]string{"PATCH n0 200"}, 10); !slices.Equal(got, want) {
			t.Errorf("sent %s", strings.Join(got, ", "))
		}
		if got := strings.Count(api.taints("n0"), ":"); got != 10 {
			t.Errorf("the node has %d taints", got)
		}
	})
}

// TestEditNode_waitsForASiblingNoLongerThanItsContext: the sibling's request is never answered.
func TestEditNode_waitsForASiblingNoLongerThanItsContext(t *testing.T) {
	t.Parallel()
	followed(t, pool(1), func(t *testing.T, api *testServer, c *Cluster) {
		api.fault = on("PATCH", 1, fakeapi.NoAnswer)
		edit := func(ctx context.Context) error {
			_, err := c.EditNode(ctx, "n0", func(*snapshot.Node) (*NodeEdit, error) { return &NodeEdit{}, nil })
			return err
		}
		slow := make(chan error)
		go func() { slow <- edit(t.Context()) }()
		synctest.Wait()
		why := errors.New("interrupted")
		ends, cancel := context.WithTimeoutCause(t.Context(), time.Second, why)
		defer cancel()
		if err := edit(ends); !errors.Is(err, why) {
			t.Errorf("got %v", err)
		}
		if err := <-slow; err != nil {
			t.Error(err)
		}
	})
}
