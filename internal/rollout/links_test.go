// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// TestMarkedBy_generations: an id can be guessed, and a generation cannot. A resource of dedicated
// nodes names no workload in its id, so that any workload may have a mark with it.
func TestMarkedBy_generations(t *testing.T) {
	t.Parallel()
	const id = "terraform/dedicated_nodes/node/n1/team=a"
	seal := record.Seal{Nonce: "secret", Epoch: 3, Held: record.Held{}, Resource: id, Generation: "ours", Live: true}
	elsewhere, earlier := seal, seal
	elsewhere.Live = false
	earlier.Generation, earlier.Live = "", false
	other := seal
	other.Resource = "terraform/dedicated_nodes/node/n2/team=a"
	mark := func(name, generation string, proved bool) *appsv1.StatefulSet {
		return remark(aSet(name, 1, "*"+teamA), func(m *toleration.Mark) {
			if m.Owner, m.Generation = id, generation; proved {
				m.Proof = seal.On("StatefulSet/" + namespace + "/" + name).Proof(m.Sealed().Parts...)
			}
		})
	}
	for name, tt := range map[string]struct {
		known []record.Seal
		sets  []*appsv1.StatefulSet
		want  []string
		// annotation and record are on the node.
		annotation, record string
	}{
		"a proved mark counts alone":                          {known: []record.Seal{seal}, sets: []*appsv1.StatefulSet{mark("web", "ours", true), mark("old", "ours", false), mark("forged", "theirs", false)}, want: []string{"web"}},
		"a rollback brings a mark of the generation back":     {known: []record.Seal{seal}, sets: []*appsv1.StatefulSet{mark("old", "ours", false), mark("forged", "theirs", false)}, want: []string{"old"}},
		"marks of another generation are another owner's":     {known: []record.Seal{seal}, sets: []*appsv1.StatefulSet{mark("forged", "theirs", false)}},
		"also where an earlier seal of the resource is known": {known: []record.Seal{elsewhere, seal}, sets: []*appsv1.StatefulSet{mark("forged", "theirs", false)}},
		"a resource of another state may be created again":    {known: []record.Seal{elsewhere}, sets: []*appsv1.StatefulSet{mark("new", "next", false)}, want: []string{"new"}},
		"of another state, with marks of its generation":      {known: []record.Seal{elsewhere}, sets: []*appsv1.StatefulSet{mark("web", "ours", false), mark("forged", "theirs", false)}, want: []string{"web"}},
		"no generation is known":                              {known: []record.Seal{earlier}, sets: []*appsv1.StatefulSet{mark("web", "ours", false), mark("other", "theirs", false)}, want: []string{"other", "web"}},
		"the node has a taint of the generation": {
			sets: []*appsv1.StatefulSet{mark("web", "ours", false), mark("forged", "theirs", false)}, want: []string{"web"},
			annotation: taint.OwnedAnnotation, record: taint.Record{{Key: "team", Effect: "NoExecute", Owner: id, Generation: "ours"}}.String(),
		},
		"the node has a label of the generation": {
			sets:       []*appsv1.StatefulSet{mark("forged", "theirs", false)},
			annotation: label.OwnedAnnotation, record: label.Record{{Key: "pool", Owner: id, Generation: "ours"}}.String(),
		},
		"the node has a taint of another resource": {
			sets: []*appsv1.StatefulSet{mark("web", "ours", false)}, want: []string{"web"},
			annotation: taint.OwnedAnnotation, record: taint.Record{{Key: "team", Effect: "NoExecute", Owner: "other", Generation: "theirs"}}.String(),
		},
		"the generation of another resource is known": {known: []record.Seal{other}, sets: []*appsv1.StatefulSet{mark("web", "theirs", false)}, want: []string{"web"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				node := aNode("n1", "gpu")
				if tt.record != "" {
					node.Annotations = map[string]string{tt.annotation: tt.record}
				}
				api := newServer(t, node)
				api.addSets(tt.sets...)
				found, err := MarkedBy(t.Context(), api.connect(t), id, toleration.Claim{Known: tt.known})
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, d := range found {
					got = append(got, d.Ref.Name)
				}
				slices.Sort(got)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("found: %s", diff)
				}
			})
		})
	}
}

// TestRun_refusesMarksThatTheTemplateDoesNotBearOut: no pod will get what the template lacks, so that
// a made-up mark would hold up the taints until the time is over.
func TestRun_refusesMarksThatTheTemplateDoesNotBearOut(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		prepare func(*testServer)
		refused bool
	}{
		"the template has it":               {prepare: func(*testServer) {}},
		"the template lacks it":             {func(api *testServer) { emptyTemplate(api, 1) }, true},
		"the template lacks it, and no pod": {func(api *testServer) { emptyTemplate(api, 1); api.removePods("web") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := newServer(t, aNode("n1", "gpu"))
				api.addSets(owned("web", ownID("web"), "*"+teamA))
				tt.prepare(api)
				cluster := api.follow(t, true)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				began := time.Now()
				_, err := carry(ctx, cluster, Request{Nodes: tainting("team=c:NoSchedule"), Links: []string{ownID("web")}, Shared: &planner.Shared{}}, hooks{})
				if took := time.Since(began); took > time.Minute {
					t.Errorf("it takes %s", took)
				}
				stuck := new(StuckError)
				if is := errors.As(err, &stuck); is != tt.refused || !is && err != nil {
					t.Fatalf("it ends with %v", err)
				}
				if tt.refused && (stuck.MarkedBy != ownID("web") || !stuck.Lost) {
					t.Errorf("it ends with %+v", stuck)
				}
				if begun, _ := api.writes(); tt.refused != (len(begun) == 0) {
					t.Errorf("it wrote %v", begun)
				}
			})
		})
	}
}

// emptyTemplate takes all tolerations out of the template of the StatefulSet web, as an edit does.
func emptyTemplate(api *testServer, generations int64) {
	api.editSet("web", func(s *appsv1.StatefulSet) {
		s.Spec.Template.Spec.Tolerations = nil
		s.Generation += generations
		s.Status.ObservedGeneration = s.Generation
	})
}
