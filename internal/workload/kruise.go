// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workload

import (
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// kruiseGroup is the API group of OpenKruise's workloads, whose types are not compiled in.
const kruiseGroup = "apps.kruise.io"

// kruise reads why the pods of a CloneSet, a DaemonSet or a StatefulSet of OpenKruise do not
// follow a change: the strategy has these fields itself or in rollingUpdate
// (github.com/openkruise/kruise v1.9.1 apis/apps/v1alpha1/cloneset_types.go,
// CloneSetUpdateStrategy; apis/apps/v1beta1/daemonset_types.go, RollingUpdateDaemonSet).
// InPlaceOnly changes images and metadata, and fails where a pod would need to be replaced
// (pkg/controller/cloneset/sync/cloneset_update.go, updatePod).
func (w *Workload) kruise(object *unstructured.Unstructured) {
	strategy, _, _ := unstructured.NestedMap(object.Object, "spec", "updateStrategy")
	rolling, _ := strategy["rollingUpdate"].(map[string]any)
	left := partition(strategy["partition"])
	if left == "" {
		left = partition(rolling["partition"])
	}
	w.kruiseMissing(object, left != "")
	const replace = "set another update strategy, or delete its pods one by one after the change"
	switch {
	case strategy["paused"] == true || rolling["paused"] == true:
		w.Rolling.Hold, w.Rolling.WayOut = "it is paused", "set paused to false in its update strategy"
	case strategy["type"] == "OnDelete":
		w.Rolling.Hold, w.Rolling.WayOut = "its update strategy is OnDelete", replace
	case strategy["type"] == "InPlaceOnly":
		w.Rolling.Hold, w.Rolling.WayOut = "its update strategy is InPlaceOnly, which does not change tolerations", replace
	case left != "":
		w.Rolling.Hold, w.Rolling.WayOut = "its update leaves out the pods of partition "+left, "set the partition to 0"
	}
}

// kruiseMissing reads of which template the controllers of OpenKruise make missing pods.
//
//   - A StatefulSet has the fields of that of apps/v1, and its controller was made from that one's: it
//     replaces no pod of an OrderedReady set while another one is not available or terminating
//     (pkg/controller/statefulset/stateful_set_control.go:1162 and :1184, processReplica), and makes missing
//     pods as that one does (stateful_set_utils.go:521, isCurrentRevisionNeeded).
//   - A CloneSet makes of its current revision as many as the partition is short of
//     (pkg/controller/cloneset/sync/cloneset_sync_utils.go, calculateDiffsWithExpectation). Its strategy and
//     pauses change nothing about that.
//   - A DaemonSet makes all of its newest template, also below a partition
//     (pkg/controller/daemonset/daemonset_controller.go, syncNodes). It writes that it has seen a template
//     once it has made all of its missing pods (syncDaemonSet).
//
// Nothing is known of its other kinds.
func (w *Workload) kruiseMissing(object *unstructured.Unstructured, partitioned bool) {
	// An object that is not of the type shows nothing.
	switch w.Kind {
	case "StatefulSet":
		_ = as(object, func(s *appsv1.StatefulSet) { w.inOrder(s) })
	case "CloneSet":
		current, _, _ := unstructured.NestedString(object.Object, "status", "currentRevision")
		newest, _, _ := unstructured.NestedString(object.Object, "status", "updateRevision")
		w.MissingFollow = !partitioned || settled(current, newest)
	case "DaemonSet":
		_ = as(object, func(d *appsv1.DaemonSet) { w.daemonSetPods(d) })
	}
}

// partition returns a number of pods, or a share of them, that an update leaves out, empty for
// none.
func partition(value any) string {
	switch size := value.(type) {
	case int64:
		if size > 0 {
			return fmt.Sprint(size)
		}
	case string:
		if share, err := strconv.Atoi(strings.TrimSuffix(size, "%")); err == nil && share > 0 {
			return fmt.Sprintf("%d%%", share)
		}
	}
	return ""
}
