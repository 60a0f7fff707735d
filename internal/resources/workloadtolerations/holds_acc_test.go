// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
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
	// An entry that it has already is no change.
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

// The awaited workload is gone: the wait must not go on to its timeout.
func TestAccWorkloadTolerations_workloadDeletedInTheMiddleOfTheWait(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	thing, config := s.stuck()
	config["timeouts"] = map[string]any{"create": "5m"}
	done := make(chan acctest.Diagnostics)
	go func() { done <- s.tf.Apply(t, s.fresh(), config) }()
	s.until("the new pods are there", func() bool { return len(s.live("web")) > 2 })
	s.c.Remove(t, thing)
	says(t, "error", (<-done).Errors(), `Unable to find Deployment "`+s.namespace+`/web"`, `AttributeName("workload")`)
}

// Strategy Recreate ends the old pods first: between the old and the new ones no pod lacks anything, and
// the wait may end there, since every pod that comes then has the tolerations.
func TestAccWorkloadTolerations_podsOfARecreatedDeploymentHaveThem(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	thing := s.make("Deployment", "web", 2, "", map[string]any{"strategy": map[string]any{"type": "Recreate"}})
	s.apply(s.fresh(), s.manage(thing, "team=a:NoExecute", nil))
	s.wantPods("web", 2, "team=a:NoExecute", "Deployment")
}
