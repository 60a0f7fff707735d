// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	kprotobuf "k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/pager"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/bigcluster"
)

const benchNodes, benchPods, benchVolumes = 5000, 150_000, 10_000

// encodedPages serves lists that were encoded beforehand into files, so that
// the server costs next to nothing and keeps nothing on the heap: what is
// measured is the client.
type encodedPages struct {
	dir   string
	pages map[string][]string
}

func (s *encodedPages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page := 0
	_, _ = fmt.Sscan(r.URL.Query().Get("continue"), &page)
	all := s.pages[r.URL.Path]
	if page >= len(all) {
		http.NotFound(w, r)
		return
	}
	file, err := os.Open(all[page])
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer file.Close()
	w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
	_, _ = io.Copy(w, file)
}

func (s *encodedPages) add(tb testing.TB, path string, page kruntime.Object) {
	tb.Helper()
	var b bytes.Buffer
	if err := kprotobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(page, &b); err != nil {
		tb.Fatal(err)
	}
	file := filepath.Join(s.dir, fmt.Sprintf("%s-%d", filepath.Base(path), len(s.pages[path])))
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		tb.Fatal(err)
	}
	s.pages[path] = append(s.pages[path], file)
}

// benchServer holds a cluster of 5,000 nodes, 150,000 pods and 10,000 volumes.
func benchServer(tb testing.TB) *httptest.Server {
	tb.Helper()
	s := &encodedPages{dir: tb.TempDir(), pages: map[string][]string{}}
	add := func(path string, count int, list func(from, to int, meta metav1.ListMeta) kruntime.Object) {
		for from := 0; from == 0 || from < count; from += pageSize {
			to := min(from+pageSize, count)
			meta := metav1.ListMeta{ResourceVersion: "1000"}
			if to < count {
				meta.Continue = fmt.Sprint(len(s.pages[path]) + 1)
			}
			s.add(tb, path, list(from, to, meta))
		}
	}
	add("/api/v1/nodes", benchNodes, func(from, to int, meta metav1.ListMeta) kruntime.Object {
		l := &corev1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, ListMeta: meta}
		for i := from; i < to; i++ {
			l.Items = append(l.Items, versioned(bigcluster.Node(i), i))
		}
		return l
	})
	add("/api/v1/pods", benchPods, func(from, to int, meta metav1.ListMeta) kruntime.Object {
		l := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: meta}
		for i := from; i < to; i++ {
			l.Items = append(l.Items, versioned(bigcluster.Pod(i, benchNodes), i))
		}
		return l
	})
	partials := func(path string) {
		add(path, 0, func(_, _ int, meta metav1.ListMeta) kruntime.Object {
			return &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}, ListMeta: meta}
		})
	}
	partials("/apis/apps/v1/replicasets")
	partials("/apis/batch/v1/jobs")
	add("/apis/apps/v1/daemonsets", 0, func(_, _ int, meta metav1.ListMeta) kruntime.Object {
		return &appsv1.DaemonSetList{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSetList"}, ListMeta: meta}
	})
	add("/apis/policy/v1/poddisruptionbudgets", 0, func(_, _ int, meta metav1.ListMeta) kruntime.Object {
		return &policyv1.PodDisruptionBudgetList{TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudgetList"}, ListMeta: meta}
	})
	add("/api/v1/resourcequotas", 0, func(_, _ int, meta metav1.ListMeta) kruntime.Object {
		return &corev1.ResourceQuotaList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ResourceQuotaList"}, ListMeta: meta}
	})
	add("/api/v1/limitranges", 0, func(_, _ int, meta metav1.ListMeta) kruntime.Object {
		return &corev1.LimitRangeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "LimitRangeList"}, ListMeta: meta}
	})
	add("/api/v1/persistentvolumeclaims", benchVolumes, func(from, to int, meta metav1.ListMeta) kruntime.Object {
		l := &corev1.PersistentVolumeClaimList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaimList"}, ListMeta: meta}
		for i := from; i < to; i++ {
			l.Items = append(l.Items, corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("team-%d", i%100), Name: fmt.Sprintf("data-db-%d", i)},
				Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: fmt.Sprintf("pv-%d", i)},
			})
		}
		return l
	})
	add("/api/v1/persistentvolumes", benchVolumes, func(from, to int, meta metav1.ListMeta) kruntime.Object {
		l := &corev1.PersistentVolumeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeList"}, ListMeta: meta}
		for i := from; i < to; i++ {
			v := corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pv-%d", i)}}
			v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{fmt.Sprintf("z%d", i%3)}}},
			}}}}
			l.Items = append(l.Items, v)
		}
		return l
	})
	server := httptest.NewServer(s)
	tb.Cleanup(server.Close)
	return server
}

// versioned returns an object as an API server lists it.
func versioned[T any, O interface {
	*T
	metav1.Object
}](object O, i int) T {
	object.SetResourceVersion(fmt.Sprint(i + 1))
	return *object
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
// the same pages with client-go: ratio is what the snapshot costs over that
// (goal: at most 1.3), peak-MiB the highest heap while it loads (goal: 500).
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
	b.ReportMetric(ours.Seconds()/theirs.Seconds(), "ratio")
	b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
	b.ReportMetric(float64(kept)/(1<<20), "kept-MiB")
	b.ReportMetric(ours.Seconds()/float64(runs), "s/snapshot")
	b.ReportMetric(theirs.Seconds()/float64(runs), "s/list")
}
