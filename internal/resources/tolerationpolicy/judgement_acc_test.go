// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tolerationpolicy_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// judgements returns how many random policies, each with a random pod and a random node,
// are compared with the real API server and scheduler.
func judgements() int {
	if acctest.All() {
		return 40
	}
	return 12
}

// TestAccTolerationPolicy_randomPodsAreJudgedAsTheSchedulerDoes: what a random policy gives
// to a random pod is what the pure judgement says, and the scheduler puts the pod on a
// node with random taints if and only if the engine's judgement reports that it is tolerated.
func TestAccTolerationPolicy_randomPodsAreJudgedAsTheSchedulerDoes(t *testing.T) {
	t.Parallel()
	newStage(t).judgesRandomPods(judgements())
}

func (s *stage) judgesRandomPods(count int) {
	t := s.t
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	type trial struct {
		name, node string
		taints     []corev1.Taint
		policy     admission.Policy
		own        []corev1.Toleration
	}
	var trials []trial
	for n := range count {
		one := trial{name: fmt.Sprintf("%s-%d", acctest.Name(t, "judge"), n)}
		one.node = one.name
		one.taints = randomTaints(r)
		one.own = randomTolerations(r, 3)
		one.policy = admission.Policy{Name: one.name, Match: admission.Match{Namespaces: []string{s.namespace}, PodSelector: "app=" + one.name}, Tolerations: randomTolerations(r, 2)}
		if len(one.policy.Tolerations) == 0 {
			one.policy.Tolerations = acctest.ParseTolerations(t, "a=1")
		}
		trials = append(trials, one)
	}
	s.c.Nodes(t, len(trials), func(n int) acctest.Node {
		return acctest.Node{Name: trials[n].node, Labels: map[string]string{"judge": trials[n].node}, Taints: trials[n].taints}
	})
	mark := admission.Mark{Owner: "test", Generation: "1"}
	for _, one := range trials {
		objects, err := one.policy.Objects(mark)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.remove(one.name) })
		all := s.c.Admin.AdmissionregistrationV1()
		if _, err := all.MutatingAdmissionPolicies().Create(t.Context(), objects.Policy, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := all.MutatingAdmissionPolicyBindings().Create(t.Context(), objects.Binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	// A pod that brings nothing shows that the last is in force, and the others with it: one
	// of its own may have already what the policy gives.
	last := trials[len(trials)-1]
	s.becomes("tolerations of the last", func() string {
		return own(s.try(func(p *corev1.Pod) { p.Labels = map[string]string{"app": last.name} }).Spec.Tolerations)
	}, own(last.policy.Give(nil)))
	for _, one := range trials {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			s := s.on(t)
			made := s.c.Pod(t, s.namespace, one.name, "", func(p *corev1.Pod) {
				p.Labels, p.Spec.Tolerations, p.Spec.NodeSelector = map[string]string{"app": one.name}, one.own, map[string]string{"judge": one.node}
			})
			given := one.policy.Give(one.own)
			if got, want := own(made.Spec.Tolerations), own(given); got != want {
				t.Fatalf("the policy %s makes of %s: %s, the judgement says %s", toleration.Format(one.policy.Tolerations), toleration.Format(one.own), got, want)
			}
			fits := true
			for _, x := range one.taints {
				fits = fits && (x.Effect == corev1.TaintEffectPreferNoSchedule || taint.FirstMatch(given, x, false) >= 0)
			}
			acctest.Until(t, "the scheduler has decided", func(ctx context.Context) (bool, error) {
				p, err := s.c.Admin.CoreV1().Pods(s.namespace).Get(ctx, one.name, metav1.GetOptions{})
				if err != nil {
					return false, err
				}
				if p.Spec.NodeName != "" {
					if !fits {
						t.Fatalf("the scheduler puts the pod, which tolerates %s, on a node with %s", toleration.Format(given), taint.FormatAll(one.taints))
					}
					return true, nil
				}
				for _, c := range p.Status.Conditions {
					if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
						if fits {
							t.Fatalf("the scheduler refuses the pod, which tolerates %s, on a node with %s: %s", toleration.Format(given), taint.FormatAll(one.taints), c.Message)
						}
						return true, nil
					}
				}
				return false, nil
			})
		})
	}
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func randomTaints(r *rand.Rand) []corev1.Taint {
	var out []corev1.Taint
	for range r.IntN(3) {
		one := corev1.Taint{Key: pick(r, "a", "b"), Value: pick(r, "", "1", "2"), Effect: pick(r, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)}
		if taint.Find(out, taint.IDOf(one)) < 0 {
			out = append(out, one)
		}
	}
	return out
}

func randomTolerations(r *rand.Rand, most int) []corev1.Toleration {
	var out []corev1.Toleration
	for range r.IntN(most + 1) {
		one := corev1.Toleration{Key: pick(r, "a", "b"), Operator: pick(r, corev1.TolerationOpEqual, corev1.TolerationOpExists), Effect: pick(r, "", corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute)}
		if one.Operator == corev1.TolerationOpEqual {
			one.Value = pick(r, "", "1", "2")
		}
		if one.Effect == corev1.TaintEffectNoExecute && r.IntN(2) == 0 {
			one.TolerationSeconds = new(int64(r.IntN(1000) + 600))
		}
		out = append(out, one)
	}
	return out
}
