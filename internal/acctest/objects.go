// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// Name returns a name that is unique among all tests of a cluster.
func Name(t testing.TB, prefix string) string {
	t.Helper()
	raw := make([]byte, 8)
	_, err := rand.Read(raw)
	must(t, err)
	return prefix + "-" + hex.EncodeToString(raw)
}

// Node describes a node to make.
type Node struct {
	Name   string
	Labels map[string]string
	Taints []corev1.Taint
	// Allocatable is what pods can have of the node; kwok gives it plenty where
	// nothing is said.
	Allocatable corev1.ResourceList
	// Quiet keeps kubelets away: no kubelet changes such a node's status, and its pods
	// stay in the phase that the test gives them. It is held for alive all the same.
	Quiet bool
}

// Node makes a node that is deleted when the test ends. It waits until the
// node is ready and free of the taints that every new node starts with. On a cluster
// with real kubelets it runs pods, and a test that makes more nodes than there are
// kubelets is skipped.
func (c *Cluster) Node(t testing.TB, n Node) *corev1.Node {
	t.Helper()
	if n.Allocatable != nil && c.api == nil {
		NeedKwok(t, "a node of a chosen size")
	}
	object := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels, Annotations: map[string]string{}},
		Spec:       corev1.NodeSpec{Taints: n.Taints},
		Status:     corev1.NodeStatus{Allocatable: n.Allocatable, Capacity: n.Allocatable},
	}
	if !n.Quiet {
		c.needKubelets(t, 1)
		object.Annotations[played] = "fake"
	}
	created, err := c.Admin.CoreV1().Nodes().Create(t.Context(), object, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() { c.DeleteNode(t, n.Name) })
	if c.api != nil {
		must(t, c.join(t.Context(), n))
		return c.Get(t, n.Name)
	}
	if n.Quiet {
		c.keepAlive(t, n.Name)
	}
	Until(t, "node "+n.Name+" is ready", func(ctx context.Context) (bool, error) {
		current, err := c.Admin.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		created = current
		if n.Quiet && len(current.Status.Conditions) == 0 {
			return false, c.makeReady(ctx, current)
		}
		for _, t := range current.Spec.Taints {
			if t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable {
				return false, nil
			}
		}
		return lives(current), nil
	})
	return created
}

// Nodes makes many nodes in parallel.
func (c *Cluster) Nodes(t testing.TB, count int, describe func(int) Node) {
	t.Helper()
	all, served := make([]Node, count), 0
	for n := range all {
		all[n] = describe(n)
		if !all[n].Quiet {
			served++
		}
	}
	c.needKubelets(t, served)
	for chunk := range slices.Chunk(all, 20) {
		var wg sync.WaitGroup
		for _, n := range chunk {
			wg.Go(func() { c.Node(t, n) })
		}
		wg.Wait()
	}
}

// makeReady does what a kubelet would; a conflict is tried again.
func (c *Cluster) makeReady(ctx context.Context, n *corev1.Node) error {
	if err := c.setReady(ctx, n); !apierrors.IsConflict(err) {
		return err
	}
	return nil
}

// setReady writes the status of a node with the condition that it is ready.
func (c *Cluster) setReady(ctx context.Context, n *corev1.Node) error {
	now := metav1.Now()
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Test", LastHeartbeatTime: now, LastTransitionTime: now}}
	_, err := c.Admin.CoreV1().Nodes().UpdateStatus(ctx, n, metav1.UpdateOptions{})
	return err
}

// DeleteNode deletes a node and the pods that run on it.
func (c *Cluster) DeleteNode(t testing.TB, name string) {
	t.Helper()
	ctx := context.Background()
	pods, err := c.Admin.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + name})
	if err == nil {
		now := int64(0)
		for _, p := range pods.Items {
			t.Logf("deleting node %s deletes pod %s/%s, which requires %v and tolerates %v", name, p.Namespace, p.Name, p.Spec.NodeSelector, p.Spec.Tolerations)
			_ = c.Admin.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
		}
	}
	if err := c.Admin.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Errorf("deleting node %s: %v", name, err)
	}
}

// Namespace makes a namespace that is deleted when the test ends.
func (c *Cluster) Namespace(t testing.TB) string {
	t.Helper()
	name := Name(t, "acc")
	_, err := c.Admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() { c.leave(name) })
	if c.api != nil {
		return name
	}
	// Without it the API server refuses pods, where its admission plug-in is on.
	Until(t, "the namespace has its service account", func(ctx context.Context) (bool, error) {
		_, err := c.Admin.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
	return name
}

// leave ends what runs in a namespace. On a cluster that goes with the tests its empty rest
// stays: to delete a namespace costs the API server some 150 requests, a sixth of all that
// it answered.
func (c *Cluster) leave(namespace string) {
	ctx, now := context.Background(), metav1.DeleteOptions{}
	if c.dir == "" || c.api != nil {
		_ = c.Admin.CoreV1().Namespaces().Delete(ctx, namespace, now)
		return
	}
	behind := metav1.DeletePropagationBackground
	now.PropagationPolicy = &behind
	apps, batch, core, every := c.Admin.AppsV1(), c.Admin.BatchV1(), c.Admin.CoreV1(), metav1.ListOptions{}
	_ = c.Admin.PolicyV1().PodDisruptionBudgets(namespace).DeleteCollection(ctx, now, every)
	_ = apps.Deployments(namespace).DeleteCollection(ctx, now, every)
	_ = apps.StatefulSets(namespace).DeleteCollection(ctx, now, every)
	_ = apps.DaemonSets(namespace).DeleteCollection(ctx, now, every)
	_ = apps.ReplicaSets(namespace).DeleteCollection(ctx, now, every)
	_ = core.ReplicationControllers(namespace).DeleteCollection(ctx, now, every)
	_ = batch.CronJobs(namespace).DeleteCollection(ctx, now, every)
	_ = batch.Jobs(namespace).DeleteCollection(ctx, now, every)
	_ = core.Pods(namespace).DeleteCollection(ctx, now, every)
}

// Pod makes a pod that is bound to a node. The function may change it before.
func (c *Cluster) Pod(t testing.TB, namespace, name, node string, change func(*corev1.Pod)) *corev1.Pod {
	t.Helper()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10.2"}}},
	}
	if change != nil {
		change(p)
	}
	created, err := c.Admin.CoreV1().Pods(namespace).Create(t.Context(), p, metav1.CreateOptions{})
	must(t, err)
	if c.api != nil {
		return c.run(t, created)
	}
	return created
}

// Taints returns a node's taints in kubectl's notation, in their order.
func (c *Cluster) Taints(t testing.TB, node string) string {
	t.Helper()
	return taint.FormatAll(c.Get(t, node).Spec.Taints)
}

// Get reads a node.
func (c *Cluster) Get(t testing.TB, node string) *corev1.Node {
	t.Helper()
	n, err := c.Admin.CoreV1().Nodes().Get(t.Context(), node, metav1.GetOptions{})
	must(t, err)
	return n
}

// Record returns the record of owned taints of a node, "" for none.
func (c *Cluster) Record(t testing.TB, node string) string {
	t.Helper()
	return c.Get(t, node).Annotations[taint.OwnedAnnotation]
}

// Patch changes a node by a merge patch without a guard, as careless writers do.
func (c *Cluster) Patch(t testing.TB, node, patch string) {
	t.Helper()
	_, err := c.Admin.CoreV1().Nodes().Patch(t.Context(), node, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	must(t, err)
}

// Cordon lets no new pods onto a node, and returns when the scheduler knows.
func (c *Cluster) Cordon(t testing.TB, namespace, node string) {
	t.Helper()
	c.Patch(t, node, `{"spec":{"unschedulable":true}}`)
	c.Closed(t, namespace, node)
}

// Uncordon opens a node, and waits until the controller has taken away the taint that a cordon makes.
func (c *Cluster) Uncordon(t testing.TB, node string) {
	t.Helper()
	c.Patch(t, node, `{"spec":{"unschedulable":false}}`)
	Until(t, "node "+node+" has no taint of a cordon", func(ctx context.Context) (bool, error) {
		n, err := c.Admin.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
		return err == nil && !slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnschedulable }), err
	})
}

// Closed waits until the scheduler has seen that a node takes no pods with these
// tolerations: until then it may still send one there. Pods of this namespace try it. The
// scheduler of the in-memory API server looks at the nodes themselves.
func (c *Cluster) Closed(t testing.TB, namespace, node string, tolerations ...corev1.Toleration) {
	t.Helper()
	if c.api != nil {
		return
	}
	pods, here := c.Admin.CoreV1().Pods(namespace), []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
		{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}},
	}}}
	at, probe := int64(0), ""
	Until(t, "the scheduler knows that node "+node+" is closed", func(ctx context.Context) (bool, error) {
		if probe == "" {
			probe = c.Pod(t, namespace, Name(t, "probe"), "", func(p *corev1.Pod) {
				p.Spec.Tolerations = tolerations
				p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: here}}}
			}).Name
		}
		pod, err := pods.Get(ctx, probe, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		refused := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
		})
		if !refused && pod.Spec.NodeName == "" {
			return false, nil
		}
		probe = ""
		return refused, pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &at})
	})
}

// Parse reads taints in kubectl's notation, separated by blanks.
func Parse(t testing.TB, all string) []corev1.Taint {
	t.Helper()
	var out []corev1.Taint
	for one := range strings.FieldsSeq(all) {
		parsed, err := taint.Parse(one)
		must(t, err)
		out = append(out, parsed)
	}
	return out
}

// Objects returns taints as the configuration writes them.
func Objects(t testing.TB, all string) []any {
	t.Helper()
	var out []any
	for _, one := range Parse(t, all) {
		object := map[string]any{"key": one.Key, "effect": string(one.Effect)}
		if one.Value != "" {
			object["value"] = one.Value
		}
		out = append(out, object)
	}
	return out
}
