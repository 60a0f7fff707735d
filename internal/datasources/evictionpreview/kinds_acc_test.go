// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// count reports how often each of the kinds comes up in the world as it stands, right
// before its nodes get other taints.
func (w *world) count(change []any) map[string]int {
	w.t.Helper()
	out := map[string]int{}
	var wanted []corev1.Taint
	for _, one := range change {
		object := one.(map[string]any)
		wanted = append(wanted, corev1.Taint{Key: fmt.Sprint(object["key"]), Value: fmt.Sprint(object["value"]), Effect: corev1.TaintEffect(fmt.Sprint(object["effect"]))})
	}
	evicting := 0
	for _, one := range wanted {
		if one.Effect == corev1.TaintEffectNoExecute {
			evicting++
		}
	}
	if evicting > 1 {
		out["several NoExecute taints at once"]++
	}
	taints := w.standing()
	for _, standing := range taints {
		for _, one := range wanted {
			if at := taint.Find(standing, taint.IDOf(one)); at >= 0 && standing[at].Value != one.Value {
				out["another value of a taint that stands"]++
			}
		}
	}
	pods, err := w.c.Admin.CoreV1().Pods(w.namespace).List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		countPod(p, out)
		if owner := metav1.GetControllerOf(p); owner != nil && w.oldDaemons {
			out["pods of DaemonSets with another template"]++
		}
		for _, one := range wanted {
			if evicting > 0 && one.Effect == corev1.TaintEffectNoExecute {
				countTolerations(p, one, out)
			}
		}
		for _, one := range taints[p.Spec.NodeName] {
			if at := taint.FirstMatch(p.Spec.Tolerations, one, false); evicting > 0 && one.Effect == corev1.TaintEffectNoExecute && at >= 0 && p.Spec.Tolerations[at].TolerationSeconds != nil {
				out["a taint that comes while a countdown runs"]++
			}
		}
	}
	return out
}

func countPod(p *corev1.Pod, into map[string]int) {
	owner := metav1.GetControllerOf(p)
	_, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]
	for what, is := range map[string]bool{
		"pods of DaemonSets":          owner != nil && owner.Kind == "DaemonSet",
		"completed pods":              p.Status.Phase == corev1.PodSucceeded,
		"pods that are going already": p.DeletionTimestamp != nil,
		"mirror pods":                 mirror,
	} {
		if is {
			into[what]++
		}
	}
}

// countTolerations looks at what a pod tolerates a new taint by.
func countTolerations(p *corev1.Pod, one corev1.Taint, into map[string]int) {
	matching := 0
	for i := range p.Spec.Tolerations {
		if taint.FirstMatch(p.Spec.Tolerations[i:i+1], one, false) == 0 {
			matching++
		}
	}
	if matching > 1 {
		into["several tolerations for one taint"]++
	}
	at := taint.FirstMatch(p.Spec.Tolerations, one, false)
	if at < 0 {
		return
	}
	decides := p.Spec.Tolerations[at]
	if decides.Key == "" {
		into["Exists without a key"]++
	}
	if decides.Effect == "" {
		into["an empty effect"]++
	}
	switch seconds := decides.TolerationSeconds; {
	case seconds == nil:
		into["no tolerationSeconds"]++
	case *seconds < 0:
		into["tolerationSeconds below zero"]++
	case *seconds == 0:
		into["tolerationSeconds zero"]++
	case *seconds < 10:
		into["tolerationSeconds that end meanwhile"]++
	default:
		into["tolerationSeconds that do not"]++
	}
}
