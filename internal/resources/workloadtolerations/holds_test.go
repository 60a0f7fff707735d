// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

// stuck makes a Deployment whose new pods find no node, and returns it with the
// configuration that makes them.
func (s *shop) stuck() (acctest.Thing, map[string]any) {
	s.t.Helper()
	thing := s.make("Deployment", "web", 2, "foreign*", nil)
	s.c.Cordon(s.t, s.namespace, s.pool)
	return thing, s.manage(thing, "team=a:NoExecute", soon())
}

// soon makes an apply end whose pods do not come, once they are there. What must
// succeed gets no such limit.
func soon() map[string]any {
	return map[string]any{"timeouts": map[string]any{"create": "25s", "update": "25s"}}
}

func TestWorkloadTolerations_waitThatEndsNamesThePodsAndGoesOnLater(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "the rollout did not finish")
	inShop(t, func(t *testing.T, s *shop) {
		thing, config := s.stuck()
		i := s.fresh()
		d := s.tf.Apply(t, i, config)
		var old, fresh []string
		for _, pod := range s.live("web") {
			if pod.Spec.NodeName == "" {
				fresh = append(fresh, pod.Name)
			} else {
				old = append(old, pod.Name)
			}
		}
		says(t, "error", d.Errors(), "the rollout did not finish in time", "still without the tolerations: "+strings.Join(old, ", "), "not scheduled yet (Pending): "+strings.Join(fresh, ", "), "timeouts", "apply again: it continues", "Nothing is saved in the state")
		if i.Exists() {
			t.Fatal("a failed create has saved a state, which Terraform would destroy")
		}
		s.want(thing, "foreign* team=a:NoExecute", 1)

		// The node takes pods again, and the next apply goes on.
		delete(config, "timeouts")
		s.c.Patch(t, s.namespace, `{"spec":{"unschedulable":false}}`)
		s.apply(i, config)
		s.wantPods("web", 2, "team=a:NoExecute", "Deployment")
		if slices.ContainsFunc(s.live("web"), func(p corev1.Pod) bool { return !slices.Contains(fresh, p.Name) }) {
			t.Fatal("going on has rolled the pods out once more")
		}

		// An update that ends so keeps the state that was there before.
		s.c.Cordon(t, s.namespace, s.pool)
		config["tolerations"] = acctest.TolerationObjects(t, "team=b:NoExecute")
		says(t, "error", s.tf.Apply(t, i, acctest.With(config, soon())).Errors(), "the rollout did not finish in time", "apply again: it continues")
		s.planned(i, config)
		s.c.Patch(t, s.namespace, `{"spec":{"unschedulable":false}}`)
		s.apply(i, config)
		s.want(thing, "foreign* team=b:NoExecute", 1)
		s.destroy(i)
		s.want(thing, "foreign*", 0)
	})
}

// An update that has failed is taken back by the configuration that was there before.
func TestWorkloadTolerations_failedUpdateCanBeTakenBack(t *testing.T) {
	t.Parallel()
	const tainted = `,"taints":[{"key":"team","value":"a","effect":"NoSchedule"}]`
	for name, tt := range map[string]struct {
		taints, to string
	}{
		"another value, of which a node has the old one": {tainted, "team=b:NoSchedule"},
		"another value": {"", "team=b:NoSchedule"},
		"one more":      {"", "team=a:NoSchedule more=x:NoSchedule"},
		"one more and another value, of which a node has the old one": {tainted, "team=b:NoSchedule more=x:NoSchedule"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			inShop(t, func(t *testing.T, s *shop) {
				thing, i := s.make("Deployment", "web", 1, "foreign*", nil), s.fresh()
				before := s.manage(thing, "team=a:NoSchedule", nil)
				s.apply(i, before)
				s.c.Patch(t, s.pool, `{"spec":{"unschedulable":true`+tt.taints+`}}`)
				s.c.Closed(t, s.namespace, s.pool)
				after := acctest.With(before, map[string]any{"tolerations": acctest.TolerationObjects(t, tt.to)})
				says(t, "error", s.tf.Apply(t, i, acctest.With(after, soon())).Errors(), "the rollout did not finish in time", "apply again: it continues")

				// There is something left to do, whichever is wanted.
				s.planned(i, after)
				s.planned(i, before)
				s.c.Patch(t, s.pool, `{"spec":{"unschedulable":false}}`)
				s.apply(i, before)
				s.want(thing, "foreign* team=a:NoSchedule", 1)
				for _, mark := range s.record(thing) {
					if mark.Retiring {
						t.Fatalf("%s retires", taint.FormatToleration(mark.Toleration()))
					}
				}
				s.wantPods("web", 1, "team=a:NoSchedule", "Deployment")
			})
		})
	}
}

func TestWorkloadTolerations_failedCreateCanBeGivenUpByImportAndDestroy(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		thing, config := s.stuck()
		says(t, "error", s.tf.Apply(t, s.fresh(), config).Errors(), "the rollout did not finish in time")
		i, d := s.tf.Import(t, s.fresh().Type, "Deployment/"+s.namespace+"/web")
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		s.destroy(i)
		s.want(thing, "foreign*", 0)
	})
}

func TestWorkloadTolerations_pausedInTheMiddleOfTheWait(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "its pods would not be replaced")
	inShop(t, func(t *testing.T, s *shop) {
		thing, config := s.stuck()
		config["timeouts"] = map[string]any{"create": "5m"}
		i := s.fresh()
		began := time.Now()
		done := make(chan acctest.Diagnostics, 1)
		go func() { done <- s.tf.Apply(t, i, config) }()
		s.until("the new pods are there", func() bool { return len(s.live("web")) > 2 })
		s.c.Change(t, thing, "somebody", `{"spec":{"paused":true}}`)
		d := <-done
		says(t, "error", d.Errors(), `AttributeName("wait_for_rollout")`, "it is paused", "kubectl rollout resume", "pods would stay without them", "The template has the new tolerations already", "Then apply again")
		if strings.Contains(d.Errors(), "Nothing has been written") {
			t.Fatalf("the template is written: %s", d.Errors())
		}
		if waited := time.Since(began); waited > 4*time.Minute {
			t.Fatalf("the wait ended after %s, at its own timeout", waited)
		}
		s.c.Patch(t, s.namespace, `{"spec":{"unschedulable":false}}`)
		s.c.Change(t, thing, "somebody", `{"spec":{"paused":false}}`)
		s.apply(i, config)
		s.wantPods("web", 2, "team=a:NoExecute", "Deployment")
	})
}

// The plan reads for the new pods of a rollout what admission may refuse of them, though it evicts none, and reads nothing of
// it where no template changes.
func TestWorkloadTolerations_plansReadQuotasForRollouts(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		config := s.manage(s.make("Deployment", "web", 2, "foreign*", nil), "team=a:NoExecute", nil)
		audit, provider := s.c.Audit(t)
		i, tf := s.fresh(), &acctest.Terraform{Provider: provider}
		for want, phase := range []string{"plan that changes nothing", "plan that restarts pods"} {
			if want == 0 {
				s.apply(i, config)
			} else {
				config["tolerations"] = acctest.TolerationObjects(t, "team=b:NoExecute")
			}
			audit.Reset()
			if d := tf.Plan(t, i, config).Diagnostics; d.Errors() != "" {
				t.Fatal(d.Errors())
			}
			count := acctest.Counted(t, phase, audit.Requests())
			if count["list resourcequotas"] != want || count["list limitranges"] != want {
				t.Errorf("%s: %v", phase, count)
			}
		}
	})
}
