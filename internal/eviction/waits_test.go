// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func grace(seconds int32) podOption { return func(p *snapshot.Pod) { p.Grace = seconds } }

func ofGroup(group, kind string) podOption {
	return func(p *snapshot.Pod) {
		p.Controller = &snapshot.Controller{Owner: snapshot.Owner{Group: group, Kind: kind, Name: "x"}, UID: types.UID(kind)}
	}
}

func TestWaits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		pod  podOption
		job  *snapshot.Job
		want int64
	}{
		"a ReplicaSet":                               {pod: ofGroup("apps", "ReplicaSet")},
		"no controller":                              {pod: bare},
		"a StatefulSet":                              {pod: ofGroup("apps", "StatefulSet"), want: 45},
		"a DaemonSet":                                {pod: ofGroup("apps", "DaemonSet"), want: 45},
		"a StatefulSet of OpenKruise":                {pod: ofGroup("apps.kruise.io", "StatefulSet"), want: 45},
		"a DaemonSet of OpenKruise":                  {pod: ofGroup("apps.kruise.io", "DaemonSet"), want: 45},
		"a CloneSet, whose pods get other names":     {pod: ofGroup("apps.kruise.io", "CloneSet")},
		"a StatefulSet of a group that is not known": {pod: ofGroup("example.com", "StatefulSet")},
		"a StrimziPodSet, whose pods keep names":     {pod: ofGroup("core.strimzi.io", "StrimziPodSet"), want: 45},
		"a cluster of CloudNativePG":                 {pod: ofGroup("postgresql.cnpg.io", "Cluster"), want: 45},
		"a Job that is not known":                    {pod: ofGroup("batch", "Job"), want: 10},
		"a Job that replaces terminating pods":       {pod: ofGroup("batch", "Job"), job: &snapshot.Job{}, want: 10},
		"a Job that replaces failed pods alone":      {pod: ofGroup("batch", "Job"), job: &snapshot.Job{OnlyFailed: true}, want: 55},
	} {
		p := pod("p", "n1", grace(45), tt.pod)
		w := newWorld(node("n1")).run(p)
		w.Jobs = map[types.UID]*snapshot.Job{"Job": tt.job}
		if got := newEvaluation(w.Snapshot, Scenario{}, ComparisonOff).waits(p); got != tt.want {
			t.Errorf("%s waits %d s, want %d", name, got, tt.want)
		}
	}
}

// The pods of a Job that are evicted together have it wait longer.
func TestWaits_forMoreFailedPodsOfAJob(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		pods int
		job  snapshot.Job
		want int64
	}{
		"one pod":                     {1, snapshot.Job{BackoffLimit: 99}, 10},
		"two pods":                    {2, snapshot.Job{BackoffLimit: 99}, 20},
		"four pods":                   {4, snapshot.Job{BackoffLimit: 99}, 80},
		"pods without end":            {90, snapshot.Job{BackoffLimit: 99}, 600},
		"with a limit for each index": {4, snapshot.Job{BackoffLimit: 99, PerIndex: new(int32(1))}, 10},
	} {
		w := newWorld(node("n1")).job("batch", tt.job)
		for i := range tt.pods {
			w.run(pod(fmt.Sprintf("p%d", i), "n1", ofJob("batch")))
		}
		e := newEvaluation(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff)
		report := Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff)
		e.jobs = e.podsOfJobs(report)
		if got := e.waits(w.Pods["n1"][0]); got != tt.want {
			t.Errorf("%s: %d s, want %d", name, got, tt.want)
		}
	}
}

// Five pods of a Deployment and five of a StatefulSet, and five places: the Deployment has them all where each pod takes its
// grace period to end. Where there is none, all take part.
func TestSimulate_statefulSetsReplaceTheirPodsAfterTheGracePeriod(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[int32]bool{30: true, 2: true, 1: true, 0: false} {
		w := newWorld(having(node("n1"), 99, 99), having(node("n2"), 5, 99)).policy("db", false)
		for _, name := range []string{"0", "1", "2", "3", "4"} {
			w = w.run(pod("db-"+name, "n1", ownedBy("StatefulSet", "db"), asking(1, 1), grace(seconds)), pod("web-"+name, "n1", ownedBy("ReplicaSet", "web"), asking(1, 1), grace(seconds)))
		}
		_, out := simulate(w, tainting("n1", "a:NoExecute"))
		web, db := outcomeOf(t, out, "web"), outcomeOf(t, out, "db")
		if out.Missing != number(5) || want != (db.Missing.Max == 5 && web.Missing == placement.Range{Min: 0, Max: web.Missing.Max}) || db.Missing.Min > 2 || web.Missing.Max < 3 {
			t.Errorf("%d s: of 5 pods each, %v of the Deployment and %v of the StatefulSet are Pending", seconds, web.Missing, db.Missing)
		}
	}
}
