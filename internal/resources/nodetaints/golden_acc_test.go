// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/golden"
)

// otherNodes counts the nodes of tests that run at the same time.
var otherNodes = regexp.MustCompile(`no node: [^;\n]*`)

// TestAccNodeTaints_planWarningsAsTheCommandLinePrintsThem keeps whole warnings,
// taken from "terraform plan -json", as files that a person reads and approves.
func TestAccNodeTaints_planWarningsAsTheCommandLinePrintsThem(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	cli := acctest.NewCLI(t)
	node, namespace := acctest.Name(t, "node"), c.Namespace(t)
	c.Node(t, acctest.Node{Name: node, Labels: map[string]string{"pool": node}})
	c.Node(t, acctest.Node{Name: acctest.Name(t, "other")})
	thirty := int64(30)
	statefulSet(t, c, namespace, "web", node, 3)
	statefulSet(t, c, namespace, "db", node, 2, corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpExists, TolerationSeconds: &thirty, Effect: corev1.TaintEffectNoExecute})
	statefulSet(t, c, namespace, "cache", node, 1, corev1.Toleration{Operator: corev1.TolerationOpExists})
	c.Pod(t, namespace, "notebook", node, func(p *corev1.Pod) {
		p.Spec.NodeSelector = map[string]string{"pool": node}
		p.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	})
	most := intstr.FromInt32(1)
	_, err := c.Admin.PolicyV1().PodDisruptionBudgets(namespace).Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &most, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	acctest.Until(t, "all pods run and the budget is counted", func(ctx context.Context) (bool, error) {
		pods, err := c.Admin.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Running"})
		if err != nil {
			return false, err
		}
		budget, err := c.Admin.PolicyV1().PodDisruptionBudgets(namespace).Get(ctx, "web", metav1.GetOptions{})
		return len(pods.Items) == 7 && budget.Status.DisruptionsAllowed == 1, err
	})
	rows := 0
	for name, config := range map[string]string{
		"named_node":  hcl(fmt.Sprintf("node_name = %q", node), hclTaints(t, "dedicated=gpu:NoExecute")),
		"selector":    hcl(fmt.Sprintf("node_selector = \"pool=%s\"", node), hclTaints(t, "dedicated=gpu:NoExecute extra:NoSchedule")),
		"no_schedule": hcl(fmt.Sprintf("node_name = %q", node), hclTaints(t, "dedicated=gpu:NoSchedule")),
		"no_node":     hcl("node_name = \"worker-99\"", hclTaints(t, "dedicated=gpu:NoExecute")),
	} {
		cli.Write(c.Provider(t), config)
		var b strings.Builder
		warnings := cli.PlanWarnings()
		rows += inTerminals(t, cli, warnings)
		for _, w := range warnings {
			fmt.Fprintf(&b, "%s: %s\n\n%s\n", w.Address, w.Summary, w.Detail)
		}
		got := strings.NewReplacer(node, "worker-3", namespace, "shop").Replace(b.String())
		golden.Check(t, name+".golden", otherNodes.ReplaceAllString(got, "no node: 1 taint, 1 selector"))
	}
	if runtime.GOOS == "linux" && rows == 0 {
		t.Error("no warning has a row")
	}
}

// inTerminals shows that terminals of the usual widths show the rows of warnings as they are, and that -compact-warnings
// prints each summary and nothing else of it. It returns how many rows it has seen.
func inTerminals(t *testing.T, cli *acctest.CLI, warnings []acctest.PlanWarning) (rows int) {
	t.Helper()
	for _, columns := range []uint16{80, 200} {
		lines := cli.InTerminal(columns, "plan", "-input=false")
		if lines == nil {
			continue
		}
		// Nodes of other tests come and go between two plans.
		text, shown := acctest.Unfold(strings.Join(lines, "\n")), map[string]int{}
		for _, line := range lines {
			shown[otherNodes.ReplaceAllString(line, "")] = utf8.RuneCountInString(line)
		}
		for _, w := range warnings {
			for line := range strings.Lines(w.Detail) {
				// A command line breaks prose, and no row.
				if !strings.HasPrefix(line, " ") {
					acctest.WantAll(t, text, acctest.Unfold(line))
					continue
				}
				rows++
				if width, there := shown[otherNodes.ReplaceAllString(acctest.Frame+strings.TrimRight(line, "\n"), "")]; !there || width > 80 {
					t.Errorf("a terminal of %d columns does not show the row %q as it is:\n%s", columns, line, strings.Join(lines, "\n"))
				}
			}
		}
	}
	compact := cli.MustRun("plan", "-input=false", "-compact-warnings")
	for _, w := range warnings {
		acctest.WantAll(t, acctest.Unfold(compact), acctest.Unfold(w.Summary))
		for line := range strings.Lines(w.Detail) {
			if line = acctest.Unfold(line); line != "" && strings.Contains(acctest.Unfold(compact), line) {
				t.Errorf("-compact-warnings shows %q:\n%s", line, compact)
			}
		}
	}
	return rows
}

func statefulSet(t *testing.T, c *acctest.Cluster, namespace, name, node string, replicas int32, tolerations ...corev1.Toleration) {
	t.Helper()
	labels := map[string]string{"app": name}
	_, err := c.Admin.AppsV1().StatefulSets(namespace).Create(t.Context(), &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, PodManagementPolicy: appsv1.ParallelPodManagement,
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				NodeSelector: map[string]string{"pool": node}, Tolerations: tolerations,
				Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10.2"}},
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}
