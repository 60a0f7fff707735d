// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package controllers

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// claim returns the pods of a DaemonSet, completed ones that terminate included. It adopts pods without a
// controller that the selector matches, and releases pods of its own that the selector does not match
// (k8s.io/kubernetes v1.37.2 pkg/controller/controller_ref_manager.go, ClaimObject).
func claim(api *fakeapi.Server, d *appsv1.DaemonSet) (claimed []*corev1.Pod) {
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return nil
	}
	for _, p := range fakeapi.View[*corev1.Pod](api) {
		controller := metav1.GetControllerOfNoCopy(p)
		if p.Namespace != d.Namespace || controller != nil && controller.UID != d.UID {
			continue
		}
		switch matches := selector.Matches(labels.Set(p.Labels)); {
		case controller == nil && matches && p.DeletionTimestamp == nil:
			if adopted := adopt(api, d, p); adopted != nil {
				claimed = append(claimed, adopted)
			}
		case controller != nil && matches:
			claimed = append(claimed, p)
		case controller != nil:
			refer(api, d, p)
		}
	}
	return claimed
}

// adopt makes a DaemonSet the controller of a pod, and returns the pod as it is then. It returns nil where
// the DaemonSet has been deleted since it was read, or where another writer has written the pod: that
// change makes the controller look again.
func adopt(api *fakeapi.Server, d *appsv1.DaemonSet, p *corev1.Pod) *corev1.Pod {
	fresh, there := fakeapi.ViewOne[*appsv1.DaemonSet](api, d.Namespace, d.Name)
	if !there || fresh.UID != d.UID || fresh.DeletionTimestamp != nil {
		return nil
	}
	refer(api, d, p, *metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("DaemonSet")))
	if now, there := fakeapi.ViewOne[*corev1.Pod](api, p.Namespace, p.Name); there && metav1.IsControlledBy(now, d) {
		return now
	}
	return nil
}

// refer gives a pod these references to a DaemonSet in the place of those that it has.
func refer(api *fakeapi.Server, d *appsv1.DaemonSet, p *corev1.Pod, references ...metav1.OwnerReference) {
	p = p.DeepCopy()
	others := slices.DeleteFunc(p.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == d.UID })
	p.OwnerReferences = append(others, references...)
	api.Put(p)
}

// target returns the node that a pod is bound to, or that its affinity binds it to (k8s.io/kubernetes
// v1.37.2 pkg/controller/daemon/util/daemonset_util.go, GetTargetNodeName).
func target(p *corev1.Pod) string {
	if p.Spec.NodeName != "" || p.Spec.Affinity == nil || p.Spec.Affinity.NodeAffinity == nil {
		return p.Spec.NodeName
	}
	required := p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil {
		return ""
	}
	for _, term := range required.NodeSelectorTerms {
		for _, field := range term.MatchFields {
			if field.Key == metav1.ObjectNameField && field.Operator == corev1.NodeSelectorOpIn && len(field.Values) == 1 {
				return field.Values[0]
			}
		}
	}
	return ""
}
