// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package controllers

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/flowcontrol"
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

// newPauses returns the pauses before failed pods are deleted: from one second to 15 minutes, twice as long
// each time (k8s.io/kubernetes v1.37.2 cmd/kube-controller-manager/app/apps.go).
func newPauses() *flowcontrol.Backoff { return flowcontrol.NewBackOff(time.Second, 15*time.Minute) }

// pause names the pause of a node (failedPodsBackoffKey).
func (of daemons) pause(node string) string {
	return fmt.Sprintf("%s/%d/%s", of.set.UID, of.set.Status.ObservedGeneration, node)
}

// endPause reports whether a failed pod of a node is deleted now, and begins the next pause if so.
func (of daemons) endPause(node string) bool {
	if of.failed.IsInBackOffSinceUpdate(of.pause(node), of.now) {
		return false
	}
	of.failed.Next(of.pause(node), of.now)
	return true
}

// next returns when the next pod becomes available, or the pause of a failed one is over, if either happens.
func (of daemons) next() (next time.Time) {
	for node, all := range of.pods {
		for _, p := range all {
			if from := of.availableFrom(p); from.After(of.now) {
				next = earlier(next, from)
			}
			if p.Status.Phase == corev1.PodFailed && of.failed.IsInBackOffSinceUpdate(of.pause(node), of.now) {
				next = earlier(next, of.now.Add(of.failed.Get(of.pause(node))))
			}
		}
	}
	return next
}
