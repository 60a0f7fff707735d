// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// argoEnv names the program that is the controller of Argo's Rollouts, "" where it is not built.
const argoEnv = "KUBETAINT_ARGO_ROLLOUTS"

// ArgoRollouts starts a cluster for this test alone on which the real controller of Argo's
// Rollouts runs, with the definitions of the same version. It takes minutes to build, so the
// test is skipped unless "make testacc-argo" runs it.
func ArgoRollouts(t testing.TB) *Cluster {
	t.Helper()
	program := os.Getenv(argoEnv)
	if program == "" {
		t.Skip("needs the controller of Argo Rollouts, which is built on request: run \"make testacc-argo\"")
	}
	c := Own(t)
	definitions := filepath.Join(moduleDir(t, "argo-rollouts", "github.com/argoproj/argo-rollouts"), "manifests", "crds")
	for resource, file := range map[string]string{
		"rollouts": "rollout-crd.yaml", "experiments": "experiment-crd.yaml", "analysisruns": "analysis-run-crd.yaml",
		"analysistemplates": "analysis-template-crd.yaml", "clusteranalysistemplates": "cluster-analysis-template-crd.yaml",
	} {
		raw, err := os.ReadFile(filepath.Join(definitions, file))
		must(t, err)
		c.Define(t, schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: resource}, string(raw))
	}
	c.beside(t, program, "--kubeconfig="+filepath.Join(c.Dir(t), "kubeconfig"), "--leader-elect=false",
		// Ports of its own choice, which nobody asks.
		"--metricsPort=0", "--healthzPort=0", "--qps=1000", "--burst=2000")
	return c
}

// moduleDir returns the folder of a module's files, in the version that a module of the test
// bed requires. The program that is built of it may come from the cache of another machine.
func moduleDir(t testing.TB, component, module string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module)
	cmd.Dir = filepath.Join(root(), "internal", "testbed", "modules", component)
	out, err := cmd.Output()
	must(t, err)
	var found struct{ Dir string }
	must(t, json.Unmarshal(out, &found))
	return found.Dir
}

// beside runs a program until the test ends, or until this process does, whatever ends it: the
// shell around it waits for the end of the pipe that this process holds. A test that fails
// shows what the program wrote last.
func (*Cluster) beside(t testing.TB, program string, args ...string) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	must(t, err)
	cmd := exec.Command("sh", append([]string{"-c", `"$@" & cat > /dev/null; kill $!; wait`, "sh", program}, args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	// Not for the interrupt that is typed at the terminal.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	alive, err := cmd.StdinPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = alive.Close()
		_ = cmd.Wait()
		written, _ := os.ReadFile(log.Name())
		_ = log.Close()
		if t.Failed() {
			t.Logf("%s wrote last:\n%s", filepath.Base(program), written[max(0, len(written)-4000):])
		}
	})
}
