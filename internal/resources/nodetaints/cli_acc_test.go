// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

func hcl(target, taints string) string {
	return fmt.Sprintf("resource \"kubetaint_node_taints\" \"this\" {\n  %s\n  taints = [\n%s  ]\n}\n", target, taints)
}

func hclTaints(t *testing.T, all string) string {
	t.Helper()
	var b strings.Builder
	for _, one := range acctest.Parse(t, all) {
		fmt.Fprintf(&b, "    { key = %q, value = %q, effect = %q },\n", one.Key, one.Value, one.Effect)
	}
	return b.String()
}

// TestAccNodeTaints_kill9AfterEachWrite kills the real provider process under a
// real command line as soon as the API server has carried out a given write of a
// create, an update and a destroy, and before any other write. It then runs the
// same apply again. Each number of writes begins from where the step begins.
func TestAccNodeTaints_kill9AfterEachWrite(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	cli := acctest.NewCLI(t)
	pool, nodes := pool(t, c, 3)
	for _, s := range []struct{ name, taints, want string }{
		{"create", "dedicated=gpu:NoSchedule spot:NoSchedule", ", dedicated=gpu:NoSchedule, spot:NoSchedule"},
		{"update", "dedicated=web:NoSchedule more:NoExecute", ", dedicated=web:NoSchedule, more:NoExecute"},
		{"destroy", "", ""},
	} {
		config := ""
		if s.taints != "" {
			config = hcl(fmt.Sprintf("node_selector = \"pool=%s\"", pool), hclTaints(t, s.taints))
		}
		begin, state := remember(t, c, nodes, newInstance()), cli.State()
		for writes := range acctest.Kills(2) {
			if writes > len(nodes) {
				break
			}
			begin.restore(t)
			cli.SetState(state)
			applyAndKill(t, c, cli, begin, config, writes)
			for _, n := range nodes {
				wantNoOrphans(t, c, n)
			}
			cli.MustRun("apply", "-auto-approve", "-input=false")
			wantOwned(t, c, nodes, s.want)
			cli.WantEmptyPlan()
		}
	}
}

// applyAndKill applies and kills the provider after a number of writes.
func applyAndKill(t *testing.T, c *acctest.Cluster, cli *acctest.CLI, begin start, config string, writes int) {
	t.Helper()
	proxy := c.Proxy(t)
	proxy.InTurn()
	var done atomic.Int64
	var killed atomic.Bool
	proxy.Spoil(func(r acctest.Request) acctest.Fault {
		if r.Write() && done.Load() >= int64(writes) {
			// It was on its way when the process was killed.
			return acctest.CutBefore
		}
		return acctest.None
	})
	proxy.After(func(r acctest.Request) {
		// A conflict is no write: the provider reads again and repeats it.
		if r.Write() && r.Status == http.StatusOK && done.Load() < int64(writes) && done.Add(1) == int64(writes) {
			// The command line can end before all processes have been looked at.
			killed.Store(true)
			cli.KillProvider()
		}
	})
	cli.Write(proxy.Provider(t, c), config)
	out, ok := cli.Run("apply", "-auto-approve", "-input=false")
	if !killed.Load() {
		t.Fatalf("no process was killed after write %d:\n%s", writes, out)
	}
	if ok {
		t.Fatalf("the provider was killed after write %d and the apply succeeded:\n%s", writes, out)
	}
	if changed := begin.changed(t); changed != writes {
		t.Fatalf("%d nodes were written before the kill, want %d:\n%s", changed, writes, out)
	}
	proxy.After(nil)
	proxy.Spoil(nil)
}

func TestAccNodeTaints_createBeforeDestroyWithReplaceLosesNoTaint(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	cli := acctest.NewCLI(t)
	pool, nodes := pool(t, c, 2)
	config := hcl(fmt.Sprintf("node_selector = \"pool=%s\"\n  lifecycle {\n    create_before_destroy = true\n  }", pool), hclTaints(t, "dedicated=gpu:NoSchedule"))
	cli.Write(c.Provider(t), config)
	cli.MustRun("apply", "-auto-approve", "-input=false")
	for range 2 {
		bared := c.Bared(t, pool, idOf(t, gpu))
		cli.MustRun("apply", "-auto-approve", "-input=false", "-replace=kubetaint_node_taints.this")
		if got := bared(); len(got) > 0 {
			t.Fatalf("%v were without the taint for a moment", got)
		}
		wantOwned(t, c, nodes, ", dedicated=gpu:NoSchedule")
		cli.WantEmptyPlan()
	}
	cli.MustRun("destroy", "-auto-approve", "-input=false")
	wantOwned(t, c, nodes, "")
}

// TestAccNodeTaints_movedBlockTakesOverARecordedState runs a moved block against a state
// as hashicorp/kubernetes writes it, foreign taints included.
func TestAccNodeTaints_movedBlockTakesOverARecordedState(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	cli, name := acctest.NewCLI(t), acctest.Name(t, "node")
	const all = "foreign=1:NoSchedule, dedicated=gpu:NoExecute"
	c.Node(t, acctest.Node{Name: name, Taints: acctest.Parse(t, strings.ReplaceAll(all, ",", ""))})
	recorded, err := os.ReadFile(filepath.Join("testdata", "kubernetes_node_taint.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	cli.StandIn()
	cli.SetState(bytes.ReplaceAll(recorded, []byte("worker-1"), []byte(name)))
	cli.Write(c.Provider(t), hcl(fmt.Sprintf("node_name = %q", name), hclTaints(t, "dedicated=gpu:NoExecute"))+`
moved {
  from = kubernetes_node_taint.gpu
  to   = kubetaint_node_taints.this
}
`)
	acctest.WantAll(t, acctest.Unfold(cli.MustRun("plan", "-input=false")), "moved from kubernetes_node_taint.gpu", "0 to add, 1 to change, 0 to destroy", "1 imported taint", "leaves the state but stays on node")
	cli.MustRun("apply", "-auto-approve", "-input=false")
	wantTaints(t, c, name, all)
	cli.WantEmptyPlan()
	cli.MustRun("destroy", "-auto-approve", "-input=false")
	wantTaints(t, c, name, "foreign=1:NoSchedule")
}

func TestAccNodeTaints_refreshOnlyStaysQuietWhilePodsComeAndGo(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	cli := acctest.NewCLI(t)
	name, namespace := acctest.Name(t, "node"), c.Namespace(t)
	c.Node(t, acctest.Node{Name: name})
	tolerating := func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
	}
	c.Pod(t, namespace, "went", name, tolerating)
	cli.Write(c.Provider(t), hcl(fmt.Sprintf("node_name = %q", name), hclTaints(t, "dedicated=gpu:NoExecute")))
	cli.MustRun("apply", "-auto-approve", "-input=false")
	if err := c.Admin.CoreV1().Pods(namespace).Delete(t.Context(), "went", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Pod(t, namespace, "came", name, tolerating)
	c.Patch(t, name, `{"metadata":{"labels":{"changed":"yes"}}}`)
	cli.WantEmptyPlan("-refresh-only")
	cli.WantEmptyPlan()
}

func TestAccNodeTaints_importBlocks(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	for form, block := range map[string]string{
		"by id":       `id = "node/%s/dedicated:NoExecute"`,
		"by identity": `identity = { target = "node/%s", taints = ["dedicated:NoExecute"] }`,
	} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			cli := acctest.NewCLI(t)
			if strings.HasPrefix(block, "identity") {
				cli.NeedIdentities()
			}
			name := acctest.Name(t, "node")
			c.Node(t, acctest.Node{Name: name, Taints: acctest.Parse(t, "foreign:NoSchedule dedicated=gpu:NoExecute")})
			cli.Write(c.Provider(t), hcl(fmt.Sprintf("node_name = %q", name), hclTaints(t, "dedicated=gpu:NoExecute"))+
				"import {\n  to = kubetaint_node_taints.this\n  "+fmt.Sprintf(block, name)+"\n}\n")
			out := cli.MustRun("apply", "-auto-approve", "-input=false")
			if !strings.Contains(out, "1 imported, 0 added, 0 changed, 0 destroyed") {
				t.Fatalf("importing changes something:\n%s", out)
			}
			cli.WantEmptyPlan()
			wantTaints(t, c, name, "foreign:NoSchedule, dedicated=gpu:NoExecute")
		})
	}
}
