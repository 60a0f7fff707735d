// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// TestHeldLists_whatIsStillItsOwnGoes has entries of workloads and namespaces outlive the
// configuration that named them: what the resource has not given up goes with a later apply.
func TestHeldLists_whatIsStillItsOwnGoes(t *testing.T) {
	t.Parallel()
	acctest.TooLong(t)
	for what, leave := range map[string]func(t *testing.T, s replay, i *acctest.Instance, apply func(i *acctest.Instance, config map[string]any)){
		"after an apply": func(*testing.T, replay, *acctest.Instance, func(*acctest.Instance, map[string]any)) {},
		"of a state without held lists": func(t *testing.T, _ replay, i *acctest.Instance, _ func(*acctest.Instance, map[string]any)) {
			i.Private = acctest.ReplacePrivate(t, i.Private, `"lists":`, `"dropped":`)
		},
		"of a state that is older still": func(t *testing.T, _ replay, i *acctest.Instance, _ func(*acctest.Instance, map[string]any)) {
			for _, field := range []string{"lists", "held", "epoch"} {
				i.Private = acctest.ReplacePrivate(t, i.Private, `"`+field+`":`, `"dropped `+field+`":`)
			}
		},
		"after updates whose state was not saved": func(_ *testing.T, s replay, i *acctest.Instance, apply func(*acctest.Instance, map[string]any)) {
			for _, config := range []map[string]any{s.other, s.first, s.other} {
				killed := *i
				apply(&killed, config)
			}
		},
		"of a private state that was lost": func(_ *testing.T, _ replay, i *acctest.Instance, _ func(*acctest.Instance, map[string]any)) {
			i.Private = nil
		},
		"of a state that believes everything": func(t *testing.T, _ replay, i *acctest.Instance, _ func(*acctest.Instance, map[string]any)) {
			i.Private = acctest.ReplacePrivate(t, i.Private, `"cluster":`, `"recovered":true,"cluster":`)
		},
		"after refreshes": func(_ *testing.T, s replay, i *acctest.Instance, apply func(*acctest.Instance, map[string]any)) {
			apply(i, s.first)
			apply(i, s.first)
		},
	} {
		for name, s := range replays() {
			t.Run(name+" "+what, func(t *testing.T) {
				t.Parallel()
				bubble(t, moment{api: fakeapi.New()}, func(t *testing.T, api *fakeapi.Server) {
					shop("Deployment")(api)
					time.Sleep(calm)
					i := acctest.Instance{Type: "kubetaint_" + s.typeName}
					apply := func(i *acctest.Instance, config map[string]any) {
						t.Helper()
						if d := through(api.Client()).Apply(t, i, config); d.Errors() != "" {
							t.Fatal(d.Errors())
						}
						time.Sleep(calm)
					}
					apply(&i, s.first)
					written := ownedIn(api)
					leave(t, s, &i, apply)
					if what != "after updates whose state was not saved" {
						before := versions(api)
						if planned := through(api.Client()).Plan(t, &i, s.first); !planned.Empty {
							t.Errorf("something is planned for it: %s", planned.Diagnostics.Warnings())
						}
						if len(written) == 0 || versions(api) != before {
							t.Errorf("%v is written anew", written)
						}
					}
					if s.before != nil {
						s.before(api, 0)
					}
					apply(&i, s.between[0])
					for _, key := range []string{"team", "more"} {
						if left := entriesIn(api, key); len(left) > 0 {
							t.Errorf("%v are left, with %v", left, ownedIn(api))
						}
					}
				})
			})
		}
	}
}

// versions returns those of the objects with lists.
func versions(api *fakeapi.Server) [2]string {
	return [2]string{fakeapi.Objects[*appsv1.Deployment](api)[0].ResourceVersion, fakeapi.Objects[*corev1.Namespace](api)[1].ResourceVersion}
}

// TestHeldLists_aWorkloadThatIsMissingForARefresh has one of the selected Deployments deleted, and
// brought back from a backup after a refresh: its entries are the resource's as before.
func TestHeldLists_aWorkloadThatIsMissingForARefresh(t *testing.T) {
	t.Parallel()
	selected := object{"kind": "Deployment", "namespace": "shop", "selector": "pool=x"}
	bubble(t, moment{api: fakeapi.New()}, func(t *testing.T, api *fakeapi.Server) {
		threeOfEach(api)
		time.Sleep(calm)
		tf, i := through(api.Client()), acctest.Instance{Type: "kubetaint_workload_tolerations"}
		apply := func(key string) {
			t.Helper()
			if d := tf.Apply(t, &i, tolerating(selected, key)); d.Errors() != "" {
				t.Fatal(d.Errors())
			}
			time.Sleep(calm)
		}
		apply("team")
		backup := fakeapi.Objects[*appsv1.Deployment](api)[1].DeepCopy()
		api.Remove(backup.DeepCopy())
		time.Sleep(calm)
		apply("team")
		backup.ResourceVersion, backup.UID = "", ""
		api.Add(backup)
		time.Sleep(calm)
		apply("spot")
		if got, want := withTeam(api), []string{"label n3", "taint n3", "toleration n3"}; !slices.Equal(got, want) {
			t.Errorf("there is %v, want %v", got, want)
		}
	})
}
