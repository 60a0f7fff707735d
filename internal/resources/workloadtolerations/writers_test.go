// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// add appends a toleration as a well-behaved writer does.
func (s *shop) add(ctx context.Context, name, one string) {
	s.t.Helper()
	s.c.AddToleration(ctx, s.namespace, name, acctest.ParseTolerations(s.t, one)[0])
}

func TestWorkloadTolerations_foreignListsAreKeptWholeAndInOrder(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "is also written by")
	inShop(t, func(t *testing.T, s *shop) {
		const helm = "z*:NoSchedule a=1 m=2:NoExecute@30 b*:NoExecute@300"
		for _, kind := range []string{"Deployment", "DaemonSet", "CronJob"} {
			pods := map[string]int{"Deployment": 1, "DaemonSet": 1}[kind]
			thing := s.make(kind, "web-"+strings.ToLower(kind), pods, "", nil)
			// Helm owns the list by its managed fields, and says so by a label.
			s.c.Change(t, thing, "helm", `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"Helm"}}}`)
			s.replace(thing, helm)
			one, two := s.fresh(), s.fresh()
			first, second := s.manage(thing, "team=a:NoExecute x*", nil), s.manage(thing, "zone=b:NoSchedule", nil)
			s.apply(one, first)
			s.apply(two, second)
			s.want(thing, helm+" team=a:NoExecute x* zone=b:NoSchedule", 3)
			// Helm's next release changes its own part and keeps the owned one.
			s.replace(thing, "new*:NoSchedule m=2:NoExecute@60 team=a:NoExecute x* zone=b:NoSchedule")
			s.quiet(one, first)
			s.quiet(two, second)
			s.destroy(one)
			s.want(thing, "new*:NoSchedule m=2:NoExecute@60 zone=b:NoSchedule", 1)
			s.destroy(two)
			s.want(thing, "new*:NoSchedule m=2:NoExecute@60", 0)
		}
	})
}

// An entry that a foreign one covers is not written: it would restart the pods for
// nothing. When that entry goes, the next plan adds the owned one.
func TestWorkloadTolerations_whatIsCoveredIsNotWrittenUntilItIsNot(t *testing.T) {
	t.Parallel()
	for name, foreign := range map[string]string{
		"by the same":               "team=a:NoExecute",
		"by any value":              "team*",
		"by any effect":             "team=a",
		"by everything":             "*",
		"by one that lasts as long": "team=a:NoExecute@60",
		"by one that lasts forever": "team*:NoExecute",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inShop(t, func(t *testing.T, s *shop) {
				thing := s.make("Deployment", acctest.Name(t, "web"), 1, foreign, nil)
				wanted := "team=a:NoExecute"
				if strings.HasSuffix(foreign, "@60") {
					wanted += "@60"
				}
				i, config := s.fresh(), s.manage(thing, wanted, nil)
				before, pod := s.c.Look(t, thing), s.live(thing.Name)[0].Name
				if d := s.apply(i, config); strings.Contains(d.Warnings(), "restarts") {
					t.Fatalf("nothing restarts, and the plan says: %s", d.Warnings())
				}
				after := s.c.Look(t, thing)
				if after.GetGeneration() != before.GetGeneration() || s.live(thing.Name)[0].Name != pod {
					t.Fatal("the workload was written")
				}
				s.replace(thing, "other*")
				s.planned(i, config)
				s.apply(i, config)
				s.want(thing, "other* "+wanted, 1)
				s.destroy(i)
				s.want(thing, "other*", 0)
			})
		})
	}
}

func TestWorkloadTolerations_whatIsCoveredForAShorterTimeIsWritten(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		thing := s.make("Deployment", "web", 0, "team=b:NoExecute team*:NoSchedule", nil)
		s.apply(s.fresh(), s.manage(thing, "team=a:NoExecute", nil))
		s.want(thing, "team=b:NoExecute team*:NoSchedule team=a:NoExecute", 1)
	})
}

// TestWorkloadTolerations_writerBetweenPlanAndApply: what was planned for is not
// what is there any more.
func TestWorkloadTolerations_writerBetweenPlanAndApply(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ theirs, want string }{
		"another writer adds an entry":                  {"foreign* theirs=1:NoExecute", "foreign* theirs=1:NoExecute team=a:NoExecute"},
		"another writer takes the list away":            {"", "team=a:NoExecute"},
		"another writer adds what we were about to add": {"foreign* team=a:NoExecute", "foreign* team=a:NoExecute"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inShop(t, func(t *testing.T, s *shop) {
				thing := s.make("Deployment", acctest.Name(t, "web"), 1, "foreign*", nil)
				i, config := s.fresh(), s.manage(thing, "team=a:NoExecute", nil)
				planned := s.planned(i, config)
				walk := s.tf.Walk(t)
				walk.Between = func() { s.replace(thing, tt.theirs) }
				if d := walk.ApplyChange(i, planned, config); d.Errors() != "" {
					t.Fatal(d.Errors())
				}
				s.quiet(i, config)
				if got := formatted(s.standing(thing, s.pathOf("Deployment"))); got != formatted(acctest.ParseTolerations(t, tt.want)) {
					t.Fatalf("the list is %s, want %s", got, tt.want)
				}
			})
		})
	}
}

// TestWorkloadTolerations_writerBetweenReadAndWrite has another writer add an entry
// right after the provider has read the workload for its write, repeatedly.
func TestWorkloadTolerations_writerBetweenReadAndWrite(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		thing := s.make("Deployment", "web", 1, "foreign*", nil)
		proxy := s.c.Proxy(t)
		// The entry is there before the provider has the answer to its read.
		proxy.InTurn()
		s.tf = &acctest.Terraform{Provider: proxy.Provider(t, s.c)}
		i, config := s.fresh(), s.manage(thing, "team=a:NoExecute", nil)
		planned := s.planned(i, config)
		var added, conflicts int
		want := []string{"foreign*"}
		walk := s.tf.Walk(t)
		// Reads to plan again, and the dry run that may conflict with them, do not count.
		walk.Between = func() {
			proxy.After(func(r acctest.Request) {
				switch {
				case r.Write() && r.Status == http.StatusConflict:
					conflicts++
				case !r.Write() && !r.Watch && strings.HasSuffix(r.Path, "/deployments/web") && added < 3:
					added++
					one := fmt.Sprintf("theirs-%d*", added)
					want = append(want, one)
					s.add(context.Background(), "web", one)
				}
			})
		}
		if d := walk.ApplyChange(i, planned, config); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		proxy.After(nil)
		if conflicts == 0 {
			t.Fatal("the provider's write met no conflict: the test shows nothing")
		}
		s.want(thing, strings.Join(want, " ")+" team=a:NoExecute", 1)
		s.quiet(i, config)
	})
}

// TestWorkloadTolerations_overwrittenInTheMiddleOfTheWait: pods that carry the
// tolerations would never come, so that waiting for them would be for nothing.
func TestWorkloadTolerations_overwrittenInTheMiddleOfTheWait(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		thing, config := s.stuck()
		config["timeouts"] = map[string]any{"create": "5m"}
		i := s.fresh()
		done := make(chan acctest.Diagnostics, 1)
		go func() { done <- s.tf.Apply(t, i, config) }()
		s.until("the new pods are there", func() bool { return len(s.live("web")) > 2 })
		s.replace(thing, "theirs*")
		s.until("ours is written again", func() bool {
			return toleration.Contains(s.standing(thing, s.pathOf("Deployment")), acctest.ParseTolerations(t, "team=a:NoExecute")[0])
		})
		s.c.Patch(t, s.namespace, `{"spec":{"unschedulable":false}}`)
		if d := <-done; d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		s.want(thing, "theirs* team=a:NoExecute", 1)
		// A pod that was made from the owned entry alone is replaced by the rollout that follows.
		s.until("the pods are those of the template", func() bool {
			return !slices.ContainsFunc(s.live("web"), func(p corev1.Pod) bool {
				return !toleration.Contains(p.Spec.Tolerations, acctest.ParseTolerations(t, "theirs*")[0])
			})
		})
		s.wantPods("web", 2, "team=a:NoExecute theirs*", "Deployment")
		s.quiet(i, config)
	})
}

// TestWorkloadTolerations_aWriterThatKeepsRemovingEntriesIsAnError: it must neither
// pass for an apply that worked nor go on forever.
func TestWorkloadTolerations_aWriterThatKeepsRemovingEntriesIsAnError(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		thing := s.make("Deployment", "web", 1, "foreign*", nil)
		proxy := s.c.Proxy(t)
		proxy.InTurn()
		s.tf = &acctest.Terraform{Provider: proxy.Provider(t, s.c)}
		i, config := s.fresh(), s.manage(thing, "team=a:NoExecute", nil)
		planned := s.planned(i, config)
		proxy.After(func(r acctest.Request) {
			if r.Write() {
				s.replace(thing, "foreign*")
			}
		})
		says(t, "error", s.tf.Carry(t, i, planned, config).Errors(), "Another controller keeps reverting this change", "--show-managed-fields")
		proxy.After(nil)
		s.apply(i, config)
		s.want(thing, "foreign* team=a:NoExecute", 1)
	})
}
