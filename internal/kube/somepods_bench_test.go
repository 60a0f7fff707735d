// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

//go:build unix

package kube

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	kprotobuf "k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/bigcluster"
)

// compressedLists serves lists of 1,000 nodes, and of the 30 pods of any of these, compressed as an
// API server compresses them (k8s.io/apiserver v0.37.2
// pkg/endpoints/handlers/responsewriters/writers.go, defaultGzipContentEncodingLevel).
func compressedLists(tb testing.TB, sent *atomic.Int64) *httptest.Server {
	tb.Helper()
	encode := func(list kruntime.Object) []byte {
		var raw, b bytes.Buffer
		if err := kprotobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(list, &raw); err != nil {
			tb.Fatal(err)
		}
		w, _ := gzip.NewWriterLevel(&b, 1) // The level is one of gzip's.
		_, _ = w.Write(raw.Bytes())
		_ = w.Close()
		return b.Bytes()
	}
	nodes := &corev1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1000"}}
	for i := range 1_000 {
		nodes.Items = append(nodes.Items, bigcluster.Versioned(bigcluster.Node(i), i))
	}
	pods := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1000"}}
	for i := range 30 {
		pods.Items = append(pods.Items, bigcluster.Versioned(bigcluster.Pod(i*benchNodes, benchNodes), i))
	}
	one := *pods
	one.Items, one.RemainingItemCount, one.Continue = pods.Items[:1], new(int64(29_999)), "more"
	answers := map[string][]byte{"nodes": encode(nodes), "pods": encode(pods), "count": encode(&one)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := answers["nodes"]
		switch {
		case r.URL.Path != "/api/v1/pods":
		case r.URL.Query().Get("limit") == "1":
			answer = answers["count"]
		default:
			answer = answers["pods"]
		}
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
		w.Header().Set("Content-Encoding", "gzip")
		sent.Add(int64(len(answer)))
		_, _ = w.Write(answer)
	}))
	tb.Cleanup(server.Close)
	return server
}

// BenchmarkSnapshotOfNodes reads what a plan needs that evicts no pod of one node of 1,000 with 30
// pods each: bytes on the wire and CPU seconds of client and server, which sends what it has
// compressed before. It fails above 1 MB or 1 s.
func BenchmarkSnapshotOfNodes(b *testing.B) {
	var sent atomic.Int64
	server := compressedLists(b, &sent)
	b.Cleanup(server.CloseClientConnections)
	runs, before := 0, cpu(b)
	for b.Loop() {
		s, part, err := benchCluster(b, server.URL).SnapshotOfNodes(b.Context(), []string{bigcluster.NodeName(0)})
		if err != nil || !part || len(s.Nodes) != 1_000 || len(s.Pods[bigcluster.NodeName(0)]) != 30 {
			b.Fatal(part, err)
		}
		runs++
	}
	megabytes, seconds := float64(sent.Load())/float64(runs)/1e6, (cpu(b)-before).Seconds()/float64(runs)
	b.ReportMetric(megabytes, "MB/op")
	b.ReportMetric(seconds, "CPU-s/op")
	if megabytes > 1 || seconds > 1 {
		b.Errorf("it takes %.2f MB and %.2f s", megabytes, seconds)
	}
}

// cpu returns the CPU time of the process so far.
func cpu(tb testing.TB) time.Duration {
	tb.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
