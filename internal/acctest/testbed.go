// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// testbedEnv names the test bed's program, which starts clusters.
	testbedEnv = "KUBETAINT_TESTBED"
	// machinesEnv are flags of the Machine API that it plays; none where not set.
	machinesEnv = "KUBETAINT_MACHINE_API_FLAGS"
	// besideEnv is the folder of a second cluster, which the makefile starts with other
	// flags: see Beside.
	besideEnv = "KUBETAINT_TESTBED_BESIDE_DIR"
)

// testbed is a cluster that lives as long as this process does, whatever ends it.
type testbed struct {
	dir   string
	ended *exec.Cmd
	// stdin keeps it alive: the pipe is closed with this process.
	stdin io.Closer
}

// startTestbed starts a cluster with these flags of "testbed run". What it says goes to
// a file and not to this process's own output, which "go test" reads to its end.
func startTestbed(flags ...string) (*testbed, error) {
	log, err := os.CreateTemp("", "kubetaint-acctest-*.log")
	if err != nil {
		return nil, err
	}
	defer func() { _ = errors.Join(log.Close(), os.Remove(log.Name())) }()
	if machines := os.Getenv(machinesEnv); machines != "" {
		// The test's own flags come later, and win.
		flags = append([]string{"--machine-api", "--machine-api-flags", machines}, flags...)
	}
	flags = append(flags, "--", "sh", "-c", `echo "$KUBETAINT_TESTBED_DIR"; exec cat > /dev/null`)
	cmd := exec.Command(os.Getenv(testbedEnv), append([]string{"run"}, flags...)...)
	cmd.Stderr = log
	// Not for the interrupt that is typed at the terminal: tests clean up in a living
	// cluster.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		said, _ := os.ReadFile(log.Name())
		return nil, fmt.Errorf("the test bed did not start: %w: %s", err, said)
	}
	return &testbed{dir: strings.TrimSpace(line), ended: cmd, stdin: stdin}, nil
}

// stop ends the cluster and waits until it is gone.
func (b *testbed) stop() error {
	return errors.Join(b.stdin.Close(), b.ended.Wait())
}

// StartCluster starts a cluster for this test alone, with these flags of "testbed run": one that
// may be broken, or that is configured in a way of its own. The test is skipped where
// there is no test bed.
func StartCluster(t testing.TB, flags ...string) *Cluster {
	t.Helper()
	Connect(t)
	if os.Getenv(testbedEnv) == "" {
		t.Skip("needs the test bed, to start a cluster of its own")
	}
	release, err := takeTurn(filepath.Join(os.TempDir(), fmt.Sprintf("kubetaint-acctest-%d.lock", os.Getuid())), syscall.LOCK_EX)
	must(t, err)
	t.Cleanup(release)
	b, err := startTestbed(flags...)
	must(t, err)
	t.Cleanup(func() { must(t, b.stop()) })
	c, err := clusterOf(filepath.Join(b.dir, "kubeconfig"), b.dir)
	must(t, err)
	return c
}

// Beside returns the second cluster of a run. Its API server has the admission plug-in
// PodTolerationRestriction switched on, as OpenShift's has, and serves v1beta1 of mutating
// admission policies. Tests share it as they share the first one. The test is skipped where
// there is no such cluster.
func Beside(t testing.TB) *Cluster {
	t.Helper()
	Connect(t)
	if os.Getenv(besideEnv) == "" {
		t.Skip("needs the second cluster that \"make testacc\" starts")
	}
	return besideFor(t, syscall.LOCK_SH).forTest(t)
}

// Alone returns a cluster on which no other test runs meanwhile, for tests that count what
// a plan reads, that depend on what retires anywhere in the cluster, or that break it for a
// while. All such tests share the second cluster, one at a time, beside the tests on the
// other one. Without a second cluster it is that of Connect: then they do not run in
// parallel, so that they are alone there as long as one package is tested.
func Alone(t testing.TB) *Cluster {
	t.Helper()
	if os.Getenv(besideEnv) == "" {
		c := Connect(t)
		c.alone = true
		return c
	}
	if one, ok := t.(interface{ Parallel() }); ok {
		one.Parallel()
	}
	Connect(t)
	c := *besideFor(t, syscall.LOCK_EX)
	c.alone = true
	// Tests that have shared the cluster leave pods behind that are about to end.
	c.empty(t)
	t.Cleanup(func() { c.empty(t) })
	return &c
}

// besideFor returns the second cluster once the test may use it, with others or alone.
func besideFor(t testing.TB, how int) *Cluster {
	t.Helper()
	release, err := takeTurn(filepath.Join(os.Getenv(besideEnv), "turn.lock"), how)
	must(t, err)
	t.Cleanup(release)
	c, err := besideCluster()
	must(t, err)
	return c
}

// empty ends all pods of the cluster, and what makes them: a pod whose ReplicaSet is gone would
// make the next test's plan list ReplicaSets once more.
func (c *Cluster) empty(t testing.TB) {
	t.Helper()
	now, every := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}, metav1.ListOptions{}
	// The test's own context may have ended.
	must(t, untilWithin(context.Background(), patience, func(ctx context.Context) (bool, error) {
		sets, err := c.Admin.AppsV1().ReplicaSets("").List(ctx, every)
		if err != nil {
			return false, err
		}
		pods, err := c.Admin.CoreV1().Pods("").List(ctx, every)
		if err != nil {
			return false, err
		}
		for _, pod := range pods.Items {
			_ = c.Admin.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, now)
		}
		return len(sets.Items)+len(pods.Items) == 0, nil
	}))
}

var besideCluster = sync.OnceValues(func() (*Cluster, error) {
	dir := os.Getenv(besideEnv)
	return clusterOf(filepath.Join(dir, "kubeconfig"), dir)
})

// takeTurn waits until a lock can be had, shared (LOCK_SH) or alone (LOCK_EX), and returns a
// function that lets the next test begin. The lock ends with the process that holds it. Own
// takes one, because each cluster takes a gigabyte, and a processor while it starts.
func takeTurn(lock string, how int) (release func(), err error) {
	file, err := os.OpenFile(lock, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), how); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { _ = file.Close() }, nil
}

// Faithful returns a cluster that only the tests of this process use, one after the other.
// Its Machine API is as awkward as that of OpenShift, and has its pauses of up to 30 seconds:
// see internal/testbed/modules/machineapi. A node is held for lost after 40 seconds.
func Faithful(t testing.TB) *Cluster {
	t.Helper()
	Connect(t)
	if os.Getenv(testbedEnv) == "" {
		t.Skip("needs the test bed, to start a cluster of its own")
	}
	c, err := faithful()
	must(t, err)
	return c
}

var faithful = sync.OnceValues(func() (*Cluster, error) {
	b, err := startTestbed("--machine-api", "--machine-api-flags", "--faithful", "--controller-manager-flags", "--node-monitor-grace-period=40s --node-monitor-period=1s")
	if err != nil {
		return nil, err
	}
	c, err := clusterOf(filepath.Join(b.dir, "kubeconfig"), b.dir)
	if err != nil {
		return nil, errors.Join(err, b.stop())
	}
	c.bed = b
	return c, nil
})

// Signal sends a signal to a process of the test bed, such as "kube-apiserver". What goes
// wrong is an error of the test, which goes on.
func (c *Cluster) Signal(t testing.TB, process string, signal syscall.Signal) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(c.Dir(t), "pids", process+".pid"))
	var pid int
	if err == nil {
		pid, err = strconv.Atoi(strings.TrimSpace(string(raw)))
	}
	if err == nil {
		err = syscall.Kill(pid, signal)
	}
	if err != nil {
		t.Errorf("sending %s to %s: %v", signal, process, err)
	}
}

// clusterOf returns the cluster of a kubeconfig, and where its files are if it is the
// test bed's.
func clusterOf(kubeconfig, dir string) (*Cluster, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("%s does not lead to a cluster: %w", kubeconfig, err)
	}
	return newCluster(cfg, dir)
}
