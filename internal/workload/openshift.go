// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workload

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// deploymentConfig reads OpenShift's DeploymentConfig, whose types are not
// compiled in: it rolls by itself where a change of its configuration triggers.
// While it is paused it cannot be rolled out by hand either: oc refuses.
//
// Missing pods follow only after its newest rollout: one that fails scales an older ReplicationController
// up again (github.com/openshift/openshift-controller-manager 26d20fe
// pkg/apps/deploymentconfig/deploymentconfig_controller.go, reconcileDeployments). While it is paused or
// nothing triggers it, its status tells of a rollout that may be of an older template (Handle).
func (w *Workload) deploymentConfig(object *unstructured.Unstructured) {
	w.itself()
	if test, _, _ := unstructured.NestedBool(object.Object, "spec", "test"); !test {
		// One for tests has pods only while it rolls.
		w.Wants, _, _ = unstructured.NestedInt64(object.Object, "spec", "replicas")
	}
	observed, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	w.Observed = observed >= object.GetGeneration()
	w.Rolling.Manner = "by its deployment strategy"
	rollout := fmt.Sprintf("(oc rollout latest dc/%s -n %s)", w.Name, w.Namespace)
	triggers, _, _ := unstructured.NestedSlice(object.Object, "spec", "triggers")
	rolls := slices.ContainsFunc(triggers, func(trigger any) bool {
		fields, ok := trigger.(map[string]any)
		return ok && fields["type"] == "ConfigChange"
	})
	if paused, _, _ := unstructured.NestedBool(object.Object, "spec", "paused"); paused {
		w.Rolling.Hold = "it is paused"
		w.Rolling.WayOut = fmt.Sprintf("resume it (oc rollout resume dc/%s -n %s)", w.Name, w.Namespace)
		if !rolls {
			w.Rolling.WayOut += ", and roll it out by hand after the change " + rollout
		}
		return
	}
	if !rolls {
		w.Rolling.Hold, w.Rolling.WayOut = "it has no trigger of type ConfigChange", "add that trigger, or roll it out by hand "+rollout
	}
	w.MissingFollow = rolls && complete(object)
}

// complete reports whether the newest rollout of a DeploymentConfig has succeeded. The reason is that of
// github.com/openshift/library-go pkg/apps/appsutil/const.go, NewRcAvailableReason. A template with a
// container whose image is not known yet is not rolled out, and still counts as observed.
func complete(object *unstructured.Unstructured) bool {
	containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
	unresolved := slices.ContainsFunc(containers, func(one any) bool {
		container, _ := one.(map[string]any)
		image, _ := container["image"].(string)
		return strings.TrimSpace(image) == ""
	})
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	return !unresolved && slices.ContainsFunc(conditions, func(one any) bool {
		condition, _ := one.(map[string]any)
		return condition["type"] == "Progressing" && condition["status"] == "True" && condition["reason"] == "NewReplicationControllerAvailable"
	})
}
