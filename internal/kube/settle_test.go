// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

func TestSettle(t *testing.T) {
	t.Parallel()
	const moment = 250 * time.Millisecond
	tests := []struct {
		name string
		// meanwhile happens after the write and before Settle is called.
		meanwhile func(*testServer)
		// during happens within the moment.
		during func(*testServer)
		mute   bool
		// lag is how long the watch holds back what comes after our write.
		lag      time.Duration
		want     string
		requests []string
		takes    time.Duration
	}{
		{name: "the watch shows the write and a read confirms it", want: "a:NoExecute", requests: []string{"GET n1 200"}, takes: moment},
		{
			name: "the watch holds back that another writer takes it away within the moment", lag: 200 * time.Millisecond, requests: []string{"GET n1 200"}, takes: moment,
			during: func(a *testServer) { a.edit("n1", func(n *corev1.Node) { n.Spec.Taints = nil }) },
		},
		{
			name: "the watch holds back that the node goes away within the moment", lag: 200 * time.Millisecond, want: "gone", requests: []string{"GET n1 404"}, takes: moment,
			during: func(a *testServer) { a.remove("n1") },
		},
		{
			name: "a writer without a guard takes it away within the moment", takes: moment,
			during: func(a *testServer) { a.edit("n1", func(n *corev1.Node) { n.Spec.Taints = nil }) },
		},
		{name: "the node goes away within the moment", during: func(a *testServer) { a.remove("n1") }, want: "gone", takes: moment},
		{name: "the watch shows nothing and the node is read", mute: true, want: "a:NoExecute", requests: []string{"GET n1 200"}, takes: seenTimeout + moment},
		{
			name: "the watch shows nothing and the node is gone", mute: true, meanwhile: func(a *testServer) { a.remove("n1") },
			want: "gone", requests: []string{"GET n1 404"}, takes: seenTimeout + moment,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			followed(t, oneNode(), func(t *testing.T, api *testServer, c *Cluster) {
				if tt.mute {
					api.holdBack("1", time.Hour)
				}
				written := tainted(t, c, "n1")
				if tt.meanwhile != nil {
					tt.meanwhile(api)
				}
				api.requests()
				if tt.lag > 0 {
					api.holdBack(written.ResourceVersion, tt.lag)
				}
				if tt.during != nil {
					time.AfterFunc(moment/2, func() { tt.during(api) })
				}
				start := time.Now()
				nodes, err := c.Settle(t.Context(), []*snapshot.Node{written}, moment)
				if err != nil {
					t.Fatal(err)
				}
				got := "gone"
				if len(nodes) > 0 {
					got = taint.FormatAll(nodes[0].Taints)
				}
				if got != tt.want {
					t.Errorf("settled as %q, want %q", got, tt.want)
				}
				if took := time.Since(start); took != tt.takes {
					t.Errorf("took %s, want %s", took, tt.takes)
				}
				if requests := api.requests(); !slices.Equal(requests, tt.requests) {
					t.Errorf("sent %s, want %s", strings.Join(requests, ", "), strings.Join(tt.requests, ", "))
				}
			})
		})
	}
}

// TestSettle_outlastsAnAPIServerThatHasJustComeUp: it knows no rights yet, and the watch has not come.
func TestSettle_outlastsAnAPIServerThatHasJustComeUp(t *testing.T) {
	t.Parallel()
	followed(t, oneNode(), func(t *testing.T, api *testServer, c *Cluster) {
		api.holdBack("1", time.Hour)
		written := tainted(t, c, "n1")
		api.requests()
		api.fault = func(r fakeapi.Request, _ int) fakeapi.Fault {
			asked := 0
			for _, one := range api.requests() {
				if strings.HasPrefix(one, "GET n1") {
					asked++
				}
			}
			return map[bool]fakeapi.Fault{true: 403}[r.Resource == "nodes" && r.Name == "n1" && asked == 0]
		}
		if nodes, err := c.Settle(t.Context(), []*snapshot.Node{written}, 0); err != nil || len(nodes) != 1 {
			t.Errorf("got %v, %v", nodes, err)
		}
	})
}

// TestSettle_confirmsManyNodesByOneList: one request is enough for all of them.
func TestSettle_confirmsManyNodesByOneList(t *testing.T) {
	t.Parallel()
	followed(t, []*corev1.Node{apiNode("n1"), apiNode("n2"), apiNode("n3")}, func(t *testing.T, api *testServer, c *Cluster) {
		var written []*snapshot.Node
		for _, name := range []string{"n1", "n2", "n3"} {
			written = append(written, tainted(t, c, name))
		}
		api.requests()
		api.holdBack(written[2].ResourceVersion, time.Minute)
		time.AfterFunc(time.Millisecond, func() {
			api.edit("n2", func(n *corev1.Node) { n.Spec.Taints = nil })
			api.remove("n3")
		})
		nodes, err := c.Settle(t.Context(), written, 100*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, n := range nodes {
			got += n.Name + " " + taint.FormatAll(n.Taints) + ";"
		}
		if want := "n1 a:NoExecute;n2 ;"; got != want {
			t.Errorf("settled as %q, want %q", got, want)
		}
		if requests := api.requests(); !slices.Equal(requests, []string{"GET nodes 200"}) {
			t.Errorf("sent %s", strings.Join(requests, ", "))
		}
	})
}

// TestSettle_confirmsFewOfManyWrites: each of two hundred resources writes one node, and
// their apply makes at most 1.1 requests for each.
func TestSettle_confirmsFewOfManyWrites(t *testing.T) {
	t.Parallel()
	const resources = 200
	var all []*corev1.Node
	for n := range resources {
		all = append(all, apiNode("n"+strconv.Itoa(n)))
	}
	followed(t, all, func(t *testing.T, api *testServer, c *Cluster) {
		for _, n := range all {
			if _, err := c.Settle(t.Context(), []*snapshot.Node{tainted(t, c, n.Name)}, 100*time.Millisecond); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := len(api.requests())-resources, firstConfirmations+resources/nodesPerConfirmation; got != want {
			t.Errorf("%d writes were confirmed by %d reads, want %d", resources, got, want)
		}
	})
}

// tainted writes a taint to a node.
func tainted(t *testing.T, c *Cluster, name string) *snapshot.Node {
	t.Helper()
	written, err := c.EditNode(t.Context(), name, func(*snapshot.Node) (*NodeEdit, error) {
		return &NodeEdit{Taints: apiNode("", "a:NoExecute").Spec.Taints}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return written
}

func TestSettle_endsWithItsContext(t *testing.T) {
	t.Parallel()
	for name, version := range map[string]string{"while the watch is behind": "999999", "within the moment": "1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			followed(t, oneNode(), func(t *testing.T, _ *testServer, c *Cluster) {
				why := errors.New("interrupted")
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { cancel(why) })
				written := &snapshot.Node{Name: "n1", ResourceVersion: version}
				if _, err := c.Settle(ctx, []*snapshot.Node{written}, 2*time.Second); !errors.Is(err, why) {
					t.Errorf("got %v, want the reason why the context ended", err)
				}
			})
		})
	}
}
