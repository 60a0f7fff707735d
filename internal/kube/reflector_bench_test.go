// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"net/http"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// requests counts what a client sends, lists and watches apart.
type requests struct {
	http.RoundTripper
	lists, watches atomic.Int64
}

// RoundTrip counts and sends.
func (r *requests) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Query().Has("watch") {
		r.watches.Add(1)
	} else {
		r.lists.Add(1)
	}
	return r.RoundTripper.RoundTrip(req)
}

// slimStore is a store of client-go's Reflector that keeps what a collection keeps.
type slimStore struct {
	cache.Store
	filled chan struct{}
}

// Replace takes the first list, after which nothing else is needed.
func (s *slimStore) Replace(items []any, version string) error {
	err := s.Store.Replace(items, version)
	close(s.filled)
	return err
}

// fillByReflector fills a store as client-go's informers do, with what a collection keeps of each pod.
func fillByReflector(ctx context.Context, c *Cluster, list func(context.Context, metav1.ListOptions) (kruntime.Object, error)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	key := func(object any) (string, error) {
		if slim, is := object.(*slimPod); is {
			return slim.Key(), nil
		}
		return cache.MetaNamespaceKeyFunc(object)
	}
	slim := func(object any) (any, error) {
		pod, _ := c.client.pods.pod(object.(kruntime.Object))
		return pod, nil
	}
	store := &slimStore{filled: make(chan struct{}), Store: cache.NewStore(key, cache.WithTransformer(slim))}
	pods := cache.ListWatch{ListWithContextFunc: list, WatchFuncWithContext: c.client.pods.watch}
	reflector := cache.NewReflectorWithOptions(&pods, nil, store, cache.ReflectorOptions{})
	reflector.WatchListPageSize = pageSize
	go reflector.RunWithContext(ctx)
	<-store.filled
}

// BenchmarkReflector fills a store with the pods of a large cluster by client-go's
// Reflector and by our own collection. Reported of each are the highest heap, the
// time, and what is sent: docs/adr/013 has what follows from them.
func BenchmarkReflector(b *testing.B) {
	server := benchServer(b)
	b.Cleanup(server.CloseClientConnections)
	for name, fill := range map[string]func(ctx context.Context, c *Cluster){
		"collection": func(ctx context.Context, c *Cluster) {
			if err := c.pods.load(ctx); err != nil {
				b.Fatal(err)
			}
		},
		"reflector": func(ctx context.Context, c *Cluster) {
			fillByReflector(ctx, c, func(ctx context.Context, o metav1.ListOptions) (kruntime.Object, error) {
				return c.client.core.Pods("").List(ctx, o)
			})
		},
		"reflector with slim pages": func(ctx context.Context, c *Cluster) { fillByReflector(ctx, c, c.client.pods.list) },
	} {
		b.Run(name, func(b *testing.B) {
			sent := &requests{RoundTripper: http.DefaultTransport}
			var took time.Duration
			var peak uint64
			runs := 0
			for b.Loop() {
				c, err := New(Config{Host: server.URL, Token: "t", Transport: sent})
				if err != nil {
					b.Fatal(err)
				}
				runtime.GC()
				start := time.Now()
				peak = max(peak, highest(func() { fill(b.Context(), c) }))
				took += time.Since(start)
				runs++
			}
			b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
			b.ReportMetric(took.Seconds()/float64(runs), "s/fill")
			b.ReportMetric(float64(sent.lists.Load())/float64(runs), "lists")
			b.ReportMetric(float64(sent.watches.Load())/float64(runs), "watches")
		})
	}
}
