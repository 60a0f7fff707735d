// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
)

// TestRun_bringsBackWhatItLeftAtZeroBeforeItWaitsForOthers: a MachineSet without machines must not wait for the rollouts of
// other resources, which take as long as they take. The count is back also where the run is stopped while it waits.
func TestRun_bringsBackWhatItLeftAtZeroBeforeItWaitsForOthers(t *testing.T) {
	t.Parallel()
	for name, lasts := range map[string]time.Duration{"while it waits": time.Hour, "once it is stopped": time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := severalSets(t, "a")
				w.interrupt("a")
				w.editOne("a", func(u *unstructured.Unstructured) {
					annotated(machineset.MarkerAnnotation, (&machineset.Marker{ID: "me", Strategy: machineset.ScaleToZero, OriginalReplicas: 1}).String())(u)
					_ = unstructured.SetNestedField(u.Object, int64(0), "spec", "replicas")
				})
				time.Sleep(10 * time.Second)
				change := taintingSeveral(machineset.ScaleToZero, 1)
				end, err := change.Machines.Slots.Begin(t.Context(), "other", 1, func() {})
				if err != nil {
					t.Fatal(err)
				}
				defer end()
				ctx, cancel := context.WithTimeout(t.Context(), lasts)
				defer cancel()
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					_, _ = carry(ctx, w.follow(t), change, hooks{})
				}()
				time.Sleep(30 * time.Second)
				if replicas, _, _ := unstructured.NestedInt64(w.sets()[0].Object, "spec", "replicas"); replicas != 1 {
					t.Errorf("it has %d replicas, want 1", replicas)
				}
				cancel()
				<-ended
			})
		})
	}
}
