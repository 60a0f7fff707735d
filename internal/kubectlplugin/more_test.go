// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kubectlplugin_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/golden"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
)

// TestPreviewMachineSet_answers: what a rollout evicts and what it costs in machines.
func TestPreviewMachineSet_answers(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"machineset-rolling":       {"gpu-a", "--strategy", "rolling", "dedicated=gpu:NoExecute"},
		"machineset-in-place":      {"-l", "role=gpu", "--strategy=in_place", "dedicated=gpu:NoExecute", "old-"},
		"machineset-template-only": {"gpu-a", "--strategy=template_only", "dedicated=gpu:NoExecute"},
		"machineset-none":          {"gpu-x", "--strategy=surge", "dedicated=gpu:NoExecute"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
				if _, err := c.Admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "openshift-machine-api"}}, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				pool := c.MachineSet(t, acctest.MachineSet{Namespace: "openshift-machine-api", Name: "gpu-a", Replicas: 2, Labels: map[string]string{"role": "gpu"}, Taints: "old:PreferNoSchedule"})
				r := shop(t, c, pool.Names()...)
				c.StatefulSet(t, "shop", "learn", 2, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"pool": "gpu-a"} })
				got := r.run(t, append([]string{"preview", "machineset"}, args...)...)
				golden.Check(t, name+".golden", got.String())
			}, controllers.MachineAPI...)
		})
	}
}

// TestPreview_includeUnaffectedListsAllPodsOfTheNodes in JSON and in the table of pods.
func TestPreview_includeUnaffectedListsAllPodsOfTheNodes(t *testing.T) {
	t.Parallel()
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		r := shop(t, c)
		change := []string{"preview", "nodes", "worker-1", "dedicated=gpu:NoExecute"}
		for _, format := range []string{"wide", "json", "yaml"} {
			few, all := r.run(t, append(change, "-o", format)...), r.run(t, append(change, "-o", format, "--include-unaffected")...)
			if strings.Contains(few.out, "agent-worker-1") || !strings.Contains(all.out, "agent-worker-1") {
				t.Errorf("%s: the pod that stays is in\n%s\nor not in\n%s", format, few, all)
			}
		}
	})
}

// TestPreview_whatCannotBeReadIsAWarning on stderr, once, and the answer remains.
func TestPreview_whatCannotBeReadIsAWarning(t *testing.T) {
	t.Parallel()
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		r := shop(t, c)
		r.token = c.TokenWith(t, acctest.Without(acctest.RightsToPlan(t), "poddisruptionbudgets", "list")...)
		for format, inAnswer := range map[string]bool{"table": true, "json": false} {
			got := r.run(t, "preview", "nodes", "worker-1", "dedicated=gpu:NoExecute", "-o", format)
			warned := strings.Contains(got.err, "Warning: the preview is not complete: ") && strings.Contains(got.err, "PodDisruptionBudgets")
			if got.code != 0 || warned == inAnswer || inAnswer != strings.Contains(got.out, "Not complete: ") && format == "table" {
				t.Errorf("%s: got\n%s", format, got)
			}
		}
		r.token = c.TokenWith(t, acctest.Without(acctest.RightsToPlan(t), "pods", "list")...)
		if got := r.run(t, "preview", "nodes", "worker-1", "dedicated=gpu:NoExecute"); got.code != 1 || got.out != "" || !strings.HasPrefix(got.err, "Error from server (Forbidden): pods is forbidden: ") {
			t.Errorf("without the right to list pods: got\n%s", got)
		}
	})
}

// TestTolerates_workloads: a template answers where there are no pods, and the least tolerant pod where
// they differ; a controller in the middle has its own pods.
func TestTolerates_workloads(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		c.Node(t, acctest.Node{Name: "a"})
		namespace := c.Namespace(t)
		everything := []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		labels := map[string]string{"app": "web"}
		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Tolerations: everything, Containers: []corev1.Container{{Name: "main", Image: "x"}}}},
		}}
		deployment, err := c.Admin.AppsV1().Deployments(namespace).Create(t.Context(), deployment, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r := newReader(t, c)
		ask := func(what string) ran { return r.run(t, "tolerates", "-n", namespace, what, "k=v:NoExecute") }
		if got := ask("deployment/web"); got.code != 0 || !strings.Contains(got.out, "k=v:NoExecute   yes         Exists\n") || got.err != "" {
			t.Errorf("without pods: got\n%s", got)
		}
		controller := true
		for name, tolerations := range map[string][]corev1.Toleration{"web-old": nil, "web-new": everything} {
			set, err := c.Admin.AppsV1().ReplicaSets(namespace).Create(t.Context(), &appsv1.ReplicaSet{
				ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: deployment.UID, Controller: &controller}}},
				Spec:       appsv1.ReplicaSetSpec{Selector: deployment.Spec.Selector, Template: deployment.Spec.Template},
			}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			c.Pod(t, namespace, name+"-x", "a", func(p *corev1.Pod) {
				p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name, UID: set.UID, Controller: &controller}}
				p.Spec.Tolerations = tolerations
			})
		}
		if got := ask("deployments.v1.apps/web"); got.code != 1 || !strings.Contains(got.out, "k=v:NoExecute   no          <none>\n") || got.err != "Warning: the pods of Deployment/web differ, and the least tolerant one counts\n" {
			t.Errorf("in the middle of a rollout: got\n%s", got)
		}
		if got := ask("replicaset/web-new"); got.code != 0 || got.err != "" {
			t.Errorf("of one ReplicaSet: got\n%s", got)
		}
		if got := ask("pod/web-old-x"); got.code != 1 || got.err != "" {
			t.Errorf("of one pod: got\n%s", got)
		}
	})
}

// TestTolerates_aTemplateAsAdmissionAddsToIt: there is no pod of the workload, and another pod shows that the
// admission plug-in PodTolerationRestriction is on.
func TestTolerates_aTemplateAsAdmissionAddsToIt(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		c.Node(t, acctest.Node{Name: "a"})
		namespace, labels := c.Namespace(t), map[string]string{"app": "web"}
		template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "x"}}}}
		_, err := c.Admin.AppsV1().Deployments(namespace).Create(t.Context(), &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.DeploymentSpec{Replicas: new(int32), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Admin.AppsV1().DaemonSets(namespace).Create(t.Context(), &appsv1.DaemonSet{
			ObjectMeta: metav1.ObjectMeta{Name: "agent"}, Spec: appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r := newReader(t, c)
		want := func(question, column string, code int) {
			t.Helper()
			got := r.run(t, append([]string{"tolerates", "-n", namespace}, strings.Fields(question)...)...)
			if rows := strings.Split(got.out, "\n"); got.code != code || len(rows) < 2 || strings.Fields(rows[1])[1] != column {
				t.Errorf("%s: want %s, got\n%s", question, column, got)
			}
		}
		want("deployment/web node.kubernetes.io/unreachable:NoExecute", "300s", 0)
		want("deployment/web node.kubernetes.io/not-ready:NoExecute", "300s", 0)
		want("daemonset/agent node.kubernetes.io/unreachable:NoExecute", "yes", 0)
		want("deployment/web dedicated=gpu:NoExecute", "no", 1)

		if _, err := c.Admin.CoreV1().Namespaces().Patch(t.Context(), namespace, types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"scheduler.alpha.kubernetes.io/defaultTolerations":"[{\"key\":\"dedicated\",\"operator\":\"Exists\"}]"}}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		want("deployment/web dedicated=gpu:NoExecute", "no", 1)
		c.Pod(t, namespace, "witness", "a", func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
			p.Spec.Tolerations = []corev1.Toleration{{Key: corev1.TaintNodeMemoryPressure, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}
		})
		want("deployment/web dedicated=gpu:NoExecute", "yes", 0)
		want("daemonset/agent dedicated=gpu:NoExecute", "yes", 0)
	})
}

// TestTolerates_comparisonOperators: the answer is open unless the flag names the state of the gate.
func TestTolerates_comparisonOperators(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		c.Node(t, acctest.Node{Name: "a"})
		namespace := c.Namespace(t)
		c.Pod(t, namespace, "web", "a", func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpGt, Value: "1", Effect: corev1.TaintEffectNoExecute}}
		})
		r := newReader(t, c)
		for flag, want := range map[string]struct {
			answer string
			code   int
		}{"": {"maybe", 1}, "--comparison-operators": {"yes", 0}, "--comparison-operators=false": {"no", 1}} {
			args := append([]string{"tolerates", "-n", namespace, "web", "k=5:NoExecute"}, strings.Fields(flag)...)
			if got := r.run(t, args...); got.code != want.code || strings.Fields(strings.Split(got.out, "\n")[1])[1] != want.answer {
				t.Errorf("%q: want %v and got\n%s", flag, want, got)
			}
		}
	})
}

// TestUntolerated_nothingIsSaidOnStderr: with a table stdout is empty, and other formats have an empty list.
func TestUntolerated_nothingIsSaidOnStderr(t *testing.T) {
	t.Parallel()
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		r := shop(t, c)
		if got := r.run(t, "untolerated", "-n", "shop", "train-0", "worker-1"); got.code != 0 || got.out != "" || got.err != "Every taint is tolerated.\n" {
			t.Errorf("got\n%s", got)
		}
		if got := r.run(t, "untolerated", "-n", "shop", "train-0", "-l", "pool=gpu", "-o", "jsonpath={.items}"); got.code != 0 || got.out != "[]" || got.err != "" {
			t.Errorf("got\n%s", got)
		}
	})
}

// TestRun_completesNamesOfNodesAndEffects by cobra's command, which kubectl calls.
func TestRun_completesNamesOfNodesAndEffects(t *testing.T) {
	t.Parallel()
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		r := shop(t, c)
		for line, want := range map[string]string{
			"preview nodes w":                "worker-1\nworker-2\nworker-3\n:4\n",
			"preview nodes worker-1 w":       "worker-2\nworker-3\n:4\n",
			"preview nodes worker-1 k=v:No":  "k=v:NoSchedule\nk=v:NoExecute\n:4\n",
			"preview nodes a k:NoExecute j:": "j:NoSchedule\nj:PreferNoSchedule\nj:NoExecute\n:4\n",
			"preview drain worker-3":         "worker-3\n:4\n",
			"untolerated web w":              "worker-1\nworker-2\nworker-3\n:4\n",
			"tolerates web k:P":              "k:PreferNoSchedule\n:4\n",
			"preview machineset --strategy ": "template_only\nin_place\nrolling\nsurge\nscale_to_zero\n:4\n",
			"preview nodes -o ":              "table\nwide\nmarkdown\njson\nyaml\nkyaml\ngo-template\ngo-template-file\ntemplate\ntemplatefile\njsonpath\njsonpath-as-json\njsonpath-file\n:4\n",
		} {
			if got := r.run(t, append([]string{"__complete"}, strings.Split(line, " ")...)...); got.out != want {
				t.Errorf("%s: want %q and got\n%s", line, want, got)
			}
		}
	})
}

// TestRun_helpIsTheAnswer: what is asked for is on stdout.
func TestRun_helpIsTheAnswer(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		r := newReader(t, c)
		for args, want := range map[string]string{
			"":                         "Usage:\n  kubectl kubetaint [command]\n",
			"preview":                  "Usage:\n  kubectl kubetaint preview [command]\n",
			"preview nodes --help":     "Usage:\n  kubectl kubetaint preview nodes (NAME ... | -l SELECTOR) KEY=VALUE:EFFECT ... [flags]\n",
			"help tolerates":           "  kubectl kubetaint tolerates deployment/web dedicated=gpu:NoExecute maintenance:NoSchedule -n shop\n",
			"--version":                "kubectl kubetaint version test\n",
			"completion bash":          "bash completion",
			"help preview machineset ": "openshift-machine-api",
		} {
			if got := r.run(t, strings.Fields(args)...); got.code != 0 || got.err != "" || !strings.Contains(got.out, want) {
				t.Errorf("%q: want %q and got\n%s", args, want, got)
			}
		}
	})
}

// TestRun_helpDescribesTheGlobalFlags of kubetaint and the namespace, and names where kubectl lists its own.
func TestRun_helpDescribesTheGlobalFlags(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		r := newReader(t, c)
		for _, args := range []string{"", "preview", "preview nodes --help", "preview drain -h", "help preview machineset", "tolerates -h", "untolerated -h", "snapshot -h"} {
			got := r.run(t, strings.Fields(args)...)
			_, global, _ := strings.Cut(got.out, "\nGlobal Flags:\n")
			for _, want := range []string{
				"  -n, --namespace string ",
				"      --snapshot string ",
				"File or folder to read in place of the cluster: ",
				"      --comparison-operators ",
				"Whether the cluster's feature gate TaintTolerationComparisonOperators is on.",
				"\nUse \"kubectl options\" to list them.\n",
			} {
				if !strings.Contains(global, want) {
					t.Errorf("%q: want %q and got\n%s", args, want, got)
				}
			}
			if strings.Contains(got.out, "--kubeconfig string") {
				t.Errorf("%q: it lists kubectl's flags:\n%s", args, got)
			}
		}
	})
}
