// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// everyKind makes a workload of each built-in kind whose template can change, and of
// those whose pods follow in another way. Names begin with the kind.
var everyKind = map[string]struct {
	pods int
	spec map[string]any
	more map[string]any
}{
	"Deployment":              {pods: 2},
	"StatefulSet":             {pods: 2},
	"DaemonSet":               {pods: 1},
	"CronJob":                 {},
	"ReplicaSet":              {},
	"Job":                     {spec: map[string]any{"suspend": true}},
	"ReplicaSet that is live": {pods: 1, more: map[string]any{"wait_for_rollout": false}},
	"Deployment that counts pods after seconds": {pods: 2, spec: map[string]any{"minReadySeconds": 2}},
	"DaemonSet with a surge":                    {pods: 1, spec: map[string]any{"updateStrategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": 1, "maxUnavailable": 0}}}},
	"StatefulSet of parallel pods":              {pods: 2, spec: map[string]any{"podManagementPolicy": "Parallel"}},
}

func TestAccWorkloadTolerations_lifecycle(t *testing.T) {
	t.Parallel()
	shared := openShop(t)
	for name, tt := range everyKind {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := shared.on(t)
			kind, _, _ := strings.Cut(name, " ")
			object := acctest.Name(t, "web")
			const foreign = "foreign* other=1:NoExecute@30 foreign=x:NoSchedule"
			thing := s.make(kind, object, tt.pods, foreign, tt.spec)
			i := s.fresh()

			s.apply(i, s.manage(thing, "team=a:NoExecute spot*", tt.more))
			s.want(thing, foreign+" spot* team=a:NoExecute", 2)
			s.wantPods(object, tt.pods, "team=a:NoExecute spot*", kind)

			// One is changed, one goes, one comes.
			s.apply(i, s.manage(thing, "team=b:NoExecute@60 more:NoSchedule", tt.more))
			s.want(thing, foreign+" more:NoSchedule team=b:NoExecute@60", 2)
			s.wantPods(object, tt.pods, "team=b:NoExecute@60 more:NoSchedule", kind)

			// The seconds alone.
			s.apply(i, s.manage(thing, "team=b:NoExecute@90 more:NoSchedule", tt.more))
			s.want(thing, foreign+" more:NoSchedule team=b:NoExecute@90", 2)

			s.destroy(i)
			s.want(thing, foreign, 0)
		})
	}
}

// wantPods expects that all live pods carry these tolerations, as they do after
// an apply that waits. Pods of a StatefulSet or a DaemonSet that are missing then are not
// waited for by it: they come from the newest template.
func (s *shop) wantPods(app string, count int, all, kind string) {
	s.t.Helper()
	if kind == "ReplicaSet" {
		return
	}
	carried := func() int {
		pods := s.live(app)
		for _, pod := range pods {
			for _, want := range acctest.ParseTolerations(s.t, all) {
				if !toleration.Contains(pod.Spec.Tolerations, want) {
					s.t.Fatalf("pod %s does not carry %s: %s", pod.Name, all, formatted(pod.Spec.Tolerations))
				}
			}
		}
		return len(pods)
	}
	if there := carried(); there < count && kind != "StatefulSet" && kind != "DaemonSet" {
		s.t.Fatalf("%s has %d live pods, want %d", app, there, count)
	}
	s.until("all pods are there", func() bool { return carried() >= count })
}

func TestAccWorkloadTolerations_destroyLeavesNoEmptyListAndNoAnnotation(t *testing.T) {
	t.Parallel()
	s := openShop(t)
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
}

// TestAccWorkloadTolerations_drift has somebody change what is ours in every way
// that there is.
func TestAccWorkloadTolerations_drift(t *testing.T) {
	t.Parallel()
	shared := openShop(t)
	const foreign, ours = "foreign* other=1:NoExecute@30", "spot* team=a:NoExecute"
	for name, tt := range map[string]struct {
		drift string
		quiet bool
	}{
		"somebody removes one of ours":                  {drift: foreign + " team=a:NoExecute"},
		"somebody removes all of ours":                  {drift: foreign},
		"somebody removes the whole list":               {drift: ""},
		"somebody gives ours an end":                    {drift: foreign + " spot* team=a:NoExecute@5"},
		"somebody changes the value of ours":            {drift: foreign + " spot* team=b:NoExecute"},
		"somebody adds another entry":                   {drift: foreign + " spot* team=a:NoExecute theirs*", quiet: true},
		"somebody changes the order":                    {drift: "team=a:NoExecute other=1:NoExecute@30 spot* foreign*", quiet: true},
		"somebody takes what is foreign away":           {drift: "spot* team=a:NoExecute", quiet: true},
		"somebody writes what is ours a second time":    {drift: "spot* " + foreign + " spot* team=a:NoExecute", quiet: true},
		"somebody puts one that covers ours before it":  {drift: "team* " + foreign + " spot* team=a:NoExecute", quiet: true},
		"somebody puts one with an end before that key": {drift: "team=a:NoExecute@5 " + foreign + " spot* team=a:NoExecute", quiet: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := shared.on(t)
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
	}
}

// An entry without a mark is nobody's: it serves, and a destroy leaves it.
func TestAccWorkloadTolerations_withoutTheirAnnotationEntriesAreNobodys(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	thing := s.make("Deployment", "web", 0, "foreign*", nil)
	config := s.manage(thing, "team=a:NoExecute", nil)
	i := s.fresh()
	s.apply(i, config)
	s.c.Change(t, thing, "somebody", `{"metadata":{"annotations":{"`+toleration.OwnedAnnotation+`":null}}}`)
	s.quiet(i, config)
	s.destroy(i)
	s.want(thing, "foreign* team=a:NoExecute", 0)
}

// Where an entry of the same identity stood there before, one that ends at
// another time is not ours, whatever becomes of ours.
func TestAccWorkloadTolerations_foreignEntryThatDiffersInSecondsAloneStays(t *testing.T) {
	t.Parallel()
	s := openShop(t)
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
}

func TestAccWorkloadTolerations_annotationThatCannotBeReadIsAnErrorAndNothingIsWritten(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	thing := s.make("Deployment", "web", 0, "foreign*", nil)
	s.c.Change(t, thing, "somebody", `{"metadata":{"annotations":{"`+toleration.OwnedAnnotation+`":"garbage"}}}`)
	s.refused(s.fresh(), s.manage(thing, "team=a:NoExecute", nil), toleration.OwnedAnnotation, "is damaged", "cannot be read", `AttributeName("workload")`, "kubectl annotate deployment "+thing.Name+" -n "+s.namespace)
	if got := formatted(s.standing(thing, s.pathOf("Deployment"))); got != "foreign Exists" {
		t.Fatalf("the list is %s", got)
	}
}

func TestAccWorkloadTolerations_workloadThatIsMadeAnewIsPlannedAgain(t *testing.T) {
	t.Parallel()
	s := openShop(t)
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
}

func TestAccWorkloadTolerations_deletedWorkloadLeavesTheState(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	for _, kind := range []string{"Deployment", "CronJob"} {
		thing := s.make(kind, "web", 0, "", nil)
		i := s.fresh()
		s.apply(i, s.manage(thing, "team=a:NoExecute", nil))
		s.c.Remove(t, thing)
		if d := s.tf.Walk(t).Refresh(i); d.Errors() != "" || i.Exists() {
			t.Fatalf("the resource is still in the state: %s", d.Errors())
		}
	}
}

func TestAccWorkloadTolerations_destroyAfterTheWorkloadIsGone(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	thing := s.make("Deployment", "web", 0, "", nil)
	i := s.fresh()
	s.apply(i, s.manage(thing, "team=a:NoExecute", nil))
	planned := s.tf.Plan(t, i, nil)
	s.c.Remove(t, thing)
	if d := s.tf.Carry(t, i, planned, nil); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
}

// A change of words is none: no write, no replacement, and no other identity.
func TestAccWorkloadTolerations_sameInOtherWordsIsNoChange(t *testing.T) {
	t.Parallel()
	s := openShop(t)
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
}

func TestAccWorkloadTolerations_anotherWorkloadReplaces(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	one, two := s.make("Deployment", "one", 1, "foreign*", nil), s.make("StatefulSet", "two", 1, "foreign*", nil)
	i := s.fresh()
	s.apply(i, s.manage(one, "team=a:NoExecute", nil))
	if planned := s.planned(i, s.manage(two, "team=a:NoExecute", nil)); !planned.Replace {
		t.Fatal("another workload does not replace the resource")
	}
	s.apply(i, s.manage(two, "team=a:NoExecute", nil))
	s.want(one, "foreign*", 0)
	s.want(two, "foreign* team=a:NoExecute", 1)
}
