// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// TestUpstream_watchedNodes has the fact of two tests of the scheduler's plug-ins about an event whose object is
// of another type (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins, nodeaffinity and
// tainttoleration): it says nothing of nodes, so that what is known is looked at again. A proxy that mixes up
// answers ends no process.
func TestUpstream_watchedNodes(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	rows.Run(t, "an event about something that is no node", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatching(t, func(nth int) (watch.Interface, error) {
				f := watch.NewFakeWithChanSize(1, false)
				if nth == 1 {
					f.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "n2", ResourceVersion: "11"}})
				}
				return f, nil
			})
			ctx, cancel := context.WithCancel(t.Context())
			w.follow(ctx)
			synctest.Wait()
			if lists, watches := w.lists.Load(), w.watches.Load(); lists != 2 || watches != 2 {
				t.Errorf("%d lists and %d watches", lists, watches)
			}
			if _, known := w.get("n1"); !known || size(w.collection) != 1 {
				t.Error("the nodes are not those of the list")
			}
			cancel()
			synctest.Wait()
		})
	})
}
