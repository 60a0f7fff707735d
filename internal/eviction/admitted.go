// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// admitted remembers how pods are scheduled that are made again, where admission gives
// them something.
type admitted map[admittedKey]*snapshot.Scheduling

type admittedKey struct {
	scheduling *snapshot.Scheduling
	// rules names what applies.
	rules string
}

// made is how the pod will be scheduled that a controller makes for one of this
// scheduling: with what admission gives to it by then, and without the labels to which a policy
// pinned it that is gone. No controller makes a bare pod again, and
// the controller of DaemonSets asks templates, which admission does not see.
func (e *evaluation) made(pod *snapshot.Pod, s *snapshot.Scheduling) *snapshot.Scheduling {
	rules := e.snapshot.Admission
	if rules.Empty() || pod.Controller == nil || pod.Controller.DaemonSet() || pod.Mirror {
		return s
	}
	as := admission.Pod{
		Namespace: pod.Namespace, Labels: pod.Labels,
		Requests: func(resource string) bool { return pod.Requests().Requests(corev1.ResourceName(resource)) },
	}
	policies, in := rules.Applying(as)
	former := rules.Left(as)
	if len(policies)+len(former)+len(in.Defaults)+len(in.Allowed) == 0 {
		return s
	}
	key := admittedKey{scheduling: s}
	for _, p := range policies {
		key.rules += p.Name + ","
	}
	required := s.Affinity
	for _, p := range former {
		key.rules += "-" + p.Name + ","
		required = p.Release(required)
	}
	var gives []corev1.Toleration
	if len(in.Defaults) > 0 || len(in.Allowed) > 0 {
		// LimitRanges add their defaults first (k8s.io/kubernetes v1.37.2 pkg/kubeapiserver/options/plugins.go,
		// AllOrderedPlugins).
		bestEffort := e.nodes().NewDemand(pod).BestEffort()
		gives = in.Gives(bestEffort)
		key.rules += strconv.Quote(pod.Namespace) + strconv.FormatBool(bestEffort)
	}
	next, known := e.admitted[key]
	if !known {
		other := *s
		next = &other
		next.Tolerations, next.Affinity = admission.Made(s.Tolerations, required, policies, gives)
		next.Forbidden = admission.Forbidden(in.Allowed, next.Tolerations)
		e.admitted[key] = next
	}
	return next
}

// given words what the pod that is made again tolerates beyond this one, "" for nothing.
func given(live, next *snapshot.Scheduling) string {
	if live == next || len(next.Forbidden) > 0 {
		return ""
	}
	// A default may have replaced what it covers.
	more := slices.DeleteFunc(slices.Clone(next.Tolerations), func(t corev1.Toleration) bool { return toleration.Contains(live.Tolerations, t) })
	if len(more) == 0 {
		return ""
	}
	words := "; admission gives it " + taint.FormatToleration(more[0])
	if len(more) > 1 {
		words += " and " + strconv.Itoa(len(more)-1) + " more"
	}
	return words + " when it is recreated"
}
