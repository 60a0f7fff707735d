// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Variables that name the programs of controllers which "make test" does not build.
const (
	argoEnv   = "KUBETAINT_ARGO_ROLLOUTS"
	kruiseEnv = "KUBETAINT_KRUISE"
)

// ArgoRollouts starts a cluster for this test alone on which the real controller of Argo's
// Rollouts runs, with the definitions of the same version. It takes minutes to build, so the
// test is skipped unless "make testacc-argo" runs it.
func ArgoRollouts(t testing.TB) *Cluster {
	t.Helper()
	program := OnRequest(t, argoEnv, "the controller of Argo Rollouts", "testacc-argo")
	c := StartCluster(t)
	c.defineAll(t, filepath.Join(moduleDir(t, "argo-rollouts", "github.com/argoproj/argo-rollouts"), "manifests", "crds"))
	c.beside(t, program, "--kubeconfig="+filepath.Join(c.Dir(t), "kubeconfig"), "--leader-elect=false",
		// Ports of its own choice, which no client uses.
		"--metricsPort=0", "--healthzPort=0", "--qps=1000", "--burst=2000")
	return c
}

// Kruise starts a cluster for this test alone on which the real controllers of OpenKruise's
// CloneSets and DaemonSets run, as internal/testbed/modules/kruise says. The test is skipped
// unless "make testacc-kruise" runs it.
func Kruise(t testing.TB) *Cluster {
	t.Helper()
	program := OnRequest(t, kruiseEnv, "the controllers of OpenKruise", "testacc-kruise")
	c := StartCluster(t)
	c.defineAll(t, filepath.Join(moduleDir(t, "kruise", "github.com/openkruise/kruise"), "config", "crd", "bases"))
	c.beside(t, program, "--kubeconfig="+filepath.Join(c.Dir(t), "kubeconfig"))
	return c
}

// OnRequest returns the program that a variable names, and skips the test where it is not built.
func OnRequest(t testing.TB, variable, what, target string) string {
	t.Helper()
	program := os.Getenv(variable)
	if program == "" {
		t.Skipf("needs %s, built on request: run \"make %s\"", what, target)
	}
	return program
}

// defineAll installs the custom resource definitions of a folder.
func (c *Cluster) defineAll(t testing.TB, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	must(t, err)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		must(t, err)
		object := &unstructured.Unstructured{}
		must(t, yaml.Unmarshal(raw, &object.Object))
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		versions, _, err := unstructured.NestedSlice(object.Object, "spec", "versions")
		must(t, err)
		resource, group, _ := strings.Cut(object.GetName(), ".")
		for _, version := range versions {
			if fields, _ := version.(map[string]any); fields["served"] == true {
				name, _ := fields["name"].(string)
				c.Define(t, schema.GroupVersionResource{Group: group, Version: name, Resource: resource}, string(raw))
			}
		}
	}
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
