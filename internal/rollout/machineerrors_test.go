// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"errors"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

func TestErrors_sayWhatIsMissing(t *testing.T) {
	t.Parallel()
	late := errors.New("too late")
	set := &machineset.Set{Namespace: "machines", Name: "pool"}
	web := workload.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
	for want, err := range map[string]error{
		"MachineSet machines/pool is not there":                                   &SetGoneError{Key: "machines/pool"},
		"MachineSet machines/pool has been deleted and recreated in the meantime": &SetGoneError{Key: "machines/pool", Recreated: true},
		`MachineSet "machines/pool" has team:NoExecute already`:                   &SetConflictError{Set: set, Conflicts: []taint.Conflict{{ID: taint.ID{Key: "team", Effect: "NoExecute"}}}},
		"it stands still": &StoppedError{Set: set, Why: "it stands still"},
		"too late":        &MachinesError{Set: set, Holds: []string{"a pod"}, Err: late},
		"waiting for machines: a is being deleted; a pod: too late":                   &MachinesError{Set: set, Waiting: []string{"a is being deleted"}, Holds: []string{"a pod"}, Err: late},
		"another controller keeps reverting what is written":                          &RevertedError{},
		`another controller keeps reverting what is written to Deployment "shop/web"`: &RevertedError{Thing: web},
		`another client changes Deployment "shop/web" before each write`:              &RevertedError{Thing: web, Busy: true},
		"1 nodes must not be changed, the first is n1":                                &RefusedError{Refusals: []planner.Refusal{{Node: "n1"}}},
		"pod shop/web has local data":                                                 &DrainRefusedError{Refusals: []planner.DrainRefusal{{Pod: &snapshot.Pod{Namespace: "shop", Name: "web"}, Why: "has local data"}}},
	} {
		if err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
	for name, err := range map[string]error{
		"restored": &RestoredError{Err: late}, "at zero": &AtZeroError{Err: late}, "machines": &MachinesError{Err: late}, "stopped": &StoppedError{Err: late},
		"drain": &DrainError{Err: late}, "workload": &WorkloadError{Err: late}, "unseen": &UnseenError{Err: late}, "stuck": &StuckError{Err: late},
	} {
		if !errors.Is(err, late) {
			t.Errorf("%s does not tell what ended it", name)
		}
	}
	for _, err := range []error{&DrainError{Err: late}, &RestoredError{Err: late}, &AtZeroError{Err: late}, &WorkloadError{Err: late}} {
		if err.Error() != "too late" {
			t.Errorf("got %q", err)
		}
	}
	if err := error(&SetGoneError{}); !errors.Is(err, kube.ErrNotFound) || errors.Is(err, kube.ErrConflict) {
		t.Error("a MachineSet that is gone is not one that is not found")
	}
	if reverted := error(&RevertedError{Thing: web}); !errors.Is(reverted, &RevertedError{Thing: web}) || errors.Is(reverted, &RevertedError{}) || errors.Is(reverted, &RevertedError{Thing: web, Busy: true}) || errors.Is(reverted, late) {
		t.Error("errors about two objects are the same, or one about one is not")
	}
}

func TestReverted_namesTheObjectOfTheWrite(t *testing.T) {
	t.Parallel()
	set, m := &machineset.Set{Namespace: "machines", Name: "pool"}, &machineset.Machine{Namespace: "machines", Name: "a"}
	for want, intent := range map[string]machineset.Intent{
		`to MachineSet "machines/pool"`: {}, `to Machine "machines/a"`: {Machine: m}, `to Node "n"`: {Machine: m, Node: nodeNamed("n")},
	} {
		if got := revertedAbout(set, intent).Error(); got != "another controller keeps reverting what is written "+want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
