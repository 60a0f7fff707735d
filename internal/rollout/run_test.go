// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

const teamA, teamB = "team=a:NoExecute", "team=b:NoExecute"

// tainting is the wish that the node n1 carries a taint.
func tainting(notation string) *planner.NodeTaints {
	one, err := taint.Parse(notation)
	if err != nil {
		panic(err)
	}
	return &planner.NodeTaints{
		Target: planner.Target{Selector: labels.SelectorFromSet(labels.Set{"pool": "gpu"})},
		Claim:  taint.Claim{Owner: "me", Generation: generation, Taints: []corev1.Taint{one}},
	}
}

// fromAToB changes the taint of the node and the tolerations of StatefulSets in one
// request, from a to b.
func fromAToB(names ...string) Request {
	return Request{Nodes: tainting(teamB), Workloads: wanting(teamB, names...)}
}

func carry(ctx context.Context, cluster *kube.Cluster, change Request, hooks hooks) ([]string, error) {
	r := newRun(cluster, change, eviction.ComparisonOff)
	r.hooks = hooks
	if hooks.approve == nil {
		r.hooks.approve = r.approve
	}
	done, err := r.end(ctx)
	return done.Steps, err
}

// contractNow takes away what others have left behind for the sake of taints.
func contractNow(ctx context.Context, cluster *kube.Cluster, claim toleration.Claim) error {
	r := newRun(cluster, Request{RetainedClaim: claim}, eviction.ComparisonOff)
	defer func() {
		for _, release := range r.releases {
			release()
		}
	}()
	return r.contract(ctx)
}

// wholeOrder is the steps of fromAToB for the StatefulSet web.
var wholeOrder = []string{"add tolerations to web", "wait for web", "change taints of 1 node", "remove tolerations from web"}

// inShort names workloads alone. How many pods a wait is for depends on what the
// watch has shown by then.
func inShort(steps []string) []string {
	var out []string
	for _, step := range steps {
		out = append(out, pods.ReplaceAllString(strings.ReplaceAll(step, "StatefulSet shop/", ""), "wait for "))
	}
	return out
}

var pods = regexp.MustCompile("^wait for .* of ")

func TestRun(t *testing.T) {
	t.Parallel()
	no := errors.New("no")
	onA := func() []*appsv1.StatefulSet { return []*appsv1.StatefulSet{aSet("web", 2, "*"+teamA)} }
	tests := []struct {
		name   string
		taints string
		sets   []*appsv1.StatefulSet
		change Request
		// before and after act around a write; write counts the writes so far from 1.
		before func(a *testServer, name string, write int) (status int)
		after  func(a *testServer, name string, write int)
		read   func(a *testServer, name string, nth int)
		idle   bool
		hooks  hooks

		steps []string
		// anyWaits leaves waits out of the steps: they depend on what the watch has shown.
		anyWaits bool
		// writes are the objects that were written, in this order.
		writes      []string
		tolerations map[string]string
		// node is what the node n1 carries in the end.
		node string
		err  error
		// says is a part of the error, where it is one of the package's own types.
		says string
	}{
		{
			name: "what is as wanted takes no step and is not written", taints: "*" + teamA, sets: onA(),
			change:      Request{Nodes: tainting(teamA), Workloads: wanting(teamA, "web")},
			tolerations: map[string]string{"web": "*" + teamA}, node: "*" + teamA,
		},
		{
			name: "a value changes by expanding, waiting, switching and contracting", taints: "*" + teamA, sets: onA(),
			change: fromAToB("web"), steps: wholeOrder, writes: []string{"web", "n1", "web"},
			tolerations: map[string]string{"web": "*" + teamB}, node: "*" + teamB,
		},
		{
			name: "all workloads are expanded before any is waited for, and all are waited for before the taint", taints: "*" + teamA,
			sets:   []*appsv1.StatefulSet{aSet("db", 1, "*"+teamA), aSet("web", 2, "*"+teamA)},
			change: fromAToB("db", "web"),
			steps: []string{
				"add tolerations to db", "add tolerations to web", "wait for db", "wait for web",
				"change taints of 1 node", "remove tolerations from db", "remove tolerations from web",
			},
			idle: true, after: func(a *testServer, name string, write int) {
				switch {
				case write == 2:
					a.roll("db")
					a.roll("web")
				case name != "n1" && write > 2:
					a.roll(name)
				}
			},
			writes: []string{"db", "web", "n1", "db", "web"}, tolerations: map[string]string{"db": "*" + teamB, "web": "*" + teamB}, node: "*" + teamB,
		},
		{
			name: "a toleration that no taint needs goes in the write that brings the new one", sets: onA(),
			change: fromAToB("web"), steps: wholeOrder[:3], writes: []string{"web", "n1"},
			tolerations: map[string]string{"web": "*" + teamB}, node: "*" + teamB,
		},
		{
			name: "a toleration that a live taint needs stays when it is given up", taints: teamA, sets: onA(),
			change: Request{Workloads: wanting("", "web")}, steps: []string{"update the ownership records of web"}, writes: []string{"web"},
			tolerations: map[string]string{"web": "-" + teamA}, node: teamA,
		},
		{
			name: "a hook that says no at the beginning stops before the first write", taints: "*" + teamA, sets: onA(),
			change: fromAToB("web"), hooks: hooks{begin: func(context.Context, planner.Plan) error { return no }}, err: no,
			tolerations: map[string]string{"web": "*" + teamA}, node: "*" + teamA,
		},
		{
			name: "a hook that says no to the taint leaves both tolerations", taints: "*" + teamA, sets: onA(),
			change: fromAToB("web"), hooks: hooks{approve: func(context.Context, planner.NodePlan) error { return no }}, err: no,
			steps: wholeOrder[:2], writes: []string{"web"},
			tolerations: map[string]string{"web": "-" + teamA + " *" + teamB}, node: "*" + teamA,
		},
		{
			name: "a toleration of another resource stops before the first write", taints: "*" + teamA,
			sets:   []*appsv1.StatefulSet{aSet("db", 1, "*"+teamA), aSet("web", 2, "!"+teamB)},
			change: fromAToB("db", "web"), says: `a toleration of StatefulSet "shop/web" is owned by "other"`,
			tolerations: map[string]string{"db": "*" + teamA, "web": teamB}, node: "*" + teamA,
		},
		{
			name: "a taint of another resource stops before the first write", taints: "!" + teamB,
			sets:   []*appsv1.StatefulSet{aSet("web", 2, teamB, "*"+teamA)},
			change: fromAToB("web"), says: "nodes must not be changed, the first is n1",
			tolerations: map[string]string{"web": teamB + " *" + teamA}, node: teamB,
		},
		{
			name: "pods that do not follow stop before the first write", taints: "*" + teamA,
			sets:   []*appsv1.StatefulSet{aSet("db", 1, "*"+teamA), onDelete(aSet("web", 2, "*"+teamA))},
			change: fromAToB("db", "web"), says: `the pods of StatefulSet "shop/web" do not follow: its update strategy is OnDelete`,
			tolerations: map[string]string{"db": "*" + teamA, "web": "*" + teamA}, node: "*" + teamA,
		},
		{
			name: "pods that stop following in the middle end the wait, and the taint stays", taints: "*" + teamA, sets: onA(),
			change: fromAToB("web"), idle: true,
			after: func(a *testServer, _ string, _ int) {
				a.editSet("web", func(s *appsv1.StatefulSet) { onDelete(s) })
			},
			writes: []string{"web"}, steps: []string{"add tolerations to web"}, says: "its update strategy is OnDelete",
			tolerations: map[string]string{"web": "-" + teamA + " *" + teamB}, node: "*" + teamA,
		},
		{
			name: "a writer who takes the toleration out of the template again has it written again", taints: "*" + teamA, sets: onA(),
			change: fromAToB("web"), idle: true,
			after: func(a *testServer, name string, write int) {
				if write == 1 {
					a.editSet("web", takeOut)
				} else if name == "web" {
					a.roll(name)
				}
			},
			steps: wholeOrder, writes: []string{"web", "web", "n1", "web"},
			tolerations: map[string]string{"web": "*" + teamB}, node: "*" + teamB,
		},
		{
			name: "a writer who takes it out once its pods have come has it written again before the taint", taints: "*" + teamA,
			sets:   []*appsv1.StatefulSet{aSet("db", 1, "*"+teamA), aSet("web", 1, "*"+teamA)},
			change: fromAToB("web", "db"), idle: true,
			after: func(a *testServer, name string, write int) {
				if name == "web" || name == "db" && write > 2 {
					a.roll(name)
				}
			},
			// Those of db come when it is read for the third time, while it is waited for;
			// web has been waited for by then.
			read: func(a *testServer, name string, nth int) {
				if name == "db" && nth == 3 {
					a.editSet("web", takeOut)
					a.roll("db")
				}
			},
			steps:    []string{"add tolerations to web", "add tolerations to db", "change taints of 1 node", "remove tolerations from web", "remove tolerations from db"},
			anyWaits: true,
			writes:   []string{"web", "db", "web", "n1", "web", "db"}, tolerations: map[string]string{"db": "*" + teamB, "web": "*" + teamB}, node: "*" + teamB,
		},
		{
			name: "a writer who takes it out of a workload that is not waited for has it written again", sets: []*appsv1.StatefulSet{aSet("db", 1), aSet("web", 1)},
			change: Request{Workloads: append(unwaited(wanting(teamA, "web")), wanting(teamA, "db")...)},
			after: func(a *testServer, _ string, write int) {
				if write == 2 {
					a.editSet("web", func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Tolerations = nil })
				}
			},
			// The pods of db follow immediately.
			steps: []string{"add tolerations to web", "add tolerations to db"}, anyWaits: true, writes: []string{"web", "db", "web"},
			tolerations: map[string]string{"db": "*" + teamA, "web": "*" + teamA},
		},
		{
			name: "another owner's toleration that comes between reading and writing is kept", taints: "*" + teamA, sets: onA(),
			change: fromAToB("web"),
			before: func(a *testServer, name string, write int) int {
				if write == 1 {
					a.editSet(name, func(s *appsv1.StatefulSet) {
						spec := &s.Spec.Template.Spec
						spec.Tolerations = append(spec.Tolerations, tolerating("foreign:NoSchedule"))
					})
				}
				return 0
			},
			steps: wholeOrder, writes: []string{"web", "web", "n1", "web"},
			tolerations: map[string]string{"web": "foreign:NoSchedule *" + teamB}, node: "*" + teamB,
		},
		{
			name: "a status that changes between reading and writing is read again", taints: "*" + teamA, sets: onA(),
			change: fromAToB("web"),
			before: func(a *testServer, name string, write int) int {
				if name == "web" && write < 3 {
					a.editSet(name, func(s *appsv1.StatefulSet) { s.Status.Replicas++ })
				}
				return 0
			},
			steps: wholeOrder, writes: []string{"web", "web", "web", "n1", "web"},
			tolerations: map[string]string{"web": "*" + teamB}, node: "*" + teamB,
		},
		{
			name: "a workload that goes while it gives up is no error", sets: []*appsv1.StatefulSet{aSet("db", 1, "*"+teamA), aSet("web", 2, "*"+teamA)},
			change: Request{Workloads: wanting("", "web", "db")},
			before: func(a *testServer, name string, _ int) int {
				if name == "web" {
					a.removeSet(name)
				}
				return 0
			},
			steps: []string{"remove tolerations from web", "remove tolerations from db"}, writes: []string{"web", "db"},
			tolerations: map[string]string{"db": ""},
		},
		{
			name: "a workload that is gone has nothing to give up", sets: []*appsv1.StatefulSet{aSet("db", 1, "*"+teamA)},
			change: Request{Workloads: wanting("", "web", "db")},
			steps:  []string{"remove tolerations from db"}, writes: []string{"db"}, tolerations: map[string]string{"db": ""},
		},
		{
			name: "a workload that is not there cannot be given anything", sets: []*appsv1.StatefulSet{aSet("db", 1)},
			change: Request{Workloads: wanting(teamA, "web", "db")}, err: kube.ErrNotFound, tolerations: map[string]string{"db": ""},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := newServer(t, aNode("n1", "gpu", strings.Fields(tt.taints)...))
				if tt.before != nil {
					api.before = func(name string, write int) int { return tt.before(api, name, write) }
				}
				if tt.after != nil {
					api.after = func(name string, write int) { tt.after(api, name, write) }
				}
				if tt.read != nil {
					api.read = func(name string, nth int) { tt.read(api, name, nth) }
				}
				api.idle = tt.idle
				api.addSets(tt.sets...)
				steps, err := carry(t.Context(), api.follow(t, true), tt.change, tt.hooks)
				switch {
				case tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)):
					t.Errorf("got error %v, want one that says %q", err, tt.says)
				case tt.says == "" && !errors.Is(err, tt.err):
					t.Errorf("got error %v, want %v", err, tt.err)
				}
				taken := inShort(steps)
				if tt.anyWaits {
					taken = slices.DeleteFunc(taken, func(step string) bool { return strings.HasPrefix(step, "wait") })
				}
				if diff := cmp.Diff(tt.steps, taken); diff != "" {
					t.Errorf("steps: %s", diff)
				}
				begun, _ := api.writes()
				if diff := cmp.Diff(tt.writes, begun); diff != "" {
					t.Errorf("writes: %s", diff)
				}
				if diff := cmp.Diff(tt.tolerations, api.tolerations()); diff != "" {
					t.Errorf("tolerations: %s", diff)
				}
				if diff := cmp.Diff(map[string]string{"n1": tt.node}, api.taints()); diff != "" {
					t.Errorf("taints: %s", diff)
				}
			})
		})
	}
}

func unwaited(desired []Tolerations) []Tolerations {
	for i := range desired {
		desired[i].NoWait = true
	}
	return desired
}

func onDelete(s *appsv1.StatefulSet) *appsv1.StatefulSet {
	s.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
	return s
}

// takeOut takes b out of the template and leaves the record.
func takeOut(s *appsv1.StatefulSet) {
	s.Spec.Template.Spec.Tolerations = []corev1.Toleration{tolerating(teamA)}
}
