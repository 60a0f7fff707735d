// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Station is a node with a pod of each kind that the built-in taints treat in another way.
func (c *Cluster) Station(t testing.TB) (node, namespace string) {
	t.Helper()
	node, namespace = Name(t, "node"), c.Namespace(t)
	c.Node(t, Node{Name: node, Labels: map[string]string{"pool": node}})
	here := func(change func(*corev1.PodSpec)) func(*corev1.PodSpec) {
		return func(spec *corev1.PodSpec) {
			spec.NodeSelector = map[string]string{"pool": node}
			if change != nil {
				change(spec)
			}
		}
	}
	c.Deployment(t, namespace, "web", 1, here(nil))
	c.Deployment(t, namespace, "quick", 1, here(func(spec *corev1.PodSpec) {
		spec.Tolerations = ParseTolerations(t, "node.kubernetes.io/unreachable*:NoExecute@3 node.kubernetes.io/not-ready*:NoExecute@4")
	}))
	c.DaemonSet(t, namespace, "agent", 1, here(nil))
	c.DaemonSet(t, namespace, "network", 1, here(func(spec *corev1.PodSpec) { spec.HostNetwork = true }))
	c.Pod(t, namespace, "bare", node, func(p *corev1.Pod) {
		p.Labels, p.Spec.NodeSelector = map[string]string{"app": "bare"}, map[string]string{"pool": node}
	})
	c.Running(t, namespace, "bare", 1)
	return node, namespace
}

// Verdicts is what the preview says of the workloads' pods, each by its label app: the verdict
// with its seconds, and whether it is recreated.
func (tf *Terraform) Verdicts(t testing.TB, c *Cluster, node, namespace, taints string) map[string]string {
	t.Helper()
	preview, d := tf.Data(t, "kubetaint_eviction_preview", map[string]any{"node_name": node, "taints": Objects(t, taints), "include_unaffected": true})
	if d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	apps := map[string]string{}
	pods, err := c.Admin.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pods.Items {
		apps[p.Name] = p.Labels["app"]
	}
	out := map[string]string{}
	all, _ := preview["pods"].([]any)
	for _, one := range all {
		pod, _ := one.(map[string]any)
		name, _ := pod["name"].(string)
		said := fmt.Sprint(pod["verdict"])
		if pod["after_seconds"] != nil {
			said += fmt.Sprint(" ", pod["after_seconds"])
		}
		if pod["reschedulable"] == false {
			said += " no place"
		}
		out[apps[name]] = said
	}
	return out
}
