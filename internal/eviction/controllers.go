// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// recreation is whether a controller creates another pod instead of an evicted one.
type recreation int

const (
	// recreates: it does.
	recreates recreation = iota
	// broken: what it runs fails, and it creates no other pod.
	broken
	// mayBreak: what it runs fails, unless it is set to retry.
	mayBreak
	// unknown: nothing is known of the kind.
	unknown
)

// groupKind names a kind of controllers.
type groupKind struct{ group, kind string }

// controllers are the kinds whose controllers are known. Jobs of Kubernetes fail by rules of their own: see failJobs.
var controllers = map[groupKind]recreation{
	{"", "ReplicationController"}: recreates,
	// github.com/operator-framework/operator-lifecycle-manager pkg/controller/registry/reconciler/grpc.go,
	// EnsureRegistryServer: it creates the pod where none is current.
	{"operators.coreos.com", "CatalogSource"}: recreates,
	// github.com/strimzi/proposals 031-statefulset-removal.md: it takes the place of a StatefulSet.
	{"core.strimzi.io", "StrimziPodSet"}: recreates,
	// github.com/cloudnative-pg/cloudnative-pg internal/controller: it creates instances for their volumes again.
	{"postgresql.cnpg.io", "Cluster"}: recreates,
	// github.com/openshift/openshift-controller-manager pkg/build/controller/build/build_controller.go: reason
	// BuildPodDeleted.
	{"build.openshift.io", "Build"}: broken,
	// github.com/tektoncd/pipeline pkg/reconciler/taskrun/taskrun.go: a failed pod fails the TaskRun, which has retries.
	{"tekton.dev", "TaskRun"}: mayBreak,
	// github.com/argoproj/argo-workflows docs/tolerating-pod-deletion.md: the node errors, unless its retryPolicy is OnError.
	{"argoproj.io", "Workflow"}: mayBreak,
}

// recreationBy returns whether a controller creates another pod. All controllers of Kubernetes' own workloads and
// of OpenKruise do.
func recreationBy(controller snapshot.Owner) recreation {
	switch controller.Group {
	case appsv1.GroupName, batchv1.GroupName, "apps.kruise.io":
		return recreates
	}
	out, known := controllers[groupKind{controller.Group, controller.Kind}]
	if !known {
		return unknown
	}
	return out
}

// uncertain notes what is not certain of whether a controller recreates the pod of a verdict.
func (v *PodVerdict) uncertain() {
	controller := v.Pod.Controller
	switch recreationBy(controller.Owner) {
	case broken:
		v.Lost, v.Fails = true, "its "+controller.Kind+" fails"
		v.Reason += "; " + v.Fails + ", and creates no other pod"
	case mayBreak:
		v.MayBeLost, v.Perhaps = true, "its "+controller.Kind+" may fail"
		v.Reason += "; its " + controller.Kind + " fails unless it retries"
	case unknown:
		v.MayBeLost, v.Perhaps = true, "may not be recreated"
		v.Reason += "; it is not known whether its " + controller.Kind + " recreates it"
	}
}

// MayFail reports whether what runs the pod may fail: no wait for another pod is sure to end.
func (v PodVerdict) MayFail() bool { return v.MayBeLost && (breaks(v.Pod) || v.Pod.Controller.Job()) }

// PerhapsLost reports whether it is not known whether a pod is lost: its controller may not recreate it, or nothing does,
// and it may be evicted.
func (v PodVerdict) PerhapsLost() bool {
	return v.Verdict != Stays && v.MayBeLost || v.Verdict == Unknown && !v.Pod.Completed && (isBare(v.Pod) || breaks(v.Pod) || mayBeLost(v.Pod))
}

// isBare reports whether no controller recreates a pod, nor the kubelet.
func isBare(pod *snapshot.Pod) bool { return pod.Controller == nil && !pod.Mirror }

// breaks reports whether what a pod's controller runs fails without the pod, or may fail.
func breaks(pod *snapshot.Pod) bool { return isRecreation(pod, broken, mayBreak) }

// fails reports whether it fails for certain.
func fails(pod *snapshot.Pod) bool { return isRecreation(pod, broken) }

// mayBeLost reports whether it is not certain that a pod's controller recreates it.
func mayBeLost(pod *snapshot.Pod) bool { return isRecreation(pod, mayBreak, unknown) }

func isRecreation(pod *snapshot.Pod, kinds ...recreation) bool {
	return pod.Controller != nil && !pod.Mirror && slices.Contains(kinds, recreationBy(pod.Controller.Owner))
}
