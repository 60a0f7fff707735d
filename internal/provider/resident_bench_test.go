// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package provider_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/provider"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/bigcluster"
)

// hostEnv has this program read the cluster of an API server, and print how much memory that has taken.
const hostEnv = "KUBETAINT_BENCH_HOST"

// BenchmarkResident is how much memory the provider has at most that reads a cluster of 5,000 nodes and 150,000 pods, and
// previews a taint on 500 nodes (goal: less than 200 MiB). It reads so in a process of its own, that collects garbage as the provider does.
func BenchmarkResident(b *testing.B) {
	if host := os.Getenv(hostEnv); host != "" {
		preview(b, host)
		return
	}
	server := bigcluster.Serve(b, 5_000, 150_000, 10_000, 500)
	b.Cleanup(server.CloseClientConnections)
	resident := 0
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), os.Args[0], "-test.run=^$", "-test.bench=^BenchmarkResident$", "-test.benchtime=1x")
		// Both change when garbage is collected.
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(one string) bool {
			return strings.HasPrefix(one, "GOGC=") || strings.HasPrefix(one, "GOMEMLIMIT=")
		}), hostEnv+"="+server.URL)
		out, err := cmd.CombinedOutput()
		most := regexp.MustCompile(`resident (\d+) kB`).FindSubmatch(out)
		if err != nil || most == nil {
			b.Fatalf("%v\n%s", err, out)
		}
		kib, _ := strconv.Atoi(string(most[1])) // They are digits.
		resident = max(resident, kib)
	}
	b.ReportMetric(float64(resident)/1024, "resident-MiB")
}

// preview is what a plan does that taints 500 nodes. The most memory is that of this program alone: that of a child
// that has ended, as the system reports it, includes its parent's.
func preview(b *testing.B, host string) {
	b.Helper()
	provider.TuneCollector()
	c, err := kube.New(kube.Config{Host: host, Token: "t"})
	if err != nil {
		b.Fatal(err)
	}
	s, err := c.Snapshot(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	change := eviction.Scenario{Taints: map[string][]corev1.Taint{}}
	for i := range 500 {
		change.Taints[bigcluster.NodeName(i)] = []corev1.Taint{{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoExecute}}
	}
	report := &eviction.Report{}
	if _, err := c.Judge(b.Context(), s, func(s *snapshot.Snapshot) []*snapshot.Pod {
		report = eviction.Evaluate(s, change, eviction.ComparisonOff)
		return report.Judged()
	}); err != nil {
		b.Fatal(err)
	}
	out := report.Outcome()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	fmt.Println("resident", strings.TrimSpace(regexp.MustCompile(`VmHWM:(.*)`).FindStringSubmatch(string(status))[1]), len(out.Workloads), "workloads", out.Orders, "orders")
}
