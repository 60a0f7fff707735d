// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// TestCheckSetChange_aDamagedRecordOfLabelsComesBeforeConflicts of taints, which it can be the cause of.
func TestCheckSetChange_aDamagedRecordOfLabelsComesBeforeConflicts(t *testing.T) {
	t.Parallel()
	team := corev1.Taint{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}
	set := &machineset.Set{Namespace: "machines", Name: "ms", Taints: []corev1.Taint{team}}
	change := planner.SetChange{Observed: machineset.Observed{Set: set}, Desired: machineset.Desired{Claim: taint.Claim{Owner: "o", Taints: []corev1.Taint{team}}}}
	conflict, stopped := new(rollout.SetConflictError), new(rollout.StoppedError)
	if err := rollout.CheckSetChange(change); !errors.As(err, &conflict) {
		t.Errorf("with a taint of another owner: %v", err)
	}
	set.LabelRecordErr = errors.New("damaged")
	if err := rollout.CheckSetChange(change); !errors.As(err, &stopped) {
		t.Errorf("with a damaged record of labels as well: %v", err)
	}
}
