// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

// imported imports a workload by its id.
func (s *shop) imported(thing acctest.Thing) *acctest.Instance {
	s.t.Helper()
	id := thing.Kind + "/" + thing.Namespace + "/" + thing.Name
	if thing.Namespace == "" {
		id = thing.Kind + "/" + thing.Name
	}
	i, d := s.tf.Import(s.t, s.fresh().Type, id)
	if d.Errors() != "" {
		s.t.Fatal(d.Errors())
	}
	return i
}

func TestWorkloadTolerations_importThenPlanIsEmptyAndNothingIsWritten(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		const standing = "team=a:NoExecute@30 spot* team=a:NoSchedule *:PreferNoSchedule"
		for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet", "CronJob", "ReplicaSet", "Job"} {
			pods, spec := 0, map[string]any(nil)
			switch kind {
			case "DaemonSet":
				pods = 1
			case "Job":
				spec = map[string]any{"suspend": true}
			}
			thing := s.make(kind, "web-"+strings.ToLower(kind), pods, standing, spec)
			version := s.c.Look(t, thing).GetGeneration()
			i := s.imported(thing)
			s.quiet(i, s.manage(thing, standing, nil))
			s.want(thing, standing, 0)
			if now := s.c.Look(t, thing).GetGeneration(); now != version {
				t.Fatalf("importing has written to the %s", kind)
			}
			s.destroy(i)
			s.want(thing, "", 0)
		}
	})
}

// Entries that are imported and not configured leave the state, and stay where
// they are.
func TestWorkloadTolerations_unconfiguredImportsAreDroppedWithoutAWrite(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "imported toleration")
	inShop(t, func(t *testing.T, s *shop) {
		thing := s.make("Deployment", "web", 1, "foreign* team=a:NoExecute helm=1:NoSchedule", nil)
		i, config := s.imported(thing), s.manage(thing, "team=a:NoExecute", nil)
		version := s.c.Look(t, thing).GetGeneration()
		d := s.planned(i, config).Diagnostics.Warnings()
		if strings.Contains(d, "restarts") {
			t.Fatalf("nothing restarts, and the plan says: %s", d)
		}
		says(t, "warning", d, "2 imported tolerations", "leave the state but stay on", "foreign Exists, helm=1:NoSchedule")
		s.apply(i, config)
		s.want(thing, "foreign* team=a:NoExecute helm=1:NoSchedule", 0)
		if s.c.Look(t, thing).GetGeneration() != version {
			t.Fatal("the workload was written")
		}
		s.destroy(i)
		s.want(thing, "foreign* helm=1:NoSchedule", 0)
	})
}

func TestWorkloadTolerations_importedEntriesAreMarkedWithTheNextChange(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		thing := s.make("Deployment", "web", 1, "team=a:NoExecute foreign*", nil)
		i := s.imported(thing)
		s.apply(i, s.manage(thing, "team=a:NoExecute spot*", nil))
		s.want(thing, "team=a:NoExecute foreign* spot*", 2)
		s.apply(i, s.manage(thing, "team=b:NoExecute spot*", nil))
		s.want(thing, "foreign* spot* team=b:NoExecute", 2)
		s.destroy(i)
		s.want(thing, "foreign*", 0)
	})
}

// An imported entry that gets another end is changed where it stands: a second
// one behind it would have no effect.
func TestWorkloadTolerations_importedEntryGetsAnotherEnd(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		thing := s.make("Deployment", "web", 1, "team=a:NoExecute@30 foreign*", nil)
		i := s.imported(thing)
		s.apply(i, s.manage(thing, "team=a:NoExecute@60", nil))
		s.want(thing, "team=a:NoExecute@60 foreign*", 1)
		s.destroy(i)
		s.want(thing, "foreign*", 0)
	})
}

// The state of a create is lost, or its resource is adopted by another
// configuration: import takes what carries its marks, and no more.
func TestWorkloadTolerations_importOfMarkedEntriesLeavesTheOthers(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		thing := s.make("Deployment", "web", 1, "foreign*", nil)
		config := s.manage(thing, "team=a:NoExecute@60 spot*", nil)
		s.apply(s.fresh(), config)
		i := s.imported(thing)
		s.quiet(i, config)
		s.apply(i, s.manage(thing, "team=a:NoExecute@60 more*", nil))
		s.want(thing, "foreign* team=a:NoExecute@60 more*", 2)
		s.destroy(i)
		s.want(thing, "foreign*", 0)
	})
}

func TestWorkloadTolerations_importErrors(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "Unable to import")
	inShop(t, func(t *testing.T, s *shop) {
		empty := s.make("Deployment", "empty", 0, "", nil)
		other := s.make("Deployment", "other", 0, "", nil)
		theirs := s.on(t)
		theirs.tf = &acctest.Terraform{Provider: acctest.With(s.tf.Provider, map[string]any{"owner": "team-b"})}
		theirs.apply(s.fresh(), s.manage(other, "team=a:NoExecute", nil))
		for id, want := range map[string]string{
			"web":                                 "is not built in",
			"Deployment":                          "KIND/NAMESPACE/NAME",
			"Deployment/web":                      "KIND/NAMESPACE/NAME",
			"Deployment/a/b/c":                    "KIND/NAMESPACE/NAME",
			"Deployment//web":                     "KIND/NAMESPACE/NAME",
			"DNS/x/default":                       "KIND/NAME",
			"Widget/" + s.namespace + "/w":        "an import block with an identity",
			"Deployment/" + s.namespace + "/gone": "Unable to find Deployment",
			"Deployment/" + s.namespace + "/" + empty.Name: "It has no tolerations, or other resources own all of them",
			"Deployment/" + s.namespace + "/" + other.Name: "It has no tolerations, or other resources own all of them",
		} {
			_, d := s.tf.Import(t, s.fresh().Type, id)
			says(t, "error", d.Errors(), want)
		}
	})
}

// hcl writes a configuration of one resource named this.
func (s *shop) hcl(workload, tolerations, more string) string {
	s.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "resource \"kubetaint_workload_tolerations\" \"this\" {\n  workload = { %s }\n%s  tolerations = [\n", workload, more)
	for _, one := range acctest.ParseTolerations(s.t, tolerations) {
		fmt.Fprintf(&b, "    { key = %q, operator = %q, effect = %q", one.Key, one.Operator, one.Effect)
		if one.Operator != corev1.TolerationOpExists {
			fmt.Fprintf(&b, ", value = %q", one.Value)
		}
		if one.TolerationSeconds != nil {
			fmt.Fprintf(&b, ", toleration_seconds = %d", *one.TolerationSeconds)
		}
		b.WriteString(" },\n")
	}
	return b.String() + "  ]\n}\n"
}

// TestWorkloadTolerations_theKnownPathIsNoOtherPath: an import has no path, and a configuration may
// name the one that is known for the kind.
func TestWorkloadTolerations_theKnownPathIsNoOtherPath(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"known": "spec.template.spec.tolerations", "another": "spec.template.spec.others"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inShop(t, func(t *testing.T, s *shop) {
				web := s.make("Deployment", "web", 1, "team=a:NoSchedule", nil)
				version := s.c.Look(t, web).GetResourceVersion()
				i := s.imported(web)
				written := map[string]any{"path": path}
				if planned := s.tf.Plan(t, i, s.manage(web, "team=a:NoSchedule", written)); planned.Replace != (name == "another") {
					t.Fatalf("replace: %t %s", planned.Replace, planned.Diagnostics.Errors())
				} else if planned.Replace {
					return
				}
				for _, more := range []map[string]any{written, nil, written} {
					config := s.manage(web, "team=a:NoSchedule", more)
					if d := s.tf.Plan(t, i, config).Diagnostics; len(d) > 0 {
						t.Fatal(d.Errors(), d.Warnings())
					}
					s.tf.Settle(t, i, config)
				}
				if now := s.c.Look(t, web).GetResourceVersion(); now != version {
					t.Error("the Deployment is written for it")
				}
				s.destroy(i)
				s.want(web, "", 0)
			})
		})
	}
}

// TestWorkloadTolerations_anImportBesideAnotherResourceIsRefused: an import takes the entries that have
// this provider's owner, and applying the configuration for another entry would remove them.
func TestWorkloadTolerations_anImportBesideAnotherResourceIsRefused(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "one resource has imported them from another one")
	inShop(t, func(t *testing.T, s *shop) {
		web := s.make("Deployment", "web", 1, "byhand*", nil)
		first := s.fresh()
		s.apply(first, s.manage(web, "team=a:NoSchedule", nil))
		imported := s.imported(web)
		says := []string{`Unable to manage the entries of "terraform/workload_tolerations/Deployment/` + s.namespace + `/web/team=a:NoSchedule" twice: one resource has imported them from another one`, "terraform state rm ADDRESS"}
		for name, plan := range map[string]func(w *acctest.Walk) acctest.Diagnostics{
			"the import is planned last": func(w *acctest.Walk) acctest.Diagnostics {
				return append(w.Plan(first, s.manage(web, "team=a:NoSchedule", nil)).Diagnostics, w.Plan(imported, s.manage(web, "byhand*", nil)).Diagnostics...)
			},
			"the import is planned first": func(w *acctest.Walk) acctest.Diagnostics {
				return append(w.Plan(imported, s.manage(web, "byhand*", nil)).Diagnostics, w.Plan(first, s.manage(web, "team=a:NoSchedule", nil)).Diagnostics...)
			},
			"the import is destroyed": func(w *acctest.Walk) acctest.Diagnostics {
				return append(w.Plan(imported, nil).Diagnostics, w.Plan(first, s.manage(web, "team=a:NoSchedule", nil)).Diagnostics...)
			},
		} {
			t.Log(name)
			acctest.WantAll(t, plan(s.tf.Walk(t)).Errors(), says...)
		}
		// Without the other resource, such as in a state that is lost, it is theirs.
		if d := s.tf.Plan(t, imported, s.manage(web, "team=a:NoSchedule", nil)).Diagnostics; d.Errors() != "" {
			t.Error(d.Errors())
		}
		w := s.tf.Walk(t)
		if d := append(w.Plan(first, nil).Diagnostics, w.Plan(imported, s.manage(web, "byhand*", nil)).Diagnostics...); d.Errors() != "" {
			t.Error("the other resource is destroyed:", d.Errors())
		}
		s.want(web, "byhand* team=a:NoSchedule", 1)
		s.destroy(first)
	})
}

// TestWorkloadTolerations_eachOfTwoResourcesIsImportedByItsID: KIND/NAMESPACE/NAME names both.
func TestWorkloadTolerations_eachOfTwoResourcesIsImportedByItsID(t *testing.T) {
	t.Parallel()
	inShop(t, func(t *testing.T, s *shop) {
		web := s.make("Deployment", "web", 1, "", nil)
		id := func(entry string) string {
			return "terraform/workload_tolerations/Deployment/" + s.namespace + "/web/" + entry
		}
		entries := map[string]string{"a*": id("a Exists"), "b*": id("b Exists")}
		for wanted := range entries {
			s.apply(s.fresh(), s.manage(web, wanted, nil))
		}
		_, d := s.tf.Import(t, s.fresh().Type, "Deployment/"+s.namespace+"/web")
		acctest.WantAll(t, d.Errors(), "Unable to import tolerations of Deployment \""+s.namespace+"/web\": several resources own some of them", "by its id:", id("a Exists"), id("b Exists"))
		for wanted, id := range entries {
			i, d := s.tf.Import(t, s.fresh().Type, id)
			if d.Errors() != "" {
				t.Fatal(d.Errors())
			}
			s.quiet(i, s.manage(web, wanted, nil))
			s.destroy(i)
		}
		s.want(web, "", 0)
		_, d = s.tf.Import(t, s.fresh().Type, id("c Exists"))
		acctest.WantAll(t, d.Errors(), "Unable to import tolerations of Deployment")
		_, d = s.tf.Import(t, s.fresh().Type, "other"+id("a Exists"))
		acctest.WantAll(t, d.Errors(), "Unable to import tolerations of Deployment")
	})
}
