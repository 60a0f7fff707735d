// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

func TestWorkloadTolerations_destroyLeavesNoEmptyListAndNoAnnotation(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		thing := s.make("Deployment", "web", 1, "", nil)
		before := s.c.Look(t, thing)
		i := s.fresh()
		s.apply(i, s.manage(thing, "team=a:NoExecute", nil))
		s.want(thing, "team=a:NoExecute", 1)
		s.destroy(i)
		s.want(thing, "", 0)
		after := s.c.Look(t, thing)
		for _, annotations := range []map[string]string{before.GetAnnotations(), after.GetAnnotations()} {
			// The Deployment controller's own.
			delete(annotations, "deployment.kubernetes.io/revision")
			if len(annotations) > 0 {
				t.Fatalf("annotations are left: %v", annotations)
			}
		}
	})
}

// TestWorkloadTolerations_drift has another writer change what is owned in every way
// that there is.
func TestWorkloadTolerations_drift(t *testing.T) {
	t.Parallel()
	const foreign, ours = "foreign* other=1:NoExecute@30", "spot* team=a:NoExecute"
	for name, tt := range map[string]struct {
		drift string
		quiet bool
	}{
		"another writer removes one of ours":                  {drift: foreign + " team=a:NoExecute"},
		"another writer removes all of ours":                  {drift: foreign},
		"another writer removes the whole list":               {drift: ""},
		"another writer gives ours an end":                    {drift: foreign + " spot* team=a:NoExecute@5"},
		"another writer changes the value of ours":            {drift: foreign + " spot* team=b:NoExecute"},
		"another writer adds another entry":                   {drift: foreign + " spot* team=a:NoExecute theirs*", quiet: true},
		"another writer changes the order":                    {drift: "team=a:NoExecute other=1:NoExecute@30 spot* foreign*", quiet: true},
		"another writer takes what is foreign away":           {drift: "spot* team=a:NoExecute", quiet: true},
		"another writer writes what is ours a second time":    {drift: "spot* " + foreign + " spot* team=a:NoExecute", quiet: true},
		"another writer puts one that covers ours before it":  {drift: "team* " + foreign + " spot* team=a:NoExecute", quiet: true},
		"another writer puts one with an end before that key": {drift: "team=a:NoExecute@5 " + foreign + " spot* team=a:NoExecute", quiet: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inShop(t, func(t *testing.T, s *shop) {
				thing := s.make("Deployment", acctest.Name(t, "web"), 0, foreign, nil)
				config := s.manage(thing, ours, nil)
				i := s.fresh()
				s.apply(i, config)
				s.replace(thing, tt.drift)
				if tt.quiet {
					s.quiet(i, config)
					return
				}
				s.planned(i, config)
				s.apply(i, config)
				standing := s.standing(thing, s.pathOf("Deployment"))
				for _, want := range acctest.ParseTolerations(t, ours) {
					if !toleration.Contains(standing, want) || toleration.Shadowing(standing, want) != nil {
						t.Fatalf("%s has no effect in %s", formatted(acctest.ParseTolerations(t, ours)), formatted(standing))
					}
				}
				if record := s.record(thing); len(record) != 2 {
					t.Fatalf("the record is %v", record)
				}
				s.destroy(i)
				if left := s.standing(thing, s.pathOf("Deployment")); toleration.Contains(left, acctest.ParseTolerations(t, "spot*")[0]) || toleration.Contains(left, acctest.ParseTolerations(t, "team=a:NoExecute")[0]) {
					t.Fatalf("ours is left: %s", formatted(left))
				}
			})
		})
	}
}

// An entry without a mark has no owner: it serves, and a destroy leaves it.
func TestWorkloadTolerations_entriesWithoutARecordAreNotOwned(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		thing := s.make("Deployment", "web", 0, "foreign*", nil)
		config := s.manage(thing, "team=a:NoExecute", nil)
		i := s.fresh()
		s.apply(i, config)
		s.c.Change(t, thing, "somebody", `{"metadata":{"annotations":{"`+toleration.OwnedAnnotation+`":null}}}`)
		s.quiet(i, config)
		s.destroy(i)
		s.want(thing, "foreign* team=a:NoExecute", 0)
	})
}

// If an entry of the same identity existed before, one that ends at another
// time is not owned, even when the owned one changes.
func TestWorkloadTolerations_foreignEntryThatDiffersInSecondsAloneStays(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		const foreign = "foreign* team=a:NoExecute@30"
		thing := s.make("Deployment", "web", 0, foreign, nil)
		config := s.manage(thing, "team=a:NoExecute", nil)
		i := s.fresh()
		s.apply(i, config)
		s.want(thing, foreign+" team=a:NoExecute", 1)
		s.replace(thing, foreign)
		s.planned(i, config)
		s.apply(i, config)
		s.want(thing, foreign+" team=a:NoExecute", 1)
		s.replace(thing, foreign)
		s.destroy(i)
		s.want(thing, foreign, 0)
	})
}

func TestWorkloadTolerations_unreadableRecordIsAnErrorBeforeAWrite(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "the annotation … is damaged")
	inShop(t, func(t *testing.T, s *shop) {
		thing := s.make("Deployment", "web", 0, "foreign*", nil)
		s.c.Change(t, thing, "somebody", `{"metadata":{"annotations":{"`+toleration.OwnedAnnotation+`":"garbage"}}}`)
		s.refused(s.fresh(), s.manage(thing, "team=a:NoExecute", nil), toleration.OwnedAnnotation, "is damaged", "cannot be read", `AttributeName("workload")`, "kubectl annotate deployment "+thing.Name+" -n "+s.namespace)
		if got := formatted(s.standing(thing, s.pathOf("Deployment"))); got != "foreign Exists" {
			t.Fatalf("the list is %s", got)
		}
	})
}

func TestWorkloadTolerations_workloadThatIsMadeAnewIsPlannedAgain(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		thing := s.make("Deployment", "web", 1, "foreign*", nil)
		config := s.manage(thing, "team=a:NoExecute", nil)
		i := s.fresh()
		s.apply(i, config)
		s.c.Remove(t, thing)
		s.make("Deployment", "web", 2, "new*", nil)
		s.planned(i, config)
		s.apply(i, config)
		s.want(thing, "new* team=a:NoExecute", 1)
		s.destroy(i)
		s.want(thing, "new*", 0)
	})
}

func TestWorkloadTolerations_deletedWorkloadIsDroppedFromState(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		for _, kind := range []string{"Deployment", "CronJob"} {
			thing := s.make(kind, "web", 0, "", nil)
			i := s.fresh()
			s.apply(i, s.manage(thing, "team=a:NoExecute", nil))
			s.c.Remove(t, thing)
			if d := s.tf.Walk(t).Refresh(i); d.Errors() != "" || i.Exists() {
				t.Fatalf("the resource is still in the state: %s", d.Errors())
			}
		}
	})
}

func TestWorkloadTolerations_destroyAfterTheWorkloadIsGone(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		thing := s.make("Deployment", "web", 0, "", nil)
		i := s.fresh()
		s.apply(i, s.manage(thing, "team=a:NoExecute", nil))
		planned := s.tf.Plan(t, i, nil)
		s.c.Remove(t, thing)
		if d := s.tf.Carry(t, i, planned, nil); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
	})
}

// A change of words is none: no write, no replacement, and no other identity.
func TestWorkloadTolerations_sameInOtherWordsIsNoChange(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		thing := s.make("Deployment", "web", 0, "", nil)
		i := s.fresh()
		config := s.manage(thing, "team:NoExecute spot*", nil)
		s.apply(i, config)
		version := s.c.Look(t, thing).GetResourceVersion()
		s.quiet(i, acctest.With(config, map[string]any{"tolerations": []any{
			map[string]any{"operator": "Exists", "key": "spot", "value": "", "effect": ""},
			map[string]any{"operator": "Equal", "key": "team", "value": "", "effect": "NoExecute"},
		}}))
		where := map[string]any{"api_version": "apps/v1", "kind": "Deployment", "namespace": s.namespace, "name": "web"}
		if planned := s.tf.Plan(t, i, acctest.With(config, map[string]any{"workload": where})); planned.Replace {
			t.Fatal("naming the version that is known replaces the resource")
		}
		s.apply(i, acctest.With(config, map[string]any{"workload": where}))
		if now := s.c.Look(t, thing).GetResourceVersion(); now != version {
			t.Fatal("the workload was written")
		}
	})
}

func TestWorkloadTolerations_anotherWorkloadReplaces(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		one, two := s.make("Deployment", "one", 1, "foreign*", nil), s.make("StatefulSet", "two", 1, "foreign*", nil)
		i := s.fresh()
		s.apply(i, s.manage(one, "team=a:NoExecute", nil))
		if planned := s.planned(i, s.manage(two, "team=a:NoExecute", nil)); !planned.Replace {
			t.Fatal("another workload does not replace the resource")
		}
		s.apply(i, s.manage(two, "team=a:NoExecute", nil))
		s.want(one, "foreign*", 0)
		s.want(two, "foreign* team=a:NoExecute", 1)
	})
}
