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
)

// TestAccWorkloadTolerations_workloadWhosePodsDoNotFollow is refused at plan, with the
// way out; wait_for_rollout = false changes the template alone, except where the
// API server would not take it.
func TestAccWorkloadTolerations_workloadWhosePodsDoNotFollow(t *testing.T) {
	t.Parallel()
	shared := openShop(t)
	partition := func(n int) map[string]any {
		return map[string]any{"updateStrategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": n}}}
	}
	onDelete := map[string]any{"updateStrategy": map[string]any{"type": "OnDelete"}}
	for name, tt := range map[string]struct {
		kind  string
		spec  map[string]any
		parts []string
	}{
		"a paused Deployment":           {"Deployment", map[string]any{"paused": true}, []string{"it is paused", "kubectl rollout resume deployment/"}},
		"a StatefulSet with OnDelete":   {"StatefulSet", onDelete, []string{"OnDelete", "RollingUpdate"}},
		"a StatefulSet with partition":  {"StatefulSet", partition(1), []string{"below partition 1", "set the partition to 0"}},
		"a DaemonSet with OnDelete":     {"DaemonSet", onDelete, []string{"OnDelete", "RollingUpdate"}},
		"a ReplicaSet with a live pod":  {"ReplicaSet", nil, []string{"does not replace the pods that run", "use a Deployment"}},
		"a Deployment paused by others": {"Deployment", nil, []string{"it is paused"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, paused := shared.on(t), tt.spec["paused"] == true || strings.HasSuffix(name, "others")
			delete(tt.spec, "paused") // No pods come otherwise.
			thing := s.make(tt.kind, acctest.Name(t, "web"), 1, "foreign*", tt.spec)
			if paused {
				s.c.Change(t, thing, "somebody", `{"spec":{"paused":true}}`)
			}
			config := s.manage(thing, "team=a:NoExecute", nil)
			pod := s.live(thing.Name)[0].Name
			parts := append([]string{`AttributeName("wait_for_rollout")`, tt.kind + ` "` + s.namespace + "/" + thing.Name + `"`, "Nothing has been written", "1 pod would stay without them", pod, "wait_for_rollout = false"}, tt.parts...)
			s.refused(s.fresh(), config, parts...)
			s.want(thing, "foreign*", 0)

			i := s.fresh()
			config["wait_for_rollout"] = false
			s.apply(i, config)
			s.want(thing, "foreign* team=a:NoExecute", 1)
			if got := s.live(thing.Name); len(got) != 1 || got[0].Name != pod {
				t.Fatalf("the pod %s was replaced", pod)
			}
			// To wait for them from now on is refused as well, and writes nothing.
			s.refused(i, s.manage(thing, "team=a:NoExecute", nil), parts[:2]...)
			s.destroy(i)
			s.want(thing, "foreign*", 0)
		})
	}
}

func TestAccWorkloadTolerations_jobThatHasStarted(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	thing := s.make("Job", "import", 1, "foreign*", nil)
	config := s.manage(thing, "team=a:NoExecute", nil)
	parts := []string{`AttributeName("workload")`, `Job "` + s.namespace + `/import"`, "its template is fixed", "recreate the Job", "CronJob"}
	s.refused(s.fresh(), config, parts...)
	config["wait_for_rollout"] = false
	s.refused(s.fresh(), config, parts...)
	// What it has already is no change.
	s.apply(s.fresh(), s.manage(thing, "foreign:NoExecute", nil))
	s.want(thing, "foreign*", 0)
}

// A Job that starts after its tolerations were added cannot give them back. They
// go with it, and the resource must be rid of all the same.
func TestAccWorkloadTolerations_jobThatStartsLaterCanBeGivenUp(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	thing := s.make("Job", "import", 0, "foreign*", map[string]any{"suspend": true})
	config := s.manage(thing, "team=a:NoExecute", nil)
	i := s.fresh()
	s.apply(i, config)
	s.c.Change(t, thing, "somebody", `{"spec":{"suspend":false}}`)
	s.c.Running(t, s.namespace, "import", 1)
	s.quiet(i, config)
	s.refused(i, s.manage(thing, "team=b:NoExecute", nil), `AttributeName("workload")`, "its template is fixed")
	says(t, "warning", s.destroy(i).Warnings(), `stays in Job "`+s.namespace+`/import"`, "team=a:NoExecute")
	s.want(thing, "foreign* team=a:NoExecute", 0)
}

// stuckShop is a Deployment whose new pods find no node, and the configuration
// that makes them.
func stuckShop(t *testing.T, more map[string]any) (*shop, acctest.Thing, map[string]any) {
	t.Helper()
	s := openShop(t)
	thing := s.make("Deployment", "web", 2, "foreign*", more)
	s.c.Cordon(t, s.namespace, s.pool)
	return s, thing, s.manage(thing, "team=a:NoExecute", soon())
}

// soon makes an apply end whose pods do not come, once they are there. What shall
// succeed gets no such limit.
func soon() map[string]any {
	return map[string]any{"timeouts": map[string]any{"create": "25s", "update": "25s"}}
}

func TestAccWorkloadTolerations_waitThatEndsNamesThePodsAndGoesOnLater(t *testing.T) {
	t.Parallel()
	s, thing, config := stuckShop(t, nil)
	i := s.fresh()
	d := s.tf.Apply(t, i, config)
	old, fresh := "", ""
	for _, pod := range s.live("web") {
		if pod.Spec.NodeName == "" {
			fresh = pod.Name
		} else {
			old = pod.Name
		}
	}
	says(t, "error", d.Errors(), "the rollout did not finish in time", "still without the tolerations", old, "not scheduled yet (Pending): "+fresh, "timeouts", "apply again: it continues", "Nothing is saved in the state")
	if i.Exists() {
		t.Fatal("a failed create has saved a state, which Terraform would destroy")
	}
	s.want(thing, "foreign* team=a:NoExecute", 1)

	// The node takes pods again, and the next apply goes on.
	delete(config, "timeouts")
	s.c.Patch(t, s.namespace, `{"spec":{"unschedulable":false}}`)
	s.apply(i, config)
	s.wantPods("web", 2, "team=a:NoExecute", "Deployment")
	if !slices.ContainsFunc(s.live("web"), func(p corev1.Pod) bool { return p.Name == fresh }) {
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
}

// An update that has failed is taken back by the configuration that was there before.
func TestAccWorkloadTolerations_failedUpdateCanBeTakenBack(t *testing.T) {
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
			s := openShop(t)
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
	}
}

func TestAccWorkloadTolerations_failedCreateCanBeGivenUpByImportAndDestroy(t *testing.T) {
	t.Parallel()
	s, thing, config := stuckShop(t, nil)
	says(t, "error", s.tf.Apply(t, s.fresh(), config).Errors(), "the rollout did not finish in time")
	i, d := s.tf.Import(t, s.fresh().Type, "Deployment/"+s.namespace+"/web")
	if d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	s.destroy(i)
	s.want(thing, "foreign*", 0)
}

func TestAccWorkloadTolerations_pausedInTheMiddleOfTheWait(t *testing.T) {
	t.Parallel()
	s, thing, config := stuckShop(t, nil)
	config["timeouts"] = map[string]any{"create": "5m"}
	i := s.fresh()
	began := time.Now()
	done := make(chan acctest.Diagnostics)
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
}

// What is waited for is gone: the wait must not go on to its timeout.
func TestAccWorkloadTolerations_workloadDeletedInTheMiddleOfTheWait(t *testing.T) {
	t.Parallel()
	s, thing, config := stuckShop(t, nil)
	config["timeouts"] = map[string]any{"create": "5m"}
	done := make(chan acctest.Diagnostics)
	go func() { done <- s.tf.Apply(t, s.fresh(), config) }()
	s.until("the new pods are there", func() bool { return len(s.live("web")) > 2 })
	s.c.Remove(t, thing)
	says(t, "error", (<-done).Errors(), `Unable to find Deployment "`+s.namespace+`/web"`, `AttributeName("workload")`)
}

// Strategy Recreate ends the old pods first: between the old and the new ones
// there is nobody who lacks anything, and the wait must not end there.
func TestAccWorkloadTolerations_waitDoesNotEndBetweenOldAndNewPods(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	thing := s.make("Deployment", "web", 2, "", map[string]any{"strategy": map[string]any{"type": "Recreate"}})
	s.apply(s.fresh(), s.manage(thing, "team=a:NoExecute", nil))
	s.wantPods("web", 2, "team=a:NoExecute", "Deployment")
}
