// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// way is one way to taint all nodes of a pool.
type way struct {
	name string
	// hcl is the configuration beside the provider block.
	hcl func(pool string, nodes int) string
	// peer is set where hashicorp/kubernetes does it.
	peer bool
}

var ways = []way{
	{"one resource", func(pool string, _ int) string {
		return "resource \"kubetaint_node_taints\" \"this\" {\n  node_selector = \"pool=" + pool + "\"\n  taints = [{ key = \"dedicated\", value = \"gpu\", effect = \"NoExecute\" }]\n}\n"
	}, false},
	{"by name", func(pool string, nodes int) string {
		return "resource \"kubetaint_node_taints\" \"this\" {\n" + eachNode(pool, nodes) + "  node_name = each.key\n  taints = [{ key = \"dedicated\", value = \"gpu\", effect = \"NoExecute\" }]\n}\n"
	}, false},
	{"kubernetes_node_taint", func(pool string, nodes int) string {
		return "resource \"kubernetes_node_taint\" \"this\" {\n" + eachNode(pool, nodes) + "  metadata {\n    name = each.key\n  }\n  taint {\n    key    = \"dedicated\"\n    value  = \"gpu\"\n    effect = \"NoExecute\"\n  }\n}\n"
	}, true},
}

func eachNode(pool string, nodes int) string {
	return fmt.Sprintf("  for_each = toset([for n in range(%d) : \"%s-${n}\"])\n", nodes, pool)
}

// phases are the runs of the command line that are measured, in their order.
var phases = []struct {
	name string
	args []string
}{
	{"plan", []string{"plan", "-input=false", "-out=plan"}},
	{"apply", []string{"apply", "-input=false", "plan"}},
	{"plan that changes nothing", []string{"plan", "-input=false"}},
	{"destroy", []string{"destroy", "-auto-approve", "-input=false"}},
}

// spent is what one run of the command line costs. The CPU is that of the command line and
// of its providers, and that of these alone. State is how many bytes it leaves.
type spent struct {
	wall, cpu, provider time.Duration
	requests, state     int
}

// BenchmarkAccNodes measures whole runs of the command line over nodes, whose number
// KUBETAINT_NODES gives: as one resource with a selector, as one resource for each node, and,
// where KUBETAINT_PEER names the binary of hashicorp/kubernetes, with its
// kubernetes_node_taint for each node. The ways take turns. It prints the medians.
func BenchmarkAccNodes(b *testing.B) {
	nodes, err := strconv.Atoi(cmp.Or(os.Getenv("KUBETAINT_NODES"), strconv.Itoa(manyNodes)))
	if err != nil {
		b.Fatal(err)
	}
	c, peer := acctest.Connect(b), os.Getenv("KUBETAINT_PEER")
	pool := acctest.Name(b, "bench")
	c.Nodes(b, nodes, func(n int) acctest.Node {
		return acctest.Node{Name: fmt.Sprintf("%s-%d", pool, n), Quiet: true, Labels: map[string]string{"pool": pool}}
	})
	measured := map[string][]spent{}
	for b.Loop() {
		for _, w := range ways {
			if w.peer && peer == "" {
				continue
			}
			for phase, cost := range w.run(b, c, pool, nodes, peer) {
				measured[w.name+phase] = append(measured[w.name+phase], cost)
			}
		}
	}
	b.Logf("%d nodes, medians of %d rounds\n%s", nodes, b.N, table(measured))
}

// run measures all phases once.
func (w way) run(b *testing.B, c *acctest.Cluster, pool string, nodes int, peer string) map[string]spent {
	b.Helper()
	cli, out := acctest.NewCLI(b), map[string]spent{}
	audit, connection := c.Audit(b)
	times := filepath.Join(cli.Dir, "times")
	if w.peer {
		cli.Peer(timed(b, cli.Dir, peer, times))
		block := "provider \"kubernetes\" {\n"
		for name, value := range connection {
			block += fmt.Sprintf("  %s = %q\n", name, value)
		}
		cli.Write(nil, block+"}\n\n"+w.hcl(pool, nodes))
	} else {
		program := filepath.Join(cli.Dir, "timed")
		timed(b, cli.Dir, cli.Wrap(program), times)
		cli.Write(connection, w.hcl(pool, nodes))
	}
	for _, phase := range phases {
		audit.Reset()
		_ = os.Remove(times)
		cmd, start := cli.Command(phase.args...), time.Now()
		if said, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%s %s: %v\n%s", w.name, phase.name, err, said)
		}
		out[phase.name] = spent{
			wall:     time.Since(start),
			cpu:      cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
			provider: summed(b, times),
			requests: len(audit.Requests()),
			state:    len(cli.State()),
		}
	}
	return out
}

// timed writes a program into a folder that runs a provider, and adds the CPU times that each of its processes takes to a file.
func timed(b *testing.B, dir, provider, times string) string {
	b.Helper()
	program := filepath.Join(dir, "timed")
	// The second line is that of the programs that it has run. A pipe would be one of its own, that has run none.
	script := fmt.Sprintf("#!/bin/sh\n%q \"$@\"\ntimes > \"$0.$$\"\ntail -n 1 \"$0.$$\" >> %q\n", provider, times)
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		b.Fatal(err)
	}
	return program
}

// summed returns the sum of the times in a file, such as 0m1.25s 0m0.5s.
func summed(b *testing.B, times string) (sum time.Duration) {
	b.Helper()
	raw, err := os.ReadFile(times)
	if err != nil {
		b.Fatal(err)
	}
	for one := range strings.FieldsSeq(string(raw)) {
		took, err := time.ParseDuration(one)
		if err != nil {
			b.Fatal(err)
		}
		sum += took
	}
	return sum
}

// table shows the medians, and how the CPU of one resource for each node compares with that
// of the peer.
func table(measured map[string][]spent) string {
	var b strings.Builder
	b.WriteString("| Run | " + ways[0].name + " | " + ways[1].name + " | " + ways[2].name + " | CPU, by name to peer |\n| --- | ---: | ---: | ---: | ---: |\n")
	for _, phase := range phases {
		fmt.Fprintf(&b, "| %s |", phase.name)
		var cpu []float64
		for _, w := range ways {
			all := measured[w.name+phase.name]
			if len(all) == 0 {
				b.WriteString(" |")
				continue
			}
			wall := median(all, func(s spent) float64 { return s.wall.Seconds() })
			cpu = append(cpu, median(all, func(s spent) float64 { return s.cpu.Seconds() }))
			provider := median(all, func(s spent) float64 { return s.provider.Seconds() })
			fmt.Fprintf(&b, " %.1f s, CPU %.2f s, %.2f s of it the provider, %.0f requests |", wall, cpu[len(cpu)-1], provider, median(all, func(s spent) float64 { return float64(s.requests) }))
		}
		if len(cpu) == len(ways) {
			fmt.Fprintf(&b, " %.2f |", cpu[1]/cpu[2])
		}
		b.WriteString("\n")
	}
	for _, w := range ways {
		for _, one := range measured[w.name+"apply"] {
			fmt.Fprintf(&b, "%s: %d bytes of state\n", w.name, one.state)
			break
		}
	}
	return b.String()
}

func median(all []spent, of func(spent) float64) float64 {
	values := make([]float64, 0, len(all))
	for _, s := range all {
		values = append(values, of(s))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
