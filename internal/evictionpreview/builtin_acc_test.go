// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// station is a node with a pod of each kind that the built-in taints treat in another way.
func station(t *testing.T, c *acctest.Cluster) (node, namespace string) {
	t.Helper()
	node, namespace = acctest.Name(t, "node"), c.Namespace(t)
	c.Node(t, acctest.Node{Name: node, Labels: map[string]string{"pool": node}})
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
		spec.Tolerations = acctest.ParseTolerations(t, "node.kubernetes.io/unreachable*:NoExecute@3 node.kubernetes.io/not-ready*:NoExecute@4")
	}))
	c.DaemonSet(t, namespace, "agent", 1, here(nil))
	c.DaemonSet(t, namespace, "network", 1, here(func(spec *corev1.PodSpec) { spec.HostNetwork = true }))
	c.Pod(t, namespace, "bare", node, func(p *corev1.Pod) {
		p.Labels, p.Spec.NodeSelector = map[string]string{"app": "bare"}, map[string]string{"pool": node}
	})
	c.Running(t, namespace, "bare", 1)
	return node, namespace
}

// told is what the preview says of the workloads' pods, each by its label app: the verdict
// with its seconds, and whether it comes back.
func told(t *testing.T, c *acctest.Cluster, tf *acctest.Terraform, node, namespace, taints string) map[string]string {
	t.Helper()
	preview, d := tf.Data(t, "kubetaint_eviction_preview", map[string]any{"node_name": node, "taints": acctest.Objects(t, taints), "include_unaffected": true})
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

// TestAccEvictionPreview_builtInTaints: what if the node goes away, is not ready, runs short
// of something, or is taken out of service. Pods are judged by what admission and the
// DaemonSet controller have really given them.
func TestAccEvictionPreview_builtInTaints(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	tf := &acctest.Terraform{Provider: c.Provider(t)}
	node, namespace := station(t, c)
	const stays, stranded = "stays", "stays no place"
	for taints, want := range map[string]map[string]string{
		"node.kubernetes.io/unreachable:NoExecute": {"web": "evicted_after 300", "quick": "evicted_after 3", "agent": stays, "network": stays, "bare": "evicted_after 300"},
		"node.kubernetes.io/not-ready:NoExecute":   {"web": "evicted_after 300", "quick": "evicted_after 4", "agent": stays, "network": stays, "bare": "evicted_after 300"},
		// The node lifecycle controller sets both effects.
		"node.kubernetes.io/unreachable:NoSchedule":         {"web": stranded, "quick": stranded, "agent": stays, "network": stays, "bare": stranded},
		"node.kubernetes.io/memory-pressure:NoSchedule":     {"web": stranded, "quick": stranded, "agent": stays, "network": stays, "bare": stranded},
		"node.kubernetes.io/disk-pressure:NoSchedule":       {"web": stranded, "quick": stranded, "agent": stays, "network": stays, "bare": stranded},
		"node.kubernetes.io/pid-pressure:NoSchedule":        {"web": stranded, "quick": stranded, "agent": stays, "network": stays, "bare": stranded},
		"node.kubernetes.io/unschedulable:NoSchedule":       {"web": stranded, "quick": stranded, "agent": stays, "network": stays, "bare": stranded},
		"node.kubernetes.io/network-unavailable:NoSchedule": {"web": stranded, "quick": stranded, "agent": stays, "network": stays, "bare": stranded},
		"node.kubernetes.io/out-of-service:NoExecute":       {"web": "evicted_now no place", "quick": "evicted_now no place", "agent": "evicted_now no place", "network": "evicted_now no place", "bare": "evicted_now no place"},
	} {
		t.Run(taints, func(t *testing.T) {
			t.Parallel()
			got := told(t, c, tf, node, namespace, taints)
			for app, said := range want {
				if got[app] != said {
					t.Errorf("%s: the preview says %q, want %q", app, got[app], said)
				}
			}
		})
	}
	// Writing them is another matter.
	for _, reserved := range []string{"node.kubernetes.io/unreachable:NoExecute", "node.kubernetes.io/memory-pressure:NoSchedule", "node.kubernetes.io/out-of-service:NoExecute"} {
		d := tf.Plan(t, &acctest.Instance{Type: "kubetaint_node_taints"}, map[string]any{"node_name": node, "taints": acctest.Objects(t, reserved)}).Diagnostics
		if d.Errors() == "" {
			t.Errorf("%s may be written", reserved)
		}
	}
}
