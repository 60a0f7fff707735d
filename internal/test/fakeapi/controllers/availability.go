// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package controllers

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// available reports whether a pod has been ready for minReadySeconds (k8s.io/kubernetes v1.37.2
// pkg/api/v1/pod/util.go, IsPodAvailable).
func (of daemons) available(p *corev1.Pod) bool {
	if of.set.Spec.MinReadySeconds == 0 {
		return ready(p)
	}
	from := of.availableFrom(p)
	return !from.IsZero() && !of.now.Before(from)
}

// availableFrom returns when a pod that stays ready is available, if that is known.
func (of daemons) availableFrom(p *corev1.Pod) (from time.Time) {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && !c.LastTransitionTime.IsZero() {
			return c.LastTransitionTime.Add(time.Duration(of.set.Spec.MinReadySeconds) * time.Second)
		}
	}
	return from
}

// next returns when the next pod becomes available, if one does.
func (of daemons) next() (next time.Time) {
	for _, all := range of.pods {
		for _, p := range all {
			if from := of.availableFrom(p); from.After(of.now) {
				next = earlier(next, from)
			}
		}
	}
	return next
}
