// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workload

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/annotations"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// PathError reports that a path does not lead to a list of tolerations. The message is safe to
// print: who writes a custom object chooses the names of its fields and their values.
type PathError struct {
	Path    string
	Message string
	// WayOut reports what to do where no other path does it, empty where one may.
	WayOut string
}

// Error returns the message.
func (e *PathError) Error() string { return e.Message }

// Observe takes from an object what is needed of it. The path leads to the
// tolerations; an absent list is an empty one. Errors: *PathError.
func Observe(object *unstructured.Unstructured, path []string) (*Workload, error) {
	w := &Workload{
		Ref: Ref{APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName()},
		UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(), Generation: object.GetGeneration(), Labels: object.GetLabels(),
		Path: path, Wants: -1, Observed: true,
	}
	w.Record, w.RecordErr = toleration.ParseRecord(object.GetAnnotations()[toleration.OwnedAnnotation])
	w.LabelRecord, w.LabelRecordErr = label.ParseRecord(object.GetAnnotations()[label.OwnedAnnotation])
	w.OtherAnnotations = annotations.Others(object.GetAnnotations(), toleration.OwnedAnnotation, label.OwnedAnnotation)
	err := elsewhere(object, path)
	if err == nil {
		w.Tolerations, err = tolerations(object, path)
	}
	if err != nil {
		return nil, err
	}
	if at := w.PinPath(); at != nil {
		if w.NodeSelector, _, err = unstructured.NestedStringMap(object.Object, at...); err != nil {
			return nil, errors.New(printable.Line(err.Error()))
		}
	}
	w.Writers, w.Around = writers(object, path), around(object, path[:len(path)-1], w.PinPath())
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil {
		w.Reverter = kindAndName(owner.Kind, owner.Name)
	}
	if err := w.follow(object); err != nil {
		return nil, &PathError{Path: JoinPath(path), Message: fmt.Sprintf("what there is of %s is not of its kind: %s", w.Title(), printable.Line(err.Error()))}
	}
	return w, nil
}

// kindAndName names an object that another one refers to, whatever wrote the reference.
func kindAndName(kind, name any) string {
	return fmt.Sprintf("%s %q", printable.Line(fmt.Sprint(kind)), printable.Line(fmt.Sprint(name)))
}

// elsewhere returns an error where an object takes its pod template from another one, as a
// Rollout of Argo does by spec.workloadRef: a template beside that would be refused.
func elsewhere(object *unstructured.Unstructured, path []string) error {
	if len(path) < 2 || path[0] != "spec" || path[1] != "template" {
		return nil
	}
	_, template, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "template")
	ref, found, _ := unstructured.NestedMap(object.Object, "spec", "workloadRef")
	if template || !found {
		return nil
	}
	return &PathError{
		Path:    JoinPath(path),
		Message: fmt.Sprintf("%s has no pod template of its own: spec.workloadRef takes that of %s", object.GetKind(), kindAndName(ref["kind"], ref["name"])),
		WayOut:  fmt.Sprintf("Manage the tolerations of that object instead. Its pods are owned by the %s, so no taint waits for them: apply the tolerations first, and the taint once every pod has them.", object.GetKind()),
	}
}

// Kept reports that an object, as the API server gives it back, has what was written
// at a path. Errors: *PathError.
func Kept(object *unstructured.Unstructured, path []string, written []corev1.Toleration) error {
	list, err := tolerations(object, path)
	if err != nil {
		return err
	}
	for _, t := range written {
		if !toleration.Contains(list, t) {
			return &PathError{Path: JoinPath(path), Message: fmt.Sprintf("%s of %s does not keep the toleration %s: objects of this kind may have no such field, or an admission policy removes it",
				JoinPath(path), object.GetKind(), taint.FormatToleration(t))}
		}
	}
	return nil
}

// tolerations reads the list at a path.
func tolerations(object *unstructured.Unstructured, path []string) ([]corev1.Toleration, error) {
	written := JoinPath(path)
	value, found, err := unstructured.NestedFieldNoCopy(object.Object, path...)
	if err != nil {
		return nil, &PathError{Path: written, Message: fmt.Sprintf("%s of %s leads through something that is not an object: %s", written, object.GetKind(), printable.Line(err.Error()))}
	}
	if !found || value == nil {
		return nil, nil
	}
	entries, ok := value.([]any)
	if !ok {
		return nil, &PathError{Path: written, Message: fmt.Sprintf("%s of %s is not a list but a %T", written, object.GetKind(), value)}
	}
	out := make([]corev1.Toleration, len(entries))
	for i, entry := range entries {
		fields, isObject := entry.(map[string]any)
		if !isObject {
			return nil, &PathError{Path: written, Message: fmt.Sprintf("%s of %s is a list of %T, not of tolerations", written, object.GetKind(), entry)}
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(fields, &out[i], true); err != nil {
			return nil, &PathError{Path: written, Message: fmt.Sprintf("%s of %s is not a list of tolerations: %s", written, object.GetKind(), printable.Line(err.Error()))}
		}
	}
	return out, nil
}

// follow fills in how the object's pods follow a change of it.
func (w *Workload) follow(object *unstructured.Unstructured) error {
	kind, known := Lookup(w.APIVersion, w.Kind)
	if known && kind.Operand != nil {
		w.Pods = []snapshot.WorkloadKey{kind.Operand(w.Name)}
	}
	if !known || JoinPath(w.Path) != kind.Tolerations() {
		return nil
	}
	switch w.Kind {
	case "Deployment":
		return as(object, w.deployment)
	case "StatefulSet":
		return as(object, w.statefulSet)
	case "DaemonSet":
		return as(object, w.daemonSet)
	case "ReplicaSet":
		return as(object, w.replicaSet)
	case "CronJob":
		w.itself()
		w.Rolling.Later = true
		w.Rolling.Manner = "its next jobs have the change; those that run keep what they have"
	case "Job":
		return as(object, w.job)
	case "DeploymentConfig":
		w.deploymentConfig(object)
	}
	return nil
}

// as converts an object to its type.
func as[T any](object *unstructured.Unstructured, use func(*T)) error {
	var typed T
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &typed); err != nil {
		return err
	}
	use(&typed)
	return nil
}

// itself reports that the object's pods are its own.
func (w *Workload) itself() {
	w.Pods = []snapshot.WorkloadKey{w.Owner()}
}

// deployment reads how the pods of a Deployment follow. Its controller creates ReplicaSets of the
// newest template alone, and only scales down others: it scales one up that has no replicas only
// where it is paused before it has created the newest (k8s.io/kubernetes v1.37.1
// pkg/controller/deployment/sync.go, scale, and util/deployment_util.go, FindActiveOrLatest). With the
// strategy Recreate it creates none while a pod of another is terminating (recreate.go, oldPodsRunning).
// So missing pods follow once no other ReplicaSet can create pods, which a wait asks.
func (w *Workload) deployment(d *appsv1.Deployment) {
	w.itself()
	w.MissingFollow = true
	w.Observed = d.Status.ObservedGeneration >= d.Generation
	w.Wants = int64(replicas(d.Spec.Replicas))
	w.Selector = metav1.FormatLabelSelector(d.Spec.Selector)
	switch rolling := d.Spec.Strategy.RollingUpdate; {
	case d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		w.Rolling.Manner = "all together, after the old ones are gone (strategy Recreate)"
		w.Rolling.Pace = &Pace{Unavailable: int(w.Wants)}
	case rolling != nil:
		w.Rolling.Manner = fmt.Sprintf("with at most %s more and %s fewer than %d at a time", rolling.MaxSurge, rolling.MaxUnavailable, w.Wants)
		w.Rolling.Pace = paceOf(rolling.MaxSurge, rolling.MaxUnavailable, int(w.Wants))
	}
	if d.Spec.Paused {
		w.Rolling.Hold = "it is paused"
		w.Rolling.WayOut = fmt.Sprintf("resume it (kubectl rollout resume deployment/%s -n %s)", d.Name, d.Namespace)
	}
}

func (w *Workload) statefulSet(s *appsv1.StatefulSet) {
	w.itself()
	w.Observed = s.Status.ObservedGeneration >= s.Generation
	w.Wants = int64(replicas(s.Spec.Replicas))
	partitioned := w.inOrder(s)
	w.Rolling.Manner = "one at a time, from the last to the first"
	w.Rolling.Pace = &Pace{Unavailable: 1}
	update := s.Spec.UpdateStrategy
	// By default set to 1 from Kubernetes 1.37 on, absent before
	// (k8s.io/kubernetes v1.37.1 pkg/apis/apps/v1/defaults.go, SetDefaults_StatefulSet).
	if rolling := update.RollingUpdate; rolling != nil && rolling.MaxUnavailable != nil && rolling.MaxUnavailable.String() != "1" {
		w.Rolling.Manner = fmt.Sprintf("at most %s at a time, from the last to the first", rolling.MaxUnavailable)
		w.Rolling.Pace = paceOf(nil, rolling.MaxUnavailable, int(w.Wants))
	}
	switch {
	case update.Type == appsv1.OnDeleteStatefulSetStrategyType:
		w.Rolling.Hold = "its update strategy is OnDelete"
		w.Rolling.WayOut = "set the update strategy to RollingUpdate, or delete its pods one by one after the change"
	case partitioned && w.Wants > 0:
		w.Rolling.Hold = fmt.Sprintf("its rolling update leaves out the pods below partition %d", *update.RollingUpdate.Partition)
		w.Rolling.WayOut = "set the partition to 0"
		w.Rolling.Below = int(*update.RollingUpdate.Partition)
		if s.Spec.Ordinals != nil {
			w.Rolling.Below += int(s.Spec.Ordinals.Start)
		}
	}
}

// inOrder takes from a StatefulSet what its pods follow in order, and reports whether a
// partition leaves out some. Missing pods below the partition alone are made of the current revision, and
// with the strategy OnDelete none (k8s.io/kubernetes v1.37.1
// pkg/controller/statefulset/stateful_set_utils.go:535, newVersionedStatefulSetPod).
func (w *Workload) inOrder(s *appsv1.StatefulSet) (partitioned bool) {
	if s.Spec.PodManagementPolicy != appsv1.ParallelPodManagement {
		w.Ordered = w.Pods
	}
	rolling := s.Spec.UpdateStrategy.RollingUpdate
	partitioned = rolling != nil && rolling.Partition != nil && *rolling.Partition > 0
	w.Relapses = partitioned && relapses(s.Status)
	w.MissingFollow = settled(s.Status.CurrentRevision, s.Status.UpdateRevision) ||
		!partitioned && (rolling != nil || s.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType)
	return partitioned
}

// settled reports whether the older of two revisions that pods are made of is the newest as well.
func settled(current, newest string) bool { return newest != "" && current == newest }

// relapses says of a StatefulSet with a partition that its controller would make a
// pod below that from the current revision, and that no running pod is of it. So it is
// where the partition was raised in the middle of an update, until all pods are
// ready: only then the revision that they are of becomes the current one
// (k8s.io/kubernetes v1.37.1 pkg/controller/statefulset/stateful_set_utils.go:535,
// newVersionedStatefulSetPod, and :645, completeUpdate). Where a running pod is of the
// current revision, what that pod carries shows what others would be recreated with.
//
// Without a partition there is no such moment. Pods below the number of those of the
// current revision are recreated from it where rollingUpdate is not set at all, which is
// none once no running pod is of it; the rest is made of the newest template. Nor is
// there one for a DaemonSet, whose pods are made of its template as the controller
// sees it, before it writes that it has seen it (pkg/controller/daemon/
// daemon_controller.go:1068, syncNodes, and :1179, storeDaemonSetStatus). So neither is waited
// for until it has all of its pods: a node that is gone holds one back forever.
func relapses(s appsv1.StatefulSetStatus) bool {
	return s.CurrentRevision != s.UpdateRevision && s.CurrentReplicas == 0
}

func (w *Workload) daemonSet(d *appsv1.DaemonSet) {
	w.itself()
	w.Observed = d.Status.ObservedGeneration >= d.Generation
	w.daemonSetPods(d)
	w.Rolling.Pace = daemonPaceOf(d.Spec.UpdateStrategy, int(w.Wants))
	switch rolling := d.Spec.UpdateStrategy.RollingUpdate; {
	case d.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType:
		w.Rolling.Hold = "its update strategy is OnDelete"
		w.Rolling.WayOut = "set the update strategy to RollingUpdate, or delete its pods one by one after the change"
	case rolling != nil && rolling.MaxSurge != nil && rolling.MaxSurge.String() != "0" && rolling.MaxSurge.String() != "0%":
		// With a surge none may be unavailable.
		w.Rolling.Manner = fmt.Sprintf("at most %s at a time, the new one before the old one is deleted", rolling.MaxSurge)
	case rolling != nil && rolling.MaxUnavailable != nil:
		w.Rolling.Manner = fmt.Sprintf("at most %s at a time", rolling.MaxUnavailable)
	}
}

// daemonSetPods reads how many pods a DaemonSet is to have: one that should not be where it is counts
// beside those that should be.
func (w *Workload) daemonSetPods(d *appsv1.DaemonSet) {
	w.Wants = int64(d.Status.DesiredNumberScheduled) + int64(d.Status.NumberMisscheduled)
	w.MissingFollow = true
}

// replicaSet reads how the pods of a ReplicaSet follow. Its controller creates missing ones before it
// writes that it has seen the template (k8s.io/kubernetes v1.37.1
// pkg/controller/replicaset/replica_set.go:755, syncReplicaSet).
func (w *Workload) replicaSet(r *appsv1.ReplicaSet) {
	w.itself()
	w.Observed = r.Status.ObservedGeneration >= r.Generation
	w.Wants = int64(replicas(r.Spec.Replicas))
	w.MissingFollow = true
	w.Rolling.Hold = "a ReplicaSet does not replace the pods that run"
	w.Rolling.WayOut = "delete its pods one by one after the change, or use a Deployment"
}

// job follows the API server's rule: the tolerations of a Job can be changed
// while it is suspended, has no active pods and has no start time. It has none
// before it starts for the first time, and from Kubernetes 1.36 on, where the
// gate MutableSchedulingDirectivesForSuspendedJobs is on by default, suspending
// takes it away again (k8s.io/kubernetes v1.37.1
// pkg/registry/batch/job/strategy.go, validationOptionsForJob, and
// pkg/controller/job/job_controller.go). There a Job that was suspended earlier
// and still has one may be changed too, which is not relied on.
func (w *Workload) job(j *batchv1.Job) {
	w.itself()
	w.Wants = 0
	if j.Spec.Suspend != nil && *j.Spec.Suspend && j.Status.StartTime == nil && j.Status.Active == 0 {
		return
	}
	w.Rolling.Immutable = true
	w.Rolling.Hold = "the template of a Job cannot be changed once it has started"
	w.Rolling.WayOut = "recreate the Job with the tolerations, or manage the CronJob that creates it, or (from Kubernetes 1.36 on) suspend the Job first, which ends its pods"
}

func replicas(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}
