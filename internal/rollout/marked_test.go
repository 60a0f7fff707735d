// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// ownID is the id of a resource that gives tolerations to the StatefulSet of a name.
func ownID(set string) string {
	return "terraform/workload_tolerations/StatefulSet/" + namespace + "/" + set + "/team=a"
}

// remark changes all marks of a StatefulSet.
func remark(s *appsv1.StatefulSet, change func(*toleration.Mark)) *appsv1.StatefulSet {
	record, _ := toleration.ParseRecord(s.Annotations[toleration.OwnedAnnotation])
	for i := range record {
		change(&record[i])
	}
	s.Annotations = map[string]string{toleration.OwnedAnnotation: record.String()}
	return s
}

func owned(name string, owner string, notations ...string) *appsv1.StatefulSet {
	return remark(aSet(name, 1, notations...), func(m *toleration.Mark) { m.Owner = owner })
}

func retiring(name string, notations ...string) *appsv1.StatefulSet {
	return remark(aSet(name, 1, notations...), func(m *toleration.Mark) { m.Retiring = true })
}

// forbidLists refuses lists of a resource.
func (a *testServer) forbidLists(resource string, status int) {
	a.faulty(func(r fakeapi.Request) int {
		return map[bool]int{true: status}[r.Verb == "list" && r.Resource == resource]
	})
}

func TestMarkedBy(t *testing.T) {
	t.Parallel()
	web := ownID("web")
	for name, tt := range map[string]struct {
		sets []*appsv1.StatefulSet
		// resource cannot be listed, by this status.
		resource string
		status   int

		// want are the workloads with their paths and tolerations.
		want  []string
		fails error
		says  string
	}{
		"a workload is found by its marks, and these alone are told": {
			sets: []*appsv1.StatefulSet{owned("web", web, "*"+teamA, "foreign:NoSchedule", "*more:NoSchedule"), owned("db", ownID("db"), "*"+teamA)},
			want: []string{"web spec.template.spec.tolerations more:NoSchedule " + teamA},
		},
		"what retires is not relied on": {
			sets: []*appsv1.StatefulSet{remark(owned("web", web, "*"+teamA, "*more:NoSchedule"), func(m *toleration.Mark) { m.Retiring = m.Key == "team" })},
			want: []string{"web spec.template.spec.tolerations more:NoSchedule"},
		},
		"lists of another path are told apart": {
			sets: []*appsv1.StatefulSet{remark(owned("web", web, "*"+teamA, "*more:NoSchedule"), func(m *toleration.Mark) {
				m.Path = map[string]string{"more": "spec.other.tolerations"}[m.Key]
			})},
			want: []string{"web spec.other.tolerations more:NoSchedule", "web spec.template.spec.tolerations " + teamA},
		},
		"a path that cannot be written is passed over": {
			sets: []*appsv1.StatefulSet{remark(owned("web", web, "*"+teamA), func(m *toleration.Mark) { m.Path = "spec" })},
		},
		"a workload that copies the id of another one is passed over": {sets: []*appsv1.StatefulSet{owned("db", web, "*"+teamA)}},
		"none is found where none may be looked for": {
			sets: []*appsv1.StatefulSet{owned("web", web, "*"+teamA)}, resource: "statefulsets", status: http.StatusForbidden,
			fails: kube.ErrForbidden, says: `find the workloads of "` + web + `" by their ownership records: `,
		},
		"one that is found is enough where others may not be looked for": {
			sets: []*appsv1.StatefulSet{owned("web", web, "*"+teamA)}, resource: "deployments", status: http.StatusForbidden,
			want: []string{"web spec.template.spec.tolerations " + teamA},
		},
		"none is found where the server cannot answer": {
			sets: []*appsv1.StatefulSet{owned("web", web, "*"+teamA)}, resource: "deployments", status: http.StatusUnprocessableEntity, fails: kube.ErrInvalid,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := newServer(t, aNode("n1", "gpu"))
				api.addSets(tt.sets...)
				api.forbidLists(tt.resource, tt.status)
				found, err := MarkedBy(t.Context(), api.connect(t), web, toleration.Claim{})
				if (err != nil) != (tt.fails != nil) || tt.fails != nil && !errors.Is(err, tt.fails) || err != nil && !strings.Contains(err.Error(), tt.says) {
					t.Errorf("it ends with %v, want %v that says %q", err, tt.fails, tt.says)
				}
				if unseen := new(UnseenError); errors.As(err, &unseen) != (tt.says != "") || tt.says != "" && unseen.ID != web {
					t.Errorf("it is %T", err)
				}
				var got []string
				for _, d := range found {
					words := []string{d.Ref.Name, strings.Join(d.Path, ".")}
					for _, one := range d.Claim.Tolerations {
						words = append(words, taint.FormatToleration(one))
					}
					got = append(got, strings.Join(words, " "))
				}
				slices.Sort(got)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("found: %s", diff)
				}
			})
		})
	}
}

// TestRun_waitsForLinked_waitsForThePodsOfEachLinkedResource: what this run plans for them counts,
// and their marks count where it plans nothing.
func TestRun_waitsForLinked_waitsForThePodsOfEachLinkedResource(t *testing.T) {
	t.Parallel()
	lost := func(api *testServer) { api.removePods("web") }
	// The resource of this id means web and db, whose pods are lost; its marks are on one of them, or
	// no seal knows, and copied to the other.
	const byLabel = "terraform/workload_tolerations/StatefulSet/" + namespace + "/shop=x/team=a"
	seal := record.Seal{Nonce: "secret", Epoch: 3, Held: record.Held{}, Resource: byLabel}
	sealed := func(genuine ...string) func(*testServer) {
		return func(api *testServer) {
			for _, name := range []string{"db", "web"} {
				s := remark(aSet(name, 1, "*"+teamA), func(m *toleration.Mark) {
					if m.Owner = byLabel; slices.Contains(genuine, name) {
						m.Proof = seal.On("StatefulSet/" + namespace + "/" + name).Proof(m.Sealed().Parts...)
					}
				})
				s.Labels = map[string]string{"shop": "x"}
				api.addSets(s)
			}
			api.removePods("web")
		}
	}
	planned := func(want string) func(*planner.Shared) {
		return func(s *planner.Shared) {
			var out []planner.PlannedTolerations
			for _, d := range wanting(want, "web") {
				out = append(out, planner.PlannedTolerations{Ref: d.Ref, Path: d.Path, Wanted: d.Claim.Tolerations})
			}
			s.Note(ownID("web"), out)
		}
	}
	for name, tt := range map[string]struct {
		ids     []string
		prepare func(*testServer)
		shared  func(*planner.Shared)
		status  int
		// waits is set where the wait does not end; it ends with an error where fails is set.
		waits bool
		fails error
	}{
		"by its marks":                      {ids: []string{ownID("web")}, prepare: lost, waits: true},
		"pods that carry them are enough":   {ids: []string{ownID("web")}},
		"by its plan":                       {ids: []string{ownID("web")}, shared: planned(teamB), waits: true},
		"a plan is enough":                  {ids: []string{ownID("web")}, shared: planned(teamA), status: http.StatusUnprocessableEntity},
		"a plan for nothing is a plan":      {ids: []string{ownID("web")}, prepare: lost, shared: func(s *planner.Shared) { s.Note(ownID("web"), nil) }},
		"a policy gives nothing that lives": {ids: []string{admission.NewID("terraform", "gpu")}, prepare: lost, status: http.StatusUnprocessableEntity},
		"no other resource":                 {ids: []string{ownID("db")}, prepare: lost},
		"marks that a seal proves":          {ids: []string{byLabel}, prepare: sealed("web"), waits: true},
		"copied marks of a tenant":          {ids: []string{byLabel}, prepare: sealed("db")},
		"a mark that is proved and retires": {ids: []string{byLabel}, prepare: func(api *testServer) {
			s := remark(aSet("web", 1, "*"+teamA), func(m *toleration.Mark) {
				m.Owner, m.Retiring = byLabel, true
				m.Proof = seal.On("StatefulSet/" + namespace + "/web").Proof(m.Sealed().Parts...)
			})
			s.Labels = map[string]string{"shop": "x"}
			api.addSets(s)
			api.removePods("web")
		}},
		"marks that no seal proves":       {ids: []string{byLabel}, prepare: sealed(), waits: true},
		"marks that cannot be looked for": {ids: []string{ownID("web")}, status: http.StatusUnprocessableEntity, fails: kube.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := newServer(t, aNode("n1", "gpu"))
				if tt.ids[0] != byLabel {
					api.addSets(owned("web", ownID("web"), "*"+teamA))
				}
				if tt.prepare != nil {
					tt.prepare(api)
				}
				cluster, shared := api.follow(t, true), &planner.Shared{}
				if tt.shared != nil {
					tt.shared(shared)
				}
				api.forbidLists("deployments", tt.status)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				// The taint evicts no pod, whatever pods carry.
				_, err := carry(ctx, cluster, Request{Nodes: tainting("team=c:NoSchedule"), Links: tt.ids, Shared: shared, RetainedClaim: toleration.Claim{Known: []record.Seal{seal}}}, hooks{})
				switch stuck := new(StuckError); {
				case tt.waits && !errors.As(err, &stuck), tt.fails != nil && !errors.Is(err, tt.fails), !tt.waits && tt.fails == nil && err != nil:
					t.Errorf("it ends with %v", err)
				}
			})
		})
	}
}

// TestRetiring_tellsWhereTolerationsRetire, each list once and in order.
func TestRetiring_tellsWhereTolerationsRetire(t *testing.T) {
	t.Parallel()
	elsewhere := remark(aSet("other", 1, "*"+teamA), func(m *toleration.Mark) { m.Retiring, m.Path = true, "spec" })
	for name, tt := range map[string]struct {
		sets   []*appsv1.StatefulSet
		status func(r fakeapi.Request) int
		want   []string
		fails  error
	}{
		"several entries of one list are one": {sets: []*appsv1.StatefulSet{retiring("web", "*"+teamA, "*"+teamB), retiring("db", "*"+teamA), owned("cache", "me", "*"+teamA), elsewhere}, want: []string{"db", "web"}},
		"one that is gone is passed over": {
			sets: []*appsv1.StatefulSet{retiring("web", "*"+teamA), retiring("db", "*"+teamA)}, want: []string{"db"},
			status: func(r fakeapi.Request) int {
				return map[bool]int{true: http.StatusNotFound}[r.Verb == "get" && r.Name == "web"]
			},
		},
		"one that may not be read is passed over": {
			sets: []*appsv1.StatefulSet{retiring("web", "*"+teamA), retiring("db", "*"+teamA)}, want: []string{"db"},
			status: func(r fakeapi.Request) int {
				return map[bool]int{true: http.StatusForbidden}[r.Verb == "get" && r.Name == "web"]
			},
		},
		"one that cannot be read is an error": {
			sets: []*appsv1.StatefulSet{retiring("web", "*"+teamA)}, fails: kube.ErrInvalid,
			status: func(r fakeapi.Request) int {
				return map[bool]int{true: http.StatusUnprocessableEntity}[r.Verb == "get" && r.Name == "web"]
			},
		},
		"nothing is told of kinds that may not be listed": {
			sets:   []*appsv1.StatefulSet{retiring("web", "*"+teamA)},
			status: func(r fakeapi.Request) int { return map[bool]int{true: http.StatusForbidden}[r.Verb == "list"] },
		},
		"kinds that cannot be listed are an error": {
			sets: []*appsv1.StatefulSet{retiring("web", "*"+teamA)}, fails: kube.ErrInvalid,
			status: func(r fakeapi.Request) int {
				return map[bool]int{true: http.StatusUnprocessableEntity}[r.Verb == "list"]
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := newServer(t, aNode("n1", "gpu"))
				api.addSets(tt.sets...)
				if tt.status != nil {
					api.faulty(tt.status)
				}
				found, err := Retiring(t.Context(), api.connect(t))
				if !errors.Is(err, tt.fails) {
					t.Errorf("it ends with %v, want %v", err, tt.fails)
				}
				var got []string
				for _, w := range found {
					got = append(got, w.Name)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("found: %s", diff)
				}
			})
		})
	}
}

// TestRun_takesWhatRetiresOutOfWorkloads once no live taint needs it. It waits
// for no pod.
func TestRun_takesWhatRetiresOutOfWorkloads(t *testing.T) {
	t.Parallel()
	named := []taint.ID{{Key: "team", Effect: "NoExecute"}}
	for name, tt := range map[string]struct {
		taint  string
		sets   []*appsv1.StatefulSet
		named  []taint.ID
		status func(r fakeapi.Request) int
		want   map[string]string
		writes int
		fails  error
	}{
		"a toleration that no taint needs goes": {
			named: named, sets: []*appsv1.StatefulSet{retiring("web", "*"+teamA), aSet("db", 1, "*"+teamA)}, want: map[string]string{"web": "", "db": "*" + teamA}, writes: 1,
		},
		"a toleration that a taint needs stays": {
			named: named, taint: teamA, sets: []*appsv1.StatefulSet{retiring("web", "*"+teamA)}, want: map[string]string{"web": "-" + teamA},
		},
		"a toleration for a taint that is not named stays": {sets: []*appsv1.StatefulSet{retiring("web", "*"+teamA)}, want: map[string]string{"web": "-" + teamA}},
		"one that cannot be written keeps no other workload from it": {
			named: named, sets: []*appsv1.StatefulSet{retiring("a", "*"+teamA), retiring("b", "*"+teamA)}, want: map[string]string{"a": "-" + teamA, "b": ""}, writes: 2, fails: kube.ErrForbidden,
			status: func(r fakeapi.Request) int {
				return map[bool]int{true: http.StatusForbidden}[r.Write() && r.Name == "a"]
			},
		},
		"one that goes meanwhile is no error": {
			named: named, sets: []*appsv1.StatefulSet{retiring("a", "*"+teamA), retiring("b", "*"+teamA)}, want: map[string]string{"a": "-" + teamA, "b": ""}, writes: 1,
			status: func(r fakeapi.Request) int {
				return map[bool]int{true: http.StatusNotFound}[r.Verb == "get" && r.Name == "a"]
			},
		},
		"kinds that may not be listed are passed over": {
			named: named, sets: []*appsv1.StatefulSet{retiring("web", "*"+teamA)}, want: map[string]string{"web": ""}, writes: 1,
			status: func(r fakeapi.Request) int {
				return map[bool]int{true: http.StatusForbidden}[r.Verb == "list" && r.Resource == "deployments"]
			},
		},
		"kinds that cannot be listed are an error": {
			named: named, sets: []*appsv1.StatefulSet{retiring("web", "*"+teamA)}, want: map[string]string{"web": "-" + teamA}, fails: kube.ErrInvalid,
			status: func(r fakeapi.Request) int {
				return map[bool]int{true: http.StatusUnprocessableEntity}[r.Verb == "list" && r.Resource == "deployments"]
			},
		},
		"pods are not looked at where nothing retires": {
			named: named, sets: []*appsv1.StatefulSet{aSet("web", 1, "*"+teamA)}, want: map[string]string{"web": "*" + teamA},
			status: func(r fakeapi.Request) int {
				return map[bool]int{true: http.StatusUnprocessableEntity}[r.Resource == "pods"]
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := newServer(t, aNode("n1", "gpu", strings.Fields(tt.taint)...))
				api.addSets(tt.sets...)
				if tt.status != nil {
					api.faulty(tt.status)
				}
				if err := contractNow(t.Context(), api.connect(t), toleration.Claim{Named: tt.named, Known: []record.Seal{{}}}); !errors.Is(err, tt.fails) {
					t.Errorf("it ends with %v, want %v", err, tt.fails)
				}
				if diff := cmp.Diff(tt.want, api.tolerations()); diff != "" {
					t.Errorf("tolerations: %s", diff)
				}
				if begun, _ := api.writes(); len(begun) != tt.writes {
					t.Errorf("it wrote %v, want %d writes", begun, tt.writes)
				}
			})
		})
	}
}

// TestPathOf_needsAKindThatIsKnownWhereNoPathIsWritten: any object can have a mark.
func TestPathOf_needsAKindThatIsKnownWhereNoPathIsWritten(t *testing.T) {
	t.Parallel()
	set := kube.Marked{Ref: workload.Ref{APIVersion: "apps/v1", Kind: "StatefulSet"}}
	other := kube.Marked{Ref: workload.Ref{APIVersion: "example.com/v1", Kind: "Thing"}}
	for _, tt := range []struct {
		of    kube.Marked
		path  string
		want  string
		known bool
	}{
		{set, "", "spec.template.spec.tolerations", true},
		{other, "", "", false},
		{other, "spec.pods.tolerations", "spec.pods.tolerations", true},
		{other, "status.tolerations", "", false},
	} {
		if fields, known := pathOf(tt.of, tt.path); strings.Join(fields, ".") != tt.want || known != tt.known {
			t.Errorf("%s of a %s leads to %v, %t", tt.path, tt.of.Kind, fields, known)
		}
	}
}
