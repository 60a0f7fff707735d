// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// predicted is what the preview says of a pod.
type predicted struct {
	app, verdict, reason string
	reschedulable        bool
}

// populate puts a pod of each kind on a pool: those that fit only there, one that
// fits elsewhere as well, those that every node has, and one that nothing makes again.
func (s *stage) populate(p *acctest.Pool, apps string) {
	s.Helper()
	// Pods that tolerate everything tolerate a cordon too, and are recreated on the node
	// that is being drained.
	here := func(more ...corev1.Toleration) func(*corev1.PodSpec) {
		return func(spec *corev1.PodSpec) {
			spec.NodeSelector = map[string]string{"pool": p.Name}
			spec.Tolerations = append(acctestTolerations(s.T, foreign), more...)
		}
	}
	team := corev1.Toleration{Key: "team", Operator: corev1.TolerationOpExists}
	hour := corev1.Toleration{Key: "team", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(3600))}
	spare := acctest.Name(s.T, "spare")
	s.c.Node(s.T, acctest.Node{Name: spare, Labels: map[string]string{"spare": p.Name}})
	s.c.Patch(s.T, spare, `{"spec":{"unschedulable":true}}`)
	s.c.Deployment(s.T, apps, "fits-the-new", 2, here(team))
	s.c.Deployment(s.T, apps, "fits-the-old", 1, here())
	s.c.Deployment(s.T, apps, "fits-elsewhere", 1, func(spec *corev1.PodSpec) {
		spec.Tolerations = acctestTolerations(s.T, foreign)
		spec.Affinity = either("pool", "spare", p.Name)
	})
	s.c.Deployment(s.T, apps, "patient", 1, here(hour))
	s.c.DaemonSet(s.T, apps, "agent", 2, here(team))
	s.c.DaemonSet(s.T, apps, "picky-agent", 2, here())
	for _, m := range p.Machines() {
		s.c.Pod(s.T, apps, "alone", m.Status.NodeRef.Name, func(pod *corev1.Pod) {
			pod.Labels = map[string]string{"app": "alone"}
			here()(&pod.Spec)
			pod.Spec.NodeSelector = nil
		})
		break
	}
	s.c.Running(s.T, apps, "alone", 1)
	s.c.Uncordon(s.T, spare)
}

// either requires one label or the other of a node.
func either(one, other, value string) *corev1.Affinity {
	var terms []corev1.NodeSelectorTerm
	for _, key := range []string{one, other} {
		terms = append(terms, corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}}})
	}
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}
}

// preview asks the data source about the machines of a pool.
func (s *stage) preview(p *acctest.Pool, taints string, rollout map[string]any) (map[string]predicted, map[string]any) {
	s.Helper()
	seen, d := s.tf.Data(s.T, "kubetaint_eviction_preview", map[string]any{
		"machine_sets": map[string]any{"namespace": s.namespace, "name": p.Name, "rollout": rollout},
		"taints":       acctest.Objects(s.T, taints), "include_unaffected": true,
	})
	if d.Errors() != "" {
		s.Fatal(d.Errors())
	}
	out := map[string]predicted{}
	for _, one := range seen["pods"].([]any) {
		pod := one.(map[string]any)
		name := fmt.Sprint(pod["name"])
		app := name
		if owner, ok := pod["owner"].(string); ok {
			app = owner[strings.Index(owner, "/")+1:]
		}
		out[name] = predicted{app: app, verdict: fmt.Sprint(pod["verdict"]), reason: fmt.Sprint(pod["reason"]), reschedulable: pod["reschedulable"] == true}
	}
	return out, seen
}

// TestAccMachineSetTaints_predictions: the pods that the preview says are drained,
// evicted or left alone are those that the controllers then drain, evict or leave
// alone, those that it calls recreated run again, where it predicts so, and the plan of the
// resource says the same.
func TestAccMachineSetTaints_predictions(t *testing.T) {
	t.Parallel()
	const onlyNew = "only new machines of MachineSet"
	drains := map[string]string{
		"fits-the-new": "drained", "fits-the-old": "drained", "fits-elsewhere": "drained", "patient": "drained", "alone": "drained", "agent": "stays", "picky-agent": "stays",
	}
	evicts := map[string]string{
		"fits-the-new": "stays", "fits-the-old": "evicted_now", "fits-elsewhere": "evicted_now", "patient": "evicted_after", "alone": "evicted_now", "agent": "stays", "picky-agent": "evicted_now",
	}
	for name, tt := range strategies {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			// There is a node beside the set's.
			p := s.pool(2, func(m *acctest.MachineSet) { m.Spare = 1 + added(tt.rollout) })
			apps := s.c.Namespace(t)
			s.populate(p, apps)
			said, seen := s.preview(p, "team=a:NoExecute", tt.rollout)
			want := evicts
			if tt.replaces {
				want = drains
			}
			if len(said) != 10 {
				t.Fatalf("the preview has %d pods, want 10: %v", len(said), said)
			}
			for pod, v := range said {
				if v.verdict != want[v.app] {
					t.Errorf("pod %s is said to be %s (%s), want %s", pod, v.verdict, v.reason, want[v.app])
				}
				// Unless all machines go together, there are old ones or new ones for it at any time.
				waits := tt.least(2) == 0 && (v.app == "fits-the-new" || v.app == "patient")
				if waits != strings.Contains(v.reason, onlyNew) || (v.app == "patient") != strings.Contains(v.reason, "evicts it again") {
					t.Errorf("pod %s: it says %q", pod, v.reason)
				}
				if gone := v.app == "fits-the-old"; gone && v.reschedulable {
					t.Errorf("pod %s is said to come back", pod)
				}
			}
			config := s.config(p.Name, "team=a:NoExecute", tt.rollout)
			_, heading, _ := strings.Cut(fmt.Sprint(seen["markdown"]), "\n> **")
			heading, _, _ = strings.Cut(heading, "**\n")
			if heading == "" {
				t.Fatalf("the Markdown has no verdict: %s", seen["markdown"])
			}
			acctest.WantAll(s.T, s.tf.Plan(t, newInstance(), config).Diagnostics.Warnings(), heading)
			happened := s.c.Disruptions(t, apps)
			i := newInstance()
			s.apply(i, config)
			p.Want(2, foreign+" team=a:NoExecute")
			s.comesBack(apps, "fits-the-new", 2, "pool", p.Name)
			s.comesBack(apps, "fits-elsewhere", 1, "spare", p.Name)
			s.comesBack(apps, "patient", 1, "pool", p.Name)
			s.pending(apps, "fits-the-old")
			s.gone(apps, said)
			left := happened()
			s.left(said, left)
			s.evictedAgain(fmt.Sprint(seen["markdown"]), said, left)
			s.apply(i, nil)
			p.Want(2, foreign)
		})
	}
}

// evictedAgain compares how many replacements were said to be evicted with another machine with how many were.
func (s *stage) evictedAgain(markdown string, said map[string]predicted, reasons map[string]string) {
	s.Helper()
	least, most := 0, 0
	if found := regexp.MustCompile(`fits-the-new \| drain \| [^|]*?(\d+)(?:-(\d+))? evicted again`).FindStringSubmatch(markdown); found != nil {
		least, _ = strconv.Atoi(found[1])
		most, _ = strconv.Atoi(cmp.Or(found[2], found[1]))
	}
	again := 0
	for pod, reason := range reasons {
		if _, first := said[pod]; strings.HasPrefix(pod, "fits-the-new-") && !first && reason == acctest.ByDrain {
			again++
		}
	}
	if again < least || again > most {
		s.Errorf("%d replacements were evicted with another machine, and %d to %d were said to be", again, least, most)
	}
}

// gone waits until the pods that were said to leave are gone: one that its controller
// has deleted is there until its node's kubelet reports that it has ended.
func (s *stage) gone(namespace string, said map[string]predicted) {
	s.Helper()
	for pod, v := range said {
		if v.verdict != "drained" && v.verdict != "evicted_now" {
			continue
		}
		acctest.Until(s.T, "pod "+pod+", which was said to be "+v.verdict+", is gone", func(ctx context.Context) (bool, error) {
			_, err := s.c.Admin.CoreV1().Pods(namespace).Get(ctx, pod, metav1.GetOptions{})
			return apierrors.IsNotFound(err), nil
		})
	}
}

// left compares what was said of pods, of which those that were to leave are gone, with
// what made them leave.
func (s *stage) left(said map[string]predicted, reasons map[string]string) {
	s.Helper()
	for pod, v := range said {
		want := map[string]string{"drained": acctest.ByDrain, "evicted_now": acctest.ByTaint}[v.verdict]
		got := reasons[pod]
		if got != acctest.ByDrain && got != acctest.ByTaint {
			// Its node has gone, or it has not left.
			got = ""
		}
		if v.app == "picky-agent" && v.verdict == "evicted_now" && got == "" {
			// The DaemonSet's own controller can be first: it gives no reason.
			continue
		}
		if got != want {
			s.Errorf("pod %s was said to be %s (%s), and left by %q", pod, v.verdict, v.reason, reasons[pod])
		}
	}
}

// comesBack waits until the pods of a workload run, all of them on nodes with a label.
// Those that leave may be there still, and their nodes may go meanwhile.
func (s *stage) comesBack(namespace, app string, count int, label, value string) {
	s.Helper()
	acctest.Until(s.T, fmt.Sprintf("%d pods of %s run on nodes whose %s is %q", count, app, label, value), func(ctx context.Context) (bool, error) {
		nodes, err := s.c.Admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: label + "=" + value})
		if err != nil {
			return false, err
		}
		pods := s.live(ctx, namespace, app)
		for _, pod := range pods {
			there := slices.ContainsFunc(nodes.Items, func(n corev1.Node) bool { return n.Name == pod.Spec.NodeName })
			if !there || !ready(&pod) {
				return false, nil
			}
		}
		return len(pods) == count, nil
	})
}

func ready(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// pending waits until the scheduler has found no node for the pods of a workload.
func (s *stage) pending(namespace, app string) {
	s.Helper()
	acctest.Until(s.T, "the pods of "+app+" are pending", func(ctx context.Context) (bool, error) {
		pods := s.live(ctx, namespace, app)
		for _, pod := range pods {
			unschedulable := false
			for _, c := range pod.Status.Conditions {
				unschedulable = unschedulable || c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable
			}
			if !unschedulable {
				return false, nil
			}
		}
		return len(pods) > 0, nil
	})
}

// live are the pods of a workload that are not being deleted.
func (s *stage) live(ctx context.Context, namespace, app string) []corev1.Pod {
	s.Helper()
	pods, err := s.c.Admin.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		s.Fatal(err)
	}
	var out []corev1.Pod
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp == nil {
			out = append(out, pod)
		}
	}
	return out
}
