// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
)

func TestSwitchTaints_endsWithTheCauseOfItsContext(t *testing.T) {
	t.Parallel()
	why := errors.New("the user is tired of it")
	many := []*corev1.Node{aNode("z", "web", "*dedicated=gpu:NoSchedule")}
	for n := range 2 * parallelWrites {
		many = append(many, aNode(fmt.Sprintf("n%02d", n), "gpu"))
	}
	tests := []struct {
		name string
		// prepare has something end the context. The cluster is followed already.
		prepare func(api *testServer, cluster *kube.Cluster, a *approver, cancel func())
		// begun counts the writes that come.
		begun int
	}{
		{
			name: "while approve looks, and nothing is written",
			prepare: func(_ *testServer, _ *kube.Cluster, a *approver, cancel func()) {
				a.says = func(int) error { cancel(); return nil }
			},
		},
		{
			name: "while nodes are written, and no other is begun",
			prepare: func(api *testServer, _ *kube.Cluster, _ *approver, cancel func()) {
				all := make(chan struct{})
				end := sync.OnceFunc(func() { cancel(); close(all) })
				api.after = func(string, int) {
					if _, done := api.writes(); done == parallelWrites {
						end()
					}
					<-all
				}
			},
			begun: parallelWrites,
		},
		{
			name: "while it waits whether the writes last",
			prepare: func(api *testServer, cluster *kube.Cluster, _ *approver, cancel func()) {
				api.after = func(_ string, write int) {
					if write == len(many) {
						api.store(aNode("other", "web"))
					}
				}
				go func() {
					// The watch has then shown the last write as well.
					_ = cluster.WaitForNode(context.Background(), "other")
					synctest.Wait()
					cancel()
				}()
			},
			begun: len(many),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := newServer(t, many...)
				cluster := api.follow(t, false)
				ctx, cancel := context.WithCancelCause(t.Context())
				a := &approver{api: api}
				tt.prepare(api, cluster, a, func() { cancel(why) })
				if err := switchTo(ctx, cluster, gpuPool(), a.approve); !errors.Is(err, why) {
					t.Errorf("got %v, want the reason why the context ended", err)
				}
				begun, _ := api.writes()
				if len(begun) != tt.begun {
					t.Errorf("%d writes were begun, want %d", len(begun), tt.begun)
				}
				if tt.begun < len(many) && slices.Contains(begun, "z") {
					t.Error("a node left before all that are meant were written")
				}
				// Each node is as it was, or as it should be: taint and mark together.
				for name, taints := range api.taints() {
					if taints != "" && taints != "*dedicated=gpu:NoSchedule" {
						t.Errorf("node %s carries %s", name, taints)
					}
				}
				api.after = nil
				a.says = nil
				if err := switchTo(t.Context(), cluster, gpuPool(), a.approve); err != nil {
					t.Errorf("beginning again: %v", err)
				}
				for name, taints := range api.taints() {
					if (taints != "") != strings.HasPrefix(name, "n") {
						t.Errorf("beginning again leaves node %s with %q", name, taints)
					}
				}
			})
		})
	}
}
