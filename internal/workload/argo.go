// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workload

import (
	"fmt"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
)

// argoGroup is the API group of Argo's Rollouts, whose types are not compiled in. Their
// rules below are those of github.com/argoproj/argo-rollouts v1.10.1.
const argoGroup = "argoproj.io"

// ArgoRollout reports whether a reference names a Rollout of Argo.
func (r Ref) ArgoRollout() bool {
	return r.Kind == "Rollout" && r.GroupVersionKind().Group == argoGroup
}

// observedGeneration returns the generation that an object's controller has seen. Rollouts of
// Argo have it as text, and had a hash there up to version 0.9, which says nothing
// (pkg/apis/rollouts/v1alpha1/types.go, RolloutStatus; utils/rollout/rolloututil.go,
// isGenerationObserved).
func observedGeneration(object *unstructured.Unstructured) (generation int64, known bool) {
	value, found, err := unstructured.NestedFieldNoCopy(object.Object, "status", "observedGeneration")
	if !found || err != nil {
		return 0, false
	}
	switch seen := value.(type) {
	case int64:
		return seen, true
	case string:
		generation, err := strconv.ParseInt(seen, 10, 64)
		return generation, err == nil
	}
	return 0, false
}

// argoRollout reads how the pods of a Rollout of Argo follow a change. With spec.paused its
// controller replaces no pod (rollout/context.go, haltProgress). A pause of its own is in
// its status, and ends by itself if the step has a duration, or the blue-green strategy
// promotes (rollout/pause.go, CompletedCanaryPauseStep and CompletedBlueGreenPause).
func (w *Workload) argoRollout(object *unstructured.Unstructured) {
	w.Selector = selector(object)
	promote := "(" + w.argoCommand("promote") + ")"
	if paused, _, _ := unstructured.NestedBool(object.Object, "spec", "paused"); paused {
		w.Rolling.Hold, w.Rolling.WayOut = "it is paused", "resume it "+promote
		return
	}
	steps, _, _ := unstructured.NestedSlice(object.Object, "spec", "strategy", "canary", "steps")
	promotes, said, _ := unstructured.NestedBool(object.Object, "spec", "strategy", "blueGreen", "autoPromotionEnabled")
	byHand := said && !promotes
	if len(steps) > 0 {
		w.Rolling.Manner = "by its canary steps"
	}
	if at := slices.IndexFunc(steps, endless); at >= 0 {
		w.Rolling.Pauses = Stop{fmt.Sprintf("step %d of %d of its canary is a pause without a duration", at+1, len(steps)), "promote it " + promote}
	}
	if byHand {
		w.Rolling.Pauses = Stop{"its blue-green strategy has autoPromotionEnabled = false", "promote it " + promote}
	}
	if !w.Observed {
		return
	}
	w.MissingFollow = promoted(object)
	aborted, _, _ := unstructured.NestedBool(object.Object, "status", "abort")
	reason := pauseReason(object, steps, byHand)
	switch {
	case aborted:
		w.Rolling.Stands = Stop{"it was aborted", "retry it (" + w.argoCommand("retry rollout") + ")"}
	case reason != "":
		w.Rolling.Stands = Stop{"it is paused (" + printable.Line(reason) + ")", "promote it " + promote}
	}
}

// promoted reports whether the newest ReplicaSet of a Rollout is its stable one: only until then an
// abort scales up an older one (utils/rollout/rolloututil.go, IsFullyPromoted;
// rollout/controller.go:594).
func promoted(object *unstructured.Unstructured) bool {
	stable, _, _ := unstructured.NestedString(object.Object, "status", "stableRS")
	newest, _, _ := unstructured.NestedString(object.Object, "status", "currentPodHash")
	return settled(stable, newest)
}

// argoCommand is a command of the kubectl plugin for the Rollout.
func (w *Workload) argoCommand(verb string) string {
	return fmt.Sprintf("kubectl argo rollouts %s %s -n %s", verb, w.Name, w.Namespace)
}

// endless reports whether a step of a canary is a pause that a user must end.
func endless(step any) bool {
	fields, _ := step.(map[string]any)
	pause, is := fields["pause"].(map[string]any)
	return is && pause["duration"] == nil
}

// pauseReason returns the reason of a pause that a user must end, empty for none.
func pauseReason(object *unstructured.Unstructured, steps []any, byHand bool) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "pauseConditions")
	step, _, _ := unstructured.NestedInt64(object.Object, "status", "currentStepIndex")
	for _, one := range conditions {
		condition, _ := one.(map[string]any)
		switch reason, _ := condition["reason"].(string); {
		case reason == "CanaryPauseStep" && (step < 0 || step >= int64(len(steps)) || !endless(steps[step])):
		case reason == "BlueGreenPause" && !byHand:
		default:
			return reason
		}
	}
	return ""
}

// selector returns the pod selector of an object in kubectl's syntax, empty for none.
func selector(object *unstructured.Unstructured) (out string) {
	err := as(object, func(typed *struct {
		Spec struct {
			Selector *metav1.LabelSelector `json:"selector"`
		} `json:"spec"`
	}) {
		if typed.Spec.Selector != nil {
			out = metav1.FormatLabelSelector(typed.Spec.Selector)
		}
	})
	if err != nil {
		return ""
	}
	return out
}
