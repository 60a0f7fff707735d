// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubectlplugin_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/golden"
)

// TestPreview_limitsThatAreExceededAreExitCode2: the answer is the same as without limits, and stderr
// names each limit that is exceeded.
func TestPreview_limitsThatAreExceededAreExitCode2(t *testing.T) {
	t.Parallel()
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		r := shop(t, c)
		change := []string{"preview", "nodes", "-l", "pool=gpu", "dedicated=gpu:NoExecute"}
		unlimited := r.run(t, change...)
		for flags, want := range map[string]string{
			"--max-pods=4 --max-pending=2 --max-lost=1": "",
			"--max-pods=3":                        "error: 4 pods would be evicted, and --max-pods allows 3\n",
			"--max-pods=0":                        "error: 4 pods would be evicted, and --max-pods allows 0\n",
			"--max-pending=1":                     "error: 2 pods would stay Pending, and --max-pending allows 1\n",
			"--max-lost=0":                        "error: 1 pod would be lost, and --max-lost allows 0\n",
			"--only=shop/* --only=ops/Pod/debug":  "",
			"--only=shop/StatefulSet/train,ops/*": "error: 1 pod would be evicted that --only does not list, of shop/StatefulSet/cache\n",
			"--only=":                             "error: 4 pods would be evicted that --only does not list, of ops/Pod/debug, shop/StatefulSet/cache, shop/StatefulSet/train\n",
			"--max-pods=3 --max-lost=0":           "error: 4 pods would be evicted, and --max-pods allows 3\nerror: 1 pod would be lost, and --max-lost allows 0\n",
		} {
			code := 0
			if want != "" {
				code = 2
			}
			if got := r.run(t, append(change, strings.Fields(flags)...)...); got.code != code || got.out != unlimited.out || got.err != want {
				t.Errorf("%s: want %q and got\n%s", flags, want, got)
			}
		}
	})
}

// TestPreviewDrain_aPodSelectorThatMatchesNoPodIsAWarning, as in the plan of the action: it can be a typing error.
func TestPreviewDrain_aPodSelectorThatMatchesNoPodIsAWarning(t *testing.T) {
	t.Parallel()
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		r := shop(t, c)
		for flags, none := range map[string]string{"": "evicts none", "--disable-eviction": "deletes none"} {
			args := append([]string{"preview", "drain", "worker-2", "--pod-selector=app=trian"}, strings.Fields(flags)...)
			said := `No pod on node "worker-2" matches "app=trian": the drain ` + none
			warning := "Warning: " + said + ". If that is not intended, check the labels (kubectl get pods -A --show-labels --field-selector spec.nodeName=worker-2).\n"
			for _, format := range []string{"table", "wide", "markdown", "json"} {
				if got := r.run(t, append(args, "-o", format)...); got.code != 0 || got.err != warning || !strings.Contains(strings.ReplaceAll(got.out, `\"`, `"`), said) {
					t.Errorf("%s %s: got\n%s", flags, format, got)
				}
			}
			if got := r.run(t, append(args, "-o", "markdown")...); !strings.HasPrefix(got.out, "> [!WARNING]") {
				t.Errorf("got\n%s", got)
			}
		}
		if got := r.run(t, "preview", "drain", "worker-2", "--pod-selector=app=train"); got.err != "" || strings.Contains(got.out, "No pod") {
			t.Errorf("with a pod that matches: got\n%s", got)
		}
	})
}

// TestPreviewDrain_deletionsAreNoEvictions in its words, with --disable-eviction.
func TestPreviewDrain_deletionsAreNoEvictions(t *testing.T) {
	t.Parallel()
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		r := shop(t, c)
		got := r.run(t, "preview", "drain", "worker-2", "--disable-eviction", "--max-pods=0", "--only=")
		if got.code != 2 || !strings.Contains(got.err, " would be deleted, and --max-pods allows 0\n") || !strings.Contains(got.err, " would be deleted that --only does not list") || strings.Contains(got.err, "evicted") {
			t.Errorf("got\n%s", got)
		}
		if got := r.run(t, "preview", "drain", "worker-1", "--disable-eviction"); got.code != 1 || !strings.Contains(got.err, "or set --force to delete it\n") {
			t.Errorf("got\n%s", got)
		}
		c.Node(t, acctest.Node{Name: "empty"})
		if got := r.run(t, "preview", "drain", "empty", "--disable-eviction"); got.code != 0 || !strings.Contains(got.out, `Draining node "empty" deletes no pods`) {
			t.Errorf("got\n%s", got)
		}
	})
}

// TestPreviewDrain_podsThatStopItAreAnError with the flag that lets them go, and nothing on stdout.
func TestPreviewDrain_podsThatStopItAreAnError(t *testing.T) {
	t.Parallel()
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		r := shop(t, c)
		const lost = "  pod ops/debug on node worker-1 has no controller that would recreate it: delete it yourself (kubectl delete pod) if it is not needed any more, or set --force to evict it\n"
		if got := r.run(t, "preview", "drain", "worker-1"); got.code != 1 || got.out != "" || got.err != "error: unable to drain node \"worker-1\": 1 pod stops the drain\n"+lost {
			t.Errorf("got\n%s", got)
		}
		got := r.run(t, "preview", "drain", "worker-2", "--ignore-daemonsets=false")
		if got.code != 1 || got.out != "" || !strings.Contains(got.err, "is owned by a DaemonSet, which would recreate it immediately: set --ignore-daemonsets to leave it there") {
			t.Errorf("got\n%s", got)
		}
	})
}

// TestPreviewDrain_forceEvictsPodsWithoutController: they are lost, and one is stopped by what stops the
// other pods.
func TestPreviewDrain_forceEvictsPodsWithoutController(t *testing.T) {
	t.Parallel()
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		r := shop(t, c)
		golden.Check(t, "drain-force.golden", r.run(t, "preview", "drain", "worker-1", "--force").String())
		if got := r.run(t, "preview", "drain", "worker-1", "--force", "--max-lost=0"); got.code != 2 || got.err != "error: 1 pod would be lost, and --max-lost allows 0\n" {
			t.Errorf("with a limit: got\n%s", got)
		}
		c.Pod(t, "ops", "scratch", "worker-1", func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		})
		const data = "error: unable to drain node \"worker-1\": 1 pod stops the drain\n  pod ops/scratch on node worker-1 has local data (emptyDir) that would be lost: set --delete-emptydir-data to evict it\n"
		if got := r.run(t, "preview", "drain", "worker-1", "--force"); got.code != 1 || got.out != "" || got.err != data {
			t.Errorf("with local data: got\n%s", got)
		}
		if got := r.run(t, "preview", "drain", "worker-1", "--force", "--delete-emptydir-data"); got.code != 0 || !strings.Contains(got.out, " 2 lost") {
			t.Errorf("with local data that may be lost: got\n%s", got)
		}
		c.Pod(t, "ops", "guarded", "worker-1", func(p *corev1.Pod) { p.Labels = map[string]string{"app": "guarded"} })
		c.Budget(t, "ops", "one", "guarded")
		c.Budget(t, "ops", "two", "guarded")
		if got := r.run(t, "preview", "drain", "worker-1", "--force", "--delete-emptydir-data"); got.code != 1 || got.out != "" || !strings.Contains(got.err, "\n  pod ops/guarded on node worker-1 is covered by 2 PodDisruptionBudgets (one, two)") {
			t.Errorf("with two PodDisruptionBudgets: got\n%s", got)
		}
	})
}

// TestPreviewDrain_oneThatGetsStuckIsExitCode2: the PodDisruptionBudget that holds it is directly under the
// summary, in a field of its own, and no row of a table alone.
func TestPreviewDrain_oneThatGetsStuckIsExitCode2(t *testing.T) {
	t.Parallel()
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		r := shop(t, c)
		c.Budget(t, "shop", "train", "train")
		for name, args := range map[string][]string{"drain-stuck": nil, "drain-stuck.markdown": {"-o=markdown"}, "drain-stuck-and-limit": {"--max-pods=0"}} {
			golden.Check(t, name+".golden", r.run(t, append([]string{"preview", "drain", "worker-2"}, args...)...).String())
		}
		for _, format := range []string{"json", "yaml"} {
			got := r.run(t, "preview", "drain", "worker-2", "-o", format)
			var answer struct{ Stuck []string }
			if err := yaml.Unmarshal([]byte(got.out), &answer); err != nil || got.code != 2 || len(answer.Stuck) != 1 || !strings.HasPrefix(answer.Stuck[0], `PodDisruptionBudget "shop/train" allows no eviction`) {
				t.Errorf("got %v of\n%s", err, got)
			}
		}
	})
}
