// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// TestRun_tellsWhatAWaitHasSeenWhereItsTimeIsOverAlone: another error is its own.
func TestRun_tellsWhatAWaitHasSeenWhereItsTimeIsOverAlone(t *testing.T) {
	t.Parallel()
	// The first reading is before the wait.
	for name, nth := range map[string]int{"at the first look": 1, "in the middle of the wait": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := newServer(t, aNode("n1", "gpu"))
				api.addSets(aSet("web", 1))
				cluster, reads := api.follow(t, true), 0
				api.faulty(func(r fakeapi.Request) int {
					if r.Verb == "get" && r.Name == "web" {
						reads++
					}
					return map[bool]int{true: http.StatusForbidden}[reads >= nth]
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := taintLinked(ctx, cluster, wanting(teamA, "web"))
				if stuck := new(StuckError); !errors.Is(err, kube.ErrForbidden) || errors.As(err, &stuck) {
					t.Errorf("it ends with %v", err)
				}
			})
		})
	}
}

// TestRun_readsWorkloadsBeforeItLabelsNodes: one that refuses stops all of it.
func TestRun_readsWorkloadsBeforeItLabelsNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := newServer(t, aNode("n1", "gpu"))
		api.addSets(aSet("web", 1, "!"+teamA))
		change := Request{
			Labels:    &planner.NodeLabels{Target: planner.Target{Name: "n1"}, Claim: label.Claim{Owner: "me", Generation: generation, Labels: map[string]string{"tier": "x"}}},
			Workloads: wanting(teamA, "web"),
		}
		_, err := carry(t.Context(), api.follow(t, true), change, hooks{})
		if begun, _ := api.writes(); err == nil || !strings.Contains(err.Error(), `is owned by "other"`) || len(begun) > 0 {
			t.Errorf("it ends with %v, and wrote %v", err, begun)
		}
	})
}

// TestRun_aWorkloadThatGoesWhileItsPodsShedLabelsHoldsUpNothing.
func TestRun_aWorkloadThatGoesWhileItsPodsShedLabelsHoldsUpNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := aNode("n1", "gpu")
		record := label.Record{{Key: "pool", Owner: "me", Generation: generation}}
		n.Annotations = map[string]string{label.OwnedAnnotation: record.String()}
		api := newServer(t, n)
		api.addSets(pinned(aSet("web", 1, "*"+teamA), "gpu", true))
		api.idle = true
		cluster := api.follow(t, true)
		api.read = func(name string, nth int) {
			if _, there := fakeapi.Get[*appsv1.StatefulSet](api.Server, namespace, name); there && nth > 3 {
				api.removeSet(name)
			}
		}
		change := Request{
			Labels:    &planner.NodeLabels{Target: planner.Target{Name: "n1"}, Claim: label.Claim{Owner: "me", Generation: generation, Labels: map[string]string{"pool": "gpu"}, Release: true}},
			Workloads: pinning("", "web"),
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := carry(ctx, cluster, change, hooks{}); err != nil {
			t.Errorf("it ends with %v", err)
		}
		if begun, _ := api.writes(); len(begun) != 2 || begun[1] != "n1" {
			t.Errorf("it wrote %v", begun)
		}
	})
}
