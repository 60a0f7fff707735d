// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package bigcluster_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/bigcluster"
)

// cost is what one client costs, and what the API server has to do for it.
type cost struct {
	wall, client, server time.Duration
	requests             int
	bytes                float64
	resident             int64
}

// client is one way to read a cluster.
type client struct {
	name string
	run  func(b *testing.B, s *stage) (usage, *acctest.Audit)
}

// stage is the cluster that all clients read.
type stage struct {
	c           *acctest.Cluster
	nodes, pods int
}

// BenchmarkAccBigCluster measures plans on a cluster of KUBETAINT_NODES nodes and KUBETAINT_PODS
// pods in which something is written each second, and beside them clients that list all pods.
// The clients take turns, and so does a provider of an earlier version whose file KUBETAINT_EARLIER names. It prints the medians. Controllers stand still meanwhile: they would
// evict the pods of nodes that have no kubelet.
func BenchmarkAccBigCluster(b *testing.B) {
	s := newStage(b)
	clients := []client{
		plan("plan, 1 node, no pod evicted", "NoSchedule", 1, ""),
		plan("plan, 1 node", "NoExecute", 1, ""),
		plan("plan, 10 nodes", "NoExecute", 10, ""),
		plan("plan, half of the nodes, no pod evicted", "NoSchedule", s.nodes/2, ""),
		plan("plan, half of the nodes", "NoExecute", s.nodes/2, ""),
		{"client-go, lists all pods", listed},
		{"kubectl get pods -A", kubectl},
	}
	if earlier := os.Getenv("KUBETAINT_EARLIER"); earlier != "" {
		clients = append(clients, plan("earlier, 1 node, no pod evicted", "NoSchedule", 1, earlier), plan("earlier, 1 node", "NoExecute", 1, earlier),
			plan("earlier, half of the nodes, no pod evicted", "NoSchedule", s.nodes/2, earlier), plan("earlier, half of the nodes", "NoExecute", s.nodes/2, earlier))
	}
	measured := map[string][]cost{}
	for b.Loop() {
		for _, one := range clients {
			if one, ok := s.measure(b, one); ok {
				measured[one.name] = append(measured[one.name], one.cost)
			}
		}
	}
	b.Logf("%d nodes, %d pods, medians of %d rounds\n%s", s.nodes, s.pods, b.N, table(clients, measured))
}

func newStage(b *testing.B) *stage {
	b.Helper()
	s := &stage{c: acctest.Connect(b), nodes: number(b, "KUBETAINT_NODES", 1000), pods: number(b, "KUBETAINT_PODS", 30_000)}
	for _, controller := range []string{"kube-controller-manager", "kube-scheduler", "kwok"} {
		s.c.Signal(b, controller, syscall.SIGSTOP)
		b.Cleanup(func() { s.c.Signal(b, controller, syscall.SIGCONT) })
	}
	storage := bigcluster.Storage{URL: flagOf(b, s.c, "etcd", "--listen-client-urls=")}
	start := time.Now()
	if err := storage.Fill(b.Context(), s.nodes, s.pods); err != nil {
		b.Fatal(err)
	}
	acctest.Until(b, "the API server shows the pod that was written last", func(ctx context.Context) (bool, error) {
		last := bigcluster.Pod(s.pods-1, s.nodes)
		_, err := s.c.Admin.CoreV1().Pods(last.Namespace).Get(ctx, last.Name, metav1.GetOptions{ResourceVersion: "0"})
		return err == nil, nil
	})
	b.Logf("%d objects were written in %.0f s", s.nodes+s.pods, time.Since(start).Seconds())
	s.live(b)
	return s
}

func number(b *testing.B, name string, usual int) int {
	b.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv(name), strconv.Itoa(usual)))
	if err != nil {
		b.Fatalf("%s: %v", name, err)
	}
	return n
}

// live writes to a pod each second: an API server answers lists of an idle cluster in other
// ways than those of one that lives.
func (s *stage) live(b *testing.B) {
	b.Helper()
	// Not as the test, which may write only to what it has created.
	config := rest.CopyConfig(s.c.REST)
	config.UserAgent = "life"
	admin, err := kubernetes.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				pod := bigcluster.Pod(i%s.pods, s.nodes)
				_, err := admin.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"beat":"%d"}}}`, i), metav1.PatchOptions{})
				if err != nil && ctx.Err() == nil {
					b.Errorf("writing to pod %s: %v", pod.Name, err)
				}
			}
		}
	}()
	b.Cleanup(func() { cancel(); <-done })
}

type measurement struct {
	name string
	cost cost
}

func (s *stage) measure(b *testing.B, one client) (measurement, bool) {
	b.Helper()
	serverCPU, bytes, start := s.serverCPU(b), s.sent(b), time.Now()
	used, audit := one.run(b, s)
	if audit == nil {
		return measurement{}, false
	}
	return measurement{one.name, cost{
		wall: time.Since(start), client: used.CPU, resident: used.Resident,
		server: s.serverCPU(b) - serverCPU, bytes: s.sent(b) - bytes, requests: len(audit.Requests()),
	}}, true
}

// plan is a plan of one resource that taints so many nodes, measured as the process of the provider that is tested, or of another
// file.
func plan(name, effect string, nodes int, provider string) client {
	return client{name, func(b *testing.B, s *stage) (usage, *acctest.Audit) {
		b.Helper()
		cli := acctest.NewCLI(b)
		audit, connection := s.c.Audit(b)
		cli.Write(connection, tainting(effect, nodes))
		audit.Reset()
		used, _ := planned(b, cli, provider)
		return used, audit
	}}
}

// planned plans, and returns what the provider costs that is tested, or that of another file, and what the plan says.
func planned(b *testing.B, cli *acctest.CLI, provider string) (used usage, said string) {
	b.Helper()
	wrapped := cli.Wrap(executable(b))
	cli.Env(measuredEnv, cmp.Or(provider, wrapped))
	file := filepath.Join(b.TempDir(), "usage")
	cli.Env(usageEnv, file)
	said = cli.MustRun("plan", "-input=false")
	raw, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(raw, &used)
	}
	if err != nil {
		b.Fatal(err)
	}
	return used, said
}

// tainting is a resource that taints the first nodes.
func tainting(effect string, nodes int) string {
	target := "node_name = " + strconv.Quote(bigcluster.NodeName(0))
	if nodes > 1 {
		names := make([]string, nodes)
		for i := range names {
			names[i] = bigcluster.NodeName(i)
		}
		target = "node_selector = \"kubernetes.io/hostname in (" + strings.Join(names, ",") + ")\""
	}
	return "resource \"kubetaint_node_taints\" \"this\" {\n  " + target + "\n  taints = [{ key = \"dedicated\", value = \"gpu\", effect = \"" + effect + "\" }]\n}\n"
}

func executable(b *testing.B) string {
	b.Helper()
	path, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	return path
}

func listed(b *testing.B, s *stage) (usage, *acctest.Audit) {
	b.Helper()
	audit, connection := s.c.Audit(b)
	cmd := exec.CommandContext(b.Context(), executable(b))
	for variable, attribute := range map[string]string{listEnv: "host", tokenEnv: "token", caEnv: "cluster_ca_certificate"} {
		cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%s", variable, connection[attribute]))
	}
	return finished(b, audit, cmd)
}

// kubectl is measured where there is one.
func kubectl(b *testing.B, s *stage) (usage, *acctest.Audit) {
	b.Helper()
	path, err := exec.LookPath("kubectl")
	if err != nil {
		return usage{}, nil
	}
	audit, connection := s.c.Audit(b)
	ca := filepath.Join(b.TempDir(), "ca")
	if err := os.WriteFile(ca, fmt.Append(nil, connection["cluster_ca_certificate"]), 0o600); err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(b.Context(), path, "get", "pods", "-A", "--kubeconfig=/dev/null", "--cache-dir="+b.TempDir(),
		fmt.Sprintf("--server=%s", connection["host"]), fmt.Sprintf("--token=%s", connection["token"]), "--certificate-authority="+ca)
	return finished(b, audit, cmd)
}

func finished(b *testing.B, audit *acctest.Audit, cmd *exec.Cmd) (usage, *acctest.Audit) {
	b.Helper()
	audit.Reset()
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s: %v\n%s", cmd.Path, err, said.String())
	}
	return usageOf(cmd.ProcessState), audit
}

// serverCPU is what the API server has used so far.
func (s *stage) serverCPU(b *testing.B) time.Duration {
	b.Helper()
	raw, err := os.ReadFile(filepath.Join("/proc", pidOf(b, s.c, "kube-apiserver"), "stat"))
	if err != nil {
		b.Fatal(err)
	}
	// Fields 14 and 15 in hundredths of a second; the second one may hold spaces (proc(5)).
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, err := strconv.Atoi(fields[12])
	if err != nil {
		b.Fatal(err)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

// sent is how many bytes the API server has answered so far to all reads but watches, as they go
// over the network: compressed.
func (s *stage) sent(b *testing.B) (total float64) {
	b.Helper()
	raw, err := s.c.Admin.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if !strings.HasPrefix(line, "apiserver_response_sizes_sum{") || strings.Contains(line, `,resource="",`) {
			continue
		}
		value, err := strconv.ParseFloat(strings.Fields(line)[1], 64)
		if err != nil {
			b.Fatal(err)
		}
		total += value
	}
	return total
}

func pidOf(b *testing.B, c *acctest.Cluster, process string) string {
	b.Helper()
	raw, err := os.ReadFile(filepath.Join(c.Dir(b), "pids", process+".pid"))
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(string(raw))
}

// flagOf returns the value of a flag with which a process of the test bed was started.
func flagOf(b *testing.B, c *acctest.Cluster, process, flag string) string {
	b.Helper()
	raw, err := os.ReadFile(filepath.Join("/proc", pidOf(b, c, process), "cmdline"))
	if err != nil {
		b.Fatal(err)
	}
	for arg := range strings.SplitSeq(string(raw), "\x00") {
		if value, found := strings.CutPrefix(arg, flag); found {
			return value
		}
	}
	b.Fatalf("%s was started without %s", process, flag)
	return ""
}

// table shows the medians, and the CPU of each client compared with that of listing all pods, by client-go and by kubectl.
func table(clients []client, measured map[string][]cost) string {
	var b strings.Builder
	b.WriteString("| Client | Time | CPU | to client-go | to kubectl | CPU of the server | Requests | Bytes | Resident |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	cpuOf := func(name string) float64 {
		return median(measured[name], func(c cost) float64 { return c.client.Seconds() })
	}
	to := func(cpu float64, name string) string {
		if len(measured[name]) == 0 {
			return "-"
		}
		return fmt.Sprintf("%.2f", cpu/cpuOf(name))
	}
	for _, one := range clients {
		all := measured[one.name]
		if len(all) == 0 {
			continue
		}
		cpu := cpuOf(one.name)
		fmt.Fprintf(&b, "| %s | %.1f s | %.2f s | %s | %s | %.2f s | %.0f | %.2f MB | %.0f MiB |\n", one.name,
			median(all, func(c cost) float64 { return c.wall.Seconds() }), cpu, to(cpu, "client-go, lists all pods"), to(cpu, "kubectl get pods -A"),
			median(all, func(c cost) float64 { return c.server.Seconds() }), median(all, func(c cost) float64 { return float64(c.requests) }),
			median(all, func(c cost) float64 { return c.bytes / 1e6 }), median(all, func(c cost) float64 { return float64(c.resident) / 1024 }))
	}
	return b.String()
}

func median(all []cost, of func(cost) float64) float64 {
	values := make([]float64, 0, len(all))
	for _, one := range all {
		values = append(values, of(one))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
