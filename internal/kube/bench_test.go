// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/pager"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/bigcluster"
)

const benchNodes, benchPods, benchVolumes = 5000, 150_000, 10_000

// benchServer holds a cluster of 5,000 nodes, 150,000 pods and 10,000 volumes.
func benchServer(tb testing.TB) *httptest.Server {
	tb.Helper()
	return bigcluster.Serve(tb, httptest.NewServer, benchNodes, benchPods, benchVolumes, pageSize)
}

// highest samples the heap while a function runs and returns its peak.
func highest(run func()) (peak uint64) {
	done := make(chan struct{})
	var sampler sync.WaitGroup
	sampler.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	})
	run()
	close(done)
	sampler.Wait()
	return peak
}

func benchCluster(tb testing.TB, host string) *Cluster {
	tb.Helper()
	c, err := New(Config{Host: host, Token: "t"})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// list reads and decodes the same pages and keeps nothing.
func list(tb testing.TB, c *Cluster) {
	tb.Helper()
	for _, pages := range []pager.ListPageFunc{
		func(ctx context.Context, o metav1.ListOptions) (kruntime.Object, error) {
			return c.client.core.Nodes().List(ctx, o)
		},
		func(ctx context.Context, o metav1.ListOptions) (kruntime.Object, error) {
			return c.client.core.Pods("").List(ctx, o)
		},
		func(ctx context.Context, o metav1.ListOptions) (kruntime.Object, error) {
			return c.client.core.PersistentVolumeClaims("").List(ctx, o)
		},
		func(ctx context.Context, o metav1.ListOptions) (kruntime.Object, error) {
			return c.client.core.PersistentVolumes().List(ctx, o)
		},
	} {
		p := pager.New(pages)
		p.PageSize, p.PageBufferSize = pageSize, pageBuffer
		if err := p.EachListItem(tb.Context(), metav1.ListOptions{}, func(kruntime.Object) error { return nil }); err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkSnapshot loads a large cluster, and beside it only lists and decodes
// the same pages with client-go: ratio is what the snapshot costs over that, peak-MiB the highest heap while it
// loads, and kept-MiB what it leaves. It fails above 0.6, and from 90 MiB on.
func BenchmarkSnapshot(b *testing.B) {
	server := benchServer(b)
	b.Cleanup(server.CloseClientConnections)
	list(b, benchCluster(b, server.URL)) // Warm up.
	var ours, theirs time.Duration
	var peak, kept uint64
	runs := 0
	b.ResetTimer()
	for b.Loop() {
		start := time.Now()
		list(b, benchCluster(b, server.URL))
		theirs += time.Since(start)

		c := benchCluster(b, server.URL)
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start = time.Now()
		peak = max(peak, highest(func() {
			s, err := c.Snapshot(b.Context())
			if err != nil || len(s.Nodes) != benchNodes || len(s.Pods) != benchNodes {
				b.Fatalf("%v", err)
			}
			ours += time.Since(start)
		}))
		runtime.GC()
		runtime.ReadMemStats(&after)
		kept = after.HeapAlloc - min(before.HeapAlloc, after.HeapAlloc)
		runtime.KeepAlive(c)
		runs++
	}
	ratio := ours.Seconds() / theirs.Seconds()
	b.ReportMetric(ratio, "ratio")
	b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
	b.ReportMetric(float64(kept)/(1<<20), "kept-MiB")
	b.ReportMetric(ours.Seconds()/float64(runs), "s/snapshot")
	b.ReportMetric(theirs.Seconds()/float64(runs), "s/list")
	if ratio > 0.6 || kept >= 90<<20 {
		b.Errorf("it takes %.2f of the time, and keeps %d MiB", ratio, kept>>20)
	}
}

// BenchmarkOwners lists the metadata of 24,000 ReplicaSets and of all Jobs, and loads the snapshot of 150,000 pods that needs
// them: share is what these lists are of that snapshot.
func BenchmarkOwners(b *testing.B) {
	server := benchServer(b)
	b.Cleanup(server.CloseClientConnections)
	var owners, all time.Duration
	for b.Loop() {
		c := benchCluster(b, server.URL)
		start := time.Now()
		var mu sync.Mutex
		s := surroundings{parents: map[types.UID]snapshot.Owner{}, listed: map[types.UID]bool{}}
		for _, kind := range []string{"ReplicaSet", "Job"} {
			if err := c.parents(b.Context(), kind, &mu, &s); err != nil {
				b.Fatal(err)
			}
		}
		owners += time.Since(start)
		if _, err := c.Snapshot(b.Context()); err != nil {
			b.Fatal(err)
		}
		all += time.Since(start)
	}
	b.ReportMetric(owners.Seconds()/(all-owners).Seconds(), "share")
}
