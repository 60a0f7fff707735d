// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// TestSeen_pods tells sets of pods apart, and which of them lack something.
func TestSeen_pods(t *testing.T) {
	t.Parallel()
	of := func(uids string) (out []*snapshot.Pod) {
		for uid := range strings.FieldsSeq(uids) {
			out = append(out, &snapshot.Pod{UID: types.UID(uid)})
		}
		return out
	}
	known := map[string]string{}
	for _, lists := range []string{"/", "a b/", "a/b", "/a b", "a b/b", "ab/"} {
		all, lacking, _ := strings.Cut(lists, "/")
		one := seen{all: of(all), lacking: of(lacking)}.pods()
		if other, is := known[one]; is {
			t.Errorf("%s and %s are told as %q", lists, other, one)
		}
		known[one] = lists
	}
}

// TestSeen_patience grows with each reading, and is short where all pods have come.
func TestSeen_patience(t *testing.T) {
	t.Parallel()
	web := &workload.Workload{Wants: 1}
	complete, short := seen{workload: web, all: []*snapshot.Pod{{}}}, seen{workload: web}
	for reads, want := range map[int]time.Duration{0: lookSoon, 2: 4 * lookSoon, 5: lookAtMost, 99: lookAtMost} {
		if got := complete.readInterval(reads); got != want {
			t.Errorf("after %d readings of a complete one it is %s, want %s", reads, got, want)
		}
	}
	for reads, want := range map[int]time.Duration{0: lookAgain, 2: 4 * lookAgain, 3: lookAtMost, 99: lookAtMost} {
		if got := short.readInterval(reads); got != want {
			t.Errorf("after %d readings of one without its pods it is %s, want %s", reads, got, want)
		}
	}
}

// TestTolerations_held asks for the labels as well as for the tolerations.
func TestTolerations_held(t *testing.T) {
	t.Parallel()
	d := wanting(teamA, "web")[0]
	d.Pin = label.Claim{Labels: map[string]string{"pool": "gpu"}}
	for name, tt := range map[string]struct {
		selector map[string]string
		list     string
		want     bool
	}{
		"both":                       {map[string]string{"pool": "gpu", "zone": "a"}, teamA, true},
		"another value of the label": {map[string]string{"pool": "web"}, teamA, false},
		"no label":                   {nil, teamA, false},
		"another toleration":         {map[string]string{"pool": "gpu"}, teamB, false},
	} {
		if got := d.held(slices.Clone(wanting(tt.list, "web")[0].Claim.Tolerations), tt.selector); got != tt.want {
			t.Errorf("%s: held: %t", name, got)
		}
	}
}

// TestParseAwaited_limits: a drain writes no more than it reads.
func TestParseAwaited_limits(t *testing.T) {
	t.Parallel()
	fill := func(size int) string {
		return webAwaited[:1] + strings.Repeat(" ", size-len(webAwaited)) + webAwaited[1:]
	}
	many := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`{"kind":"W","namespace":"a","name":"%d","pods":1}`, i))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	for name, tt := range map[string]struct {
		annotation string
		want       int
		damaged    bool
	}{
		"as long as it may be":         {fill(mostRecordBytes), 1, false},
		"longer by a byte":             {fill(mostRecordBytes + 1), 0, true},
		"as many as there may be":      {many(mostRecords), mostRecords, false},
		"one more":                     {many(mostRecords + 1), 0, true},
		"a Job beside a CronJob":       {`[{"group":"batch","kind":"Job","namespace":"a","name":"j","pods":1},{"group":"batch","kind":"CronJob","namespace":"a","name":"c","pods":1}]`, 1, true},
		"a CronJob of another group":   {`[{"group":"example.com","kind":"CronJob","namespace":"a","name":"c","pods":1}]`, 1, false},
		"a DaemonSet of another group": {`[{"group":"example.com","kind":"DaemonSet","namespace":"a","name":"c","pods":1}]`, 0, true},
	} {
		got, err := parseAwaited(tt.annotation)
		if len(got) != tt.want || (err != nil) != tt.damaged {
			t.Errorf("%s: %d are read (%v)", name, len(got), err)
		}
	}
}

// TestJoined_ofControllersWithAndWithoutAGroup: a pod names them in its owner reference.
func TestJoined_ofControllersWithAndWithoutAGroup(t *testing.T) {
	t.Parallel()
	core, apps := snapshot.OwnerOf("v1", "ReplicationController", "rc"), snapshot.OwnerOf("apps/v1", "ReplicaSet", "rs")
	of := func(owner snapshot.Owner) *replaced {
		key := snapshot.WorkloadKey{Namespace: "shop", Owner: owner}
		return &replaced{key: key, controller: key, wanted: 1, nodes: map[string]bool{}}
	}
	recorded := map[string][]awaited{"n1": {{Kind: "ReplicationController", Namespace: "shop", Name: "rc", Pods: 3}, {Group: "apps", Kind: "ReplicaSet", Namespace: "shop", Name: "rs", Pods: 2}}}
	for _, expected := range [][]*replaced{nil, {of(apps), of(core)}} {
		got := joined(expected, recorded)
		if len(got) != 2 || got[0].controller.Owner != apps || got[0].wanted != 2 || got[1].controller.Owner != core || got[1].wanted != 3 {
			t.Errorf("of %d expected workloads it makes %+v", len(expected), got)
		}
	}
}

// TestRecreatedElsewhere_areReadyPodsOfControllers.
func TestRecreatedElsewhere_areReadyPodsOfControllers(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(p *snapshot.Pod){
		"": func(*snapshot.Pod) {}, "not ready": func(p *snapshot.Pod) { p.Ready = false }, "completed": func(p *snapshot.Pod) { p.Completed = true }, "terminating": func(p *snapshot.Pod) { p.Terminating = true },
		"bare": func(p *snapshot.Pod) { p.Controller = nil }, "of a DaemonSet": func(p *snapshot.Pod) { p.Controller.Kind = "DaemonSet" },
	} {
		p := &snapshot.Pod{Ready: true, Controller: &snapshot.Controller{Owner: snapshot.Owner{Kind: "ReplicaSet"}}}
		if change(p); recreatedElsewhere(p) != (name == "") {
			t.Errorf("a pod that is %q is recreated elsewhere: %t", name, recreatedElsewhere(p))
		}
	}
}

// TestAllowed_withoutPods: a change that evicts none exceeds no limit.
func TestAllowed_withoutPods(t *testing.T) {
	t.Parallel()
	none := int64(0)
	plan := planner.Plan{Steps: []planner.Step{{Kind: planner.ApplyTaints, Report: &eviction.Report{Pods: []eviction.PodVerdict{{Pod: &snapshot.Pod{Name: "p"}, Verdict: eviction.EvictedNow}}}}}}
	for _, pods := range []bool{false, true} {
		r := newRun(nil, Request{Limits: eviction.Limits{MaxPods: &none}}, eviction.ComparisonOff)
		r.pods = pods
		if err := r.allowed(t.Context(), plan); (err != nil) != pods {
			t.Errorf("with pods %t it ends with %v", pods, err)
		}
	}
}

// TestRereadMachine_ofANodeThatHasAnotherMachine: one that is gone, or recreated by its name, keeps nothing there.
func TestRereadMachine_ofANodeThatHasAnotherMachine(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(m *machineset.Machine)
		there  bool
	}{
		"as it was":       {func(*machineset.Machine) {}, true},
		"recreated":       {func(m *machineset.Machine) { m.UID = "another" }, false},
		"of another node": {func(m *machineset.Machine) { m.Node = "another" }, false},
		"gone":            {func(m *machineset.Machine) { m.Name = "another" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newMachineWorld(t, 1)
				w.run()
				c := w.follow(t)
				all, err := c.Machines(t.Context())
				if err != nil || len(all) != 1 {
					t.Fatalf("there are %v (%v)", all, err)
				}
				for _, m := range all {
					known := *m
					tt.change(&known)
					if got, err := rereadMachine(t.Context(), c, &known); err != nil && tt.there || (got != nil) != tt.there {
						t.Errorf("it is %+v (%v)", got, err)
					}
				}
			})
		})
	}
}

// TestAlike: a changed status is no other writer's work.
func TestAlike(t *testing.T) {
	t.Parallel()
	mark := toleration.Record{{Key: "a", Operator: "Exists", Owner: "other", Generation: "g"}}
	for name, tt := range map[string]struct {
		change func(w *workload.Workload)
		want   bool
	}{
		"as it was":               {func(*workload.Workload) {}, true},
		"its status has changed":  {func(w *workload.Workload) { w.Observed, w.Wants = true, 9 }, true},
		"it is recreated":         {func(w *workload.Workload) { w.UID = "another" }, false},
		"its spec has changed":    {func(w *workload.Workload) { w.Generation = 2 }, false},
		"it has another record":   {func(w *workload.Workload) { w.Record = mark }, false},
		"it has a label's record": {func(w *workload.Workload) { w.LabelRecord = label.Record{{Key: "a", Owner: "other", Generation: "g"}} }, false},
	} {
		before := workload.Workload{Generation: 1}
		before.UID = "uid"
		after := before
		tt.change(&after)
		if got := alike(&before, &after); got != tt.want {
			t.Errorf("%s: alike: %t", name, got)
		}
	}
}

func TestConflicts_areThoseOfTolerationsAndLabels(t *testing.T) {
	t.Parallel()
	w := &workload.Workload{}
	got := conflicts(w, toleration.Merged{Conflicts: []toleration.Conflict{{Owner: "a"}}}, label.Merged{Conflicts: []label.Conflict{{Owner: "b"}}})
	if len(got) != 2 || got[0].Owner != "a" || got[0].Workload != w || got[1].Pin.Owner != "b" || got[1].Workload != w {
		t.Errorf("there are %+v", got)
	}
}

func TestStates_areSorted(t *testing.T) {
	t.Parallel()
	evictions := map[types.UID]*asked{}
	var left []*snapshot.Pod
	for _, name := range []string{"c", "a", "b"} {
		left = append(left, &snapshot.Pod{Namespace: "shop", Name: name, UID: types.UID(name), Terminating: name == "b"})
		evictions[types.UID(name)] = &asked{}
	}
	want := []string{"pod shop/a has not been evicted yet", "pod shop/b is terminating", "pod shop/c has not been evicted yet"}
	if got := states(left, evictions); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestRun_count ends a run that keeps writing the same object.
func TestRun_count(t *testing.T) {
	t.Parallel()
	r := newRun(nil, Request{Workloads: wanting(teamA, "web", "db")}, eviction.ComparisonOff)
	at := workload.Ref{Kind: "Node", Name: "n1"}
	for range 3 * maxRounds {
		if err := r.count(at); err != nil {
			t.Fatalf("it ends with %v", err)
		}
	}
	if err := r.count(at); !errors.Is(err, &RevertedError{Thing: at}) {
		t.Errorf("it ends with %v", err)
	}
}

// TestObserve_ofAMachineSetThatIsRecreated: the rollout of the one before has ended.
func TestObserve_ofAMachineSetThatIsRecreated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newMachineWorld(t, 1)
		c := w.follow(t)
		gone := new(SetGoneError)
		for name, tt := range map[string]struct {
			r               machineRollout
			gone, recreated bool
		}{
			"the first look":      {machineRollout{key: pool}, false, false},
			"the same":            {machineRollout{key: pool, set: &machineset.Set{UID: "uid-of-pool"}}, false, false},
			"one that is another": {machineRollout{key: pool, set: &machineset.Set{UID: "another"}}, true, true},
			"none":                {machineRollout{key: "machines/none"}, true, false},
		} {
			tt.r.cluster = c
			_, err := tt.r.observe()
			if is := errors.As(err, &gone); is != tt.gone || is && gone.Recreated != tt.recreated || !is && tt.r.set.UID != "uid-of-pool" {
				t.Errorf("%s: it ends with %v", name, err)
			}
		}
		if desired, err := rereadSet(t.Context(), nil, adopting(), &machineset.Machine{Set: "unknown"}); err != nil || desired.Claim.Owner != "me" {
			t.Errorf("of a Machine whose MachineSet is not known it is %+v (%v)", desired, err)
		}
	})
}

// TestReplaced_follow asks a controller that has fewer pods only when it has had time to create them.
func TestReplaced_follow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newServer(t, aNode("n1", "gpu"))
		var asked atomic.Int32
		c := a.connect(t)
		a.client.OnRequest(func(fakeapi.Request) fakeapi.Fault {
			asked.Add(1)
			return http.StatusNotFound
		})
		of := func(kind string) replaced {
			key := snapshot.WorkloadKey{Namespace: "shop", Owner: snapshot.OwnerOf("apps/v1", kind, "web")}
			return replaced{key: key, controller: key, wanted: 2, observed: 2}
		}
		steps := func(r *replaced, pods ...int) (soon []bool) {
			for _, n := range pods {
				now, err := r.follow(t.Context(), c, n)
				if err != nil && !errors.Is(err, kube.ErrNotFound) {
					t.Fatal(err)
				}
				soon = append(soon, now)
			}
			return soon
		}
		r := of("ReplicaSet")
		if soon := steps(&r, 2, 3); soon[0] || soon[1] || !r.short.IsZero() || asked.Load() > 0 {
			t.Errorf("with all pods it is asked soon: %t, %d times so far", soon, asked.Load())
		}
		if soon := steps(&r, 1, 1, 2, 1); !soon[0] || !soon[1] || soon[2] || !soon[3] || asked.Load() > 0 {
			t.Errorf("with a pod less it is asked soon: %t, %d times so far", soon, asked.Load())
		}
		time.Sleep(lookAgain)
		if soon := steps(&r, 1); soon[0] || asked.Load() == 0 {
			t.Errorf("after a while it is asked soon: %t, %d times so far", soon, asked.Load())
		}
		before := asked.Load()
		if r.wanted = 2; steps(&r, 1)[0] || asked.Load() != before {
			t.Errorf("it is asked again immediately, %d times so far", asked.Load())
		}
		recorded := of("Thing")
		recorded.observed = 0
		if soon := steps(&recorded, 0); soon[0] || recorded.wanted != 0 || asked.Load() != before {
			t.Errorf("of a recorded workload without pods %d are wanted, asked soon: %t", recorded.wanted, soon)
		}
	})
}
