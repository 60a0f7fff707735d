// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
)

// TestAwaitTolerations_waitsForThePodsOfEach has the pods of one come first.
func TestAwaitTolerations_waitsForThePodsOfEach(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(aNode("n1", "gpu"))
	for _, name := range []string{"db", "web"} {
		api.addSet(aSet(name, 1))
		api.editSet(name, func(s *appsv1.StatefulSet) { s.Spec.Template = aSet("", 1, teamA).Spec.Template })
	}
	cluster := api.serve(t, true)
	api.read = func(name string, nth int) {
		// Each is read for the second time after a while without its pods.
		if nth == 2 {
			api.roll(name)
		}
	}
	if err := AwaitTolerations(t.Context(), cluster, wanting(teamA, "db", "web")); err != nil {
		t.Fatal(err)
	}
	api.wantFollowed(t)
	if err := AwaitTolerations(t.Context(), cluster, wanting(teamA, "cache")); !errors.Is(err, kube.ErrNotFound) {
		t.Errorf("got %v for one that is not there", err)
	}
}

// TestAwaitTolerations_looksAgainAtWhatCameFirst has somebody undo the first one while
// the second is waited for: the taint that comes next relies on both.
func TestAwaitTolerations_looksAgainAtWhatCameFirst(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(aNode("n1", "gpu"))
	for _, name := range []string{"db", "web"} {
		api.addSet(aSet(name, 1, teamA))
	}
	template := func(name string, notations ...string) {
		api.editSet(name, func(s *appsv1.StatefulSet) { s.Spec.Template = aSet("", 1, notations...).Spec.Template })
	}
	api.editSet("web", func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Tolerations = nil })
	api.roll("web")
	cluster := api.serve(t, true)
	undone := 0
	api.read = func(name string, nth int) {
		switch {
		case name == "web" && nth == 2:
			template("web", teamA)
			api.roll("web")
			template("db")
			api.roll("db")
		case name == "db" && len(api.sets["db"].Spec.Template.Spec.Tolerations) == 0:
			if undone++; undone == 2 {
				template("db", teamA)
				api.roll("db")
			}
		}
	}
	if err := AwaitTolerations(t.Context(), cluster, wanting(teamA, "db", "web")); err != nil {
		t.Fatal(err)
	}
	api.wantFollowed(t)
}

// wantFollowed expects that every pod carries the toleration that was waited for.
func (a *fakeAPI) wantFollowed(t *testing.T) {
	t.Helper()
	a.meanwhile(func() {
		for name, p := range a.pods {
			if len(p.Spec.Tolerations) != 1 {
				t.Errorf("the wait has ended before %s had followed", name)
			}
		}
	})
}
