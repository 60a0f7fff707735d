// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workload

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// Workload is what is observed of one object.
type Workload struct {
	Ref
	UID             types.UID
	ResourceVersion string
	// Generation grows with every change of what the object asks for.
	Generation int64
	Labels     map[string]string
	// Observed reports that the object's controller has seen its newest form.
	Observed bool
	// Relapses reports that a pod which is lost now would be recreated from an older
	// template, although no running pod is made of that.
	Relapses bool
	// Path is where the tolerations stand.
	Path        []string
	Tolerations []corev1.Toleration
	// Record reports who owns which toleration; RecordErr that it cannot be read.
	Record    toleration.Record
	RecordErr error
	// NodeSelector is that of the pod template, and LabelRecord reports who owns
	// which of its entries; LabelRecordErr that it cannot be read.
	NodeSelector   map[string]string
	LabelRecord    label.Record
	LabelRecordErr error
	// OtherAnnotations is how many bytes the annotations beside the two records have.
	OtherAnnotations int
	// Selector selects the pods of a Deployment or a Rollout of Argo, in kubectl's syntax.
	Selector string
	// Pods are the workloads whose pods follow from this object: itself, or
	// what an operator makes of it. Empty where that cannot be told.
	Pods []snapshot.WorkloadKey
	// Operands are the workloads that an operator makes of this object, as far as
	// they can be read.
	Operands []*Workload
	// Wants is how many pods there should be, negative where that is not known.
	Wants int64
	// MissingFollow is set if the controller creates missing pods from the newest template
	// once it has observed it, so that no wait counts them. For a Deployment, ReplicaSets of
	// older templates must not be able to create pods either.
	MissingFollow bool
	// Ordered are those of Pods whose controller creates and replaces no pod while another one
	// is not ready: StatefulSets with podManagementPolicy OrderedReady.
	Ordered []snapshot.WorkloadKey
	// Rolling reports how pods follow a change.
	Rolling Rolling
	// Writers are others that write the template, each as a reader knows them.
	Writers []string
	// Around are the objects that were made for what is managed, and go with it.
	Around Around
	// Config is the text that holds the component, nil for other objects.
	Config *Config
	// Reverter is the controlling owner that will put its own template back,
	// empty for none.
	Reverter string
}

// Rolling reports how running pods follow a change of the template.
type Rolling struct {
	// Hold reports why running pods do not follow by themselves, empty where they do.
	Hold string
	// Below is set where Hold is about the pods of a StatefulSet with a lower ordinal alone: the others follow.
	Below int
	// WayOut reports what to do about it.
	WayOut string
	// Immutable is set where the template cannot be changed at all.
	Immutable bool
	// Later is set where pods that run keep what they have, and those that are
	// made next follow: the pods of a CronJob.
	Later bool
	// Manner describes how pods are replaced, such as "at most 1 at a time".
	Manner string
	// Pace is how many pods a rollout replaces at a time, nil where that is not known.
	Pace *Pace
	// Pauses is set if every rollout stops before its end until a user promotes it.
	Pauses Stop
	// Stands is set if the present rollout stands still.
	Stands Stop
}

// Keeps reports whether a running pod, by its name, does not follow a change by itself.
func (r Rolling) Keeps(pod string) bool {
	if r.Hold == "" || r.Below == 0 {
		return r.Hold != ""
	}
	_, ordinal, known := snapshot.Ordinal(pod)
	return !known || ordinal < r.Below
}

// Kept returns those of some pods that do not follow a change by themselves.
func (r Rolling) Kept(pods []*snapshot.Pod) []*snapshot.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(p *snapshot.Pod) bool { return !r.Keeps(p.Name) })
}

// Pace is how many more pods than wanted a rollout may create, and how many of the wanted ones may be unavailable.
type Pace struct{ Surge, Unavailable int }

// Stop is a stop in the middle of a rollout. The zero value is none.
type Stop struct {
	// Why reports why the rollout stops, and WayOut what makes it continue.
	Why, WayOut string
}

// Operated takes from the workloads that an operator makes of the object what the
// object itself does not show: how many pods there should be, and whether what
// makes them has seen what it is to make.
func (w *Workload) Operated(operands []*Workload) {
	w.Operands, w.Wants, w.MissingFollow, w.Ordered = operands, 0, true, nil
	for _, o := range operands {
		w.Wants += o.Wants
		w.Observed = w.Observed && o.Observed
		w.Relapses = w.Relapses || o.Relapses
		w.MissingFollow = w.MissingFollow && o.MissingFollow
		w.Ordered = append(w.Ordered, o.Ordered...)
	}
}

// Itself reports whether a workload of pods is the object. One without a namespace can have pods in
// several.
func (w *Workload) Itself(pods snapshot.WorkloadKey) bool {
	return pods.Owner == w.Owner().Owner && (w.Namespace == "" || pods.Namespace == w.Namespace)
}

// Direct takes from an object whose pods are its own what kinds with a pod template have in
// common: how many there should be. The zero value of what is not known stays.
func (w *Workload) Direct(object *unstructured.Unstructured) {
	if !slices.ContainsFunc(w.Pods, w.Itself) {
		return
	}
	if wants, found, err := unstructured.NestedInt64(object.Object, "spec", "replicas"); found && err == nil {
		w.Wants = wants
	}
	if observed, known := observedGeneration(object); known {
		w.Observed = observed >= object.GetGeneration()
	}
	switch {
	case w.ArgoRollout():
		w.argoRollout(object)
	case w.GroupVersionKind().Group == kruiseGroup:
		w.kruise(object)
	}
}

// ClaimPath is the path as claims and marks have it: empty for the one that is
// known for the kind.
func (w *Workload) ClaimPath() string {
	path := JoinPath(w.Path)
	if kind, known := Lookup(w.APIVersion, w.Kind); known && kind.Tolerations() == path {
		return ""
	}
	return path
}

// PinPath leads to the labels that the object's pods require of nodes, nil where that
// place is not known.
func (w *Workload) PinPath() []string {
	if w.ClaimPath() != "" {
		return nil
	}
	kind, _ := Lookup(w.APIVersion, w.Kind)
	return kind.Selector
}

// Field is the field of the object that is written.
func (w *Workload) Field() string {
	if w.Component != "" {
		return "data." + ConfigKey
	}
	return JoinPath(w.Path)
}
