// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package controllers

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// takes reports whether pods of a spec may be put on a node.
func takes(n *corev1.Node, spec *corev1.PodSpec) bool {
	if !labels.SelectorFromSet(spec.NodeSelector).Matches(labels.Set(n.Labels)) {
		return false
	}
	for _, t := range taint.Untolerated(n.Spec.Taints, spec.Tolerations, false) {
		if t.Effect != corev1.TaintEffectPreferNoSchedule {
			return false
		}
	}
	return true
}

// cpu is how much CPU the containers of a pod request.
func cpu(spec *corev1.PodSpec) (milli int64) {
	for i := range spec.Containers {
		milli += spec.Containers[i].Resources.Requests.Cpu().MilliValue()
	}
	return milli
}

// hasRoom reports whether a node has as much CPU left, which is the only resource that is played. A
// node that reports none takes all pods.
func hasRoom(n *corev1.Node, used, more int64) bool {
	all, limited := n.Status.Allocatable[corev1.ResourceCPU]
	return !limited || used+more <= all.MilliValue()
}

// schedule binds pods to the node that takes them and has the fewest pods.
func schedule(api *fakeapi.Server) {
	pods, nodes := fakeapi.View[*corev1.Pod](api), fakeapi.View[*corev1.Node](api)
	load, used := map[string]int{}, map[string]int64{}
	for _, p := range pods {
		load[p.Spec.NodeName]++
		if !completed(p) {
			used[p.Spec.NodeName] += cpu(&p.Spec)
		}
	}
	for _, p := range pods {
		if p.Spec.NodeName != "" || p.DeletionTimestamp != nil {
			continue
		}
		best := ""
		for _, n := range nodes {
			if !n.Spec.Unschedulable && takes(n, &p.Spec) && hasRoom(n, used[n.Name], cpu(&p.Spec)) && (best == "" || load[n.Name] < load[best]) {
				best = n.Name
			}
		}
		if p = p.DeepCopy(); best == "" {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
		} else {
			load[best]++
			used[best] += cpu(&p.Spec)
			p.Spec.NodeName, p.Status.Conditions = best, nil
		}
		api.Put(p)
	}
}

// kubelet starts pods that are bound to a node, and ends those that terminate or whose
// node is gone.
func kubelet(api *fakeapi.Server) {
	there := map[string]bool{}
	for _, n := range fakeapi.View[*corev1.Node](api) {
		there[n.Name] = true
	}
	for _, p := range fakeapi.View[*corev1.Pod](api) {
		switch {
		case p.Spec.NodeName == "":
		case p.DeletionTimestamp != nil || !there[p.Spec.NodeName]:
			api.Remove(p)
		case p.Status.Phase == corev1.PodPending:
			p = p.DeepCopy()
			p.Status.Phase = corev1.PodRunning
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now().Rfc3339Copy()}}
			api.Put(p)
		}
	}
}

// quotas puts ResourceQuotas in force.
func quotas(api *fakeapi.Server) {
	for _, q := range fakeapi.Objects[*corev1.ResourceQuota](api) {
		q.Status.Hard = q.Spec.Hard
		api.Put(q)
	}
}

// forbidden reports whether a ResourceQuota allows no more pods in a namespace: the only resource
// that is played. Completed pods do not count (k8s.io/kubernetes v1.37.2
// pkg/quota/v1/evaluator/core/pods.go, podUsageHelper).
func forbidden(api *fakeapi.Server, namespace string) bool {
	return slices.ContainsFunc(fakeapi.View[*corev1.ResourceQuota](api), func(q *corev1.ResourceQuota) bool {
		most, limited := q.Status.Hard[corev1.ResourcePods]
		return q.Namespace == namespace && limited && counted(api, namespace) >= most.Value()
	})
}

// counted is how many pods of a namespace count for its quotas.
func counted(api *fakeapi.Server, namespace string) (n int64) {
	for _, p := range fakeapi.View[*corev1.Pod](api) {
		if p.Namespace == namespace && !completed(p) {
			n++
		}
	}
	return n
}

// evict deletes the pods that do not tolerate a NoExecute taint of their node, and says so
// in a condition before it does. No pod of these tests tolerates one for a time.
func evict(api *fakeapi.Server) {
	nodes := map[string]*corev1.Node{}
	for _, n := range fakeapi.View[*corev1.Node](api) {
		nodes[n.Name] = n
	}
	for _, p := range fakeapi.View[*corev1.Pod](api) {
		n := nodes[p.Spec.NodeName]
		if n == nil || p.DeletionTimestamp != nil {
			continue
		}
		for _, t := range taint.Untolerated(n.Spec.Taints, p.Spec.Tolerations, false) {
			if t.Effect == corev1.TaintEffectNoExecute && told(api, p) {
				api.NoteEviction(p)
				api.Delete(p)
				break
			}
		}
	}
}

// told gives a pod the condition that a taint deletes it (k8s.io/kubernetes v1.37.2
// pkg/controller/tainteviction/taint_eviction.go, addConditionAndDeletePod). Where another
// writer has written the pod meanwhile, it is looked at again.
func told(api *fakeapi.Server, p *corev1.Pod) bool {
	p = p.DeepCopy()
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager"})
	api.Put(p)
	now, there := fakeapi.Get[*corev1.Pod](api, p.Namespace, p.Name)
	return there && slices.ContainsFunc(now.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.DisruptionTarget })
}
