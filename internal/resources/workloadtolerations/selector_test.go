// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

// labelled gives a workload a label; an empty value takes it away.
func (s *shop) labelled(thing acctest.Thing, label, value string) {
	s.t.Helper()
	patch := `{"metadata":{"labels":{"` + label + `":null}}}`
	if value != "" {
		patch = `{"metadata":{"labels":{"` + label + `":"` + value + `"}}}`
	}
	s.c.Change(s.t, thing, "somebody", patch)
}

// managing is the configuration of tolerations of many workloads.
func (s *shop) managing(kind, selector, tolerations string) map[string]any {
	s.t.Helper()
	return map[string]any{"workload": map[string]any{"kind": kind, "namespace": s.namespace, "selector": selector}, "tolerations": acctest.TolerationObjects(s.t, tolerations)}
}

// TestWorkloadTolerations_selectorFollowsTheWorkloads has workloads come and go in
// every way.
func TestWorkloadTolerations_selectorFollowsTheWorkloads(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		one, two := s.make("Deployment", "one", 1, "foreign*", nil), s.make("Deployment", "two", 1, "", nil)
		other := s.make("Deployment", "other", 0, "foreign*", nil)
		same := s.make("StatefulSet", "same", 0, "foreign*", nil)
		s.labelled(one, "tier", "gpu")
		s.labelled(two, "tier", "gpu")
		s.labelled(same, "tier", "gpu")
		i, config := s.fresh(), s.managing("Deployment", "tier=gpu", "team=a:NoExecute")

		planned := s.planned(i, config)
		if id := s.idOf(planned); id != "terraform/workload_tolerations/Deployment/"+s.namespace+"/tier=gpu/team=a:NoExecute" {
			t.Fatalf("the id that is planned is %q", id)
		}
		s.apply(i, config)
		s.want(one, "foreign* team=a:NoExecute", 1)
		s.want(two, "team=a:NoExecute", 1)
		s.want(other, "foreign*", 0)
		s.want(same, "foreign*", 0)

		// One comes, one leaves the selector.
		s.labelled(other, "tier", "gpu")
		s.planned(i, config)
		s.labelled(one, "tier", "")
		s.planned(i, config)
		s.apply(i, config)
		s.want(other, "foreign* team=a:NoExecute", 1)
		s.want(one, "foreign*", 0)

		// One that leaves alone is noticed as well, and one that is new.
		s.labelled(two, "tier", "web")
		s.planned(i, config)
		s.apply(i, config)
		s.want(two, "", 0)
		fresh := s.make("Deployment", "fresh", 0, "", nil)
		s.quiet(i, config)
		s.labelled(fresh, "tier", "gpu")
		s.planned(i, config)
		s.apply(i, config)
		s.want(fresh, "team=a:NoExecute", 1)

		// One that is deleted, or lives on under another selector, is no change.
		s.c.Remove(t, fresh)
		s.quiet(i, config)
		s.make("Deployment", "fresh", 0, "", nil)
		s.quiet(i, config)

		// Another selector changes which workloads are meant: it replaces.
		config = s.managing("Deployment", "tier in (web,gpu)", "team=a:NoExecute")
		if planned := s.planned(i, config); !planned.Replace {
			t.Fatal("another selector does not replace the resource")
		}
		s.apply(i, config)
		s.want(two, "team=a:NoExecute", 1)
		s.want(other, "foreign* team=a:NoExecute", 1)
		s.destroy(i)
		s.want(two, "", 0)
		s.want(other, "foreign*", 0)
	})
}

func TestWorkloadTolerations_destroyOfASelectorReachesThoseThatHaveLeftIt(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		one, two := s.make("Deployment", "one", 0, "foreign*", nil), s.make("Deployment", "two", 0, "", nil)
		i := s.fresh()
		s.labelled(one, "tier", "gpu")
		s.labelled(two, "tier", "gpu")
		s.apply(i, s.managing("Deployment", "tier=gpu", "team=a:NoExecute"))
		s.labelled(one, "tier", "")
		s.destroy(i)
		s.want(one, "foreign*", 0)
		s.want(two, "", 0)
	})
}

func TestWorkloadTolerations_sameSelectorInOtherWordsIsNoChange(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		one := s.make("Deployment", "one", 0, "", nil)
		s.labelled(one, "tier", "gpu")
		i := s.fresh()
		s.apply(i, s.managing("Deployment", "tier=gpu,app in (one,two)", "team=a:NoExecute"))
		version := s.c.Look(t, one).GetResourceVersion()
		for _, words := range []string{"tier==gpu,app in (one,two)", "app in (two, one), tier = gpu"} {
			config := s.managing("Deployment", words, "team=a:NoExecute")
			if planned := s.tf.Plan(t, i, config); planned.Replace {
				t.Fatalf("%q replaces the resource", words)
			}
			s.apply(i, config)
		}
		if s.c.Look(t, one).GetResourceVersion() != version {
			t.Fatal("the workload was written")
		}
	})
}

func TestWorkloadTolerations_selectorWithoutAMatchWarnsAndDoesNotWait(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "No workload is found")
	inShop(t, func(t *testing.T, s *shop) {
		i, config := s.fresh(), s.managing("Deployment", "tier=gpu", "team=a:NoExecute")
		d := s.apply(i, config)
		says(t, "warning", d.Warnings(), `No workload is found: Deployments of "`+s.namespace+`" matching "tier=gpu"`, `AttributeName("selector")`, "check the labels")
		one := s.make("Deployment", "one", 1, "", nil)
		s.labelled(one, "tier", "gpu")
		s.planned(i, config)
		s.apply(i, config)
		s.want(one, "team=a:NoExecute", 1)
		s.c.Remove(t, one)
		s.quiet(i, config)
		s.destroy(i)
	})
}

func TestWorkloadTolerations_selectorOfACustomKind(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		one, two := s.widget("one", nil), s.widget("two", nil)
		s.managesWidgets()
		s.labelled(one, "tier", "gpu")
		s.labelled(two, "tier", "gpu")
		// No other test taints nodes with this key: whose pods are not known, any node
		// counts.
		config := s.managing("Widget", "tier=gpu", "leaver=a:NoExecute")
		config["path"] = acctest.WidgetPath
		config["workload"].(map[string]any)["api_version"] = acctest.WidgetVersion
		i := s.fresh()
		s.apply(i, config)
		path := strings.Split(acctest.WidgetPath, ".")
		if got := formatted(s.standing(one, path)) + formatted(s.standing(two, path)); got != "leaver=a:NoExecuteleaver=a:NoExecute" {
			t.Fatalf("the widgets have %q", got)
		}
		// One leaves: which objects of a custom kind carry ownership records of this resource is found out
		// by a list of them, as no other list has them.
		s.labelled(one, "tier", "")
		s.planned(i, config)
		s.apply(i, config)
		if got := formatted(s.standing(one, path)); got != "" {
			t.Fatalf("the widget that has left keeps %q", got)
		}
		s.destroy(i)
		if got := formatted(s.standing(two, path)); got != "" {
			t.Fatalf("the widget keeps %q", got)
		}
	})
}

func (s *shop) idOf(planned acctest.Planned) string {
	s.t.Helper()
	id, _ := s.tf.Attributes(s.t, &acctest.Instance{Type: s.fresh().Type, State: planned.State})["id"].(string)
	return id
}
