// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// BenchmarkHandshake is how large the provider's binary is, compiled as releases are, and
// how long it takes to the line by which it tells the command line where it listens.
func BenchmarkHandshake(b *testing.B) {
	binary := filepath.Join(b.TempDir(), "terraform-provider-kubetaint")
	// The tables of debuggers, which the linker leaves out, need not be made: the tests
	// compile the provider without them.
	build := exec.Command("go", "build", "-trimpath", "-gcflags=all=-dwarf=false", "-ldflags=-s -w", "-o", binary, "../..")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	info, err := os.Stat(binary)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		handshake(b, binary)
	}
	b.ReportMetric(float64(info.Size())/1e6, "MB")
}

func handshake(b *testing.B, binary string) {
	b.Helper()
	cmd := exec.Command(binary)
	// go-plugin's cookie for providers, by which a binary recognizes that no human started it.
	cmd.Env = append(os.Environ(), "TF_PLUGIN_MAGIC_COOKIE=d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2", "PLUGIN_PROTOCOL_VERSIONS=6")
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "1|6|") {
		b.Errorf("the provider says %q: %v", line, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// BenchmarkAccValidate is how long "terraform validate" takes with a resource of this
// provider, and how much of that is the provider's start and schema.
func BenchmarkAccValidate(b *testing.B) {
	with, without := acctest.NewCLI(b), acctest.NewCLI(b)
	with.Write(nil, `resource "kubetaint_node_taints" "this" {
  node_name = "worker-1"
  taints    = [{ key = "team", value = "a", effect = "NoExecute" }]
}
`)
	bare := time.Duration(0)
	for b.Loop() {
		with.MustRun("validate")
		b.StopTimer()
		started := time.Now()
		without.MustRun("validate")
		bare += time.Since(started)
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds()-bare.Milliseconds())/float64(b.N), "ms/provider")
}
